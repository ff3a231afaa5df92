/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.h - choose the quantisation range for each number of bits from sample rows. */
#pragma once

#include "kernel/kernel.h"

#include "code/quantiser.h"

enum { THR_CALIBRATE_BINS = 1 << 16 };

/*
 * Return the mean cosine between n_rows (at least 1) unit vectors and their codes with this range and number of bits.
 */
double thr_code_mean_cosine(const float *rows, size_t n_rows, uint32_t n_dims, float range, uint32_t bits);

/*
 * For each number of bits, find the percentile of |component| with the highest mean cosine. histogram:
 * THR_CALIBRATE_BINS.
 */
void thr_code_calibrate(const float *rows, size_t n_rows, uint32_t n_dims, uint32_t *histogram,
                        float ranges[THR_MAX_BITS]);

/*
 * Return the mean logarithm of the rank, from 1, of the ten nearest rows in the order by one-bit codes, over
 * n_queries of the rows as queries. Only the first 1,024 rows are used. Returns 0 for ten rows or fewer. signs: scratch
 * memory for the rows used.
 */
double thr_code_rank_cost(const thr_kernels *kernels, const float *rows, float *signs, size_t n_rows, uint32_t n_dims,
                          size_t n_queries);
