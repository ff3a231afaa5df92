/* SPDX-License-Identifier: Apache-2.0 */
/* postings.h - kernel slots for adding up posting lists: integers, so any order gives the same sums. */
#pragma once

#include <thresher/context.h>

#define THR_POSTING_KERNEL_LIST(X)                                                                                     \
    X(add_bitmaps, thr_add_bitmaps_kernel)                                                                             \
    X(add_run, thr_add_run_kernel)                                                                                     \
    X(screen_sums, thr_screen_sums_kernel)                                                                             \
    X(screen_values, thr_screen_values_kernel)

/* Sums wrap around as in vector instructions. Those of valid lists fit 32 bits; those of damaged ones may not. */
static inline int32_t thr_add_wrapping(int32_t sum, int32_t weight) {
    return (int32_t)((uint32_t)sum + (uint32_t)weight);
}

/* sums[i] += weights[b], for i < 256 and every b < n with bit i % 8 of bitmaps[b][i / 8], wrapping around. */
typedef void (*thr_add_bitmaps_kernel)(int32_t *sums, const uint8_t *const *bitmaps, const int32_t *weights, size_t n);

/* sums[i] += weight, for i < n, wrapping around. */
typedef void (*thr_add_run_kernel)(int32_t *sums, size_t n, int32_t weight);

/* Bit i: sums[i] >= least, for i < 64. */
typedef uint64_t (*thr_screen_sums_kernel)(const int32_t *sums, int32_t least);

/* Parameters of an item's value: (score * gain + bias) + sum * unit. */
typedef struct thr_value_line {
    float gain, bias, unit;
} thr_value_line;

/*
 * scores[i] = value, and bit i: value >= threshold, for i < 64. value is the result of line for scores[i] and
 * sums[i], times multipliers[i], plus offsets[i]; both arrays may be NULL. Each operation is rounded, in this order;
 * a sum is converted to float first. No result is NaN.
 */
typedef uint64_t (*thr_screen_values_kernel)(float *scores, const int32_t *sums, const thr_value_line *line,
                                             const float *multipliers, const float *offsets, float threshold);
