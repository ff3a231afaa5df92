/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - recomputes the cells of a segment from its vectors: their centroids, and how far items are from these. */
#include "index/verify/verify.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "index/build/order_by_cells.h"

static const double TOLERANCE = 0x1p-10; /* relative: another writer may add in another order */

static bool is_about(float stored, float measured, double scale) {
    return fabs((double)stored - (double)measured) <= TOLERANCE * scale;
}

static bool are_ends(const thr_cell_ends *stored, const thr_cell_ends *measured, double scale) {
    return is_about(stored->length, measured->length, scale) &&
           is_about(stored->low.along, measured->low.along, scale) &&
           is_about(stored->low.across, measured->low.across, scale) &&
           is_about(stored->high.along, measured->high.along, scale) &&
           is_about(stored->high.across, measured->high.across, scale);
}

static bool is_cell(const thr_cell *stored, const thr_cell *measured, const float *centroid, const float *mean,
                    uint32_t n_dims) {
    const double size = sqrt((double)measured->mean_square), radius = (double)measured->radius;
    double length = 0, off = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        const double difference = (double)centroid[d] - (double)mean[d];
        length += (double)mean[d] * (double)mean[d];
        off += difference * difference;
    }
    const double slack = TOLERANCE * (size + sqrt(length) * TOLERANCE);
    return sqrt(off) <= slack && (double)stored->radius >= radius - slack &&
           is_about(stored->radius, measured->radius, radius + slack) &&
           is_about(stored->mean_square, measured->mean_square, radius * radius + slack * slack) &&
           is_about(stored->square_deviation, measured->square_deviation, radius * radius + slack * slack);
}

thr_status thr_index_verify_cells(const thr_index *index, uint32_t segment, thr_file_sum *sum, thr_error *err) {
    const thr_cell_table *table = &index->cells[segment];
    const thr_index_cell_rows rows = {index, NULL, index->segments[segment].first_row};
    const thr_cell_items items = thr_index_cell_items(&rows, table->n_items);
    double *sums = NULL;
    float *vectors = NULL;
    thr_status status = THR_OK;
    if (table->n == 0)
        return THR_OK;
    THR_TRY_OUT(thr_alloc(index->context, table->n_dims, sizeof *sums, &sums, "a cell", err));
    THR_TRY_OUT(thr_alloc(index->context, 2 * (size_t)table->n_dims, sizeof *vectors, &vectors, "a cell", err));
    for (uint32_t c = 0; c < table->n; c++) {
        const thr_cell_run run = {NULL, table->cells[c].first, thr_cell_end(table, c)};
        float *mean = vectors + table->n_dims;
        thr_cell_ends ends;
        const thr_cell measured = thr_cells_measure(&items, &run, sums, vectors, mean, &ends);
        const double scale = (double)measured.radius + (double)ends.length;
        THR_TRY_OUT(thr_file_sum_step(sum, err));
        if (!is_cell(&table->cells[c], &measured, table->centroids + (size_t)c * table->n_dims, mean, table->n_dims) ||
            !are_ends(&table->ends[c], &ends, scale))
            THR_TRY_OUT(thr_fail(err, THR_ECORRUPT,
                                 "%s: section cells: cell %" PRIu32 " is not what its items are: build the index again",
                                 index->mapped[segment].view.file.path, c));
    }
out:
    THR_RELEASE(index->context, sums, vectors);
    return status;
}
