/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.cuh - a query of a ranking, handled by one block.
 *
 * Row-wise work is done by all threads. A sum is computed by one thread, whose additions are sequential while its
 * loads are issued ahead. A query thus takes about as many additions as it has rows; with many queries, several of
 * which run on a multiprocessor at once, the time is that of reading them.
 */
#pragma once

#include "cuda/portable.cuh"
#include "device/rank_ops.h"

static const uint32_t QUERY_THREADS = 128;

struct rank_query {
    uint64_t first; /* its first row */
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

/* Sum n numbers in order, by one thread. */
__device__ __forceinline__ double add_up(const double *numbers, uint32_t n) {
    double sum = 0;
#pragma unroll 8
    for (uint32_t i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}
