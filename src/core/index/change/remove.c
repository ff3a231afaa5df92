/* SPDX-License-Identifier: Apache-2.0 */
/* remove.c - thr_index_remove_items and thr_index_remove. */
#include "base/error.h"
#include "index/change/change.h"
#include "select/bitmap.h"

#include <inttypes.h>

typedef struct remover {
    thr_commit *commit;
    uint64_t *found; /* a bit for each name */
    uint64_t n_removed;
} remover;

/* Clear the live bit of a row. A repeated item counts once. */
static void clear_row(remover *r, uint64_t row) {
    const uint64_t bit = UINT64_C(1) << row % 64;
    r->n_removed += (r->commit->live[row / 64] & bit) != 0;
    r->commit->live[row / 64] &= ~bit;
}

static thr_status clear_found(void *arg, uint64_t item, uint64_t row, thr_error *err) {
    remover *r = arg;
    (void)err;
    thr_bitmap_set(r->found, item);
    clear_row(r, row);
    return THR_OK;
}

static thr_status fail_missing(const thr_commit *c, const thr_index_removal *removal, const thr_name_list *names,
                               uint64_t first, thr_error *err) {
    if (first < removal->n_ids)
        return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the id %" PRIu64 "; nothing was removed",
                        c->index->dir, removal->ids[first]);
    return thr_fail(err, THR_ENOTFOUND, "%s: holds no item with the name '%.200s'; nothing was removed", c->index->dir,
                    thr_index_name_in(names, (size_t)(first - removal->n_ids)));
}

/* Clear the live rows of the items, and count them. */
static thr_status clear_rows(remover *r, const thr_index_removal *removal, const thr_name_list *names,
                             thr_index_change *change, thr_error *err) {
    thr_commit *c = r->commit;
    uint64_t row, first = removal->n_ids + names->n;
    if (names->n > 0 && !c->index->manifest.has_names)
        return thr_fail(err, THR_EINVAL, "%s: its items have no names: give ids", c->index->dir);
    THR_TRY(thr_alloc_zero(c->context, thr_bitmap_words(names->n), sizeof *r->found, &r->found, "names", err));
    if (names->n > 0)
        THR_TRY(thr_index_find_names(c->index, names, clear_found, r, err));
    for (uint64_t i = names->n; i-- > 0;)
        if ((r->found[i / 64] >> i % 64 & 1) == 0) {
            change->n_missing++;
            first = removal->n_ids + i;
        }
    for (uint64_t i = removal->n_ids; i-- > 0;) {
        if (thr_index_row(c->index, removal->ids[i], &row)) {
            clear_row(r, row);
        } else {
            change->n_missing++;
            first = i;
        }
    }
    THR_TRY(thr_index_check_after(c->index, THR_OK, err));
    if (removal->first_missing != NULL)
        *removal->first_missing = first;
    change->n_removed = r->n_removed;
    return removal->strict && change->n_missing > 0 ? fail_missing(c, removal, names, first, err) : THR_OK;
}

thr_status thr_index_remove_held(thr_context *context, const char *dir, const thr_build_dir *held,
                                 const thr_index_removal *removal, const thr_name_list *names, thr_index_change *change,
                                 thr_error *err) {
    thr_commit commit;
    remover r = {.commit = &commit};
    *change = (thr_index_change){.first_id = THR_NO_ID};
    thr_status status = thr_index_commit_begin(context, dir, held, &commit, err);
    if (status == THR_OK)
        status = clear_rows(&r, removal, names, change, err);
    if (status == THR_OK && change->n_removed > 0)
        status = thr_index_commit_fold(&commit, false, err);
    if (status == THR_OK && change->n_removed > 0)
        status = thr_index_commit_publish(&commit, err);
    if (status == THR_OK) {
        if (change->n_removed == 0)
            commit.manifest.n_commits--;
        thr_index_commit_report(&commit, change);
    }
    thr_release(context, r.found);
    thr_index_commit_end(&commit);
    if (status == THR_OK && change->n_removed > 0 && held == NULL)
        change->unmerged = thr_index_merge_all_due(context, dir, NULL);
    return status;
}

thr_status thr_index_remove_items(thr_context *context, const char *dir, const thr_index_removal *removal,
                                  thr_index_change *change, thr_error *err) {
    thr_index_change unused;
    if (context == NULL || removal == NULL || (removal->ids == NULL && removal->n_ids > 0) ||
        (removal->names == NULL && removal->n_names > 0))
        return thr_fail(err, THR_EINVAL, "removing items needs a context and ids or names");
    for (uint64_t i = 0; i < removal->n_names; i++)
        if (removal->names[i] == NULL)
            return thr_fail(err, THR_EINVAL, "name %" PRIu64 " is NULL", i);
    const thr_name_list names = {.each = removal->names, .n = (size_t)removal->n_names};
    return thr_index_remove_held(context, dir, NULL, removal, &names, change != NULL ? change : &unused, err);
}

thr_status thr_index_remove(thr_context *context, const char *dir, const uint64_t *ids, uint64_t n_ids,
                            thr_index_change *change, thr_error *err) {
    const thr_index_removal removal = {.ids = ids, .n_ids = n_ids};
    return thr_index_remove_items(context, dir, &removal, change, err);
}
