/* SPDX-License-Identifier: Apache-2.0 */
/* One check a slot: random shapes that cover every tail, and the standard shape for timing. */
#include "kcheck.h"

#include "base/half.h"
#include "code/query.h"

#include <string.h>

enum { ITEMS = 64 };

/* ---------------------------------------------------------------------------------------- rows of numbers */

typedef struct rows_input {
    size_t slot; /* offset of the function in the table */
    const float *query;
    const void *rows;
    size_t stride, n_rows, n_dims;
    const float *scales; /* of scaled rows; else NULL */
} rows_input;

static void run_rows(const thr_kernels *kernels, void *out, void *arg) {
    const rows_input *in = arg;
    thr_rows_kernel kernel = NULL;
    thr_scaled_rows_kernel scaled = NULL;
    if (in->scales != NULL) {
        memcpy(&scaled, (const char *)kernels + in->slot, sizeof scaled);
        scaled(out, in->query, in->rows, in->stride, in->n_rows, in->n_dims, in->scales);
        return;
    }
    memcpy(&kernel, (const char *)kernels + in->slot, sizeof kernel);
    kernel(out, in->query, in->rows, in->stride, in->n_rows, in->n_dims);
}

/* narrow: to values of two bytes; NULL of others. */
static void check_rows(kcheck *check, size_t slot, size_t size, uint16_t (*narrow)(float), bool scaled) {
    const bool timed = kcheck_timed(check);
    const size_t n_dims = timed ? 200 : kcheck_below(check, 130), n_rows = timed ? 1000 : kcheck_below(check, 11);
    const size_t gap = timed ? 0 : kcheck_below(check, 9), stride = n_dims * size + gap;
    float *query = kcheck_buffer(check, n_dims * sizeof(float));
    /* The last row ends where the buffer ends: rows may be unaligned. */
    const size_t bytes = n_rows == 0 ? 0 : stride * (n_rows - 1) + n_dims * size;
    unsigned char *rows = kcheck_buffer(check, bytes);
    for (size_t d = 0; d < n_dims; d++)
        query[d] = kcheck_float(check);
    kcheck_fill(check, rows, bytes);
    for (size_t r = 0; r < n_rows; r++)
        for (size_t d = 0; d < n_dims && size > 1; d++) {
            float x = kcheck_float(check);
            uint16_t h = narrow != NULL ? narrow(x) : 0;
            memcpy(rows + r * stride + d * size, size == 4 ? (void *)&x : (void *)&h, size);
        }
    float *scales = kcheck_buffer(check, n_rows * sizeof(float));
    for (size_t r = 0; r < n_rows; r++)
        scales[r] = r % 16 == 3 ? kcheck_float(check) : 1; /* kernels may treat 1 apart */
    rows_input in = {slot, query, rows, stride, n_rows, n_dims, scaled ? scales : NULL};
    kcheck_call(check, run_rows, &in, n_rows * sizeof(float), n_rows, bytes, "%zu rows x %zu", n_rows, n_dims);
}

#define CHECK_ROWS(name, size, narrow, scaled)                                                                         \
    void check_##name(kcheck *check) {                                                                                 \
        check_rows(check, offsetof(thr_kernels, name), size, narrow, scaled);                                          \
    }
CHECK_ROWS(dot_f32, 4, NULL, false)
CHECK_ROWS(dot_f16, 2, thr_half_from_f32, false)
CHECK_ROWS(dot_bf16, 2, thr_bf16_from_f32, false)
CHECK_ROWS(dot_i8, 1, NULL, false)
CHECK_ROWS(l2_f32, 4, NULL, false)
CHECK_ROWS(l2_f16, 2, thr_half_from_f32, true)
CHECK_ROWS(l2_i8, 1, NULL, true)

typedef struct values_input {
    const void *values;
    size_t n;
    float scale;
    uint32_t bits, lead;
} values_input;

static void run_sum_squares(const thr_kernels *kernels, void *out, void *arg) {
    const values_input *in = arg;
    double sum = kernels->sum_squares(in->values, in->n);
    memcpy(out, &sum, sizeof sum);
}

static size_t some_floats(kcheck *check, float **values) {
    size_t n = kcheck_timed(check) ? 200 : kcheck_below(check, 140);
    *values = kcheck_buffer(check, n * sizeof(float));
    for (size_t i = 0; i < n; i++)
        (*values)[i] = kcheck_float(check);
    return n;
}

void check_sum_squares(kcheck *check) {
    float *values = NULL;
    values_input in = {.n = some_floats(check, &values)};
    in.values = values;
    kcheck_call(check, run_sum_squares, &in, sizeof(double), 1, in.n * sizeof(float), "%zu floats", in.n);
}

static void run_f32_to_f16(const thr_kernels *kernels, void *out, void *arg) {
    const values_input *in = arg;
    kernels->f32_to_f16(out, in->values, in->n);
}

void check_f32_to_f16(kcheck *check) {
    float *values = NULL;
    values_input in = {.n = some_floats(check, &values)};
    /* Any bits at all: subnormals, infinities, NaNs, ties. */
    for (size_t i = 0; i < in.n; i++) {
        uint32_t bits = (uint32_t)kcheck_random(check);
        if (kcheck_below(check, 2) == 0)
            memcpy(&values[i], &bits, sizeof bits);
    }
    in.values = values;
    kcheck_call(check, run_f32_to_f16, &in, in.n * sizeof(uint16_t), in.n, in.n * sizeof(float), "%zu floats", in.n);
}

static void run_f16_to_f32(const thr_kernels *kernels, void *out, void *arg) {
    const values_input *in = arg;
    kernels->f16_to_f32(out, in->values, in->n);
}

void check_f16_to_f32(kcheck *check) {
    const size_t n = kcheck_timed(check) ? 200 : kcheck_below(check, 140);
    uint16_t *values = kcheck_buffer(check, n * sizeof *values);
    kcheck_fill(check, values, n * sizeof *values);
    values_input in = {.values = values, .n = n};
    kcheck_call(check, run_f16_to_f32, &in, n * sizeof(float), n, n * sizeof *values, "%zu halves", n);
}

static void run_quantise(const thr_kernels *kernels, void *out, void *arg) {
    const values_input *in = arg;
    kernels->quantise(out, in->values, in->n, in->scale, in->bits);
}

void check_quantise(kcheck *check) {
    float *values = NULL;
    values_input in = {.n = some_floats(check, &values), .scale = kcheck_float(check)};
    in.bits = kcheck_timed(check) ? 3 : 1 + kcheck_below(check, 8);
    in.values = values;
    kcheck_call(check, run_quantise, &in, (in.n + 7) / 8 * in.bits, 1, in.n * sizeof(float), "%zu floats, %u bits",
                in.n, in.bits);
}

static void run_code_products(const thr_kernels *kernels, void *out, void *arg) {
    const values_input *in = arg;
    float products[2];
    kernels->code_products(products, in->values, in->n, in->scale, in->bits, in->lead);
    memcpy(out, products, sizeof products);
}

void check_code_products(kcheck *check) {
    float *values = NULL;
    values_input in = {.n = some_floats(check, &values), .scale = kcheck_float(check)};
    in.bits = kcheck_timed(check) ? 3 : 1 + kcheck_below(check, 8);
    in.lead = kcheck_timed(check) ? 1 : kcheck_below(check, in.bits + 1);
    in.values = values;
    kcheck_call(check, run_code_products, &in, 2 * sizeof(float), 1, in.n * sizeof(float), "%zu floats, %u of %u bits",
                in.n, in.lead, in.bits);
}

/* ------------------------------------------------------------------------------------------- plane codes */

typedef struct codes_input {
    thr_query_part part;
    const uint8_t *blocks;
    size_t n_blocks;
    uint32_t n_dims, bits;
    bool table;
} codes_input;

static void fill_codes(kcheck *check, codes_input *in, uint32_t n_dims, uint32_t bits, size_t n_blocks) {
    const uint32_t n_rows = (n_dims + 7) / 8;
    const size_t bytes = n_blocks * ITEMS * bits * n_rows;
    uint8_t *blocks = kcheck_buffer(check, bytes);
    if (kcheck_below(check, 8) == 0)
        memset(blocks, 0xff, bytes); /* the largest sums */
    else
        kcheck_fill(check, blocks, bytes);
    for (size_t i = 0; n_dims % 8 != 0 && i < bytes; i++)
        if (i / ITEMS / bits % n_rows == n_rows - 1)
            blocks[i] &= (uint8_t)((1u << n_dims % 8) - 1);
    in->blocks = blocks;
    in->n_blocks = n_blocks;
    in->n_dims = n_dims;
    in->bits = bits;
}

static void run_distance(const thr_kernels *kernels, void *out, void *arg) {
    const codes_input *in = arg;
    (in->table ? kernels->distance_table : kernels->distance_xor)(out, in->blocks, in->n_blocks, &in->part);
}

static void check_distance(kcheck *check, uint32_t n_dims, uint32_t item_bits, uint32_t query_bits, size_t n_blocks,
                           bool table) {
    codes_input in = {.table = table};
    fill_codes(check, &in, n_dims, item_bits, n_blocks);
    float *query = kcheck_buffer(check, n_dims * sizeof(float));
    const bool extreme = kcheck_below(check, 8) == 0;
    double square = 1e-9;
    for (uint32_t d = 0; d < n_dims; d++) {
        query[d] = extreme ? -1.0f : kcheck_float(check);
        square += (double)query[d] * (double)query[d];
    }
    thr_quantiser quantiser = {.n_dims = n_dims, .item_bits = item_bits};
    for (int b = 0; b < THR_MAX_BITS; b++)
        quantiser.ranges[b] = extreme ? 1e-6f : 0.3f;
    void *memory = kcheck_buffer(check, (thr_code_query_size(n_dims) + 63) / 64 * 64);
    thr_query_code code;
    thr_code_query_make(&code, &quantiser, item_bits, query, square, query_bits, memory);
    in.part = code.parts[0];
    kcheck_call(check, run_distance, &in, n_blocks * ITEMS * sizeof(uint32_t), n_blocks * ITEMS,
                n_blocks * ITEMS * item_bits * in.part.n_rows, "%u d, %u x %u bits", n_dims, item_bits, query_bits);
}

static void check_distances(kcheck *check, bool table) {
    if (kcheck_timed(check)) {
        /* Blocks that stay in the second level cache. */
        check_distance(check, 64, 2, 4, 256, table);
        check_distance(check, 96, 3, 4, 128, table);
        check_distance(check, 200, 3, 4, 64, table);
        return;
    }
    const bool wide = kcheck_below(check, 16) == 0;
    uint32_t n_dims = wide ? 4000 + kcheck_below(check, 5000) : 1 + kcheck_below(check, 300);
    check_distance(check, n_dims, 1 + kcheck_below(check, 8), 1 + kcheck_below(check, 4),
                   wide ? 1 : kcheck_below(check, 4), table);
}

void check_distance_xor(kcheck *check) {
    check_distances(check, false);
}

void check_distance_table(kcheck *check) {
    check_distances(check, true);
}

static void run_code_squares(const thr_kernels *kernels, void *out, void *arg) {
    const codes_input *in = arg;
    kernels->code_squares(out, in->blocks, in->n_blocks, in->n_dims, in->bits);
}

void check_code_squares(kcheck *check) {
    const bool timed = kcheck_timed(check), wide = kcheck_below(check, 16) == 0;
    codes_input in = {0};
    fill_codes(check, &in,
               timed  ? 200
               : wide ? 5000
                      : 1 + kcheck_below(check, 300),
               timed ? 3 : 1 + kcheck_below(check, 8), timed ? 64 : kcheck_below(check, 3));
    kcheck_call(check, run_code_squares, &in, in.n_blocks * ITEMS * sizeof(uint32_t), in.n_blocks * ITEMS,
                in.n_blocks * ITEMS * in.bits * ((in.n_dims + 7) / 8), "%u d, %u bits", in.n_dims, in.bits);
}

/* --------------------------------------------------------------------------------------------- screening */

typedef struct screen_input {
    const uint32_t *distances, *squares;
    const int32_t *bounds;
    const float *factors, *lengths, *products;
    const uint16_t *numbers;
    size_t n_blocks;
    int32_t total;
    float gain, weight, threshold;
} screen_input;

static void run_block_bounds(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    kernels->block_bounds(out, in->squares, in->n_blocks, in->threshold, in->total);
}

static void *some_numbers(kcheck *check, size_t n, uint32_t below) {
    uint32_t *numbers = kcheck_buffer(check, n * sizeof *numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = kcheck_below(check, below);
    return numbers;
}

void check_block_bounds(kcheck *check) {
    screen_input in = {.n_blocks = kcheck_timed(check) ? 256 : kcheck_below(check, 40)};
    in.total = (int32_t)kcheck_below(check, 1u << (1 + kcheck_below(check, 31)));
    in.squares = some_numbers(check, in.n_blocks, 1u << (1 + kcheck_below(check, 31)));
    in.threshold = kcheck_float(check) + 0x1p-20f;
    kcheck_call(check, run_block_bounds, &in, in.n_blocks * sizeof(int32_t), in.n_blocks,
                in.n_blocks * sizeof(uint32_t), "%zu blocks", in.n_blocks);
}

static void run_screen_distances(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    kernels->screen_distances(out, in->distances, in->n_blocks, in->bounds);
}

void check_screen_distances(kcheck *check) {
    screen_input in = {.n_blocks = kcheck_timed(check) ? 16 : kcheck_below(check, 6)};
    in.distances = some_numbers(check, in.n_blocks * ITEMS, 100);
    int32_t *bounds = some_numbers(check, in.n_blocks, 110);
    if (in.n_blocks > 0)
        bounds[0] = kcheck_below(check, 2) == 0 ? -1 : INT32_MAX;
    in.bounds = bounds;
    kcheck_call(check, run_screen_distances, &in, in.n_blocks * sizeof(uint64_t), in.n_blocks * ITEMS,
                in.n_blocks * ITEMS * sizeof(uint32_t), "%zu blocks", in.n_blocks);
}

typedef struct screen_output {
    float scores[ITEMS];
    uint64_t mask;
} screen_output;

static void run_screen_cosine(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    screen_output *o = out;
    o->mask = kernels->screen_cosine(o->scores, in->distances, in->squares, in->total, in->threshold);
}

static void fill_screen(kcheck *check, screen_input *in) {
    const uint32_t reach = 1u << (2 + kcheck_below(check, 29));
    in->total = (int32_t)kcheck_below(check, reach);
    in->distances = some_numbers(check, ITEMS, (uint32_t)in->total + 1);
    uint32_t *squares = some_numbers(check, ITEMS, reach);
    float *factors = kcheck_buffer(check, ITEMS * sizeof(float)),
          *lengths = kcheck_buffer(check, ITEMS * sizeof(float));
    for (int i = 0; i < ITEMS; i++) {
        squares[i]++;
        factors[i] = kcheck_float(check);
        lengths[i] = kcheck_float(check);
    }
    in->squares = squares;
    in->factors = factors;
    in->lengths = kcheck_below(check, 2) == 0 ? lengths : NULL;
    in->gain = kcheck_float(check);
    in->weight = kcheck_float(check);
    in->threshold = kcheck_float(check) * 10.0f;
}

void check_screen_cosine(kcheck *check) {
    screen_input in = {0};
    fill_screen(check, &in);
    kcheck_call(check, run_screen_cosine, &in, sizeof(screen_output), ITEMS, 8 * ITEMS, "total %d", in.total);
}

static void run_screen_factors(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    screen_output *o = out;
    const thr_score_line line = {in->total, in->gain, in->weight, in->threshold};
    o->mask = kernels->screen_factors(o->scores, in->distances, in->factors, in->lengths, &line);
}

void check_screen_factors(kcheck *check) {
    screen_input in = {0};
    fill_screen(check, &in);
    kcheck_call(check, run_screen_factors, &in, sizeof(screen_output), ITEMS, 12 * ITEMS, "total %d", in.total);
}

static void run_screen_leads(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    screen_output *o = out;
    memset(o->scores, 0, sizeof o->scores);
    const thr_score_line line = {in->total, in->gain, in->weight, in->threshold};
    o->mask = kernels->screen_leads(o->scores, in->distances, in->numbers, in->lengths != NULL, &line);
}

void check_screen_leads(kcheck *check) {
    screen_input in = {0};
    fill_screen(check, &in);
    const size_t n = in.lengths != NULL ? 2 * ITEMS : ITEMS;
    uint16_t *numbers = kcheck_buffer(check, n * sizeof *numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = thr_bf16_from_f32(kcheck_float(check));
    in.numbers = numbers;
    kcheck_call(check, run_screen_leads, &in, sizeof(screen_output), ITEMS, 8 * ITEMS, "total %d", in.total);
}

typedef struct rest_input {
    const uint8_t *planes;
    const int8_t *digits;
    size_t n_items, stride, n_rows;
    uint32_t n_planes;
    int32_t digit_sum;
} rest_input;

static void run_rest_product(const thr_kernels *kernels, void *out, void *arg) {
    const rest_input *in = arg;
    for (size_t i = 0; i < in->n_items; i++) {
        int32_t product =
            kernels->rest_product(in->planes + i * in->stride, in->n_planes, in->n_rows, in->digits, in->digit_sum);
        memcpy((char *)out + i * sizeof product, &product, sizeof product);
    }
}

void check_rest_product(kcheck *check) {
    const bool timed = kcheck_timed(check), extreme = kcheck_below(check, 8) == 0;
    const uint32_t n_dims = timed ? 200 : 1 + kcheck_below(check, kcheck_below(check, 16) == 0 ? 8000 : 300);
    rest_input in = {.n_items = timed ? 1000 : 1, .n_rows = (n_dims + 7) / 8};
    in.n_planes = timed ? 2 : 1 + kcheck_below(check, 7);
    in.stride = in.n_planes * in.n_rows;
    uint8_t *planes = kcheck_buffer(check, in.n_items * in.stride + 7);
    int8_t *digits = kcheck_buffer(check, (size_t)(n_dims + 63) / 64 * 64);
    kcheck_fill(check, planes, in.n_items * in.stride + 7);
    memset(digits, 0, (size_t)(n_dims + 63) / 64 * 64);
    for (uint32_t d = 0; d < n_dims; d++) {
        digits[d] = (int8_t)(extreme ? -127 : 2 * (int)kcheck_below(check, 128) - 127);
        in.digit_sum += digits[d];
    }
    if (extreme)
        memset(planes, 0xff, in.n_items * in.stride);
    in.planes = planes;
    in.digits = digits;
    kcheck_call(check, run_rest_product, &in, in.n_items * sizeof(int32_t), in.n_items, in.n_items * in.stride,
                "%u d, %u planes", n_dims, in.n_planes);
}

static void run_screen_scores(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    uint64_t mask = kernels->screen_scores(in->factors, in->threshold);
    memcpy(out, &mask, sizeof mask);
}

static void run_cosines(const thr_kernels *kernels, void *out, void *arg) {
    const screen_input *in = arg;
    const thr_cosine_line line = {in->gain, in->weight, in->threshold};
    screen_output *o = out;
    memcpy(o->scores, in->factors, sizeof o->scores);
    o->mask = kernels->cosines(o->scores, in->products, in->lengths, &line);
}

void check_cosines(kcheck *check) {
    screen_input in = {0};
    float *products = kcheck_buffer(check, ITEMS * sizeof *products);
    fill_screen(check, &in);
    for (int i = 0; i < ITEMS; i++)
        products[i] = kcheck_float(check);
    in.products = products;
    in.threshold = in.factors[0] * products[0];
    kcheck_call(check, run_cosines, &in, sizeof(screen_output), ITEMS, 12 * ITEMS, "halves %d", in.lengths != NULL);
}

void check_screen_scores(kcheck *check) {
    screen_input in = {0};
    fill_screen(check, &in);
    in.threshold = in.factors[kcheck_below(check, ITEMS)];
    kcheck_call(check, run_screen_scores, &in, sizeof(uint64_t), ITEMS, 4 * ITEMS, "64 scores");
}
