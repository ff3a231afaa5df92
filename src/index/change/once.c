/* SPDX-License-Identifier: Apache-2.0 */
/* once.c - thr_index_add. */
#include "base/error.h"
#include "index/change/add.h"

#include <stddef.h>

void thr_index_add_options_init(thr_index_add_options *options) {
    *options = (thr_index_add_options){.size = sizeof *options};
}

thr_status thr_index_add(thr_context *context, const char *dir, thr_reader *vectors,
                         const thr_index_add_options *options, thr_index_change *change, thr_error *err) {
    thr_index_add_options complete;
    thr_index_change unused;
    thr_ids ids = {.context = context};
    thr_row_source source = {.context = context};
    thr_status status = THR_OK;
    if (context == NULL || vectors == NULL)
        return thr_fail(err, THR_EINVAL, "adding items needs a context and a reader of vectors");
    thr_index_add_options_init(&complete);
    THR_TRY(thr_take_options(&complete, sizeof complete, options, offsetof(thr_index_add_options, replace),
                             "thr_index_add_options", err));
    const thr_index_build_options named = {.ids = complete.ids, .n_ids = complete.n_ids, .ids_path = complete.ids_path};
    const thr_addition addition = {&source, &ids, complete.replace};
    THR_TRY_OUT(thr_index_row_source_open(context, vectors, &source, err));
    THR_TRY_OUT(thr_index_ids_open(context, &named, true, &ids, err));
    THR_TRY_OUT(thr_index_commit_add(context, dir, NULL, &addition, change != NULL ? change : &unused, err));
out:
    thr_index_row_source_close(&source);
    thr_index_ids_close(&ids);
    return status;
}
