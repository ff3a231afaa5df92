/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opens a file of posting lists by mmap, and describes its contents. */
#include <string.h>

#include "base/text/decimal.h"
#include "base/error.h"
#include "base/files/file.h"
#include "hits/hits.h"

/* ------------------------------------------------------------------------------------------------ open */

static thr_hits_info describe(const thr_hits_view *view) {
    const thr_lists *lists = &view->contents.lists;
    thr_hits_info info = {.n_items = lists->n_items,
                          .n_rows = lists->n_items,
                          .n_features = lists->n_features,
                          .n_postings = lists->n_postings,
                          .n_ids = lists->n_elements[THR_LISTS_PLACES],
                          .n_runs = lists->n_elements[THR_LISTS_RUNS],
                          .n_bitmaps = lists->n_elements[THR_LISTS_BITMAPS],
                          .list_bytes = thr_lists_bytes(lists),
                          .file_bytes = view->file.size,
                          .order = (thr_hits_order)view->contents.order,
                          .has_ids = view->contents.ids != NULL,
                          .has_names = view->contents.names.offsets != NULL,
                          .has_words = view->contents.words.offsets != NULL,
                          .model = view->contents.model};
    for (uint64_t i = 0; i < 4 * info.n_bitmaps; i++) {
        uint64_t word;
        memcpy(&word, lists->bitmaps + 8 * i, sizeof word);
        info.bitmap_postings += (uint64_t)__builtin_popcountll(word);
    }
    return info;
}

static thr_status read_file(thr_hits *hits, const char *path, thr_error *err) {
    THR_TRY(thr_hits_parse(hits->path, hits->map.data, hits->map.size, &hits->view, err));
    hits->info = describe(&hits->view);
    const thr_hits_contents *c = &hits->view.contents;
    if (c->multipliers == NULL && c->offsets == NULL)
        return THR_OK;
    thr_error why = {.status = THR_OK};
    const thr_status status = thr_hits_set_values(hits, c->multipliers, c->offsets, hits->info.n_items, &why);
    return status == THR_OK ? THR_OK
                            : thr_fail(err, status == THR_ERANGE ? THR_ECORRUPT : status, "%s: %s", path, why.text);
}

static thr_status load(thr_hits *hits, const char *path, thr_error *err) {
    THR_TRY(thr_path_append(hits->context, path, "", &hits->path, err));
    THR_TRY(thr_map_open(path, &hits->map, err));
    thr_map_guard(&hits->map);
    return thr_hits_check_after(hits, read_file(hits, path, err), err);
}

/* Free a file without handles, or one that was opened partially. */
static void close_file(thr_hits *file) {
    thr_context *context = file->context;
    const thr_hit_set set = {file->values, file->added};
    thr_device_policy_end(&file->on_device);
    thr_idle_end(&file->workspaces, thr_hits_workspace_free);
    thr_hits_put_values(file, &set);
    thr_hits_index_free(context, file->index);
    thr_hits_delta_free(context, file->delta);
    thr_map_close(&file->map);
    THR_RELEASE(context, file->owner_live, file->path);
    (void)pthread_mutex_destroy(&file->mutex);
    (void)pthread_mutex_destroy(&file->index_mutex);
    thr_release(context, file);
    thr_context_free(context);
}

thr_status thr_hits_open(thr_context *context, const char *path, thr_hits **out, thr_error *err) {
    thr_hits *hits = NULL;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "opening posting lists needs a context and a pointer for the result");
    THR_TRY(thr_check_path(path, "the posting lists to open", err));
    THR_TRY(thr_alloc_zero(context, 1, sizeof *hits, &hits, "posting lists", err));
    hits->context = thr_context_retain(context);
    hits->file = hits;
    hits->n_handles = 1;
    (void)pthread_mutex_init(&hits->mutex, NULL);
    (void)pthread_mutex_init(&hits->index_mutex, NULL);
    thr_device_policy_start(&hits->on_device, context);
    thr_status status = thr_idle_start(&hits->workspaces, context, err);
    if (status == THR_OK)
        status = load(hits, path, err);
    THR_RETURN_MADE(status, hits, out, close_file);
}

void thr_hits_free(thr_hits *hits) {
    if (hits == NULL)
        return;
    thr_context *context = hits->context;
    thr_hits *file = hits->file;
    if (hits != file) {
        const thr_hit_set set = {NULL, hits->added};
        thr_hits_put_values(file, &set);
        thr_hits_delta_free(context, hits->delta);
        thr_release(context, hits);
    }
    (void)pthread_mutex_lock(&file->mutex);
    const bool last = --file->n_handles == 0;
    (void)pthread_mutex_unlock(&file->mutex);
    if (!last)
        return;
    thr_hits *second = file->delta == NULL ? NULL : file->delta->from;
    close_file(file);
    if (second != NULL)
        close_file(second); /* it has no other handle */
}

thr_hits_info thr_hits_get_info(const thr_hits *hits) {
    return hits->info;
}
