/* SPDX-License-Identifier: Apache-2.0 */
#include "index/code_origins.h"

#include "base/error.h"
#include "code/rotate.h"

static const char WHAT[] = "the origins of codes";

static void find_from_centre(const thr_quantiser *quantiser, const float *points, size_t n, float *from_centre) {
    const uint32_t n_dims = quantiser->n_dims;
    for (size_t i = 0; i < n; i++, points += n_dims, from_centre += n_dims) {
        for (uint32_t d = 0; d < n_dims; d++)
            from_centre[d] = quantiser->centre == NULL ? points[d] : points[d] - quantiser->centre[d];
        if (quantiser->rotation != NULL)
            thr_code_rotation_apply(quantiser->rotation, from_centre);
    }
}

thr_status thr_index_code_origins_make(thr_context *context, const thr_quantiser *quantiser,
                                       const thr_cell_table *cells, uint64_t n_items, thr_index_code_origins *made,
                                       thr_error *err) {
    const uint32_t n_dims = quantiser->n_dims;
    const size_t n = cells == NULL ? 1 : cells->n;
    const float *points = cells == NULL ? quantiser->centre : cells->centroids;
    *made = (thr_index_code_origins){.context = context};
    THR_TRY(thr_alloc_zero(context, (size_t)n_items, sizeof *made->of_row, &made->of_row, WHAT, err));
    THR_TRY(thr_alloc_zero(context, n * n_dims, sizeof(float), &made->from_centre, WHAT, err));
    if (points == NULL)
        THR_TRY(thr_alloc_zero(context, n_dims, sizeof(float), &made->points, WHAT, err));
    else
        find_from_centre(quantiser, points, n, made->from_centre);
    for (uint32_t c = 0; cells != NULL && c < cells->n; c++)
        for (uint32_t i = cells->cells[c].first; i < thr_cell_end(cells, c); i++)
            made->of_row[i] = c;
    made->of = (thr_code_origins){points == NULL ? made->points : points, made->from_centre, made->of_row};
    return THR_OK;
}

void thr_index_code_origins_free(thr_index_code_origins *made) {
    if (made->context != NULL)
        THR_RELEASE(made->context, made->points, made->from_centre, made->of_row);
    *made = (thr_index_code_origins){.context = NULL};
}
