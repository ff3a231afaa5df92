/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - the memory of searches of cells of one index, and a search that uses it. */
#pragma once

#include "cells/visit.h"

/*
 * A pass that is screened together with those of other queries (passes.h). The screen puts the rows whose estimates
 * reach the threshold into the lane's collector, which is started. A pass for the best rows needs the best `most` of
 * them. A pass with a least score needs all; then the screen has room for `most` rows, and is incomplete if there are
 * more.
 */
typedef struct thr_cells_pass {
    bool waits;           /* for the screen */
    thr_scan_query query; /* for the screen */
    thr_radius_plan plan; /* of passes with a least score */
    float threshold;      /* in the collector's units */
    size_t most;
    bool is_complete;   /* set by the screen: it found all rows that the pass needs; if false, the pass runs alone */
    bool rows_of_index; /* set by the screen: rows are numbered as in the index; if false, as in the part */
} thr_cells_pass;

struct thr_cells_workspace {
    thr_context *context;
    uint32_t n_slots; /* queries that are searched at once: one per thread, or more where they share passes */
    bool is_ready;    /* all memory is there, and cell_rows is set */
    thr_cells_capacity capacity;
    thr_cell_rows *cell_rows;    /* capacity.n_cells */
    double n_rows;               /* of all cells */
    double *n_allowed;           /* capacity.n_cells: memory of plan->n_allowed */
    thr_cells_columns columns;   /* likewise */
    thr_cells_visitor *visitors; /* n_slots */
    thr_cells_visit *visits;     /* likewise */
    thr_cells_pass *passes;      /* likewise */
};

/* The memory that a query of a plan needs. */
thr_cells_capacity thr_cells_capacity_of(const thr_cells_plan *plan);

/*
 * Make room for n_slots queries at once, set plan->cell_rows and plan->columns, which the workspace owns, and reset the
 * count of visited blocks. All plans of a workspace are searches of the same index. THR_ENOMEM.
 */
thr_status thr_cells_workspace_prepare(thr_cells_workspace *workspace, thr_cells_plan *plan, uint32_t n_slots,
                                       thr_error *err);

/* A search of many queries. Threads share it. Pointers are borrowed. */
typedef struct thr_cells_job {
    thr_cells_plan plan;
    thr_cells_workspace *workspace;
    thr_scan *scan;
    const thr_matrix *queries;
    const thr_answers *answers;
} thr_cells_job;

/* How many slots fit in 256 MiB, their lanes not counted; at least one per thread. The estimate is within a quarter. */
uint64_t thr_cells_slots_in_memory(const thr_cells_job *job);

/* Begin the search of query number `row` in a slot; slot i uses lane i. Then end it, and write its answer. */
void thr_cells_job_begin(const thr_cells_job *job, uint64_t row, size_t slot);
thr_status thr_cells_job_end(const thr_cells_job *job, uint64_t row, size_t slot, thr_error *err);
