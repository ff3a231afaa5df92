/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.h - the slots that ranking models are learned with: products of rows of floats, added up in double.
 *
 * A float becomes a double, which is exact; a multiplication and the addition behind it are two operations. Rows lie
 * densely, n_dims finite floats each.
 */
#ifndef THR_KERNEL_WIDE_H
#define THR_KERNEL_WIDE_H

#include <thresher/context.h>

#define THR_WIDE_KERNEL_LIST(X)                                                                                        \
    X(times_wide, thr_times_wide_kernel)                                                                               \
    X(add_wide, thr_add_wide_kernel)

/* out[i] = sum of row_i[d] v[d]: 8 partial sums by d mod 8, each in order of d, then added in halves 4, 2, 1. */
typedef void (*thr_times_wide_kernel)(double *out, const double *v, const float *rows, size_t n_rows, size_t n_dims);

/* sums[d] = ((sums[d] + s[0] row_0[d]) + s[1] row_1[d]) + ..., in order of rows. sums overlaps neither. */
typedef void (*thr_add_wide_kernel)(double *sums, const double *s, const float *rows, size_t n_rows, size_t n_dims);

#endif
