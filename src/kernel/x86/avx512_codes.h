/* SPDX-License-Identifier: Apache-2.0 */
/* avx512_codes.h - the plane code kernels of this level, defined in avx512_codes.c, avx512_table.c and avx512_tile.c. */
#ifndef THR_KERNEL_X86_AVX512_CODES_H
#define THR_KERNEL_X86_AVX512_CODES_H

#include "kernel/kernel.h"

/* CASE for every number of planes, in a switch: each is compiled with its own constant. */
#define THR_EACH_PLANES(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)

void thr_distance_xor_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part);
void thr_distance_table_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks, const thr_query_part *part);
void thr_distance_tables_avx512(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                const thr_query_part *const *parts, size_t n_parts);
void thr_distance_tile_avx512(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                              const thr_query_tile *tile);
void thr_code_squares_avx512(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims, uint32_t bits);

#endif
