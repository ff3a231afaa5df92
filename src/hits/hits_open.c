/* SPDX-License-Identifier: Apache-2.0 */
/* hits_open.c - a file of posting lists by mmap, and what it holds. */
#include <inttypes.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/radix.h"
#include "hits/hits_impl.h"

/* ------------------------------------------------------------------------------------------------ open */

static thr_hits_info describe(const thr_hits_view *view) {
    const thr_lists *lists = &view->contents.lists;
    thr_hits_info info = {.n_items = lists->n_items,
                          .n_features = lists->n_features,
                          .n_postings = lists->n_postings,
                          .n_ids = lists->n_elements[THR_LISTS_IDS],
                          .n_runs = lists->n_elements[THR_LISTS_RUNS],
                          .n_bitmaps = lists->n_elements[THR_LISTS_BITMAPS],
                          .list_bytes = thr_lists_bytes(lists),
                          .file_bytes = view->size,
                          .format_version = THR_HITS_FORMAT,
                          .order = (thr_hits_order)view->contents.order,
                          .has_ids = view->contents.ids != NULL,
                          .has_names = view->contents.names.offsets != NULL,
                          .has_words = view->contents.words.offsets != NULL};
    for (uint64_t i = 0; i < 4 * info.n_bitmaps; i++) {
        uint64_t word;
        memcpy(&word, lists->bitmaps + 8 * i, sizeof word);
        info.bitmap_postings += (uint64_t)__builtin_popcountll(word);
    }
    return info;
}

static thr_status load(thr_hits *hits, const char *path, thr_error *err) {
    const size_t length = strlen(path) + 1;
    THR_TRY(thr_alloc(hits->context, length, 1, &hits->path, "a name", err));
    memcpy(hits->path, path, length);
    THR_TRY(thr_map_open(path, &hits->map, err));
    THR_TRY(thr_hits_parse(hits->path, hits->map.data, hits->map.size, &hits->view, err));
    hits->info = describe(&hits->view);
    return THR_OK;
}

thr_status thr_hits_open(thr_context *context, const char *path, thr_hits **out, thr_error *err) {
    thr_hits *hits = NULL;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || path == NULL || out == NULL)
        return thr_fail(err, THR_EINVAL, "posting lists are opened with a context, a name, and a place for them");
    THR_TRY(thr_alloc_zero(context, 1, sizeof *hits, &hits, "posting lists", err));
    hits->context = context;
    hits->map.fd = -1;
    (void)pthread_mutex_init(&hits->mutex, NULL);
    (void)pthread_mutex_init(&hits->store_mutex, NULL);
    thr_status status = thr_idle_start(&hits->rooms, context, err);
    if (status == THR_OK)
        status = load(hits, path, err);
    if (status != THR_OK) {
        thr_hits_free(hits);
        return status;
    }
    *out = hits;
    return THR_OK;
}

void thr_hits_free(thr_hits *hits) {
    if (hits == NULL)
        return;
    thr_context *context = hits->context;
    thr_hit_store_free(hits->store);
    thr_idle_end(&hits->rooms, thr_hit_room_free);
    thr_hits_put_values(hits, hits->values);
    thr_map_close(&hits->map);
    thr_release(context, hits->path);
    (void)pthread_mutex_destroy(&hits->store_mutex);
    (void)pthread_mutex_destroy(&hits->mutex);
    thr_release(context, hits);
}

thr_hits_info thr_hits_get_info(const thr_hits *hits) {
    return hits->info;
}

thr_status thr_hits_check_unchanged(const thr_hits *hits, thr_error *err) {
    return thr_map_check(&hits->map, hits->path, err);
}

/* ------------------------------------------------------------------------------------------------ names */

const char *thr_hits_word(const thr_hits *hits, uint32_t feature) {
    return thr_strings_get(&hits->view.contents.words, feature);
}

bool thr_hits_feature(const thr_hits *hits, const char *word, uint32_t *feature) {
    const thr_hits_contents *c = &hits->view.contents;
    if (c->words.offsets == NULL) {
        uint64_t number;
        if (!thr_decimal_parse(word, strlen(word), &number) || number > THR_HITS_MAX_FEATURE)
            return false;
        *feature = (uint32_t)number;
        return thr_lists_find(&c->lists, *feature) < c->lists.n_features;
    }
    uint32_t low = 0, high = c->lists.n_features;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const char *at = thr_strings_get(&c->words, middle);
        const int order = at == NULL ? 1 : strcmp(at, word);
        if (order == 0) {
            *feature = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

uint64_t thr_hits_feature_items(const thr_hits *hits, uint32_t feature) {
    const thr_lists *lists = &hits->view.contents.lists;
    const uint32_t f = thr_lists_find(lists, feature);
    return f < lists->n_features ? lists->sizes[f] : 0;
}

bool thr_hits_row(const thr_hits *hits, uint64_t id, uint64_t *row) {
    const thr_hits_contents *c = &hits->view.contents;
    uint32_t found;
    if (c->ids == NULL) {
        *row = id;
        return id < c->lists.n_items;
    }
    if (!thr_radix_find(c->ids, c->id_order, c->lists.n_items, id, &found))
        return false;
    *row = found;
    return true;
}

const char *thr_hits_name(const thr_hits *hits, uint64_t id) {
    uint64_t row;
    return thr_hits_row(hits, id, &row) ? thr_strings_get(&hits->view.contents.names, row) : NULL;
}

bool thr_hits_find(const thr_hits *hits, const char *name, uint64_t *id) {
    const thr_hits_contents *c = &hits->view.contents;
    uint64_t row;
    if (c->names.offsets == NULL)
        return thr_decimal_parse(name, strlen(name), id) && thr_hits_row(hits, *id, &row);
    for (row = 0; row < c->names.n; row++) {
        const char *candidate = thr_strings_get(&c->names, row);
        if (candidate != NULL && strcmp(candidate, name) == 0) {
            *id = c->ids != NULL ? c->ids[row] : row;
            return true;
        }
    }
    return false;
}
