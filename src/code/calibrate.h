/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.h - the range of codes of so many bits, searched on sample rows. */
#ifndef THR_CODE_CALIBRATE_H
#define THR_CODE_CALIBRATE_H

#include <thresher/codes.h>

enum { THR_CALIBRATE_BINS = 1 << 16 };

/* Mean cosine between n_rows (at least 1) unit vectors and their codes of that range and number of bits. */
double thr_code_mean_cosine(const float *rows, size_t n_rows, uint32_t n_dims, float range, uint32_t bits);

/* For each number of bits the percentile of |component| that keeps most of the angle. histogram: THR_CALIBRATE_BINS. */
void thr_code_calibrate(const float *rows, size_t n_rows, uint32_t n_dims, uint32_t *histogram,
                        float ranges[THR_MAX_BITS]);

/*
 * The mean logarithm of the rank, from 1, that the ten nearest rows have in the order by one-bit codes, over n_queries
 * of the rows (at most 1,024 of them are looked at) as queries. 0 for ten rows or less.
 */
double thr_code_rank_cost(thr_context *context, const float *rows, size_t n_rows, uint32_t n_dims, size_t n_queries);

#endif
