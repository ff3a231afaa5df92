/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_threshold.h - estimate an initial threshold from a sample of scores (XFBQ section 4, errata 5).
 */
#pragma once

#include "base/host_device.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Map rank `wanted` among n_all scores to a rank in a sample of n_sample of them. The result is the expected rank, plus
 * four standard deviations of it and plus four, so that too few survivors are rare.
 */
THR_ANYWHERE double thr_select_sample_rank(double n_sample, uint64_t n_all, uint64_t wanted) {
    const double expected = (double)wanted * n_sample / (double)n_all;
    return ceil(expected + 4 * sqrt(expected) + 4);
}

/*
 * Return the index, among n blocks or tiles, of the i-th of n_sampled evenly spaced ones: the middle of the i-th of
 * n_sampled equal ranges. If items are sorted by frequency, a sample that starts at index 0 has too many of the best.
 */
THR_ANYWHERE uint64_t thr_select_sample_place(uint64_t i, uint64_t n_sampled, uint64_t n) {
    return (2 * i + 1) * n / (2 * n_sampled);
}

/*
 * Return a threshold that about `wanted` of n_all scores are expected to reach, estimated from n_sample scores taken
 * anywhere: the lower edge of the histogram bin below that of the score with rank thr_select_sample_rank. If too few
 * items survive, the caller repeats without a threshold. -INFINITY if the sample is too small.
 */
float thr_select_sampled_threshold(const float *sample, size_t n_sample, uint64_t n_all, uint64_t wanted);
