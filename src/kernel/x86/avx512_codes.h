/* SPDX-License-Identifier: Apache-2.0 */
/*
 * avx512_codes.h - the plane code kernels of this level, defined in avx512_codes.c, avx512_table.c and avx512_tile.c.
 */
#ifndef THR_KERNEL_X86_AVX512_CODES_H
#define THR_KERNEL_X86_AVX512_CODES_H

#include "kernel/kernel.h"

void thr_kernel_distance_xor_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part);
void thr_kernel_distance_table_avx512(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                      const thr_query_part *part);
void thr_kernel_distance_tables_avx512(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                       const thr_query_part *const *parts, size_t n_parts);
void thr_kernel_distance_tile_avx512(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                     const thr_query_tile *tile);
void thr_kernel_code_squares_avx512(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,
                                    uint32_t bits);

#endif
