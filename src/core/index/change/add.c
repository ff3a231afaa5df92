/* SPDX-License-Identifier: Apache-2.0 */
/* add.c - thr_index_add. */
#include "base/error.h"
#include "index/change/commit_add.h"

#include "index/features.h"

#include <inttypes.h>

thr_status thr_index_view_features(thr_context *context, thr_index_add_options *o, bool named,
                                   thr_hits_changes *features, char **path, thr_error *err) {
    *features = (thr_hits_changes){0};
    if (o->features_path != NULL && o->features != NULL)
        return thr_fail(err, THR_EINVAL, "features are given as a file and as numbers: give one of them");
    features->added_path = o->features_path;
    features->offsets = o->features == NULL ? NULL : o->features->offsets;
    features->features = o->features == NULL ? NULL : o->features->features;
    features->n_added = o->features == NULL ? o->n_values : o->features->n_items;
    features->multipliers = o->multipliers;
    features->item_offsets = o->offsets;
    if (o->features != NULL && (o->multipliers != NULL || o->offsets != NULL) && o->n_values != o->features->n_items)
        return thr_fail(err, THR_EDIM, "multipliers or offsets of %" PRIu64 " items, but there are %" PRIu64,
                        o->n_values, o->features->n_items);
    if (named || o->features_path == NULL || o->ids != NULL || o->ids_path != NULL)
        return THR_OK;
    THR_TRY(thr_index_names_path(context, o->features_path, path, err));
    o->ids_path = *path;
    return THR_OK;
}

thr_status thr_index_add(thr_context *context, const char *dir, thr_reader *vectors,
                         const thr_index_add_options *options, thr_index_change *change, thr_error *err) {
    thr_index_add_options complete = options != NULL ? *options : (thr_index_add_options){0};
    thr_index_change unused;
    thr_ids ids = {.context = context};
    thr_row_source source = {.context = context};
    char *names_path = NULL;
    thr_status status = THR_OK;
    if (context == NULL || vectors == NULL)
        return thr_fail(err, THR_EINVAL, "adding items needs a context and a reader of vectors");
    thr_hits_changes features;
    THR_TRY_OUT(thr_index_view_features(context, &complete, false, &features, &names_path, err));
    const thr_index_build_options given = {.ids = complete.ids, .n_ids = complete.n_ids, .ids_path = complete.ids_path};
    const thr_addition addition = {&source, &ids, &features, complete.replace};
    THR_TRY_OUT(thr_index_row_source_open(context, vectors, &source, err));
    if (source.shape.n_rows > 0 || complete.n_ids > 0 || complete.ids_path != NULL)
        THR_TRY_OUT(thr_index_ids_open(context, &given, true, &ids, err));
    THR_TRY_OUT(thr_index_commit_add(context, dir, NULL, &addition, change != NULL ? change : &unused, err));
out:
    thr_index_row_source_close(&source);
    thr_index_ids_close(&ids);
    thr_release(context, names_path);
    return status;
}
