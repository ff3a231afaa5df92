/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum_tree.h - the order in which the sums of chunks are added: a tree over all chunks, in whichever part they are.
 *
 *     for step = 1, 2, 4, ...: sum[c] += sum[c + step] for every multiple c of 2 step with c + step < n_chunks
 *
 * After that sum[0] is the sum of all. A part does the additions that lie within its chunks. A few sums remain,
 * each at the first chunk that it covers. A device (cuda/rank/add.cu) adds in the same order.
 */
#pragma once

#include <stddef.h>

/* Chunks first to end - 1, which a part has, of n_chunks. */
typedef struct thr_rank_range {
    size_t first, end, n_chunks;
} thr_rank_range;

/*
 * The number of chunks that a sum at chunk c covers after the additions within the range: a power of two, which may
 * reach beyond n_chunks. The next sum is at c plus that.
 */
static inline size_t thr_rank_covers(const thr_rank_range *range, size_t c) {
    size_t n = 1;
    while (n < range->n_chunks && c % (2 * n) == 0 && (c + 2 * n <= range->end || range->end == range->n_chunks))
        n *= 2;
    return n;
}

/* Add the sum at chunk c + step, if there is one, to that at c; each has `size` numbers. sums begin at chunk first. */
static inline void thr_rank_add_chunk(const thr_rank_range *range, double *sums, size_t size, size_t c, size_t step) {
    double *sum = sums + (c - range->first) * size;
    for (size_t d = 0; d < size && c + step < range->n_chunks; d++)
        sum[d] += sum[step * size + d];
}

/*
 * Add sums of chunks in place, as far as the range contains both operands. sums: (end - first) x size numbers, from
 * chunk first on.
 */
static inline void thr_rank_add_chunks(const thr_rank_range *range, double *sums, size_t size) {
    for (size_t step = 1; step < range->n_chunks; step *= 2)
        for (size_t c = (range->first + 2 * step - 1) / (2 * step) * (2 * step); c < range->end; c += 2 * step)
            if (thr_rank_covers(range, c) > step)
                thr_rank_add_chunk(range, sums, size, c, step);
}
