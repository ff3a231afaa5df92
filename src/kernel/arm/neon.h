/* SPDX-License-Identifier: Apache-2.0 */
/* neon.h - functions of the files neon_*.c that neon.c puts into the table. */
#ifndef THR_KERNEL_ARM_NEON_H
#define THR_KERNEL_ARM_NEON_H

#include "kernel/kernel.h"

/* neon_codes.c */
void thr_kernel_distance_xor_neon(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                  const thr_query_part *part);
void thr_kernel_distance_table_neon(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,
                                    const thr_query_part *part);
void thr_kernel_distance_tables_neon(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,
                                     const thr_query_part *const *parts, size_t n_parts);
void thr_kernel_code_squares_neon(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,
                                  uint32_t bits);

/* neon_tile.c */
void thr_kernel_distance_tile_neon(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,
                                   const thr_query_tile *tile);

/* neon_rest.c */
int32_t thr_kernel_rest_product_neon(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                                     int32_t digit_sum);

/* quantise and code_products; block_bounds and the screen_ kernels */
void thr_kernels_fill_neon_encode(thr_kernels *kernels);
void thr_kernels_fill_neon_screen(thr_kernels *kernels);

#endif
