/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - the memory of one search at a time. A search takes a piece that an earlier one has returned, or a new one;
 * what a piece lacks is made when a search first needs it, and kept. All snapshots of a root share the pieces.
 */
#pragma once

#include "cells/bounded/search.h"
#include "index/impl.h"
#include "index/model/embed.h"

typedef struct thr_search_memory {
    thr_context *context;
    thr_scan *scan; /* never NULL; the others are, until they are needed */
    thr_cells_workspace *cells;
    thr_bounded_workspace *bounded;
    thr_index_hits_workspace *lists;
    thr_embedder embedder;
    uint64_t *filter;     /* the caller's filter and the live rows, joined */
    uint64_t *candidates; /* rows to score by vectors that a model has encoded */
    /* With a tail: its answers, the segments' scores if the caller takes none, and one query's answers of both. */
    uint64_t *tail_rows;
    float *tail_scores, *all_scores;
    thr_candidate *merged;
    size_t filter_capacity, candidates_capacity, tail_capacity, tail_scores_capacity, all_capacity, merged_capacity;
} thr_search_memory;

/* Take a piece; the first call also measures the noise of the root's codes. Return it after THR_OK. THR_ENOMEM. */
thr_status thr_index_memory_take(thr_index *index, thr_search_memory **memory, thr_error *err);
void thr_index_memory_return(thr_index *index, thr_search_memory *memory);

/* Free a piece of index->searches. */
void thr_index_memory_free(void *piece);
