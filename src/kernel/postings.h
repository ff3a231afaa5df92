/* SPDX-License-Identifier: Apache-2.0 */
/* postings.h - the slots that posting lists are added up with: whole numbers, so that no order matters. */
#ifndef THR_KERNEL_POSTINGS_H
#define THR_KERNEL_POSTINGS_H

#include <thresher/context.h>

#define THR_POSTING_KERNEL_LIST(X)                                                                                     \
    X(add_bitmaps, thr_add_bitmaps_kernel)                                                                             \
    X(add_run, thr_add_run_kernel)                                                                                     \
    X(screen_sums, thr_screen_sums_kernel)

/* sums[i] += weights[b], for i < 256 and every b < n with bit i % 8 of bitmaps[b][i / 8]. No sum overflows. */
typedef void (*thr_add_bitmaps_kernel)(int32_t *sums, const uint8_t *const *bitmaps, const int32_t *weights, size_t n);

/* sums[i] += weight, for i < n. No sum overflows. */
typedef void (*thr_add_run_kernel)(int32_t *sums, size_t n, int32_t weight);

/* Bit i: sums[i] >= least, for i < 64. */
typedef uint64_t (*thr_screen_sums_kernel)(const int32_t *sums, int32_t least);

#endif
