/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_query.cuh - a query of a ranking, which one block of threads has.
 *
 * What can be done row by row, its threads do; a sum is one thread's, whose additions wait for each other while what is
 * added has been asked for ahead. So a query costs about as many additions as it has rows, and many queries, of which a
 * multiprocessor has some at once, cost no more than they are read.
 */
#ifndef THR_CUDA_RANK_QUERY_CUH
#define THR_CUDA_RANK_QUERY_CUH

#include "cuda/portable.cuh"
#include "device/rank_ops.h"

static const uint32_t QUERY_THREADS = 128;

struct rank_query {
    uint64_t first; /* row */
    uint32_t n, number;
};

__device__ __forceinline__ rank_query query_of(const thr_rank_queries &queries, uint32_t place) {
    const uint32_t number = queries.listed[place];
    const uint64_t first = queries.offsets[number];
    return {first, (uint32_t)(queries.offsets[number + 1] - first), number};
}

__device__ __forceinline__ double weight_of(const thr_rank_queries &queries, const rank_query &query, uint32_t u) {
    return queries.weights == nullptr ? 1.0 : queries.weights[query.first + u];
}

/* One thread's: from the first number to the last. */
__device__ __forceinline__ double add_up(const double *numbers, uint32_t n) {
    double sum = 0;
#pragma unroll 8
    for (uint32_t i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}

#endif
