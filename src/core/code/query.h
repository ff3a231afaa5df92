/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - the code of a query, in the layouts that the distance kernels read.
 */
#pragma once

#include "base/minmax.h"
#include "kernel/kernel.h"

#include "code/quantiser.h"

typedef struct thr_query_code {
    thr_query_part parts[2]; /* the low four bits, then the others */
    uint32_t n_parts;
    uint32_t shifts[2]; /* D = sum of D(part) << shift */
    uint32_t n_dims, item_bits, query_bits;
    const uint8_t *levels; /* v_d < 2^query_bits of each dimension; 8 a row, 0 after the last dimension */
    int32_t total;         /* n_dims (2^Bx - 1)(2^By - 1): inner product of the codes = total - 2 D, XFBQ (7) */
    float gain;            /* 1 / |query code| */
} thr_query_code;

/* floor(x), clamped to -half ... half - 1. */
static inline int thr_code_cell(float x, float half) {
    const float inside = !(x > -half) ? -half : THR_MIN(half - 1, x); /* of NaN the first */
    const int cell = (int)inside;
    return cell - (inside < (float)cell);
}

/* Return the bytes of memory of a query code. */
size_t thr_code_query_size(uint32_t n_dims);

/* Return the bytes of memory of the levels alone. */
size_t thr_code_query_levels_size(uint32_t n_dims);

/*
 * Make the code of a finite query of length norm > 0 in memory (64-byte aligned, thr_code_query_size bytes), which
 * must outlive the code. item_bits: planes of the items it is compared with, the quantiser's or fewer leading ones.
 */
void thr_code_query_make(thr_query_code *code, const thr_quantiser *quantiser, uint32_t item_bits, const float *query,
                         double norm, uint32_t query_bits, void *memory);

/* Make only the levels, for queries used in a group's tile (group.h). levels has thr_code_query_levels_size bytes. */
void thr_code_query_make_levels(thr_query_code *code, const thr_quantiser *quantiser, uint32_t item_bits,
                                const float *query, double norm, uint32_t query_bits, uint8_t *levels);

/* Compute distances to n_blocks blocks, 64 each, by the table kernel or by XOR. scratch has n_blocks * 64 entries. */
void thr_code_query_distances(const thr_query_code *code, thr_distance_kernel kernel, const uint8_t *blocks,
                              size_t n_blocks, uint32_t *distances, uint32_t *scratch);
