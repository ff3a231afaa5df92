/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - sets multipliers and offsets while searches run; a search keeps the values with which it began. */
#include <inttypes.h>
#include <math.h>

#include "base/blocks.h"
#include "base/error.h"
#include "hits/hits.h"

/* ------------------------------------------------------------------------------------------------ users */

static thr_hit_values *take(thr_hit_values *values) {
    if (values != NULL)
        values->n_users++;
    return values;
}

thr_hit_set thr_hits_take_values(thr_hits *hits) {
    (void)pthread_mutex_lock(&hits->file->mutex);
    const thr_hit_set set = {take(hits->file->values), take(hits->added)};
    (void)pthread_mutex_unlock(&hits->file->mutex);
    return set;
}

bool thr_hits_values_are_set(thr_hits *hits) {
    (void)pthread_mutex_lock(&hits->file->mutex);
    const bool set = hits->file->values_are_set;
    (void)pthread_mutex_unlock(&hits->file->mutex);
    return set;
}

/* Remove one user, under the mutex. Return the values if the caller must free them, which needs no mutex. */
static thr_hit_values *remove_user(thr_hit_values *values) {
    return values != NULL && --values->n_users == 0 ? values : NULL;
}

void thr_hits_put_values(thr_hits *hits, const thr_hit_set *set) {
    (void)pthread_mutex_lock(&hits->file->mutex);
    const thr_hit_set unused = {remove_user(set->of_file), remove_user(set->of_added)};
    (void)pthread_mutex_unlock(&hits->file->mutex);
    thr_hits_values_free(hits->context, unused.of_file);
    thr_hits_values_free(hits->context, unused.of_added);
}

/* ------------------------------------------------------------------------------------------------ making */

thr_status thr_hits_values_make(thr_context *context, size_t n, bool multipliers, bool offsets, thr_hit_values **out,
                                thr_error *err) {
    thr_hit_values *values = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *values, &values, "values", err));
    values->n_users = 1;
    n = thr_blocks_of(n) * 64;
    if (multipliers)
        status = thr_alloc_zero(context, n, sizeof *values->multipliers, &values->multipliers, "multipliers", err);
    if (offsets && status == THR_OK)
        status = thr_alloc_zero(context, n, sizeof *values->offsets, &values->offsets, "offsets", err);
    if (status != THR_OK)
        thr_hits_values_free(context, values);
    else
        *out = values;
    return status;
}

void thr_hits_values_free(thr_context *context, thr_hit_values *values) {
    if (values == NULL)
        return;
    THR_RELEASE(context, values->multipliers, values->offsets, values);
}

/* ------------------------------------------------------------------------------------------------ setting */

/* Copy values by row to the file's places and the added items. given NULL: nothing to copy. */
static void place(const thr_hits *hits, const float *given, float *of_file, float *of_added) {
    const thr_hits_contents *c = &hits->view.contents;
    const uint64_t n = thr_hits_n_values(hits);
    for (uint64_t p = 0; given != NULL && p < n; p++)
        of_file[p] = given[c->rows == NULL ? p : c->rows[p]];
    for (uint32_t i = 0; given != NULL && i < thr_hits_n_added(hits); i++)
        of_added[i] = given[hits->delta->rows[i]];
}

static thr_status check(const float *given, uint64_t n, const char *what, thr_error *err) {
    for (uint64_t row = 0; given != NULL && row < n; row++)
        if (!isfinite(given[row]))
            return thr_fail(err, THR_ERANGE, "the %s of row %" PRIu64 " is %g", what, row, (double)given[row]);
    return THR_OK;
}

thr_status thr_hits_set_values(thr_hits *hits, const float *multipliers, const float *offsets, uint64_t n,
                               thr_error *err) {
    thr_status status = THR_OK;
    thr_hit_set set = {NULL, NULL};
    if (hits == NULL)
        return thr_fail(err, THR_EINVAL, "hits is NULL: nothing to set values of");
    if (n != hits->info.n_rows)
        return thr_fail(err, THR_EDIM, "%s: multipliers or offsets of %" PRIu64 " items, but it has %" PRIu64 " rows",
                        hits->path, n, hits->info.n_rows);
    THR_TRY(check(multipliers, n, "multiplier", err));
    THR_TRY(check(offsets, n, "offset", err));
    THR_TRY(thr_hits_check_unchanged(hits, err));
    THR_TRY_OUT(thr_hits_values_make(hits->context, (size_t)thr_hits_n_values(hits), multipliers != NULL,
                                     offsets != NULL, &set.of_file, err));
    if (hits->delta != NULL)
        THR_TRY_OUT(thr_hits_values_make(hits->context, hits->delta->n_items, multipliers != NULL, offsets != NULL,
                                         &set.of_added, err));
    place(hits, multipliers, set.of_file->multipliers, set.of_added == NULL ? NULL : set.of_added->multipliers);
    place(hits, offsets, set.of_file->offsets, set.of_added == NULL ? NULL : set.of_added->offsets);
    THR_TRY_OUT(thr_hits_check_after(hits, THR_OK, err));
    (void)pthread_mutex_lock(&hits->file->mutex);
    const thr_hit_set before = {hits->file->values, hits->added};
    set.of_file->number = ++hits->file->n_values;
    hits->file->values = set.of_file;
    hits->file->values_are_set = true;
    hits->added = set.of_added;
    (void)pthread_mutex_unlock(&hits->file->mutex);
    set = before;
out:
    thr_hits_put_values(hits, &set);
    return status;
}
