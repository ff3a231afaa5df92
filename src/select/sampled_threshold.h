/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_threshold.h - a first threshold from a sample of scores (XFBQ section 4, errata 5).
 */
#ifndef THR_SELECT_SAMPLED_THRESHOLD_H
#define THR_SELECT_SAMPLED_THRESHOLD_H

#include "base/host_device.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The rank in a sample of n_sample of n_all scores that stands for the wanted-th of all, raised by four standard
 * deviations of its count and by four, so that too few survivors are rare.
 */
THR_ANYWHERE double thr_select_sample_rank(double n_sample, uint64_t n_all, uint64_t wanted) {
    const double expected = (double)wanted * n_sample / (double)n_all;
    return ceil(expected + 4 * sqrt(expected) + 4);
}

/*
 * Which of n things in a row, blocks or tiles, is the i-th of n_sampled that are evenly spaced: in the middle of its
 * part, as a sample from the first thing on has too many of the best where things are in order of frequency.
 */
THR_ANYWHERE uint64_t thr_select_sample_place(uint64_t i, uint64_t n_sampled, uint64_t n) {
    return (2 * i + 1) * n / (2 * n_sampled);
}

/*
 * A threshold that about `wanted` of n_all scores reach, judged by a sample of n_sample of them taken anywhere: the
 * lower edge of the histogram bin below that of the score of thr_select_sample_rank. Where too few survive, the caller
 * starts again without a threshold. -INFINITY when the sample is too small to tell.
 */
float thr_select_sampled_threshold(const float *sample, size_t n_sample, uint64_t n_all, uint64_t wanted);

#endif
