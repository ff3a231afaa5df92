/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - several queries against the same blocks, in whichever way is chosen.
 *
 * All ways give the same distances. A tile of blocks that the first level cache holds is read from there by every query
 * but the first.
 */
#ifndef THR_CODE_GROUP_H
#define THR_CODE_GROUP_H

#include "code/query.h"

#include <thresher/plan.h>

/*
 * Places between the distances of one query and those of the next, worth leaving: where they are a multiple of 4 KiB
 * apart, queries compete for the same few places of the first level cache.
 */
enum { THR_GROUP_GAP = 16 };

typedef struct thr_query_group {
    thr_way way;
    uint32_t n_queries;
    const thr_query_code *const *codes; /* borrowed; all of the same n_dims, item_bits and query_bits */
    thr_query_tile tile;                /* for THR_WAY_TILE */
} thr_query_group;

/* Bytes of memory a group of at most so many queries needs. */
size_t thr_code_query_group_size(uint32_t n_dims, uint32_t n_queries);

/*
 * Make a group of n_queries >= 1 codes in memory (64-byte aligned, thr_code_query_group_size bytes), which must live as
 * long as the group. For THR_WAY_TILE the codes' cells are enough (thr_code_query_make_cells) and are not read later.
 */
void thr_code_query_group_make(thr_query_group *group, thr_way way, const thr_query_code *const *codes,
                               uint32_t n_queries, void *memory);

/*
 * Distances of n_blocks blocks: of query q and item i, counted over all blocks, to distances[q * stride + i], with
 * stride >= n_blocks * 64. scratch has n_blocks * 64 places.
 */
void thr_code_query_group_distances(const thr_query_group *group, const thr_kernels *kernels, const uint8_t *blocks,
                                    size_t n_blocks, uint32_t *distances, size_t stride, uint32_t *scratch);

#endif
