/* SPDX-License-Identifier: Apache-2.0 */
/* found.c - which scores are within a radius, and the rows found, in an array that grows with the answer. */
#include "base/error.h"
#include "scan/radius.h"

#include <math.h>
#include <string.h>

float thr_scan_radius_least(thr_metric metric, uint32_t n_dims, float least_score) {
    const double size = metric == THR_METRIC_COSINE ? 1 : fabs((double)least_score);
    return isinf(least_score) ? least_score : (float)((double)least_score - thr_score_rounding(n_dims) * size);
}

void thr_scan_found_free(thr_context *context, thr_found *found) {
    thr_release(context, found->items);
    *found = (thr_found){0};
}

thr_status thr_scan_found_reserve(thr_context *context, thr_found *found, size_t wanted, thr_error *err) {
    if (thr_grow(context, &found->items, &found->capacity, wanted, sizeof *found->items, "rows", NULL) == THR_OK)
        return THR_OK;
    return thr_fail(err, THR_ENOMEM,
                    "no memory for %zu rows within the radius: raise the least score or search fewer queries at once",
                    wanted);
}

thr_status thr_scan_found_append(thr_context *context, thr_found *found, const thr_candidate *items, size_t n,
                                 thr_error *err) {
    if (n == 0)
        return THR_OK;
    if (found->n + n > found->capacity)
        THR_TRY(thr_scan_found_reserve(context, found, n > found->n ? found->n + n : 2 * found->n, err));
    memcpy(found->items + found->n, items, n * sizeof *items);
    found->n += n;
    return THR_OK;
}
