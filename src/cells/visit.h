/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit.h - the search of one query: passes over the cells that chooser.h chooses. The first passes find the best
 * rows of their cells, the later ones all rows that reach the worst score found.
 */
#pragma once

#include "cells/block_subset.h"
#include "cells/chooser.h"

/* The memory of one thread. Initialise with zeros; owned. */
typedef struct thr_cells_visitor {
    thr_cells_chooser chooser;
    uint64_t *pending_blocks, *visited_blocks; /* blocks, as bitmaps: to visit next; visited before */
    thr_cells_subset part;
    uint64_t *ids; /* answer of one pass, with its scores */
    float *scores;
    thr_found found;   /* the best rows of cells; after a visit, of all segments */
    thr_found without; /* the best rows of the segments without cells */
    uint64_t n_blocks; /* visited since it was set to 0 */
} thr_cells_visitor;

/* Capacities: cells of n_segments segments, blocks of all segments, rows that a pass finds. */
typedef struct thr_cells_capacity {
    uint32_t n_dims;
    size_t n_cells, n_segments;
    uint64_t n_blocks, wanted;
} thr_cells_capacity;

/* THR_ENOMEM. */
thr_status thr_cells_visitor_reserve(thr_context *context, const thr_cells_capacity *capacity,
                                     thr_cells_visitor *visitor, thr_error *err);
void thr_cells_visitor_free(thr_context *context, thr_cells_visitor *visitor);

/*
 * Search for the best rows of a query, a matrix of one row, with the memory of one thread: visitor->found becomes the
 * best plan->wanted rows that were found, or fewer, sorted. *n_read: rows scored by more than their leading planes.
 * Errors are those of thr_scan_search_one and thr_scan_radius_one; visitor->found is of no use after one.
 */
thr_status thr_cells_visit(const thr_cells_plan *plan, const thr_matrix *query, thr_lane *lane,
                           thr_cells_visitor *visitor, uint64_t *n_read, thr_error *err);
