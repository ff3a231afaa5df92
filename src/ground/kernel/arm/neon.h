/* SPDX-License-Identifier: Apache-2.0 */
/* neon.h - functions of the files neon_*.c that neon.c puts into the table. */
#pragma once

#include "kernel/level_codes.h"

/* neon_rest.c */
int32_t thr_kernel_rest_product_neon(const uint8_t *planes, uint32_t n_planes, size_t n_rows, const int8_t *digits,
                                     int32_t digit_sum);

/* quantise and code_products; block_bounds and the screen_ kernels */
void thr_kernels_fill_neon_encode(thr_kernels *kernels);
void thr_kernels_fill_neon_screen(thr_kernels *kernels);
