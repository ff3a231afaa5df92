/* SPDX-License-Identifier: Apache-2.0 */
/* cell_columns.c - the parameters of cells, set when a workspace is made. */
#include "cells/choice/cell_columns.h"

#include "base/error.h"

#include <math.h>

enum { COLUMNS = 10 };

thr_status thr_cells_columns_reserve(thr_context *context, size_t n, thr_cells_columns *columns, thr_error *err) {
    const size_t stride = thr_cells_column_stride(n);
    double *memory;
    THR_TRY(thr_alloc(context, stride, COLUMNS * sizeof *memory, &memory, "cells", err));
    *columns = (thr_cells_columns){.memory = memory,
                                   .n_rows = memory,
                                   .size = memory + stride,
                                   .mean_square = memory + 2 * stride,
                                   .deviation = memory + 3 * stride,
                                   .length = memory + 4 * stride,
                                   .inverse_length = memory + 5 * stride,
                                   .low_along = memory + 6 * stride,
                                   .low_across = memory + 7 * stride,
                                   .high_along = memory + 8 * stride,
                                   .high_across = memory + 9 * stride};
    return THR_OK;
}

void thr_cells_columns_free(thr_context *context, thr_cells_columns *columns) {
    thr_release(context, columns->memory);
    *columns = (thr_cells_columns){0};
}

void thr_cells_columns_set(const thr_cells_columns *columns, size_t c, thr_metric metric, uint64_t n_rows,
                           const thr_cell *cell, const thr_cell_ends *ends) {
    columns->n_rows[c] = (double)n_rows;
    columns->size[c] = (sqrt((double)cell->mean_square) + (double)cell->radius) / 2;
    columns->mean_square[c] = (double)cell->mean_square;
    columns->deviation[c] = metric == THR_METRIC_L2 ? (double)cell->square_deviation : 0;
    columns->length[c] = (double)ends->length;
    columns->inverse_length[c] = ends->length > 0 ? 1 / (double)ends->length : 0;
    columns->low_along[c] = (double)ends->low.along;
    columns->low_across[c] = (double)ends->low.across;
    columns->high_along[c] = (double)ends->high.along;
    columns->high_across[c] = (double)ends->high.across;
}
