/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level_codes.h - the plane code kernels of every CPU level that this architecture has: thr_kernel_NAME_LEVEL, in the
 * files LEVEL_codes.c, LEVEL_table.c, LEVEL_tables.c and LEVEL_tile.c.
 */
#pragma once

#include "kernel/kernel.h"

#define THR_CODE_KERNELS_(level)                                                                                       \
    void thr_kernel_distance_xor_##level(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,                  \
                                         const thr_query_part *part);                                                  \
    void thr_kernel_distance_table_##level(uint32_t *distances, const uint8_t *blocks, size_t n_blocks,                \
                                           const thr_query_part *part);                                                \
    void thr_kernel_distance_tables_##level(uint32_t *const *distances, const uint8_t *blocks, size_t n_blocks,        \
                                            const thr_query_part *const *parts, size_t n_parts);                       \
    void thr_kernel_distance_tile_##level(uint32_t *distances, size_t stride, const uint8_t *blocks, size_t n_blocks,  \
                                          const thr_query_tile *tile);                                                 \
    void thr_kernel_code_squares_##level(uint32_t *squares, const uint8_t *blocks, size_t n_blocks, uint32_t n_dims,   \
                                         uint32_t bits);

#if THR_X86
THR_CODE_KERNELS_(avx2)
THR_CODE_KERNELS_(avx512_vnni)
THR_CODE_KERNELS_(avx512)
#elif THR_ARM64
THR_CODE_KERNELS_(neon)
#endif

#define THR_FILL_CODE_KERNELS(kernels, level)                                                                          \
    kernels->distance_xor = thr_kernel_distance_xor_##level;                                                           \
    kernels->distance_table = thr_kernel_distance_table_##level;                                                       \
    kernels->distance_tables = thr_kernel_distance_tables_##level;                                                     \
    kernels->distance_tile = thr_kernel_distance_tile_##level;                                                         \
    kernels->code_squares = thr_kernel_code_squares_##level;
