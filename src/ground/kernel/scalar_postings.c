/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of the kernels of postings.h: plain loops, compiled without vectorisation. */
#include "kernel/kernel.h"

static void add_bitmaps(int32_t *sums, const uint8_t *const *bitmaps, const int32_t *weights, size_t n) {
    for (size_t b = 0; b < n; b++)
        for (size_t i = 0; i < 256; i++)
            if ((bitmaps[b][i / 8] >> i % 8 & 1) != 0)
                sums[i] = thr_add_wrapping(sums[i], weights[b]);
}

static void add_run(int32_t *sums, size_t n, int32_t weight) {
    for (size_t i = 0; i < n; i++)
        sums[i] = thr_add_wrapping(sums[i], weight);
}

static uint64_t screen_sums(const int32_t *sums, int32_t least) {
    uint64_t mask = 0;
    for (size_t i = 0; i < 64; i++)
        mask |= (uint64_t)(sums[i] >= least) << i;
    return mask;
}

static uint64_t screen_values(float *scores, const int32_t *sums, const thr_value_line *line, const float *multipliers,
                              const float *offsets, float threshold) {
    uint64_t mask = 0;
    for (size_t i = 0; i < 64; i++) {
        float value = scores[i] * line->gain + line->bias + (float)sums[i] * line->unit;
        if (multipliers != NULL)
            value *= multipliers[i];
        if (offsets != NULL)
            value += offsets[i];
        scores[i] = value;
        mask |= (uint64_t)(value >= threshold) << i;
    }
    return mask;
}

void thr_kernels_fill_scalar_postings(thr_kernels *kernels) {
    kernels->add_bitmaps = add_bitmaps;
    kernels->add_run = add_run;
    kernels->screen_sums = screen_sums;
    kernels->screen_values = screen_values;
}
