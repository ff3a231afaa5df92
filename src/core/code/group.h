/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - distances of several queries to the same blocks, by any of the thr_way methods.
 *
 * All ways give the same distances. A tile of blocks fits in the L1 cache: the first query loads it, the others reuse
 * it.
 */
#pragma once

#include "code/query.h"

#include <thresher/way.h>

/*
 * Recommended padding between the distances of consecutive queries. At strides that are multiples of 4 KiB, queries
 * compete for the same few sets of the L1 cache.
 */
enum { THR_GROUP_GAP = 16 };

typedef struct thr_query_group {
    thr_way way;
    uint32_t n_queries;
    const thr_query_code *const *codes; /* borrowed; all of the same n_dims, item_bits and query_bits */
    thr_query_tile tile;                /* for THR_WAY_TILE */
} thr_query_group;

/* Return the bytes of memory of a group of at most n_queries queries. */
size_t thr_code_query_group_size(uint32_t n_dims, uint32_t n_queries);

/*
 * Make a group of n_queries >= 1 codes in memory (64-byte aligned, thr_code_query_group_size bytes), which must
 * outlive the group. THR_WAY_TILE needs only the codes' levels (thr_code_query_make_levels) and does not keep them.
 */
void thr_code_query_group_make(thr_query_group *group, thr_way way, const thr_query_code *const *codes,
                               uint32_t n_queries, void *memory);

/*
 * Compute distances to n_blocks blocks. Query q and item i, counted over all blocks, go to distances[q * stride + i];
 * stride >= n_blocks * 64. scratch has n_blocks * 64 entries.
 */
void thr_code_query_group_distances(const thr_query_group *group, const thr_kernels *kernels, const uint8_t *blocks,
                                    size_t n_blocks, uint32_t *distances, size_t stride, uint32_t *scratch);
