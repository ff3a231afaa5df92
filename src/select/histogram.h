/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - a first threshold from a sample of scores (XFBQ section 4, errata 5).
 */
#ifndef THR_SELECT_HISTOGRAM_H
#define THR_SELECT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/*
 * A threshold that about `wanted` of n_all scores reach, judged by a sample of n_sample of them taken anywhere: the
 * lower edge of the histogram bin below that of the rank's score. The rank is raised by four standard deviations of its
 * count and by four, so that too few survivors are rare (the caller checks, and starts again without a threshold).
 * -INFINITY when the sample is too small to tell.
 */
float thr_sampled_threshold(const float *sample, size_t n_sample, uint64_t n_all, uint64_t wanted);

#endif
