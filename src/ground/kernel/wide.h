/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.h - kernel slots for training ranking models: products of float rows, accumulated in double.
 *
 * A float is converted to double exactly; a multiplication followed by an addition is two operations. Rows are
 * contiguous, n_dims finite floats each.
 */
#pragma once

#include <thresher/context.h>

#define THR_WIDE_KERNEL_LIST(X)                                                                                        \
    X(times_wide, thr_times_wide_kernel)                                                                               \
    X(add_wide, thr_add_wide_kernel)

/* out[i] = sum of row_i[d] v[d]: 8 partial sums by d mod 8, each in order of d, then added in halves 4, 2, 1. */
typedef void (*thr_times_wide_kernel)(double *out, const double *v, const float *rows, size_t n_rows, size_t n_dims);

/* sums[d] = ((sums[d] + s[0] row_0[d]) + s[1] row_1[d]) + ..., in order of rows. sums overlaps neither. */
typedef void (*thr_add_wide_kernel)(double *sums, const double *s, const float *rows, size_t n_rows, size_t n_dims);
