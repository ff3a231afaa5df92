/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - the table of leaf kernels: all hot functions and no others.
 *
 * scalar.c and scalar_*.c fill every slot and are the specification; files of x86/ and arm/ overwrite slots with
 * faster versions. A slot gives the same bits at every level: integers are exact; floats are added in the order stated
 * here, each operation correctly rounded, nothing contracted. kcheck tests every slot for that.
 *
 * Kernels take whole blocks of 64 items (base/blocks.h) and may read all of them; they write exactly the stated output.
 */
#pragma once

#include "base/minmax.h"
#include "kernel/heads.h"
#include "kernel/layers.h"
#include "kernel/postings.h"
#include "kernel/wide.h"

#include <thresher/context.h>

/*
 * One to four bits of a query code in the layouts of the distance kernels. A query of more bits has two parts: with v
 * = 16 hi + lo, D(v) = 16 D(hi) + D(lo).
 *
 * For each dimension d, the part holds an integer v_d < 2^bits; its planes are the binary digits of v_d, plane 0 the
 * most significant.
 */
typedef struct thr_query_part {
    uint32_t bits;      /* 1 to 4 */
    uint32_t item_bits; /* 1 to 8 */
    uint32_t n_rows;    /* ceil(n_dims / 8) */
    /* Row r, plane j, its byte repeated four times: planes[r * bits + j]. */
    const uint32_t *planes;
    /*
     * Row r, low then high half: 32 bytes at 32 * r. Entry m of a half is the sum over its 4 dimensions of v_d, or of
     * 2^bits - 1 - v_d if the bit of m is set: the XOR distance of m to the part, at most 60. 64-byte aligned.
     */
    const uint8_t *nibbles;
    /*
     * Rows 3t to 3t + 2, four tables of 64 entries at 256 * t: the same sums over dimensions 0-5 of each row, then
     * over the six dimensions 6-7 of all three rows. Rows after the last one count as 0. 64-byte aligned.
     */
    const uint8_t *sextets;
} thr_query_part;

/*
 * Several queries of 1 to 8 bits as signed bytes, four interleaved, for distance_tile.
 *
 * With u_d the integer in an item's planes in dimension d, v_d that of a query and e_d = 2 v_d + 1 - 2^bits its odd
 * integer,
 *   D = (2^item_bits - 1) sum of v_d - sum of u_d e_d.
 * A digit is e_d, except for 8-bit queries, where e_d does not fit: (e_d - 1) / 2.
 */
typedef struct thr_query_tile {
    uint32_t n_queries;
    uint32_t bits;      /* 1 to 8, of every query */
    uint32_t item_bits; /* 1 to 8 */
    uint32_t n_rows;    /* ceil(n_dims / 8) */
    /*
     * Query q, dimension 8 r + 4 h + i: digits[32 * (q / 4 * n_rows + r) + 16 * h + 4 * (q % 4) + i]; 0 after the
     * last dimension and after the last query. 64-byte aligned.
     */
    const int8_t *digits;
    const uint32_t *bases; /* (2^item_bits - 1) sum of v_d of every query */
} thr_query_tile;

/* Rows of numbers times one float query: out[i] for the row at rows + i * stride. Rows may be unaligned. */
typedef void (*thr_rows_kernel)(float *out, const float *query, const void *rows, size_t stride, size_t n_rows,
                                size_t n_dims);

/* The same for rows that are multiplied by a scale each. */
typedef void (*thr_scaled_rows_kernel)(float *out, const float *query, const void *rows, size_t stride, size_t n_rows,
                                       size_t n_dims, const float *scales);

typedef void (*thr_distance_kernel)(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part);

/* The same for several parts with the same item_bits and n_rows: D of part i goes to distances[i]. */
typedef void (*thr_tables_kernel)(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                  const thr_query_part *const *parts, size_t n_parts);

/* D of query q and item i, counted over all blocks, goes to distances[q * stride + i]. */
typedef void (*thr_tile_kernel)(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                const thr_query_tile *tile);

/*
 * Slots and their types. One list generates the table, the check that it is complete, and kcheck. Slots for searches
 * over codes are here, those for training are in layers.h, for posting lists in postings.h, for ranking models in
 * wide.h, for heads in heads.h.
 *
 * The distance kernels are three ways to compute D of XFBQ (10) for every item: the sum over item planes i and part
 * planes j of popcount(x_i XOR q_j) 2^(i' + j'), with i' and j' counted from the least significant plane.
 */
#define THR_CODE_KERNEL_LIST(X)                                                                                        \
    /* sum of q[d] * x[d]: 16 partial sums by d mod 16, each in order of d, then added in halves 8, 4, 2, 1 */         \
    X(dot_f32, thr_rows_kernel)                                                                                        \
    X(dot_f16, thr_rows_kernel)                                                                                        \
    X(dot_bf16, thr_rows_kernel)                                                                                       \
    X(dot_i8, thr_rows_kernel)                                                                                         \
    /* sum of (q[d] - x[d])^2 in the same order */                                                                     \
    X(l2_f32, thr_rows_kernel)                                                                                         \
    /* sum of (q[d] - scale * x[d])^2 likewise */                                                                      \
    X(l2_f16, thr_scaled_rows_kernel)                                                                                  \
    X(l2_i8, thr_scaled_rows_kernel)                                                                                   \
    X(sum_squares, thr_sum_squares_kernel)                                                                             \
    X(f32_to_f16, thr_f32_to_f16_kernel)                                                                               \
    X(f16_to_f32, thr_f16_to_f32_kernel)                                                                               \
    X(quantise, thr_quantise_kernel)                                                                                   \
    X(code_products, thr_code_products_kernel)                                                                         \
    X(distance_xor, thr_distance_kernel)   /* XOR and popcount */                                                      \
    X(distance_table, thr_distance_kernel) /* look-ups in registers */                                                 \
    X(distance_tables, thr_tables_kernel)  /* the same for several parts at once */                                    \
    X(distance_tile, thr_tile_kernel)      /* products of bytes, many queries */                                       \
    X(code_squares, thr_code_squares_kernel)                                                                           \
    X(block_bounds, thr_block_bounds_kernel)                                                                           \
    X(screen_distances, thr_screen_distances_kernel)                                                                   \
    X(screen_cosine, thr_screen_cosine_kernel)                                                                         \
    X(screen_factors, thr_screen_factors_kernel)                                                                       \
    X(screen_leads, thr_screen_leads_kernel)                                                                           \
    X(rest_product, thr_rest_product_kernel)                                                                           \
    X(screen_scores, thr_screen_scores_kernel)                                                                         \
    X(cosines, thr_cosines_kernel)

#define THR_KERNEL_LIST(X)                                                                                             \
    THR_CODE_KERNEL_LIST(X)                                                                                            \
    THR_LAYER_KERNEL_LIST(X) THR_POSTING_KERNEL_LIST(X) THR_WIDE_KERNEL_LIST(X) THR_HEAD_KERNEL_LIST(X)

/*
 * Sum of squares in double: 8 partial sums by d mod 8, then halves 4, 2, 1. The result is finite exactly if all x
 * are.
 */
typedef double (*thr_sum_squares_kernel)(const float *x, size_t n);

typedef void (*thr_f32_to_f16_kernel)(uint16_t *out, const float *in, size_t n);
typedef void (*thr_f16_to_f32_kernel)(float *out, const uint16_t *in, size_t n);

/*
 * XFBQ (3): out[r * bits + p] is plane p of the 8 dimensions of row r. The cell of x is u = floor(x * scale), clamped
 * to [-2^(bits-1), 2^(bits-1) - 1], plus 2^(bits-1). n finite floats, ceil(n / 8) rows.
 */
typedef void (*thr_quantise_kernel)(uint8_t *out, const float *x, size_t n, float scale, uint32_t bits);

/*
 * The products of the scaled vector y_d = x[d] * scale with the integers b = 2 u + 1 - 2^bits of its own code (u the
 * cell of quantise): products[0] = sum of y b; products[1] = the same for the leading `lead` planes (at most bits), b
 * = 2 (u >> (bits - lead)) + 1 - 2^lead, or 0 if lead is 0. Added in the order of dot_f32. No term is negative.
 */
typedef void (*thr_code_products_kernel)(float *products, const float *x, size_t n, float scale, uint32_t bits,
                                         uint32_t lead);

/*
 * |b|^2 of every item's integer code: n_dims (2^B - 1)^2 - 4 sum over plane pairs i < j of popcount(p_i XOR p_j)
 * 2^(i'+j').
 */
typedef void (*thr_code_squares_kernel)(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,
                                        uint32_t bits);

/*
 * An upper bound of the distance at which an item can reach a cosine score: an item with |b|^2 >= floors[i] and
 * (total - 2 D) / |b| >= threshold has D <= bounds[i]. The bound may be too large by a few parts in a million, but
 * never too small; threshold > 0.
 */
typedef void (*thr_block_bounds_kernel)(int32_t *bounds, const uint32_t *floors, size_t n_blocks, float threshold,
                                        int32_t total);

/* Bit i of masks[b]: distance i of block b <= bounds[b]. */
typedef void (*thr_screen_distances_kernel)(uint64_t *masks, const uint32_t *distances, size_t n_blocks,
                                            const int32_t *bounds);

/*
 * scores[i] = (float)(total - 2 distances[i]) / sqrt((float)squares[i]) for one block; returns bits scores[i] >=
 * threshold.
 */
typedef uint64_t (*thr_screen_cosine_kernel)(float *scores, const uint32_t *distances, const uint32_t *squares,
                                             int32_t total, float threshold);

/* A query's parameters for converting distances to scores. */
typedef struct thr_score_line {
    int32_t total;
    float gain, weight, threshold;
} thr_score_line;

/*
 * scores[i] = ((float)(total - 2 distances[i]) * factors[i]) * gain - offsets[i] * weight for one block (offsets NULL:
 * 0); returns bits scores[i] >= threshold.
 */
typedef uint64_t (*thr_screen_factors_kernel)(float *scores, const uint32_t *distances, const float *factors,
                                              const float *offsets, const thr_score_line *line);

/*
 * The same for nested codes with bfloat16 numbers, the upper halves of float32: numbers[i] is an item's factor, or
 * with offsets numbers[2 i] is its factor and numbers[2 i + 1] its offset.
 */
typedef uint64_t (*thr_screen_leads_kernel)(float *scores, const uint32_t *distances, const uint16_t *numbers,
                                            bool offsets, const thr_score_line *line);

/*
 * One item's planes after the leading ones (nested.h) times a query of odd 7-bit integers y_d: sum of v_d y_d with v
 * = 2u + 1 - 2^n_planes and u the integer in the planes, the most significant first. planes: n_planes (1 to 7) planes
 * of n_rows bytes, bit i of byte r is dimension 8 r + i; up to 7 bytes after the last may be read. digits: y, 64-byte
 * aligned, padded with zeros to a multiple of 64; digit_sum: their sum.
 */
typedef int32_t (*thr_rest_product_kernel)(const uint8_t *planes, uint32_t n_planes, size_t n_rows,
                                           const int8_t *digits, int32_t digit_sum);

/* Bits scores[i] >= threshold for 64 scores. */
typedef uint64_t (*thr_screen_scores_kernel)(const float *scores, float threshold);

/* A query's parameters for converting products with kept vectors to cosines. */
typedef struct thr_cosine_line {
    float weight, bias, near;
} thr_cosine_line;

/*
 * Products with 64 kept vectors to cosines, in place: scores[i] * scales[i]; with halves less halves[i], times weight
 * plus bias, and 0 where halves[i] < 0; at least -1 (thr_kernel_cosine_one). Returns bits scores[i] >= near.
 */
typedef uint64_t (*thr_cosines_kernel)(float *scores, const float *scales, const float *halves,
                                       const thr_cosine_line *line);

/* One of them. half NULL: the kept vector has none. */
static inline float thr_kernel_cosine_one(float product, float scale, const float *half, thr_cosine_line line) {
    float cosine = product * scale;
    if (half != NULL)
        cosine = *half < 0 ? 0 : (cosine - *half) * line.weight + line.bias;
    return THR_MAX(-1, cosine);
}

typedef struct thr_kernels {
#define THR_KERNEL_SLOT(name, type) type name;
    THR_KERNEL_LIST(THR_KERNEL_SLOT)
#undef THR_KERNEL_SLOT
} thr_kernels;

enum { THR_ISA_LAST = THR_ISA_AVX512_VNNI };

/* Return whether this build contains a level. A CPU supports all levels from scalar to its best one. */
bool thr_kernel_isa_is_built(thr_isa isa);

/* Return the best level of this CPU, and whether it supports a level. */
thr_isa thr_kernel_isa_best(void);
bool thr_kernel_isa_has(thr_isa isa);

/* Return the lower of two levels that this build contains; their numbers are not in order. */
thr_isa thr_kernel_isa_lower(thr_isa a, thr_isa b);

/*
 * Return the table of a level, filled from scalar upward and constant afterwards. For a level that this CPU lacks,
 * that of its best level; for one that is not built, the scalar table.
 */
const thr_kernels *thr_kernels_get(thr_isa isa);

/* Each level overwrites its faster slots. Separate functions fill the slots of layers.h and postings.h. */
void thr_kernels_fill_scalar(thr_kernels *kernels);
void thr_kernels_fill_scalar_layers(thr_kernels *kernels);
void thr_kernels_fill_scalar_postings(thr_kernels *kernels);
void thr_kernels_fill_scalar_wide(thr_kernels *kernels);
void thr_kernels_fill_scalar_heads(thr_kernels *kernels);
void thr_kernels_fill_avx2(thr_kernels *kernels);
void thr_kernels_fill_avx2_layers(thr_kernels *kernels);
void thr_kernels_fill_avx2_screen(thr_kernels *kernels);
void thr_kernels_fill_avx2_postings(thr_kernels *kernels);
void thr_kernels_fill_avx2_wide(thr_kernels *kernels);
void thr_kernels_fill_avx2_heads(thr_kernels *kernels);
void thr_kernels_fill_avx512_vnni(thr_kernels *kernels);
void thr_kernels_fill_avx512(thr_kernels *kernels);
void thr_kernels_fill_avx512_layers(thr_kernels *kernels);
void thr_kernels_fill_avx512_screen(thr_kernels *kernels);
void thr_kernels_fill_avx512_postings(thr_kernels *kernels);
void thr_kernels_fill_avx512_wide(thr_kernels *kernels);
void thr_kernels_fill_avx512_heads(thr_kernels *kernels);
void thr_kernels_fill_neon(thr_kernels *kernels);
void thr_kernels_fill_neon_layers(thr_kernels *kernels);
void thr_kernels_fill_neon_postings(thr_kernels *kernels);
void thr_kernels_fill_neon_wide(thr_kernels *kernels);
void thr_kernels_fill_neon_heads(thr_kernels *kernels);
void thr_kernels_fill_neon_dot(thr_kernels *kernels);
