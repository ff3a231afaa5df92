/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build.c - building a head from weights in memory: validate and copy them, order words by frequency, hash them, code
 * them.
 *
 * Hashes are computed from the stored, rounded weights. A word and a state equal to the stored row then have the same
 * codes.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"
#include "head/certify.h"
#include "head/auto_screen.h"
#include "head/weight_formats.h"
#include "parallel/pool.h"

enum { HASHED_ROWS = 64, BANDS = 128, HASHES = 8, PLACES = 2, CODE_BITS = 256 };

static const float LARGEST_F16 = 65504, LARGEST_BIAS = 0x1p100F;

void thr_head_build_options_init(thr_head_build_options *options) {
    *options = (thr_head_build_options){
        .n_bands = BANDS, .n_hashes = HASHES, .n_places = PLACES, .n_planes = THR_HEAD_AUTO, .seed = 1};
}

/* ------------------------------------------------------------------------------------------------ create and free */

thr_status thr_head_start(thr_context *context, thr_head **out, thr_error *err) {
    thr_head *head = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *head, &head, "a head", err));
    head->context = thr_context_retain(context);
    (void)pthread_mutex_init(&head->mutex, NULL);
    thr_device_policy_start(&head->on_device, context);
    *out = head;
    return THR_OK;
}

/* Describe the plane codes as a scan corpus: one segment of flat codes, no centre, inner product. */
static thr_status set_corpus(thr_head *head, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    head->quantiser = (thr_quantiser){.n_dims = thr_head_coded_dims(c), .item_bits = c->planes.n_planes};
    memcpy(head->quantiser.ranges, c->planes.quantiser.ranges, sizeof head->quantiser.ranges);
    THR_TRY(thr_code_quantiser_rotate(head->context, &head->quantiser, c->planes.quantiser.rotation_seed, err));
    head->segment = (thr_segment){.n_items = c->n_words, .codes = c->planes.codes, .factors = c->planes.factors};
    head->corpus = (thr_scan_corpus){.segments = &head->segment,
                                     .n_segments = 1,
                                     .n_rows = c->n_words,
                                     .quantiser = &head->quantiser,
                                     .metric = THR_METRIC_IP,
                                     .keep = THR_DTYPE_NONE,
                                     .lead = c->planes.n_planes};
    head->n_longest = thr_head_planes_longest(&c->planes, c->n_words, head->hidden, head->longest);
    return THR_OK;
}

thr_status thr_head_complete(thr_head *head, thr_error *err) {
    const thr_head_contents *c = thr_head_of(head);
    if (c->shape.n_bands > 0)
        THR_TRY(thr_lsh_wta_make(head->context, &c->shape, NULL, &head->wta, err));
    if (c->planes.n_planes > 0)
        THR_TRY(set_corpus(head, err));
    THR_TRY(thr_alloc_zero(head->context, 1, sizeof *head->choices, &head->choices, "a head", err));
    return thr_idle_start(&head->workspaces, head->context, err);
}

void thr_head_free(thr_head *head) {
    if (head == NULL)
        return;
    thr_context *context = head->context;
    thr_device_policy_end(&head->on_device);
    (void)pthread_mutex_destroy(&head->mutex);
    thr_head_bounds_free(context, head->bounds);
    thr_release(context, head->choices);
    thr_idle_end(&head->workspaces, thr_head_workspace_free);
    thr_lsh_wta_free(context, &head->wta);
    thr_code_quantiser_free(context, &head->quantiser);
    thr_lsh_free(context, &head->memory.lsh);
    thr_head_planes_free(context, &head->memory.planes);
    THR_RELEASE(context, head->memory.weights, head->memory.scales, head->memory.bias, head->memory.order, head->never,
                head->hidden);
    thr_map_close(&head->map);
    THR_RELEASE(context, head->path, head);
    thr_context_free(context);
}

thr_head_info thr_head_get_info(const thr_head *head) {
    const thr_head_contents *c = thr_head_of(head);
    const uint64_t n_slots = (uint64_t)c->lsh.table.n_slots + c->lsh.table.n_stash;
    thr_head_info info = {.n_words = c->n_words,
                          .n_dims = c->n_dims,
                          .dtype = c->dtype,
                          .has_bias = c->bias != NULL,
                          .has_order = c->order != NULL,
                          .weight_bytes = c->n_words * (uint64_t)thr_head_row_size(c) +
                                          (c->scales != NULL ? c->n_words * sizeof *c->scales : 0),
                          .file_bytes = head->view.file.size};
    if (c->planes.n_planes > 0) {
        const size_t block_size = thr_block_size(thr_head_coded_dims(c), c->planes.n_planes);
        info.n_planes = c->planes.n_planes;
        info.plane_bytes =
            thr_head_padded(c->n_words) / THR_BLOCK_ITEMS * (block_size + THR_BLOCK_ITEMS * sizeof(float));
    }
    if (c->shape.n_bands == 0)
        return info;
    info.n_bands = c->shape.n_bands;
    info.n_hashes = c->shape.n_hashes;
    info.n_places = c->shape.n_places;
    info.n_codes = c->n_codes;
    info.hash_bytes = n_slots * sizeof(thr_cuckoo_slot) + (uint64_t)c->n_words * c->shape.n_bands * sizeof(uint32_t);
    return info;
}

/* ----------------------------------------------------------------------------------------- check and copy the input */

static thr_status check(const thr_head_source *weights, const thr_head_build_options *o, thr_error *err) {
    if (weights->n_rows == 0 || weights->n_rows > THR_HEAD_MAX_WORDS)
        return thr_fail(err, THR_EDIM, "weights of %" PRIu64 " words: a head has 1 to %" PRIu32, weights->n_rows,
                        THR_HEAD_MAX_WORDS);
    if (weights->n_dims == 0 || weights->n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "weights of %" PRIu32 " dimensions: a head has 1 to %d", weights->n_dims,
                        THR_MAX_DIMS);
    if (o->dtype != THR_DTYPE_NONE && !thr_head_keeps(o->dtype))
        return thr_fail(err, THR_EINVAL, "weights are stored as f32, f16, bf16 or i8, not as %s",
                        thr_dtype_name(o->dtype));
    if (o->n_words > weights->n_rows)
        return thr_fail(err, THR_EDIM, "the first %" PRIu64 " words of weights that have %" PRIu64, o->n_words,
                        weights->n_rows);
    if (o->bias != NULL && o->n_bias != weights->n_rows && (o->n_words == 0 || o->n_bias != o->n_words))
        return thr_fail(err, THR_EDIM, "%" PRIu64 " biases for %" PRIu64 " words", o->n_bias, weights->n_rows);
    return THR_OK;
}

/* Check that a row is finite, as its sum of squares then is, and shorter than 2^60, so that its numbers fit bf16. */
static thr_status check_row(const thr_kernels *kernels, const float *row, uint32_t n_dims, thr_dtype dtype,
                            uint64_t number, thr_error *err) {
    const double length = sqrt(kernels->sum_squares(row, n_dims));
    if (!isfinite(length))
        return thr_fail(err, THR_ERANGE, "row %" PRIu64 " of the weights holds NaN or infinity: mend or leave it out",
                        number);
    if (length > thr_longest_row(false))
        return thr_fail(err, THR_ERANGE, "row %" PRIu64 " of the weights is longer than 2^60: scale the weights",
                        number);
    for (uint32_t d = 0; dtype == THR_DTYPE_F16 && d < n_dims; d++)
        if (fabsf(row[d]) > LARGEST_F16)
            return thr_fail(err, THR_ERANGE,
                            "row %" PRIu64
                            " of the weights holds %g, beyond the 65504 of f16: store the weights as f32",
                            number, (double)row[d]);
    return THR_OK;
}

static thr_status copy_weights(thr_head *head, const thr_head_source *weights, thr_error *err) {
    thr_context *context = head->context;
    thr_head_contents *c = &head->view.contents;
    float *row = NULL;
    thr_status status = THR_OK;
    const size_t size = thr_head_row_size(c);
    THR_TRY_OUT(thr_alloc(context, c->n_dims, sizeof *row, &row, "a row of weights", err));
    THR_TRY_OUT(thr_alloc(context, c->n_words, size, &head->memory.weights, "the weights", err));
    if (c->dtype == THR_DTYPE_I8)
        THR_TRY_OUT(thr_alloc(context, c->n_words, sizeof(float), &head->memory.scales, "scales of weights", err));
    for (uint32_t w = 0; w < c->n_words; w++) {
        weights->row(weights->user, w, row);
        THR_TRY_OUT(check_row(context->kernels, row, c->n_dims, c->dtype, w, err));
        thr_head_keep_row(c, context->kernels, row, (char *)head->memory.weights + w * size,
                          c->dtype == THR_DTYPE_I8 ? &head->memory.scales[w] : NULL);
    }
    c->weights = head->memory.weights;
    c->scales = head->memory.scales;
out:
    thr_release(context, row);
    return status;
}

static thr_status copy_bias(thr_head *head, const float *bias, thr_error *err) {
    thr_head_contents *c = &head->view.contents;
    if (bias == NULL)
        return THR_OK;
    THR_TRY(thr_alloc(head->context, c->n_words, sizeof *bias, &head->memory.bias, "the bias", err));
    for (uint32_t w = 0; w < c->n_words; w++) {
        if (!(bias[w] <= LARGEST_BIAS))
            return thr_fail(err, THR_ERANGE,
                            "the bias of word %" PRIu32 " is %g: it must be a number, and 2^100 at most", w,
                            (double)bias[w]);
        head->memory.bias[w] = bias[w] < -LARGEST_BIAS ? -INFINITY : bias[w];
    }
    c->bias = head->memory.bias;
    return THR_OK;
}

/* The order of frequency: the words given, then all others. */
static thr_status put_in_order(thr_head *head, const thr_head_build_options *o, thr_error *err) {
    thr_context *context = head->context;
    thr_head_contents *c = &head->view.contents;
    uint8_t *seen = NULL;
    thr_status status = THR_OK;
    if (o->frequent == NULL || o->n_frequent == 0)
        return THR_OK;
    THR_TRY_OUT(thr_alloc_zero(context, c->n_words, 1, &seen, "words", err));
    THR_TRY_OUT(thr_alloc(context, c->n_words, sizeof *c->order, &head->memory.order, "words by frequency", err));
    uint32_t n = 0;
    for (uint64_t i = 0; i < o->n_frequent; i++) {
        const uint32_t w = o->frequent[i];
        if (w >= c->n_words || seen[w] != 0)
            THR_TRY_OUT(thr_fail(err, THR_EINVAL, "frequent word number %" PRIu64 ", %" PRIu32 ", %s", i, w,
                                 w >= c->n_words ? "is out of range" : "is repeated"));
        seen[w] = 1;
        head->memory.order[n++] = w;
    }
    for (uint32_t w = 0; w < c->n_words; w++)
        if (seen[w] == 0)
            head->memory.order[n++] = w;
    c->order = head->memory.order;
out:
    thr_release(context, seen);
    return status;
}

/* ------------------------------------------------------------------------------------------------ hashes */

typedef struct hashing {
    const thr_head_contents *contents;
    const thr_kernels *kernels;
    const thr_wta *wta;
    float *rows; /* scratch memory, one row per thread */
    uint32_t *codes;
} hashing;

static void hash_rows(void *arg, size_t piece, uint32_t worker) {
    const hashing *h = arg;
    const thr_head_contents *c = h->contents;
    const size_t first = piece * HASHED_ROWS;
    float *row = h->rows + (size_t)worker * c->n_dims;
    for (size_t w = first; w < first + HASHED_ROWS && w < c->n_words; w++) {
        thr_head_row(c, h->kernels, (uint32_t)w, row);
        thr_lsh_wta_hash(h->wta, row, h->codes + w * c->shape.n_bands);
    }
}

static thr_status hash(thr_head *head, thr_error *err) {
    thr_context *context = head->context;
    thr_head_contents *c = &head->view.contents;
    float *rows = NULL;
    uint32_t *codes = NULL;
    size_t n_codes, n_rows;
    thr_status status = THR_OK;
    if (c->shape.n_bands == 0)
        return THR_OK;
    if (!thr_mul_size(c->n_words, c->shape.n_bands, &n_codes) || n_codes > UINT32_MAX)
        return thr_fail(err, THR_EDIM,
                        "%" PRIu32 " words in %" PRIu32 " bands: lists have up to %" PRIu32 " words in all bands",
                        c->n_words, c->shape.n_bands, UINT32_MAX);
    if (!thr_mul_size(context->n_threads, c->n_dims, &n_rows))
        return thr_fail(err, THR_ENOMEM, "no memory for rows of weights");
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof *rows, &rows, "rows of weights", err));
    THR_TRY_OUT(thr_alloc(context, n_codes, sizeof *codes, &codes, "hashes of words", err));
    hashing all = {c, context->kernels, &head->wta, rows, codes};
    thr_parallel_for(context, THR_CEIL_DIV((size_t)c->n_words, HASHED_ROWS), hash_rows, &all);
    const thr_lsh_shape shape = {c->n_words, c->shape.n_bands, c->shape.seed};
    THR_TRY_OUT(thr_lsh_build(context, codes, &shape, &head->memory.lsh, &c->lsh, err));
    for (uint64_t i = 0; i < (uint64_t)c->lsh.table.n_slots + c->lsh.table.n_stash; i++)
        c->n_codes += i < c->lsh.table.n_slots ? c->lsh.table.slots[i].n > 0 : 1;
out:
    THR_RELEASE(context, rows, codes);
    return status;
}

/* ------------------------------------------------------------------------------------------------ planes */

/* The default number of planes: enough for CODE_BITS bits in a code of n_dims dimensions. */
static uint32_t usual_planes(uint32_t n_dims) {
    const uint32_t n = THR_CEIL_DIV(CODE_BITS, n_dims);
    return THR_MIN(n, THR_MAX_BITS);
}

static thr_status code(thr_head *head, uint32_t wanted, thr_error *err) {
    thr_head_contents *c = &head->view.contents;
    const thr_head_coded coded = thr_head_coded_of(head);
    const uint32_t n_planes = wanted == THR_HEAD_AUTO ? usual_planes(c->n_dims) : wanted;
    return n_planes == 0 ? THR_OK
                         : thr_head_planes_make(head->context, &coded, n_planes, &head->memory.planes, &c->planes, err);
}

/* ------------------------------------------------------------------------------------------------ build */

/* The hash shape. Of one dimension there are no hashes by default: one component would always be the largest. */
static thr_wta_shape hash_shape(uint32_t n_dims, const thr_head_build_options *o) {
    const bool fits = n_dims >= PLACES || o->n_places != PLACES;
    return (thr_wta_shape){n_dims, fits ? o->n_places : n_dims, fits || n_dims > 1 ? o->n_bands : 0, o->n_hashes,
                           o->seed};
}

static thr_status fill(thr_head *head, const thr_head_source *weights, const thr_head_build_options *o,
                       thr_error *err) {
    thr_head_contents *c = &head->view.contents;
    c->n_words = (uint32_t)(o->n_words > 0 ? o->n_words : weights->n_rows);
    c->n_dims = weights->n_dims;
    c->dtype = o->dtype != THR_DTYPE_NONE ? o->dtype : thr_head_usual_kind(weights->dtype);
    c->shape = hash_shape(c->n_dims, o);
    if (c->shape.n_bands > 0)
        THR_TRY(thr_lsh_wta_complete(&c->shape, err)); /* find bad options before the weights are copied */
    THR_TRY(copy_weights(head, weights, err));
    THR_TRY(copy_bias(head, o->bias, err));
    THR_TRY(thr_head_find_hidden(head, err));
    THR_TRY(put_in_order(head, o, err));
    THR_TRY(code(head, o->n_planes, err));
    THR_TRY(thr_head_complete(head, err));
    return hash(head, err);
}

thr_status thr_head_make(thr_context *context, const thr_head_source *source, const thr_head_build_options *options,
                         thr_head **out, thr_error *err) {
    thr_head *head = NULL;
    *out = NULL;
    THR_TRY(check(source, options, err));
    THR_TRY(thr_head_start(context, &head, err));
    const thr_status status = fill(head, source, options, err);
    THR_RETURN_MADE(status, head, out, thr_head_free);
}

static void matrix_row(const void *user, uint32_t w, float *out) {
    (void)thr_matrix_to_f32(user, w, 1, out); /* cannot fail: the row exists and its type was checked */
}

thr_status thr_head_create(thr_context *context, const thr_matrix *weights, const thr_head_build_options *options,
                           thr_head **out, thr_error *err) {
    thr_head_build_options complete;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || weights == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "the context, the weights or the pointer to the head is NULL");
    thr_head_build_options_init(&complete);
    if (options != NULL)
        complete = *options;
    THR_TRY(thr_code_check_rows(weights, err));
    const thr_head_source source = {weights->n_rows, weights->n_dims, weights->dtype, matrix_row, weights};
    return thr_head_make(context, &source, &complete, out, err);
}
