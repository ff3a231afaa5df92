/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - the memory of searches by bounds, the bounds of a query's cells, and the queries that search the whole
 * corpus, because they could skip too few blocks.
 */
#pragma once

#include "cells/bounded/bounds.h"
#include "cells/bounded/search.h"
#include "cells/cell_blocks.h"
#include "parallel/pool.h"

/* A cell's rows, and what its bounds are computed from. */
typedef struct thr_bounded_cell {
    thr_cell_rows rows;
    thr_cell_ball ball;
} thr_bounded_cell;

/* The memory of one thread, with the state of its query. */
typedef struct thr_bounded_slot {
    thr_cell_query query; /* borrows vector */
    float *vector;
    float *centroid_scores; /* by cell: products; L2: squared distances */
    double *bounds;         /* by cell */
    thr_cells_blocks blocks;
    thr_cells_subset part; /* the blocks of the pass */
    double *keys;          /* by cell: memory for the keys of a queue (choice/queue.h) */
    uint32_t *queued;      /* by cell: memory for its cells */
    uint64_t *ids;         /* the best rows of a pass, with their scores */
    float *scores;
    thr_found found; /* the best rows of all passes */
    size_t ids_capacity, scores_capacity;
} thr_bounded_slot;

/* Queries that search the whole corpus. */
typedef struct thr_bounded_fallback {
    uint8_t *is_needed; /* by query */
    uint64_t *numbers;  /* n query numbers */
    char *rows;         /* their vectors, dense */
    float *least;       /* best.c: a score that all rows of the answer reach; by query, later only of the n */
    uint64_t *ids;      /* their answers, with scores */
    float *scores;
    size_t n, is_needed_capacity, numbers_capacity, rows_capacity, least_capacity, ids_capacity, scores_capacity;
} thr_bounded_fallback;

struct thr_bounded_workspace {
    thr_context *context;
    bool is_ready; /* cells and slots are allocated */
    uint32_t n_slots, n_dims;
    size_t n_cells;
    uint64_t n_blocks, most_blocks; /* most: a query that needs more searches the whole corpus */
    thr_bounded_cell *cells;        /* ascending by row */
    thr_bounded_slot *slots;
    thr_bounded_fallback fallback;
};

/*
 * Queries that would read a larger share of the blocks search the whole corpus. There the queries of a batch share
 * reads, which matters most for exact scores: on a million vectors of 64 dimensions, 64 queries at once take a third of
 * the time of 64 single ones. Runs of blocks are longer there, too.
 */
#define THR_BOUNDED_SHARE_ALONE      0.75 /* for the best k, one query after the other, each on all threads */
#define THR_BOUNDED_SHARE_OF_VECTORS 0.35 /* in batches: for the best k, and by radius if exact or with a recall of 1 */
#define THR_BOUNDED_SHARE_OF_CODES   0.5  /* all other searches by radius */

/*
 * Allocate for a search, with a slot and a lane for each thread, and set most_blocks to a share of all blocks.
 * n_survivors: of a lane. THR_ENOMEM.
 */
thr_status thr_cells_bounded_prepare(const thr_bounded_search *search, size_t n_survivors, double share,
                                     thr_error *err);

/* Whether queries are searched one after the other, each on all threads. */
bool thr_cells_bounded_is_on_all_lanes(const thr_bounded_search *search);

/*
 * Begin a query: no block is pending or visited. least: the least score of its answer, -INFINITY if unknown. Computes
 * all bounds and returns true; or returns false if the query has no bounds (length 0, not by L2), or if the bounds of a
 * few cells suggest that it can skip too little. Then bounds and blocks are undefined.
 */
bool thr_cells_bounded_begin_query(const thr_bounded_search *search, const thr_matrix *query, double least,
                                   thr_bounded_slot *slot);

/* Whether a query that needs so many blocks should search the whole corpus instead. */
bool thr_cells_bounded_are_too_many(const thr_bounded_workspace *workspace, uint64_t n_blocks);

/* Whether the cells whose bounds reach a score have too many blocks. A block that two cells share may count twice. */
bool thr_cells_bounded_too_many_reach(const thr_bounded_workspace *workspace, const thr_bounded_slot *slot,
                                      double least);

/* Run search_query for all queries: if on all lanes, one after the other as worker 0; else in parallel. */
thr_status thr_cells_bounded_run_queries(const thr_bounded_search *search, thr_try_fn search_query, void *arg,
                                         thr_error *err);

/* Collect the queries that are marked in fallback.is_needed, and return them as a matrix. THR_ENOMEM. */
thr_status thr_cells_bounded_collect_fallback(const thr_bounded_search *search, thr_matrix *collected, thr_error *err);
