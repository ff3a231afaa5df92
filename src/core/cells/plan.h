/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the parameters that all queries of a search share. */
#pragma once

#include "cells/cell_blocks.h"
#include "cells/choice/cell_columns.h"

typedef struct thr_cells_plan {
    thr_context *context;
    const thr_cells_corpus *corpus;
    thr_search_options options;     /* of the passes */
    thr_job whole;                  /* a search of all rows with these options */
    const thr_cell_rows *cell_rows; /* n_cells, ascending by row */
    const thr_cells_columns *columns;
    const double *n_allowed; /* by cell: rows that pass the filter; without one, columns->n_rows */
    double n_rows;           /* the sum of n_allowed */
    size_t n_cells;
    uint64_t n_blocks, k, wanted; /* misses among the best k are estimated; a pass finds the best `wanted`, k or more */
    double allowed_misses;        /* how many of the best k, on average, may be in cells not visited */
    double order_share;           /* of all rows: after at least so many the order of cells alone may end a search */
} thr_cells_plan;
