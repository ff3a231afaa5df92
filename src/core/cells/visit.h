/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit.h - the search of one query: passes over the cells that chooser.h chooses. The first passes find the best
 * rows of their cells, the later ones all rows that reach the worst score found.
 */
#pragma once

#include "cells/choice/chooser.h"
#include "scan/margins/margin.h"
#include "scan/radius_plan.h"

/* The memory of a slot, for one query at a time. Initialise with zeros; owned. */
typedef struct thr_cells_visitor {
    thr_cells_chooser chooser;
    thr_cells_blocks blocks;
    thr_cells_subset part; /* the blocks of the pass */
    uint64_t *ids;         /* answer of one pass, with its scores */
    float *scores;
    thr_found found;   /* the best rows of cells; after a visit, of all segments */
    thr_found without; /* the best rows of the segments without cells */
} thr_cells_visitor;

/* What a visitor has room for: cells, segments and blocks of the index, and rows that a pass finds. */
typedef struct thr_cells_capacity {
    uint32_t n_dims;
    size_t n_cells, n_segments;
    uint64_t n_blocks, n_pass_rows;
} thr_cells_capacity;

/* THR_ENOMEM. */
thr_status thr_cells_visitor_reserve(thr_context *context, const thr_cells_capacity *capacity,
                                     thr_cells_visitor *visitor, thr_error *err);
void thr_cells_visitor_free(thr_context *context, thr_cells_visitor *visitor);

typedef enum thr_cells_stage {
    THR_STAGE_ALL,           /* one pass over all blocks */
    THR_STAGE_WITHOUT_CELLS, /* the first pass: over the segments without cells */
    THR_STAGE_CELLS          /* all later passes: over cells */
} thr_cells_stage;

/* The search of one query in progress, and its current pass. Borrows all pointers. */
typedef struct thr_cells_visit {
    const thr_cells_plan *plan;
    thr_cells_visitor *v;
    thr_lane *lane;
    thr_matrix query; /* of one row */
    thr_cells_stage stage;
    size_t n_cells; /* chosen cells that were visited, or whose blocks are pending */
    double n_first; /* the least number of rows in the cells that the next pass for the best rows adds */
    uint64_t n_read;
    thr_search_options options; /* of the pass, as are the answers and the job */
    thr_answers answers;
    thr_job job;
    float least;       /* the score that its rows must reach; -INFINITY: it finds the best plan->wanted rows */
    thr_margin margin; /* of the last pass for the best rows */
    thr_radius radius; /* of passes with a least score */
} thr_cells_visit;

/*
 * The search of a query, a matrix of one row, with the memory of one slot:
 *
 *     begin
 *     do { start_pass; if (has_rows) run_pass; } while (next)
 *     end
 *
 * next chooses the blocks of the next pass, or returns false. After end, visitor->found has the best plan->wanted rows
 * found, or fewer, sorted; visit->n_read is the number of rows scored by more than their leading planes. After an error
 * visitor->found is undefined.
 *
 * Errors are those of thr_scan_search_one and thr_scan_radius_one.
 */
void thr_cells_visit_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_lane *lane,
                           thr_cells_visitor *visitor, thr_cells_visit *visit);
thr_status thr_cells_visit_start_pass(thr_cells_visit *visit, bool *has_rows, thr_error *err);
thr_status thr_cells_visit_run_pass(thr_cells_visit *visit, thr_error *err);
bool thr_cells_visit_next(thr_cells_visit *visit);
thr_status thr_cells_visit_end(thr_cells_visit *visit, thr_error *err);

/*
 * For a caller that searches the pass itself, and sets lane->n_read, instead of run_pass: take_best takes the rows in
 * visitor->ids and visitor->scores; with a least score, take_found takes those in lane->found. Then call end_pass.
 * THR_ENOMEM.
 */
thr_status thr_cells_visit_take_best(thr_cells_visit *visit, thr_error *err);
thr_status thr_cells_visit_take_found(thr_cells_visit *visit, thr_error *err);
void thr_cells_visit_end_pass(thr_cells_visit *visit);
