/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the parameters that all queries of a search share. */
#pragma once

#include "cells/cell_search.h"
#include "scan/impl.h"

#include <math.h>

/* A cell, with its rows in the scan corpus. */
typedef struct thr_cell_place {
    uint64_t first_row, end_row;
    const thr_cell *cell;
    const thr_cell_ends *ends; /* NULL: not stored */
    double size;               /* score_model.h */
    double inverse_length;     /* 1 / ends->length; 0 if the centroid has no direction */
} thr_cell_place;

static inline thr_cell_place thr_cells_place_of(uint64_t first_row, uint64_t end_row, const thr_cell *cell,
                                                const thr_cell_ends *ends) {
    const double length = ends == NULL ? 0 : (double)ends->length;
    return (thr_cell_place){.first_row = first_row,
                            .end_row = end_row,
                            .cell = cell,
                            .ends = ends,
                            .size = (sqrt((double)cell->mean_square) + (double)cell->radius) / 2,
                            .inverse_length = length > 0 ? 1 / length : 0};
}

typedef struct thr_cells_plan {
    thr_context *context;
    const thr_cells_corpus *corpus;
    thr_search_options options;   /* of the passes */
    thr_job whole;                /* of a search of all rows with them */
    const thr_cell_place *places; /* n_cells, by row */
    size_t n_cells;
    uint64_t n_blocks, k, wanted; /* k: best rows whose misses are estimated; wanted: rows of a pass, k or more */
    double allowed;               /* expected number of the best k that may be in cells not visited */
} thr_cells_plan;
