/* SPDX-License-Identifier: Apache-2.0 */
/* hits_values.c - multipliers and offsets, which change while searches run: each keeps those that it began with. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "hits/hits_impl.h"

thr_hit_values *thr_hits_take_values(thr_hits *hits) {
    (void)pthread_mutex_lock(&hits->mutex);
    thr_hit_values *values = hits->values;
    if (values != NULL)
        values->n_users++;
    (void)pthread_mutex_unlock(&hits->mutex);
    return values;
}

void thr_hits_put_values(thr_hits *hits, thr_hit_values *values) {
    if (values == NULL)
        return;
    (void)pthread_mutex_lock(&hits->mutex);
    const bool last = --values->n_users == 0;
    (void)pthread_mutex_unlock(&hits->mutex);
    if (!last)
        return;
    thr_release(hits->context, values->multipliers);
    thr_release(hits->context, values->offsets);
    thr_release(hits->context, values);
}

/* From rows to places. given NULL: none. */
static thr_status place(const thr_hits *hits, const float *given, const char *what, float **out, thr_error *err) {
    const thr_hits_contents *c = &hits->view.contents;
    if (given == NULL)
        return THR_OK;
    for (uint32_t row = 0; row < c->lists.n_items; row++)
        if (!isfinite(given[row]))
            return thr_fail(err, THR_ERANGE, "the %s of row %" PRIu32 " is %g", what, row, (double)given[row]);
    THR_TRY(thr_alloc(hits->context, c->lists.n_items, sizeof **out, out, what, err));
    for (uint32_t p = 0; p < c->lists.n_items; p++)
        (*out)[p] = given[c->rows == NULL ? p : c->rows[p]];
    return THR_OK;
}

thr_status thr_hits_set_values(thr_hits *hits, const float *multipliers, const float *offsets, uint64_t n,
                               thr_error *err) {
    thr_status status = THR_OK;
    thr_hit_values *values = NULL;
    if (hits == NULL)
        return thr_fail(err, THR_EINVAL, "there are no posting lists to set values of");
    if (n != hits->info.n_items)
        return thr_fail(err, THR_EDIM, "%s: values of %" PRIu64 " items, but it has %" PRIu64, hits->path, n,
                        hits->info.n_items);
    THR_TRY(thr_alloc_zero(hits->context, 1, sizeof *values, &values, "values", err));
    values->n_users = 1;
    THR_TRY_OUT(place(hits, multipliers, "multiplier", &values->multipliers, err));
    THR_TRY_OUT(place(hits, offsets, "offset", &values->offsets, err));
    (void)pthread_mutex_lock(&hits->mutex);
    values->number = ++hits->n_values;
    thr_hit_values *before = hits->values;
    hits->values = values;
    values = before;
    (void)pthread_mutex_unlock(&hits->mutex);
out:
    thr_hits_put_values(hits, values);
    return status;
}
