/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The specification of every kernel: plain loops, compiled without vectorisation. Other levels must give the same bits.
 */
#include "base/half.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { ITEMS = 64 }; /* a block */

/* ---------------------------------------------------------------------------------------- rows of numbers */

static float load_f32(const unsigned char *row, size_t d) {
    float x;
    memcpy(&x, row + 4 * d, sizeof x);
    return x;
}

static float load_f16(const unsigned char *row, size_t d) {
    uint16_t x;
    memcpy(&x, row + 2 * d, sizeof x);
    return thr_half_to_f32(x);
}

static float load_bf16(const unsigned char *row, size_t d) {
    uint16_t x;
    memcpy(&x, row + 2 * d, sizeof x);
    return thr_bf16_to_f32(x);
}

static float load_i8(const unsigned char *row, size_t d) {
    return (float)(int8_t)row[d];
}

static float add_lanes(float lanes[16]) {
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

#define ROWS_LOOP(load, scale, term)                                                                                   \
    for (size_t i = 0; i < n_rows; i++) {                                                                              \
        const unsigned char *row = (const unsigned char *)rows + i * stride;                                           \
        float lanes[16] = {0};                                                                                         \
        for (size_t d = 0; d < n_dims; d++) {                                                                          \
            float q = query[d], x = (scale)*load(row, d);                                                              \
            lanes[d % 16] += (term);                                                                                   \
        }                                                                                                              \
        out[i] = add_lanes(lanes);                                                                                     \
    }

#define ROWS_KERNEL(name, load, term)                                                                                  \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims) {  \
        ROWS_LOOP(load, 1, term)                                                                                       \
    }

#define SCALED_ROWS_KERNEL(name, load, term)                                                                           \
    static void name(float *out, const float *query, const void *rows, size_t stride, size_t n_rows, size_t n_dims,    \
                     const float *scales) {                                                                            \
        ROWS_LOOP(load, scales[i], term)                                                                               \
    }

ROWS_KERNEL(dot_f32, load_f32, q *x)
ROWS_KERNEL(dot_f16, load_f16, q *x)
ROWS_KERNEL(dot_bf16, load_bf16, q *x)
ROWS_KERNEL(dot_i8, load_i8, q *x)
ROWS_KERNEL(l2_f32, load_f32, (q - x) * (q - x))
SCALED_ROWS_KERNEL(l2_f16, load_f16, (q - x) * (q - x))
SCALED_ROWS_KERNEL(l2_i8, load_i8, (q - x) * (q - x))

static double sum_squares(const float *x, size_t n) {
    double lanes[8] = {0};
    for (size_t d = 0; d < n; d++)
        lanes[d % 8] += (double)x[d] * (double)x[d];
    for (size_t half = 4; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

static void f32_to_f16(uint16_t *out, const float *in, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = thr_half_from_f32(in[i]);
}

static void f16_to_f32(float *out, const uint16_t *in, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = thr_half_to_f32(in[i]);
}

/* ------------------------------------------------------------------------------------------- plane codes */

static void quantise(uint8_t *out, const float *x, size_t n, float scale, uint32_t bits) {
    int32_t half = 1 << (bits - 1);
    memset(out, 0, (n + 7) / 8 * bits);
    for (size_t d = 0; d < n; d++) {
        float cell = floorf(x[d] * scale);
        int32_t u = cell < (float)-half ? 0 : cell > (float)(half - 1) ? 2 * half - 1 : (int32_t)cell + half;
        for (uint32_t p = 0; p < bits; p++)
            out[d / 8 * bits + p] |= (uint8_t)((u >> (bits - 1 - p) & 1) << d % 8);
    }
}

static void code_products(float *products, const float *x, size_t n, float scale, uint32_t bits, uint32_t lead) {
    const int32_t half = 1 << (bits - 1);
    float lanes[16] = {0}, lead_lanes[16] = {0};
    for (size_t d = 0; d < n; d++) {
        float y = x[d] * scale, cell = floorf(y);
        int32_t u = cell < (float)-half ? 0 : cell > (float)(half - 1) ? 2 * half - 1 : (int32_t)cell + half;
        lanes[d % 16] += y * (float)(2 * u + 1 - 2 * half);
        lead_lanes[d % 16] += y * (float)(2 * (u >> (bits - lead)) + 1 - (1 << lead));
    }
    products[0] = add_lanes(lanes);
    products[1] = add_lanes(lead_lanes);
}

/* XFBQ (10), one (item plane, query plane) pair at a time. */
static void distance_xor(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part) {
    const uint32_t planes = part->item_bits;
    for (size_t b = 0; b < n_blocks; b++, blocks += (size_t)ITEMS * planes * part->n_rows, distances += ITEMS)
        for (size_t item = 0; item < ITEMS; item++) {
            uint32_t sum = 0;
            for (uint32_t r = 0; r < part->n_rows; r++)
                for (uint32_t i = 0; i < planes; i++)
                    for (uint32_t j = 0; j < part->bits; j++) {
                        uint32_t x = blocks[((size_t)r * planes + i) * ITEMS + item];
                        uint32_t q = part->planes[r * part->bits + j] & 0xff;
                        sum += (uint32_t)__builtin_popcount(x ^ q) << (planes - 1 - i + part->bits - 1 - j);
                    }
            distances[item] = sum;
        }
}

static void distance_table(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part) {
    const uint32_t planes = part->item_bits;
    for (size_t b = 0; b < n_blocks; b++, blocks += (size_t)ITEMS * planes * part->n_rows, distances += ITEMS)
        for (size_t item = 0; item < ITEMS; item++) {
            uint32_t sum = 0;
            for (uint32_t r = 0; r < part->n_rows; r++)
                for (uint32_t i = 0; i < planes; i++) {
                    uint32_t x = blocks[((size_t)r * planes + i) * ITEMS + item];
                    const uint8_t *table = part->nibbles + (size_t)32 * r;
                    sum += (uint32_t)(table[x & 15] + table[16 + (x >> 4)]) << (planes - 1 - i);
                }
            distances[item] = sum;
        }
}

static void distance_tables(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                            const thr_query_part *const *parts, size_t n_parts) {
    for (size_t i = 0; i < n_parts; i++)
        distance_table(distances[i], blocks, n_blocks, parts[i]);
}

static void distance_tile(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                          const thr_query_tile *tile) {
    const uint32_t planes = tile->item_bits;
    const int32_t times = tile->bits == 8 ? 2 : 1, rest = tile->bits == 8; /* e_d = times * digit + rest */
    for (size_t q = 0; q < tile->n_queries; q++)
        for (size_t i = 0; i < n_blocks * ITEMS; i++) {
            const uint8_t *item = blocks + i / ITEMS * ITEMS * planes * tile->n_rows + i % ITEMS;
            uint32_t sum = 0; /* sum of u_d e_d, modulo 2^32 */
            for (size_t d = 0; d < (size_t)8 * tile->n_rows; d++) {
                uint32_t u = 0;
                for (size_t p = 0; p < planes; p++) {
                    const uint32_t byte = item[(d / 8 * planes + p) * ITEMS];
                    u = 2 * u + (byte >> d % 8 & 1);
                }
                const int8_t digit =
                    tile->digits[32 * (q / 4 * tile->n_rows + d / 8) + 4 * (q % 4) + d % 8 / 4 * 16 + d % 4];
                sum += u * (uint32_t)(times * digit + rest);
            }
            distances[q * stride + i] = tile->bases[q] - sum;
        }
}

static void code_squares(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims, uint32_t bits) {
    const size_t n_rows = (n_dims + 7) / 8;
    const uint32_t top = (1u << bits) - 1;
    for (size_t b = 0; b < n_blocks; b++, blocks += ITEMS * bits * n_rows, squares += ITEMS)
        for (size_t item = 0; item < ITEMS; item++) {
            uint32_t sum = 0;
            for (size_t r = 0; r < n_rows; r++)
                for (uint32_t i = 0; i < bits; i++)
                    for (uint32_t j = i + 1; j < bits; j++) {
                        uint32_t x = blocks[(r * bits + i) * ITEMS + item], y = blocks[(r * bits + j) * ITEMS + item];
                        sum += (uint32_t)__builtin_popcount(x ^ y) << (2 * bits - 2 - i - j);
                    }
            squares[item] = n_dims * top * top - 4 * sum;
        }
}

/* --------------------------------------------------------------------------------------------- screening */

/* total - 2 D in unsigned arithmetic: the result fits 32 bits, 2 D may not. */
static int32_t product_of(int32_t total, uint32_t distance) {
    return (int32_t)((uint32_t)total - 2 * distance);
}

/*
 * The required s = total - 2 D is reduced by 2^-19 of itself, more than all rounding errors here and in
 * screen_cosine, and by 1.
 */
static void block_bounds(int32_t *bounds, const uint32_t *floors, size_t n_blocks, float threshold, int32_t total) {
    for (size_t b = 0; b < n_blocks; b++) {
        float needed = (threshold * sqrtf((float)floors[b])) * (1.0f - 0x1p-19f);
        float slack = ((float)total - needed) * 0.5f;
        slack = slack + fabsf(slack) * 0x1p-22f;
        bounds[b] = slack < 0.0f ? -1 : slack >= 0x1p30f ? INT32_MAX : (int32_t)slack + 1;
    }
}

static void screen_distances(uint64_t *masks, const uint32_t *distances, size_t n_blocks, const int32_t *bounds) {
    for (size_t b = 0; b < n_blocks; b++, distances += ITEMS) {
        masks[b] = 0;
        for (size_t i = 0; i < ITEMS; i++)
            masks[b] |= (uint64_t)((int32_t)distances[i] <= bounds[b]) << i;
    }
}

static uint64_t screen_cosine(float *scores, const uint32_t *distances, const uint32_t *squares, int32_t total,
                              float threshold) {
    uint64_t mask = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        scores[i] = (float)product_of(total, distances[i]) / sqrtf((float)(int32_t)squares[i]);
        mask |= (uint64_t)(scores[i] >= threshold) << i;
    }
    return mask;
}

static uint64_t screen_factors(float *scores, const uint32_t *distances, const float *factors, const float *offsets,
                               const thr_score_line *line) {
    const thr_score_line l = *line; /* a copy, which stores to scores cannot alias */
    uint64_t mask = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        scores[i] = ((float)product_of(l.total, distances[i]) * factors[i]) * l.gain;
        if (offsets != NULL)
            scores[i] -= offsets[i] * l.weight;
        mask |= (uint64_t)(scores[i] >= l.threshold) << i;
    }
    return mask;
}

static uint64_t screen_leads(float *scores, const uint32_t *distances, const uint16_t *numbers, bool offsets,
                             const thr_score_line *line) {
    float wide_factors[ITEMS], wide_offsets[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) {
        wide_factors[i] = thr_bf16_to_f32(numbers[offsets ? 2 * i : i]);
        wide_offsets[i] = offsets ? thr_bf16_to_f32(numbers[2 * i + 1]) : 0;
    }
    return screen_factors(scores, distances, wide_factors, offsets ? wide_offsets : NULL, line);
}

static int32_t rest_product(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                            int32_t digit_sum) {
    int32_t sum = 0;
    for (uint32_t j = 0; j < n_planes; j++)
        for (size_t d = 0; d < 8 * n_rows; d++)
            if ((planes[j * n_rows + d / 8] >> d % 8 & 1) != 0)
                sum += digits[d] * (1 << (n_planes - j));
    return sum - ((1 << n_planes) - 1) * digit_sum;
}

static uint64_t screen_scores(const float *scores, float threshold) {
    uint64_t mask = 0;
    for (size_t i = 0; i < ITEMS; i++)
        mask |= (uint64_t)(scores[i] >= threshold) << i;
    return mask;
}

static uint64_t cosines(float *scores, const float *scales, const float *halves, const thr_cosine_line *line) {
    uint64_t mask = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        scores[i] = thr_kernel_cosine_one(scores[i], scales[i], halves == NULL ? NULL : halves + i, *line);
        mask |= (uint64_t)(scores[i] >= line->near) << i;
    }
    return mask;
}

void thr_kernels_fill_scalar(thr_kernels *kernels) {
#define FILL(name, type) kernels->name = name;
    THR_CODE_KERNEL_LIST(FILL)
#undef FILL
    thr_kernels_fill_scalar_layers(kernels);
    thr_kernels_fill_scalar_postings(kernels);
    thr_kernels_fill_scalar_wide(kernels);
    thr_kernels_fill_scalar_heads(kernels);
}
