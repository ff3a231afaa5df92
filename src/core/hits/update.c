/* SPDX-License-Identifier: Apache-2.0 */
/* update.c - makes lists with items added and removed, which share the file of the lists that they are made from. */
#include "hits/update.h"

#include "base/error.h"
#include "hits/read_changes.h"
#include "hits/hits.h"

thr_status thr_hits_get_index(thr_hits *hits, const thr_hit_index **index, thr_error *err) {
    thr_hits *file = hits->file;
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&file->index_mutex);
    if (file->index == NULL)
        status = thr_hits_index_make(file->context, &file->view.contents, &file->index, err);
    *index = file->index;
    (void)pthread_mutex_unlock(&file->index_mutex);
    return status;
}

/* ------------------------------------------------------------------------------------------------ values */

static void gather(const float *before, const float *given, float fallback, const thr_hit_change *change, float *out) {
    const uint32_t n_remaining = change->n_remaining;
    for (uint32_t i = 0; i < n_remaining; i++)
        out[i] = before == NULL ? fallback : before[change->remaining[i]];
    for (uint64_t i = 0; i < change->given->n_added; i++)
        out[n_remaining + i] = given == NULL ? fallback : given[i];
}

/* The values of the added items: those of the delta before, and those given. */
static thr_status take_values(thr_hits *hits, const thr_hit_change *change, thr_hit_values **values, thr_error *err) {
    const thr_hits_changes *g = change->given;
    const thr_hit_set set = thr_hits_take_values(hits);
    const float *multipliers = set.of_added == NULL ? NULL : set.of_added->multipliers;
    const float *offsets = set.of_added == NULL ? NULL : set.of_added->offsets;
    const bool wants_multipliers = multipliers != NULL || g->multipliers != NULL;
    const bool wants_offsets = offsets != NULL || g->item_offsets != NULL;
    thr_status status = THR_OK;
    if (wants_multipliers || wants_offsets)
        status = thr_hits_values_make(hits->context, change->n_remaining + (size_t)g->n_added, wants_multipliers,
                                      wants_offsets, values, err);
    if (status == THR_OK && wants_multipliers)
        gather(multipliers, g->multipliers, 1, change, (*values)->multipliers);
    if (status == THR_OK && wants_offsets)
        gather(offsets, g->item_offsets, 0, change, (*values)->offsets);
    thr_hits_put_values(hits, &set);
    return status;
}

/* ------------------------------------------------------------------------------------------------ lists */

/* Set up the handle, which takes ownership of delta and values. Cannot fail. */
static void fill(const thr_hits *hits, thr_hit_delta *delta, thr_hit_values *values, thr_hits *made) {
    thr_hits *file = hits->file;
    *made = (thr_hits){.context = hits->context,
                       .path = hits->path,
                       .map = hits->map,
                       .view = hits->view,
                       .info = file->info,
                       .file = file,
                       .delta = delta,
                       .added = values};
    made->info.n_rows += delta->n_items;
    made->info.n_added = delta->n_items;
    made->info.n_removed = delta->n_gone;
    made->info.n_items += delta->n_items;
    made->info.n_items -= delta->n_gone;
    (void)pthread_mutex_lock(&file->mutex);
    file->n_handles++;
    (void)pthread_mutex_unlock(&file->mutex);
}

thr_status thr_hits_make_update(thr_hits *hits, const thr_hits_changes *changes, const thr_hit_stamps *stamps,
                                thr_hits **updated, thr_error *err) {
    thr_status status = THR_OK;
    thr_hits_read_changes read = {.context = NULL};
    thr_hit_change change = {.given = NULL};
    thr_hit_delta *delta = NULL;
    thr_hit_values *values = NULL;
    thr_hits *made = NULL;
    const thr_hit_index *index;
    THR_TRY(thr_hits_check_unchanged(hits, err));
    THR_TRY_OUT(thr_hits_changes_read(hits, changes, &read, err));
    THR_TRY_OUT(thr_hits_get_index(hits, &index, err));
    THR_TRY_OUT(thr_hits_change_make(hits, &read.changes, &change, err));
    THR_TRY_OUT(thr_hits_delta_make(hits, index, &change, stamps, &delta, err));
    THR_TRY_OUT(take_values(hits, &change, &values, err));
    THR_TRY_OUT(thr_alloc(hits->context, 1, sizeof *made, &made, "posting lists", err));
out:
    status = thr_hits_check_after(hits, status, err);
    if (made != NULL && status == THR_OK) {
        fill(hits, delta, values, made);
        if (changes->n_missing != NULL)
            *changes->n_missing = change.n_missing;
        *updated = made;
    } else {
        thr_release(hits->context, made);
        thr_hits_delta_free(hits->context, delta);
        thr_hits_values_free(hits->context, values);
    }
    thr_hits_change_free(hits->context, &change);
    thr_hits_read_changes_free(&read);
    return status;
}

thr_status thr_hits_update(thr_hits *hits, const thr_hits_changes *changes, thr_hits **updated, thr_error *err) {
    static const thr_hit_stamps none = {.all = 0}; /* these changes are never replayed */
    if (updated != NULL)
        *updated = NULL;
    if (hits == NULL || changes == NULL || updated == NULL)
        return thr_fail(err, THR_EINVAL, "an update needs posting lists, changes, and a pointer for the result");
    if (hits->owner.index != NULL)
        return thr_fail(err, THR_EUNSUPPORTED, "%s: belongs to an index: change that", hits->path);
    return thr_hits_make_update(hits, changes, &none, updated, err);
}
