/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_search.h - the best k from some of the cells, with a promised recall.
 *
 * A query visits the cells with the best centroids first. Then it estimates how many of its best k rows are in the
 * other cells (chooser.h). If that exceeds THR_CELLS_UNVISITED_SHARE of the misses that the recall allows, it visits
 * the likeliest of these cells, and estimates again. The margins of the screen may use the other misses.
 *
 * Threads: one search at a time may use a workspace.
 */
#pragma once

#include "cells/cells.h"
#include "scan/scan.h"

/* The share of the allowed misses that may be in cells not visited. */
#define THR_CELLS_UNVISITED_SHARE 0.65

/* The data that a search reads. Pointers are borrowed. */
typedef struct thr_cells_corpus {
    const thr_scan_corpus *scan;
    const thr_cell_table *tables; /* one for each of the first n_tables segments; the others are always visited */
    size_t n_tables;
} thr_cells_corpus;

/* Query number q, as a matrix of one row. */
static inline thr_matrix thr_query_of(const thr_matrix *queries, uint64_t q) {
    thr_matrix query = *queries;
    query.data = (const char *)query.data + q * query.stride;
    query.n_rows = 1;
    return query;
}

typedef struct thr_cells_workspace thr_cells_workspace;

thr_status thr_cells_workspace_make(thr_context *context, thr_cells_workspace **workspace, thr_error *err);
void thr_cells_workspace_free(thr_cells_workspace *workspace);

/*
 * Whether a search with these options may skip cells: a segment has cells, the recall is above 0 and below 1, margins
 * keep it (scan/margins/margin.h), the search is not exact, and answers->certified is NULL.
 */
bool thr_cells_may_be_skipped(const thr_cells_corpus *corpus, const thr_search_options *options,
                              const thr_answers *answers);

/*
 * As thr_scan_search, for options that thr_cells_may_be_skipped accepts and queries that thr_scan_check_queries has
 * accepted. If corpus->scan->store holds all codes in device memory, the devices run the screens (device_search.h), and
 * THR_EDEVICE is possible. Each query has passes of its own, so its answer depends neither on the batch nor on devices.
 * A second search of the same shape allocates nothing.
 */
thr_status thr_cells_search(thr_scan *scan, thr_cells_workspace *workspace, const thr_cells_corpus *corpus,
                            const thr_matrix *queries, const thr_search_options *options, const thr_answers *answers,
                            thr_error *err);

/* The number of blocks of 64 rows that the last search with a workspace screened, summed over its queries. */
uint64_t thr_cells_blocks_visited(const thr_cells_workspace *workspace);
