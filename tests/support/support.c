/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "files.h"

#include "base/half.h"
#include "base/files/out.h"
#include "code/encode.h"
#include "code/nested.h"
#include "code/rotate.h"
#include "kernel/kernel.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------- seeds and random numbers */

uint64_t test_seed(void) {
    const char *text = getenv("THR_TEST_SEED");
    return text == NULL || *text == '\0' ? 1 : strtoull(text, NULL, 10);
}

int test_say_seed(void **state) {
    (void)state;
    print_message("seed: THR_TEST_SEED=%llu\n", (unsigned long long)test_seed());
    return 0;
}

float test_normal(uint64_t *rng) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(thr_rng_next(rng) >> 11) * 0x1p-53;
    return (float)sum;
}

void test_gaussian(uint64_t *rng, float *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = test_normal(rng);
}

/* ---------------------------------------------------------------------------------------- asserting */

void test_assert_ok(thr_status status, const thr_error *err, const char *file, int line) {
    if (status == THR_OK)
        return;
    print_error("%s:%d: %s: %s\n", file, line, thr_status_name(status), err != NULL ? err->text : "");
    _fail(file, line);
}

void test_assert_error(thr_status status, thr_status wanted, const thr_error *err, const char *part, const char *file,
                       int line) {
    const char *text = err->text;
    const bool ended = memchr(text, '\0', sizeof err->text) != NULL;
    if (status == THR_OK && wanted == THR_OK) /* of a table of statuses; err may be that of an earlier call */
        return;
    if (status == wanted && err->status == wanted && ended && strchr(text, '\n') == NULL && *text != '\0' &&
        (part == NULL || strstr(text, part) != NULL))
        return;
    print_error("%s:%d: %s (err: %s), not %s with \"%s\": %s\n", file, line, thr_status_name(status),
                thr_status_name(err->status), thr_status_name(wanted), part != NULL ? part : "", ended ? text : "?");
    _fail(file, line);
}

/* ---------------------------------------------------------------------------------------- memory */

static void *counting_allocate(void *user, size_t size) {
    test_memory *memory = user;
    const size_t call = atomic_fetch_add(&memory->calls, 1) + 1;
    if (memory->fail_at != 0 && (call == memory->fail_at || (memory->fail_on && call > memory->fail_at)))
        return NULL;
    if (memory->sites != NULL && test_sites_fail(memory->sites))
        return NULL;
    void *block = malloc(size);
    if (block != NULL) {
        (void)atomic_fetch_add(&memory->live, 1);
        (void)atomic_fetch_add(&memory->total, 1);
    }
    return block;
}

static void counting_release(void *user, void *block) {
    test_memory *memory = user;
    (void)atomic_fetch_sub(&memory->live, 1);
    free(block);
}

thr_allocator test_memory_allocator(test_memory *memory) {
    return (thr_allocator){counting_allocate, counting_release, memory};
}

thr_context *test_context(uint32_t n_threads, thr_isa isa, test_memory *memory) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    thr_error err;
    options.n_threads = n_threads;
    options.isa = isa;
    if (memory != NULL)
        options.allocator = test_memory_allocator(memory);
    assert_ok(thr_context_create(&options, &context, &err), &err);
    return context;
}

test_oom test_oom_start(test_memory *memory) {
    static test_sites sites;
    test_sites_forget(&sites);
    return (test_oom){.memory = memory, .sites = &sites, .live = atomic_load(&memory->live), .reached = true};
}

bool test_oom_next(test_oom *oom) {
    const size_t live = atomic_load(&oom->memory->live);
    if (oom->armed)
        fail_msg("round %zu ended without test_oom_check", oom->round);
    if (live != oom->live && !oom->keeps)
        fail_msg("allocation %zu failed: %zu blocks are live, %zu were before", oom->round, live, oom->live);
    if (!oom->reached)
        return false;
    oom->reached = false;
    oom->round++;
    return true;
}

void test_oom_arm(test_oom *oom) {
    oom->sites->follow = oom->follow;
    oom->memory->sites = oom->sites;
    test_sites_begin(oom->sites);
    oom->armed = true;
}

bool test_oom_check_at(test_oom *oom, thr_status status, const thr_error *err, const char *part, const char *file,
                       int line) {
    if (!oom->armed)
        fail_msg("%s:%d: test_oom_check without test_oom_arm", file, line);
    oom->reached = test_sites_end(oom->sites);
    oom->memory->sites = NULL;
    oom->armed = false;
    oom->n_failed += status != THR_OK;
    if (oom->reached && !(oom->tolerant && status == THR_OK))
        test_assert_error(status, THR_ENOMEM, err, part, file, line);
    else
        test_assert_ok(status, err, file, line);
    return status == THR_OK;
}

size_t test_leftovers(const char *dir, const char *beginning) {
    DIR *names = opendir(dir);
    size_t n = 0, length;
    assert_non_null(names);
    for (struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names)) {
        n += thr_out_is_temporary(entry->d_name, &length) &&
             strncmp(entry->d_name + 1, beginning, strlen(beginning)) == 0;
    }
    (void)closedir(names);
    return n;
}

void *test_array(size_t n, size_t size) {
    void *memory = calloc(n > 0 ? n : 1, size);
    if (memory == NULL)
        fail_msg("no memory for the test: %zu x %zu bytes", n, size);
    return memory;
}

/* ---------------------------------------------------------------------------------------- codes */

unsigned test_code_bit(const uint8_t *codes, uint32_t n_dims, uint32_t bits, uint64_t item, uint32_t dim,
                       uint32_t plane) {
    const uint64_t n_rows = (n_dims + 7) / 8;
    const uint64_t block = item / 64 * 64 * bits * n_rows;
    const uint64_t at = block + ((uint64_t)(dim / 8) * bits + plane) * 64 + item % 64;
    return (codes[at] >> dim % 8) & 1u;
}

int test_code_value(const uint8_t *codes, uint32_t n_dims, uint32_t bits, uint64_t item, uint32_t dim) {
    int u = 0;
    for (uint32_t plane = 0; plane < bits; plane++)
        u = 2 * u + (int)test_code_bit(codes, n_dims, bits, item, dim, plane);
    return 2 * u + 1 - (1 << bits);
}

/* ---------------------------------------------------------------------------------------- segments */

enum { TRAIN_ROWS = 64 };

static uint32_t test_lead(const test_shape *shape) {
    return shape->lead == 0 ? shape->bits : shape->lead;
}

bool test_is_nested(const test_shape *shape) {
    return test_lead(shape) < shape->bits;
}

/* A zeroed array of one value per item, padded to whole blocks. */
static void *item_array(const test_shape *shape, size_t size) {
    return test_array(((size_t)shape->n_items + 63) / 64 * 64, size);
}

/* Stored numbers times their scale; with cosine and a scale, the vector divided by its length (scan/segment.h). */
static void keep_row(test_corpus *corpus, uint64_t item, const float *row) {
    const uint32_t n_dims = corpus->shape.n_dims;
    const bool scaled = thr_keep_is_scaled(corpus->shape.keep), cosine = corpus->shape.metric == THR_METRIC_COSINE;
    double square = 0, length = 0, error = 0;
    float most = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        most = fmaxf(most, fabsf(row[d]));
        length += (double)row[d] * (double)row[d];
    }
    corpus->scales[item] = corpus->shape.keep == THR_DTYPE_I8 ? most / 127 : 1;
    for (uint32_t d = 0; d < n_dims; d++) {
        const size_t at = item * n_dims + d;
        if (corpus->shape.keep == THR_DTYPE_F32)
            ((float *)corpus->vectors)[at] = row[d];
        else if (corpus->shape.keep == THR_DTYPE_F16)
            ((uint16_t *)corpus->vectors)[at] = thr_half_from_f32(row[d]);
        else
            ((int8_t *)corpus->vectors)[at] =
                (int8_t)(corpus->scales[item] > 0 ? lrintf(row[d] / corpus->scales[item]) : 0);
        const double x = (double)test_kept_value(corpus, item, d);
        square += x * x;
    }
    const bool zero = !(sqrt(length) > 0x1p-100);
    corpus->inverse_norms[item] = !scaled && square > 0 ? (float)(1 / sqrt(square)) : 0;
    if (!scaled)
        return;
    if (cosine) {
        corpus->scales[item] = square > 0 && !zero ? (float)((double)corpus->scales[item] / sqrt(square)) : 0;
        corpus->halves[item] = zero ? -1 : square > 0 ? 0.5f : 0;
        corpus->inverse_norms[item] = zero ? 0 : (float)(1 / sqrt(length));
    }
    for (uint32_t d = 0; d < n_dims && !(cosine && zero); d++) {
        const double apart = (double)row[d] / (cosine ? sqrt(length) : 1) - (double)test_kept_value(corpus, item, d);
        error += apart * apart;
    }
    corpus->kept_error = fmaxf(corpus->kept_error, (float)(sqrt(error) * (1 + 0x1p-20)));
}

float test_kept_value(const test_corpus *corpus, uint64_t item, uint32_t dim) {
    const size_t at = item * corpus->shape.n_dims + dim;
    switch (corpus->shape.keep) {
    case THR_DTYPE_F32:
        return ((const float *)corpus->vectors)[at];
    case THR_DTYPE_F16:
        return corpus->scales[item] * thr_half_to_f32(((const uint16_t *)corpus->vectors)[at]);
    default:
        return corpus->scales[item] * (float)((const int8_t *)corpus->vectors)[at];
    }
}

static void make_codes(test_corpus *corpus, const float *rows) {
    const test_shape *shape = &corpus->shape;
    const bool unit = shape->metric == THR_METRIC_COSINE;
    thr_error err;
    const thr_matrix all = thr_matrix_f32(rows, shape->n_items, shape->n_dims);
    thr_matrix sample = all;
    sample.n_rows = shape->n_items < TRAIN_ROWS ? shape->n_items : TRAIN_ROWS;
    corpus->context = test_context(1, THR_ISA_SCALAR, NULL);
    const uint32_t flags = (unit || !shape->centre ? THR_QUANTISER_UNIT : 0u) |
                           (shape->centre ? THR_QUANTISER_CENTRE : 0u) | (shape->rotate ? THR_QUANTISER_ROTATED : 0u);
    assert_ok(thr_code_quantiser_train(corpus->context, &sample, shape->bits, flags, &corpus->quantiser, &err), &err);
    corpus->quantiser.unit = unit;
    corpus->codes = test_array(thr_code_size(&corpus->quantiser, shape->n_items), 1);
    corpus->norms = item_array(shape, sizeof(float));
    corpus->residuals = item_array(shape, sizeof(float));
    corpus->code_squares = item_array(shape, sizeof(uint32_t));
    corpus->products = item_array(shape, sizeof(float));
    corpus->lead_products = item_array(shape, sizeof(float));
    const thr_measures measures = {.norms = corpus->norms,
                                   .residuals = corpus->residuals,
                                   .code_squares = corpus->code_squares,
                                   .products = corpus->products,
                                   .lead_products = corpus->lead_products,
                                   .lead = test_lead(shape)};
    assert_ok(thr_code_encode_blocks(corpus->context, &corpus->quantiser, &all, 0, corpus->codes, &measures, &err),
              &err);
    corpus->values = test_array((size_t)shape->n_items * shape->n_dims, sizeof(int16_t));
    for (uint32_t i = 0; i < shape->n_items; i++)
        for (uint32_t d = 0; d < shape->n_dims; d++)
            corpus->values[(size_t)i * shape->n_dims + d] =
                (int16_t)test_code_value(corpus->codes, shape->n_dims, shape->bits, i, d);
}

/* l2: |r|^2; else, with a centre: -<r, centre> / |centre|, by the library's kernel so that bits can be compared. */
static float offset_of(const test_corpus *corpus, uint64_t item, const float *row) {
    const float *centre = corpus->quantiser.centre;
    if (corpus->shape.metric == THR_METRIC_L2)
        return (float)((double)corpus->residuals[item] * (double)corpus->residuals[item]);
    if (centre == NULL)
        return 0;
    const uint32_t n_dims = corpus->shape.n_dims;
    const thr_kernels *kernels = thr_kernels_get(THR_ISA_SCALAR);
    const float inverse = corpus->norms[item] > 0 ? (float)(1 / sqrt(kernels->sum_squares(row, n_dims))) : 0;
    const float scale = corpus->shape.metric == THR_METRIC_IP ? 1 : inverse;
    float *residual = test_array(n_dims, sizeof *residual), product = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        residual[d] = row[d] * scale - centre[d];
    kernels->dot_f32(&product, centre, residual, 0, 1, n_dims);
    free(residual);
    return (float)-((double)product / sqrt(kernels->sum_squares(centre, n_dims)));
}

/* The planes after the leading ones, bit by bit into records. */
static void make_nested(test_corpus *corpus) {
    const test_shape *shape = &corpus->shape;
    const bool offsets = shape->metric == THR_METRIC_L2 || corpus->quantiser.centre != NULL;
    const thr_record_shape record = thr_record_shape_of(shape->n_dims, shape->bits, shape->lead, offsets);
    const size_t size = thr_record_size(record), n_rows = (shape->n_dims + 7) / 8;
    const size_t padded = ((size_t)shape->n_items + 63) / 64 * 64;
    corpus->lead_codes = test_array(padded * shape->lead * n_rows, 1);
    corpus->records = test_array(padded * size + 8, 1);
    corpus->leads = test_array(padded, 2 * sizeof(uint16_t));
    for (uint32_t i = 0; i < shape->n_items; i++) {
        uint8_t *out = corpus->records + i * size;
        const double length = (double)corpus->residuals[i];
        const double factor = length > 0 ? length / (double)corpus->lead_products[i] : 0;
        thr_code_record_write_head(record, out, corpus->factors[i], corpus->offsets[i]);
        corpus->leads[offsets ? 2 * i : i] = thr_bf16_from_f32((float)factor);
        if (offsets)
            corpus->leads[2 * i + 1] = thr_bf16_from_f32(corpus->offsets[i]);
        for (uint32_t d = 0; d < shape->n_dims; d++)
            for (uint32_t p = 0; p < shape->bits; p++) {
                const unsigned bit = test_code_bit(corpus->codes, shape->n_dims, shape->bits, i, d, p) << d % 8;
                uint8_t *byte = p < shape->lead ? &corpus->lead_codes[i / 64 * 64 * shape->lead * n_rows +
                                                                      (d / 8 * shape->lead + p) * 64 + i % 64]
                                                : &out[thr_record_head(record) + (p - shape->lead) * n_rows + d / 8];
                *byte = (uint8_t)(*byte | bit);
            }
    }
}

static void point_to_nested(const test_corpus *corpus, size_t first, thr_segment *segment) {
    const test_shape *shape = &corpus->shape;
    const bool offsets = shape->metric == THR_METRIC_L2 || corpus->quantiser.centre != NULL;
    const thr_record_shape record = thr_record_shape_of(shape->n_dims, shape->bits, shape->lead, offsets);
    segment->codes = corpus->lead_codes + first / 64 * thr_block_size(shape->n_dims, shape->lead);
    segment->leads = corpus->leads + first * (offsets ? 2 : 1);
    segment->lead_offsets = offsets;
    segment->records = corpus->records + first * thr_record_size(record);
}

static float stored(float factor, bool bfloat16) {
    return bfloat16 ? thr_bf16_to_f32(thr_bf16_from_f32(factor)) : factor;
}

/* By their definition: r is made as encoding makes it, and x is the factor times the decoded integers. */
static void make_errors(test_corpus *corpus, const float *rows) {
    const test_shape *shape = &corpus->shape;
    const uint32_t n_dims = shape->n_dims, m = shape->bits - test_lead(shape);
    float *r = test_array(n_dims, sizeof *r);
    thr_code_errors *errors = &corpus->scan.errors;
    for (uint32_t i = 0; i < shape->n_items; i++) {
        const double length = (double)corpus->residuals[i];
        const float lead_product = corpus->lead_products[i];
        const double factor = (double)stored(corpus->factors[i], test_is_nested(shape) && shape->bits <= 4);
        const double lead_factor =
            (double)stored(length > 0 ? (float)(length / (double)lead_product) : 0, test_is_nested(shape));
        const double norm = (double)corpus->norms[i];
        double sums[4] = {0};
        for (uint32_t d = 0; d < n_dims; d++) {
            const float scale = !corpus->quantiser.unit ? 1 : norm > 0 ? (float)(1 / norm) : 0;
            r[d] = rows[(size_t)i * n_dims + d] * scale;
            r[d] -= corpus->quantiser.centre != NULL ? corpus->quantiser.centre[d] : 0;
        }
        if (corpus->quantiser.rotation != NULL)
            thr_code_rotation_apply(corpus->quantiser.rotation, r);
        for (uint32_t d = 0; d < n_dims; d++) {
            const int b = corpus->values[(size_t)i * n_dims + d], u = (b - 1 + (1 << shape->bits)) / 2;
            const double x = factor * b, x1 = lead_factor * (2 * (u >> m) + 1 - (1 << test_lead(shape)));
            sums[0] += (x1 - (double)r[d]) * (x1 - (double)r[d]);
            sums[1] += x1 * x1;
            sums[2] += (x - (double)r[d]) * (x - (double)r[d]);
            sums[3] += x * x;
        }
        errors->lead_error = fmaxf(errors->lead_error, (float)sqrt(sums[0]));
        errors->lead_length = fmaxf(errors->lead_length, (float)sqrt(sums[1]));
        errors->full_error = fmaxf(errors->full_error, (float)sqrt(sums[2]));
        errors->full_length = fmaxf(errors->full_length, (float)sqrt(sums[3]));
    }
    free(r);
}

static void make_segments(test_corpus *corpus) {
    const test_shape *shape = &corpus->shape;
    const uint32_t each = shape->segment_items == 0 ? shape->n_items : shape->segment_items;
    const size_t n = (shape->n_items + each - 1) / each;
    const size_t row_size = shape->n_dims * thr_dtype_size(shape->keep);
    corpus->segments = test_array(n, sizeof(thr_segment));
    for (size_t s = 0; s < n; s++) {
        const size_t first = s * each, left = shape->n_items - first;
        thr_segment *segment = &corpus->segments[s];
        segment->n_items = (uint32_t)(left < each ? left : each);
        segment->first_row = first;
        segment->codes = corpus->codes + first / 64 * thr_block_size(shape->n_dims, shape->bits);
        if (test_is_nested(shape))
            point_to_nested(corpus, first, segment);
        else if (!test_has_factors(corpus))
            segment->block_norms = corpus->block_norms + first / 64;
        else
            segment->factors = corpus->factors + first;
        if (!test_is_nested(shape) && (shape->metric == THR_METRIC_L2 || corpus->quantiser.centre != NULL))
            segment->offsets = corpus->offsets + first;
        if (shape->keep == THR_DTYPE_NONE)
            continue;
        segment->vectors = (const char *)corpus->vectors + first * row_size;
        const bool scaled = thr_keep_is_scaled(shape->keep), cosine = shape->metric == THR_METRIC_COSINE;
        segment->kept.error = corpus->kept_error;
        if (scaled)
            segment->scales = corpus->scales + first;
        if (cosine)
            segment->inverse_norms = corpus->inverse_norms + first;
        if (cosine && scaled)
            segment->halves = corpus->halves + first;
    }
    corpus->scan = (thr_scan_corpus){.segments = corpus->segments,
                                     .n_segments = n,
                                     .n_rows = shape->n_items,
                                     .quantiser = &corpus->quantiser,
                                     .metric = shape->metric,
                                     .keep = shape->keep,
                                     .lead = test_lead(shape)};
}

void test_target_make(test_corpus *corpus, const test_shape *shape, const float *rows) {
    *corpus = (test_corpus){.shape = *shape};
    make_codes(corpus, rows);
    corpus->block_norms = item_array(shape, sizeof(uint32_t));
    corpus->factors = item_array(shape, sizeof(float));
    corpus->offsets = item_array(shape, sizeof(float));
    corpus->scales = item_array(shape, sizeof(float));
    corpus->inverse_norms = item_array(shape, sizeof(float));
    corpus->halves = item_array(shape, sizeof(float));
    if (shape->keep != THR_DTYPE_NONE)
        corpus->vectors = test_array((size_t)shape->n_items * shape->n_dims, thr_dtype_size(shape->keep));
    for (uint32_t i = 0; i < shape->n_items; i++) {
        const uint32_t square = corpus->code_squares[i];
        uint32_t *least = &corpus->block_norms[i / 64];
        *least = i % 64 == 0 || square < *least ? square : *least;
        corpus->factors[i] =
            corpus->products[i] > 0 ? (float)((double)corpus->residuals[i] / (double)corpus->products[i]) : 0;
        corpus->offsets[i] = offset_of(corpus, i, rows + (size_t)i * shape->n_dims);
        if (shape->keep != THR_DTYPE_NONE)
            keep_row(corpus, i, rows + (size_t)i * shape->n_dims);
    }
    if (test_is_nested(shape))
        make_nested(corpus);
    make_segments(corpus);
    make_errors(corpus, rows);
}

bool test_has_factors(const test_corpus *corpus) {
    return corpus->shape.metric != THR_METRIC_COSINE || corpus->quantiser.centre != NULL;
}

void test_target_free(test_corpus *corpus) {
    thr_code_quantiser_free(corpus->context, &corpus->quantiser);
    thr_context_free(corpus->context);
    free(corpus->codes);
    free(corpus->values);
    free(corpus->code_squares);
    free(corpus->block_norms);
    free(corpus->norms);
    free(corpus->residuals);
    free(corpus->products);
    free(corpus->lead_products);
    free(corpus->lead_codes);
    free(corpus->records);
    free(corpus->leads);
    free(corpus->factors);
    free(corpus->offsets);
    free(corpus->scales);
    free(corpus->inverse_norms);
    free(corpus->halves);
    free(corpus->vectors);
    free(corpus->segments);
    *corpus = (test_corpus){.codes = NULL};
}

static uint32_t group_threads = 2;
static const char *group_directory;

void test_group_needs(uint32_t n_threads, const char *directory) {
    group_threads = n_threads;
    group_directory = directory;
}

int test_make_context(void **state) {
    *state = test_context(group_threads, THR_ISA_BEST, NULL);
    return test_say_seed(state);
}

int test_drop_context(void **state) {
    thr_context_free(*state);
    if (group_directory != NULL)
        test_remove_directory(group_directory);
    return 0;
}

/* ---------------------------------------------------------------------------------------- threads */

void test_at_once(size_t n, void *(*work)(void *), void *arguments, size_t size) {
    pthread_t threads[64];
    assert_true(n <= sizeof threads / sizeof *threads);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (char *)arguments + i * size), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

void test_at_every_level(void (*test)(thr_context *context, const char *level)) {
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        if (thr_kernel_isa_has((thr_isa)isa)) {
            thr_context *context = test_context(2, (thr_isa)isa, NULL);
            test(context, thr_isa_name((thr_isa)isa));
            thr_context_free(context);
        }
}
