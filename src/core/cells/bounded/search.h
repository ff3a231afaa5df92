/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - exact and radius searches that skip the cells whose rows certainly score too little (bounds.h). Queries
 * that can skip only few blocks search the whole corpus, all of them together.
 *
 * Threads: one search at a time may use a workspace.
 */
#pragma once

#include "cells/cell_search.h"
#include "scan/radius.h"

typedef struct thr_bounded_workspace thr_bounded_workspace;

/* All searches with a workspace must be searches of the same index. */
thr_status thr_cells_bounded_workspace_make(thr_context *context, thr_bounded_workspace **workspace, thr_error *err);
void thr_cells_bounded_workspace_free(thr_bounded_workspace *workspace);

/* Whether searches of a corpus can skip cells by bounds: it has cells and kept vectors, and no hits. */
bool thr_cells_have_bounds(const thr_cells_corpus *corpus);

/* A search of many queries that thr_scan_check_queries has accepted, with all that it uses. Pointers are borrowed. */
typedef struct thr_bounded_search {
    thr_scan *scan;
    thr_bounded_workspace *workspace;
    const thr_cells_corpus *corpus;
    const thr_matrix *queries;
    const thr_search_options *options;
} thr_bounded_search;

/*
 * As thr_scan_radius, on the CPU. With a recall of 1 it finds the same rows, with the same bits. With a lower recall a
 * query's margins can depend on the cells that it reads, so it may miss other rows than thr_scan_radius. Which cells it
 * then reads depends neither on the other queries nor on the number of threads.
 */
thr_status thr_cells_radius(const thr_bounded_search *search, float least_score, thr_found *found, thr_error *err);

/*
 * As thr_scan_search with options->exact, on the CPU: the same rows, with the same bits. For a query that searches the
 * whole corpus in the end, answers->n_read does not count the rows that it scored before. A second search of the same
 * shape allocates nothing.
 */
thr_status thr_cells_best(const thr_bounded_search *search, const thr_answers *answers, thr_error *err);

/* The number of blocks of 64 rows that the last search read, summed over its queries. */
uint64_t thr_cells_bounded_blocks_read(const thr_bounded_workspace *workspace);
