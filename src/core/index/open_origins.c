/* SPDX-License-Identifier: Apache-2.0 */
#include "index/open_origins.h"

#include "base/blocks.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <math.h>

static const char WHAT[] = "the origins of codes";
static const double ROUNDING = 1 + 0x1p-20; /* more than the rounding errors of a length in float32 */

static uint32_t count(const thr_cell_table *table) {
    return table->n > 0 ? table->n : 1;
}

static uint64_t count_blocks(const thr_segment *segment) {
    return thr_blocks_of(segment->n_items);
}

/* Set the lengths of a segment's points, and raise *longest to their upper bounds. */
static void set_lengths(const thr_cell_table *table, double centre_length, float *lengths, double *longest) {
    for (uint32_t i = 0; i < count(table); i++) {
        lengths[i] = table->n > 0 ? table->ends[i].length : (float)centre_length;
        *longest = fmax(*longest, (double)lengths[i] * ROUNDING);
    }
}

/* Fill in a segment's starts and of_block (scan/origins.h). */
static void fill(const thr_cell_table *table, uint32_t n_items, uint32_t *starts, uint32_t *of_block) {
    const uint32_t n = count(table);
    uint32_t origin = 0;
    for (uint32_t i = 0; i < n; i++)
        starts[i] = table->n > 0 ? table->cells[i].first : 0;
    for (uint32_t b = 0; (uint64_t)b * THR_BLOCK_ITEMS < n_items; b++) {
        while (origin + 1 < n && starts[origin + 1] <= b * THR_BLOCK_ITEMS)
            origin++;
        of_block[b] = origin;
    }
}

thr_status thr_index_origins_make(thr_context *context, const thr_quantiser *quantiser, const thr_cell_table *tables,
                                  thr_segment *segments, uint32_t n_segments, thr_index_origins *origins,
                                  thr_error *err) {
    const uint32_t n_dims = quantiser->n_dims;
    const float *centre = quantiser->centre;
    size_t n = 0, n_blocks = 0;
    for (uint32_t s = 0; s < n_segments; s++) {
        n += count(&tables[s]);
        n_blocks += (size_t)count_blocks(&segments[s]);
    }
    *origins = (thr_index_origins){.of = {.n_segments = n_segments, .n = (uint32_t)n}};
    THR_TRY(thr_alloc(context, n_segments, sizeof *origins->segments, &origins->segments, WHAT, err));
    THR_TRY(thr_alloc(context, n, sizeof *origins->starts, &origins->starts, WHAT, err));
    THR_TRY(thr_alloc(context, n, sizeof *origins->lengths, &origins->lengths, WHAT, err));
    THR_TRY(thr_alloc(context, n_blocks, sizeof *origins->of_block, &origins->of_block, WHAT, err));
    if (centre == NULL) {
        THR_TRY(thr_alloc_zero(context, n_dims, sizeof(float), &origins->centre, WHAT, err));
        centre = origins->centre;
    }
    const double centre_length = sqrt(context->kernels->sum_squares(centre, n_dims)) * ROUNDING;
    uint32_t first = 0, *of_block = origins->of_block;
    for (uint32_t s = 0; s < n_segments; s++) {
        thr_segment_origins *some = &origins->segments[s];
        *some = (thr_segment_origins){.n = count(&tables[s]),
                                      .first = first,
                                      .starts = origins->starts + first,
                                      .of_block = of_block,
                                      .points = tables[s].n > 0 ? tables[s].centroids : centre,
                                      .lengths = origins->lengths + first};
        fill(&tables[s], segments[s].n_items, origins->starts + first, of_block);
        set_lengths(&tables[s], centre_length, origins->lengths + first, &origins->of.longest);
        segments[s].origins = some;
        first += some->n;
        of_block += count_blocks(&segments[s]);
    }
    origins->of.segments = origins->segments;
    origins->of.farthest = origins->of.longest + centre_length;
    return THR_OK;
}

void thr_index_origins_free(thr_context *context, thr_index_origins *origins) {
    THR_RELEASE(context, origins->segments, origins->centre, origins->lengths, origins->starts, origins->of_block);
    *origins = (thr_index_origins){.segments = NULL};
}
