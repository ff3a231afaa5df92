/* SPDX-License-Identifier: Apache-2.0 */
#include "select/sampled_threshold.h"

#include <math.h>
#include <string.h>

#include "base/minmax.h"

enum { BINS = 1024 };

float thr_select_sampled_threshold(const float *sample, size_t n_sample, uint64_t n_all, uint64_t wanted) {
    if (n_sample == 0 || wanted >= n_all)
        return -INFINITY;
    const double rank = thr_select_sample_rank((double)n_sample, n_all, wanted);
    if (rank >= (double)n_sample)
        return -INFINITY;
    float low = sample[0], high = sample[0];
    for (size_t i = 1; i < n_sample; i++) {
        low = THR_MIN(sample[i], low);
        high = THR_MAX(sample[i], high);
    }
    const float width = (high - low) / BINS;
    if (!(width > 0) || !isfinite(width))
        return low;
    uint32_t histogram[BINS + 1];
    memset(histogram, 0, sizeof histogram);
    for (size_t i = 0; i < n_sample; i++) {
        const float bin = (sample[i] - low) / width;
        histogram[bin < BINS ? (size_t)bin : BINS]++;
    }
    uint64_t seen = 0;
    for (size_t bin = BINS + 1; bin-- > 0;) {
        seen += histogram[bin];
        if ((double)seen >= rank)
            /* One bin lower, because rounding may have put a score one bin too high. */
            return low + (float)(bin == 0 ? 0 : bin - 1) * width;
    }
    return low;
}
