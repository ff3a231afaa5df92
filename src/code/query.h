/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - a query's code in the forms the distance kernels read.
 */
#ifndef THR_CODE_QUERY_H
#define THR_CODE_QUERY_H

#include "kernel/kernel.h"

#include <thresher/codes.h>

typedef struct thr_query_code {
    thr_query_part parts[2]; /* the low four bits, then the others */
    uint32_t n_parts;
    uint32_t shifts[2]; /* D = sum of D(part) << shift */
    uint32_t n_dims, item_bits, query_bits;
    const uint8_t *cells; /* of every dimension the number v_d < 2^query_bits; 8 a row, 0 past the last dimension */
    int32_t total;        /* n_dims (2^Bx - 1)(2^By - 1): inner product of the codes = total - 2 D, XFBQ (7) */
    float gain;           /* 1 / |query code| */
} thr_query_code;

/* Bytes of memory a query code of so many dimensions needs. */
size_t thr_code_query_size(uint32_t n_dims);

/* Bytes of memory its cells alone need. */
size_t thr_code_query_cells_size(uint32_t n_dims);

/*
 * Make the code of a finite query of length norm > 0 in memory (64-byte aligned, thr_code_query_size bytes), which
 * must live as long as the code. item_bits: planes of the items it will meet, the quantiser's or fewer leading ones.
 */
void thr_code_query_make(thr_query_code *code, const thr_quantiser *quantiser, uint32_t item_bits, const float *query,
                         double norm, uint32_t query_bits, void *memory);

/*
 * The same without the parts, for queries that only a group's tile is made of (group.h). cells has
 * thr_code_query_cells_size bytes.
 */
void thr_code_query_make_cells(thr_query_code *code, const thr_quantiser *quantiser, uint32_t item_bits,
                               const float *query, double norm, uint32_t query_bits, uint8_t *cells);

/* Distances of n_blocks blocks, 64 each, by the table kernel or by XOR. scratch has n_blocks * 64 places. */
void thr_code_query_distances(const thr_query_code *code, thr_distance_kernel kernel, const uint8_t *blocks,
                              size_t n_blocks, uint32_t *distances, uint32_t *scratch);

#endif
