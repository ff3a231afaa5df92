/* SPDX-License-Identifier: Apache-2.0 */
/* cell_order.c - sorts items by cell, and measures cells. */
#include "cells/cell_order.h"

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"

#include <math.h>
#include <string.h>

static const double ROUNDING = 1 + 0x1p-22; /* more than the rounding errors of a distance in float32 */

/* ------------------------------------------------------------------------------------------------ one cell */

static double square_distance(const float *a, const float *b, uint32_t n_dims) {
    double sum = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        const double x = (double)a[d] - (double)b[d];
        sum += x * x;
    }
    return sum;
}

static void find_mean(const thr_cell_items *items, const thr_cell_run *run, double *sums, float *vector,
                      float *centroid) {
    memset(sums, 0, items->n_dims * sizeof *sums);
    for (uint32_t i = run->first; i < run->end; i++) {
        items->read(items->object, run->items == NULL ? i : run->items[i], vector);
        for (uint32_t d = 0; d < items->n_dims; d++)
            sums[d] += (double)vector[d];
    }
    for (uint32_t d = 0; d < items->n_dims; d++)
        centroid[d] = (float)(sums[d] / (double)(run->end - run->first));
}

/* Extend the ends of a cell by an item: its product with the centroid's direction, and its squared length. */
static void extend_ends(thr_cell_ends *ends, bool first, double along, double square) {
    const thr_cell_end_item item = {(float)along, (float)sqrt(fmax(square - along * along, 0))};
    if (first || item.along < ends->low.along)
        ends->low = item;
    if (first || item.along > ends->high.along)
        ends->high = item;
}

static double product(const float *a, const float *b, uint32_t n_dims) {
    double sum = 0;
    for (uint32_t d = 0; d < n_dims; d++)
        sum += (double)a[d] * (double)b[d];
    return sum;
}

thr_cell thr_cells_measure(const thr_cell_items *items, const thr_cell_run *run, double *sums, float *vector,
                           float *centroid, thr_cell_ends *ends) {
    const double n = (double)(run->end - run->first);
    double total = 0, squares = 0, largest = 0;
    find_mean(items, run, sums, vector, centroid);
    const double length = sqrt(product(centroid, centroid, items->n_dims));
    ends->length = (float)length;
    for (uint32_t i = run->first; i < run->end; i++) {
        items->read(items->object, run->items == NULL ? i : run->items[i], vector);
        const double square = square_distance(vector, centroid, items->n_dims);
        total += square;
        squares += square * square;
        largest = THR_MAX(square, largest);
        extend_ends(ends, i == run->first, length > 0 ? product(vector, centroid, items->n_dims) / length : 0,
                    product(vector, vector, items->n_dims));
    }
    const double mean = total / n, variance = squares / n - mean * mean;
    return (thr_cell){.first = run->first,
                      .radius = (float)(sqrt(largest) * ROUNDING),
                      .mean_square = (float)mean,
                      .square_deviation = variance > 0 ? (float)sqrt(variance) : 0};
}

static bool is_valid_end(const thr_cell_end_item *end) {
    return isfinite(end->along) && isfinite(end->across) && end->across >= 0;
}

static bool are_valid_ends(const thr_cell_ends *ends) {
    return isfinite(ends->length) && ends->length >= 0 && is_valid_end(&ends->low) && is_valid_end(&ends->high) &&
           ends->low.along <= ends->high.along;
}

bool thr_cells_are_valid(const thr_cell_table *table, uint32_t *wrong) {
    for (uint32_t i = 0; i < table->n; i++) {
        const thr_cell *cell = &table->cells[i];
        const bool placed = i == 0 ? cell->first == 0 : cell->first > table->cells[i - 1].first;
        *wrong = i;
        if (!placed || cell->first >= table->n_items || !isfinite(cell->radius) || !isfinite(cell->mean_square) ||
            !isfinite(cell->square_deviation) || cell->radius < 0 || cell->mean_square < 0 ||
            cell->square_deviation < 0 || !are_valid_ends(&table->ends[i]))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ all cells */

/* starts[g] = the first place of group g; starts[n_groups] = n. Sorts by counting. */
static void sort_items(const uint32_t *groups, uint32_t n, uint32_t n_groups, uint32_t *starts, uint32_t *items) {
    memset(starts, 0, ((size_t)n_groups + 1) * sizeof *starts);
    for (uint32_t i = 0; i < n; i++)
        starts[groups[i]]++;
    for (uint32_t g = 0, at = 0; g <= n_groups; g++) {
        const uint32_t size = starts[g];
        starts[g] = at;
        at += size;
    }
    for (uint32_t i = 0; i < n; i++)
        items[starts[groups[i]]++] = i;
    memmove(starts + 1, starts, n_groups * sizeof *starts);
    starts[0] = 0;
}

/* The number of cells that a group becomes. */
static uint32_t pieces_of(uint32_t size, double mean) {
    return (double)size <= THR_CELLS_LARGEST * mean ? 1 : (uint32_t)ceil((double)size / (THR_CELLS_LARGEST * mean));
}

static double mean_size(const uint32_t *starts, uint32_t n_groups) {
    uint32_t n = 0;
    for (uint32_t g = 0; g < n_groups; g++)
        n += starts[g + 1] > starts[g];
    return (double)starts[n_groups] / (double)n;
}

static uint32_t count_cells(const uint32_t *starts, uint32_t n_groups, double mean) {
    uint32_t n = 0;
    for (uint32_t g = 0; g < n_groups; g++)
        n += starts[g + 1] > starts[g] ? pieces_of(starts[g + 1] - starts[g], mean) : 0;
    return n;
}

static void begin_cells(const uint32_t *starts, uint32_t n_groups, double mean, thr_cell *cells) {
    for (uint32_t g = 0; g < n_groups; g++) {
        const uint64_t size = starts[g + 1] - starts[g];
        const uint32_t n = size == 0 ? 0 : pieces_of((uint32_t)size, mean);
        for (uint32_t i = 0; i < n; i++)
            *cells++ = (thr_cell){.first = starts[g] + (uint32_t)(size * i / n)};
    }
}

typedef struct measuring {
    const thr_cell_items *items;
    thr_cell_order *order;
    double *sums;   /* n_dims for every thread */
    float *vectors; /* the same */
} measuring;

static void measure(void *arg, size_t c, uint32_t worker) {
    const measuring *m = arg;
    const size_t n_dims = m->items->n_dims;
    const thr_cell_run run = {m->order->items, m->order->cells[c].first, thr_cell_end(&m->order->table, (uint32_t)c)};
    const thr_cell cell = thr_cells_measure(m->items, &run, m->sums + worker * n_dims, m->vectors + worker * n_dims,
                                            m->order->centroids + c * n_dims, m->order->ends + c);
    m->order->cells[c].radius = cell.radius; /* `first` stays: another thread may be reading it */
    m->order->cells[c].mean_square = cell.mean_square;
    m->order->cells[c].square_deviation = cell.square_deviation;
}

static thr_status measure_all(const thr_cell_items *items, thr_cell_order *order, thr_error *err) {
    const size_t n = (size_t)order->context->n_threads * items->n_dims;
    measuring m = {items, order, NULL, NULL};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(order->context, n, sizeof *m.sums, &m.sums, "sums", err));
    THR_TRY_OUT(thr_alloc(order->context, n, sizeof *m.vectors, &m.vectors, "vectors", err));
    thr_parallel_for(order->context, order->table.n, measure, &m);
out:
    thr_release(order->context, m.sums);
    thr_release(order->context, m.vectors);
    return status;
}

thr_status thr_cells_order_make(thr_context *context, const thr_cell_items *items, const uint32_t *groups,
                                uint32_t n_groups, thr_cell_order *order, thr_error *err) {
    uint32_t *starts = NULL;
    thr_status status = THR_OK;
    *order = (thr_cell_order){.context = context};
    THR_TRY_OUT(thr_alloc(context, (size_t)n_groups + 1, sizeof *starts, &starts, "cells", err));
    THR_TRY_OUT(thr_alloc(context, items->n, sizeof *order->items, &order->items, "cells", err));
    sort_items(groups, items->n, n_groups, starts, order->items);
    const double mean = mean_size(starts, n_groups);
    const uint32_t n = count_cells(starts, n_groups, mean);
    THR_TRY_OUT(thr_alloc(context, n, sizeof *order->cells, &order->cells, "cells", err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n * items->n_dims, sizeof(float), &order->centroids, "centroids", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *order->ends, &order->ends, "cells", err));
    begin_cells(starts, n_groups, mean, order->cells);
    order->table = (thr_cell_table){n, items->n, items->n_dims, order->cells, order->centroids, order->ends};
    THR_TRY_OUT(measure_all(items, order, err));
out:
    thr_release(context, starts);
    if (status != THR_OK)
        thr_cells_order_free(order);
    return status;
}

void thr_cells_order_free(thr_cell_order *order) {
    if (order->context == NULL)
        return;
    thr_release(order->context, order->items);
    thr_release(order->context, order->cells);
    thr_release(order->context, order->centroids);
    thr_release(order->context, order->ends);
    *order = (thr_cell_order){.context = NULL};
}
