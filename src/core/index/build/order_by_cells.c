/* SPDX-License-Identifier: Apache-2.0 */
#include "index/build/order_by_cells.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "cells/centroids.h"
#include "cells/kmeans.h"

#include <string.h>

enum {
    SAMPLE_A_CELL = 64,     /* rows; centroids of more are hardly better */
    CHUNK_ROWS = 8192,      /* read and assigned at once */
    SAMPLE_FLOATS = 1 << 26 /* at most, unless one row per cell is more */
};

static const char WHAT[] = "cells";

static void read_row(const void *object, uint32_t item, float *vector) {
    const thr_index_cell_rows *of = object;
    const uint64_t row = of->rows == NULL ? of->first_row + item : of->rows[item];
    const thr_index *index = of->index;
    thr_index_row_vector(index, row, vector);
    if (index->manifest.metric != THR_METRIC_COSINE)
        return;
    const thr_segment *segment = &index->segments[thr_index_segment_of(index, row)];
    const float inverse = segment->inverse_norms[row - segment->first_row];
    for (uint32_t d = 0; d < index->manifest.quantiser.n_dims; d++)
        vector[d] *= inverse;
}

thr_cell_items thr_index_cell_items(const thr_index_cell_rows *rows, uint32_t n) {
    return (thr_cell_items){rows, read_row, n, rows->index->manifest.quantiser.n_dims};
}

/* Train on evenly spaced rows. */
static thr_status train(thr_context *context, const thr_cell_items *items, uint32_t n_cells, thr_centroids *centroids,
                        thr_error *err) {
    const uint64_t most = SAMPLE_FLOATS / items->n_dims, wanted = (uint64_t)n_cells * SAMPLE_A_CELL;
    uint64_t n = wanted < most ? wanted : most > n_cells ? most : n_cells;
    float *rows = NULL, *found = NULL;
    thr_status status = THR_OK;
    n = THR_MIN(n, items->n);
    THR_TRY_OUT(thr_alloc(context, (size_t)n * items->n_dims, sizeof *rows, &rows, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n_cells * items->n_dims, sizeof *found, &found, WHAT, err));
    for (uint64_t i = 0; i < n; i++)
        items->read(items->object, (uint32_t)(i * items->n / n), rows + i * items->n_dims);
    const thr_kmeans_sample sample = {rows, (size_t)n, items->n_dims};
    THR_TRY_OUT(thr_cells_kmeans(context, &sample, n_cells, found, err));
    status = thr_cells_centroids_make(context, found, n_cells, items->n_dims, centroids, err);
out:
    THR_RELEASE(context, rows, found);
    return status;
}

/* Find every item's centroid, a chunk at a time. */
static thr_status assign(const thr_centroids *centroids, const thr_cell_items *items, uint32_t *groups,
                         thr_error *err) {
    thr_context *context = centroids->context;
    thr_progress progress = thr_progress_start(context, WHAT, items->n);
    thr_status status = THR_OK;
    float *chunk = NULL;
    THR_TRY(thr_alloc(context, (size_t)CHUNK_ROWS * items->n_dims, sizeof *chunk, &chunk, WHAT, err));
    for (uint32_t first = 0, n; first < items->n; first += n) {
        n = THR_MIN(items->n - first, CHUNK_ROWS);
        for (uint32_t i = 0; i < n; i++)
            items->read(items->object, first + i, chunk + (size_t)i * items->n_dims);
        THR_TRY_OUT(thr_cells_centroids_nearest(centroids, chunk, n, groups + first, err));
        THR_TRY_OUT(thr_progress_step(&progress, first + n, err));
    }
    status = thr_progress_end(&progress, items->n, err);
out:
    thr_release(context, chunk);
    return status;
}

thr_status thr_index_order_by_cells(const thr_index *index, uint64_t *rows, uint32_t n_rows, uint32_t n_cells,
                                    thr_cell_order *order, thr_error *err) {
    thr_context *context = index->context;
    const thr_index_cell_rows of = {index, rows, 0};
    const thr_cell_items items = thr_index_cell_items(&of, n_rows);
    thr_centroids centroids = {.context = NULL};
    uint32_t *groups = NULL;
    uint64_t *sorted = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof *groups, &groups, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof *sorted, &sorted, WHAT, err));
    THR_TRY_OUT(train(context, &items, THR_MIN(n_cells, n_rows), &centroids, err));
    THR_TRY_OUT(assign(&centroids, &items, groups, err));
    THR_TRY_OUT(thr_cells_order_make(context, &items, groups, centroids.n, order, err));
    for (uint32_t i = 0; i < n_rows; i++)
        sorted[i] = rows[order->items[i]];
    memcpy(rows, sorted, n_rows * sizeof *rows);
out:
    thr_cells_centroids_free(&centroids);
    THR_RELEASE(context, groups, sorted);
    return status;
}
