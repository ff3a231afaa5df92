/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_products.h - products of feature rows, dense or sparse, with a vector from the left or the right, in double.
 *
 * Dense rows use the kernels (kernel/wide.h). A sparse row's product adds in the order of columns, and sums by feature
 * add in the order of rows: the same bits on every machine.
 */
#pragma once

#include <thresher/ranking.h>

#include "kernel/kernel.h"

/* out[i] = x_(first + i) v for n rows; v has n_features numbers. */
void thr_rank_rows_times(const thr_kernels *kernels, const thr_ranking_view *view, uint64_t first, uint32_t n,
                         const double *v, double *out);

/* sums += s[i] x_(first + i), i = 0, 1, ..., n - 1. */
void thr_rank_rows_add(const thr_kernels *kernels, const thr_ranking_view *view, uint64_t first, uint32_t n,
                       const double *s, double *sums);

/* The number of stored values of n rows; dense: n x n_features. */
uint64_t thr_rank_rows_values(const thr_ranking_view *view, uint64_t first, uint64_t n);
