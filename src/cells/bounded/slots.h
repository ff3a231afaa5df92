/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h - the memory of searches by bounds, the blocks of a query's passes, and the queries that read all blocks. */
#pragma once

#include "cells/bounded/bounds.h"
#include "cells/bounded/search.h"
#include "cells/cell_blocks.h"
#include "parallel/pool.h"

/* A cell's rows, and what its bounds are computed from. */
typedef struct thr_bounded_cell {
    thr_cell_place place;
    thr_cell_ball ball;
} thr_bounded_cell;

/* The memory of one thread, with the state of its query. */
typedef struct thr_bounded_slot {
    thr_cell_query query; /* in vector */
    float *vector, *centroid_scores;
    double *bounds; /* by cell */
    thr_cells_blocks blocks;
    thr_cells_subset part; /* the blocks of the pass */
    uint32_t *order;       /* memory of a queue of cells */
    uint64_t *ids;         /* the best rows of a pass, with their scores */
    float *scores;
    thr_found found; /* the best rows of all passes */
    size_t ids_capacity, scores_capacity;
} thr_bounded_slot;

/* Queries that search the whole corpus. */
typedef struct thr_bounded_rest {
    uint8_t *is_whole; /* by query */
    uint64_t *numbers; /* n: which queries they are */
    char *rows;        /* their vectors, dense */
    float *least;      /* searches for the best: scores that the answers reach; by query, then of the n */
    uint64_t *ids;     /* their answers, with scores */
    float *scores;
    size_t n, is_whole_capacity, numbers_capacity, rows_capacity, least_capacity, ids_capacity, scores_capacity;
} thr_bounded_rest;

struct thr_cells_bounded {
    thr_context *context;
    bool is_ready; /* all memory of cells and slots is there */
    uint32_t n_slots, n_dims;
    size_t n_cells;
    uint64_t n_blocks, most_blocks; /* most: that a query reads which does not search the whole corpus */
    thr_bounded_cell *cells;        /* by row */
    thr_bounded_slot *slots;
    thr_bounded_rest rest;
};

/*
 * Queries that would read a larger share of the blocks search the whole corpus. There the queries of a batch share
 * reads, which matters most for scores of vectors: on a million vectors of 64 dimensions 64 queries take a third of the
 * time of one by one. Runs of blocks are longer, too.
 */
#define THR_BOUNDED_SHARE_OF_CODES   0.5
#define THR_BOUNDED_SHARE_OF_VECTORS 0.35
#define THR_BOUNDED_SHARE_ALONE      0.75

/* Make room for searches of n_queries, with a slot for each thread, and set most_blocks. THR_ENOMEM. */
thr_status thr_cells_bounded_prepare(thr_cells_bounded *workspace, const thr_cells_corpus *corpus, uint64_t n_queries,
                                     double share, thr_error *err);

/* One query of a batch, as a matrix of one row. */
static inline thr_matrix thr_bounded_query(const thr_matrix *queries, uint64_t q) {
    thr_matrix query = *queries;
    query.data = (const char *)queries->data + q * queries->stride;
    query.n_rows = 1;
    return query;
}

/*
 * Begin a query, with no blocks: read it, and estimate from the bounds of a few cells whether it can skip enough of
 * them, given the least score of its answer (-INFINITY: unknown). If it can, compute all bounds and return true.
 */
bool thr_cells_bounded_begin(const thr_cells_bounded *workspace, const thr_cells_corpus *corpus,
                             const thr_matrix *query, double least, thr_bounded_slot *slot);

/*
 * Estimate how many blocks the cells whose bound reaches a score have. Stops once the query should search the whole
 * corpus (thr_cells_bounded_is_whole). A block that two cells share may count twice.
 */
uint64_t thr_cells_bounded_count(const thr_cells_bounded *workspace, const thr_bounded_slot *slot, double least);

/* Run `search` for all queries: on all lanes one after the other, as worker 0, or else on a thread each. */
thr_status thr_cells_bounded_run(const thr_cells_bounded *workspace, uint64_t n_queries, bool on_all_lanes,
                                 thr_try_fn search, void *arg, thr_error *err);

/* Whether a query that reads so many blocks should rather search the whole corpus. */
bool thr_cells_bounded_is_whole(const thr_cells_bounded *workspace, uint64_t n_blocks);

/* Collect the queries that are marked in rest.is_whole, and return them as a matrix. THR_ENOMEM. */
thr_status thr_cells_bounded_collect_rest(thr_cells_bounded *workspace, const thr_matrix *queries, thr_matrix *rest,
                                          thr_error *err);
