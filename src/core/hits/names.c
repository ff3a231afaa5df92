/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - looks up words of features, and names, ids and rows of items, in a file and its delta. */
#include <inttypes.h>
#include <string.h>

#include "base/text/decimal.h"
#include "base/error.h"
#include "base/radix.h"
#include "hits/hits.h"

/* Lookups that return no status find nothing if the file was changed: reading past its end would kill the process. */
static bool is_unchanged(const thr_hits *hits) {
    return thr_hits_check_unchanged(hits, NULL) == THR_OK;
}

/* Nor do they if a guarded file was cut while they read it. */
static bool is_whole(const thr_hits *hits) {
    return thr_hits_check_after(hits, THR_OK, NULL) == THR_OK;
}

/* ------------------------------------------------------------------------------------------------ features */

static bool find_word(const thr_hits_contents *c, const char *word, uint32_t *feature) {
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

bool thr_hits_number(const thr_hits *hits, const char *word, uint32_t *feature) {
    const thr_hits_contents *c = &hits->view.contents;
    if (c->words.offsets == NULL) {
        uint64_t number;
        if (!thr_decimal_parse(word, strlen(word), &number) || number > THR_HITS_MAX_FEATURE)
            return false;
        *feature = (uint32_t)number;
        return true;
    }
    if (find_word(c, word, feature))
        return true;
    if (hits->delta == NULL || !thr_dictionary_find(&hits->delta->words, word, strlen(word), feature))
        return false;
    *feature += c->lists.n_features;
    return true;
}

/* Count the live added items with a feature. Counting may end at `enough`. */
static uint64_t count_added(const thr_hits *hits, uint32_t feature, uint64_t enough) {
    const thr_hit_delta *delta = hits->delta;
    const uint32_t f = delta == NULL ? 0 : thr_lists_find(&delta->built.lists, feature);
    if (delta == NULL || f == delta->built.lists.n_features)
        return 0;
    return delta->added_live == NULL ? thr_lists_size(&delta->built.lists, f)
                                     : thr_lists_count(&delta->built.lists, f, delta->added_live, enough);
}

bool thr_hits_has_feature(const thr_hits *hits, uint32_t feature) {
    const thr_lists *lists = &hits->view.contents.lists;
    const uint64_t *live = thr_hits_live_rows(hits);
    if (count_added(hits, feature, 1) > 0)
        return true;
    const uint32_t f = thr_lists_find(lists, feature);
    if (f == lists->n_features)
        return false;
    const uint32_t n_gone = hits->delta == NULL ? hits->n_without : hits->delta->n_gone;
    return live == NULL || thr_lists_size(lists, f) > n_gone || thr_lists_count(lists, f, live, 1) > 0;
}

uint32_t thr_hits_count_unknown(const thr_hits *hits, const thr_hits_queries *queries, uint64_t q) {
    uint32_t n_unknown = 0;
    for (uint64_t i = queries->offsets[q]; i < queries->offsets[q + 1]; i++)
        n_unknown += !thr_hits_has_feature(hits, queries->features[i]);
    return n_unknown;
}

bool thr_hits_feature(const thr_hits *hits, const char *word, uint32_t *feature) {
    return is_unchanged(hits) && thr_hits_number(hits, word, feature) && thr_hits_has_feature(hits, *feature) &&
           is_whole(hits);
}

const char *thr_hits_text(const thr_hits *hits, uint32_t feature) {
    const thr_hits_contents *c = &hits->view.contents;
    if (c->words.offsets != NULL && hits->delta != NULL && feature >= c->lists.n_features &&
        feature - c->lists.n_features < hits->delta->words.n)
        return thr_dictionary_text(&hits->delta->words, feature - c->lists.n_features);
    return thr_strings_get(&c->words, feature);
}

const char *thr_hits_word(const thr_hits *hits, uint32_t feature) {
    const char *word = is_unchanged(hits) ? thr_hits_text(hits, feature) : NULL;
    return is_whole(hits) ? word : NULL;
}

uint64_t thr_hits_feature_items(const thr_hits *hits, uint32_t feature) {
    const thr_lists *lists = &hits->view.contents.lists;
    const uint64_t *live = thr_hits_live_rows(hits);
    uint64_t n = 0;
    if (!is_unchanged(hits))
        return 0;
    const uint32_t f = thr_lists_find(lists, feature);
    if (f < lists->n_features)
        n = live == NULL ? thr_lists_size(lists, f) : thr_lists_count(lists, f, live, UINT64_MAX);
    n += count_added(hits, feature, UINT64_MAX);
    return is_whole(hits) ? n : 0;
}

/* ------------------------------------------------------------------------------------------------ items */

static bool is_left(const thr_hits *hits, uint32_t row) {
    const uint64_t *live = thr_hits_live_rows(hits);
    if (live == NULL)
        return true;
    const uint32_t place = thr_hit_index_place(hits->file->index, row);
    return (live[place / 64] >> place % 64 & 1) != 0;
}

bool thr_hits_find_row(const thr_hits *hits, uint64_t id, uint64_t *row) {
    const thr_hits_contents *c = &hits->view.contents;
    uint32_t found = (uint32_t)id;
    if (hits->owner.index != NULL)
        return hits->owner.row(hits->owner.index, id, row) && *row < hits->info.n_rows;
    if (hits->delta != NULL && thr_hits_delta_find(hits->delta, id, &found)) {
        *row = hits->delta->rows[found];
        return true;
    }
    if (c->ids == NULL ? id >= c->lists.n_items : !thr_radix_find(c->ids, c->id_order, c->lists.n_items, id, &found))
        return false;
    *row = found;
    return is_left(hits, found);
}

bool thr_hits_row(const thr_hits *hits, uint64_t id, uint64_t *row) {
    return is_unchanged(hits) && thr_hits_find_row(hits, id, row) && is_whole(hits);
}

const char *thr_hits_name(const thr_hits *hits, uint64_t id) {
    uint64_t row;
    if (hits->owner.name != NULL)
        return hits->owner.name(hits->owner.index, id);
    if (!hits->info.has_names || !thr_hits_row(hits, id, &row))
        return NULL;
    if (thr_hits_is_added(hits, row))
        return thr_dictionary_text(&hits->delta->names, (uint32_t)row - hits->delta->first_row);
    const char *name = thr_strings_get(&hits->view.contents.names, row);
    return is_whole(hits) ? name : NULL;
}

bool thr_hits_find_name(const thr_hits *hits, const char *name, uint64_t *row, uint64_t *id) {
    uint32_t item;
    if (hits->delta != NULL && thr_dictionary_find(&hits->delta->names, name, strlen(name), &item)) {
        *row = hits->delta->rows[item];
        *id = hits->delta->ids[item];
        return true;
    }
    if (!thr_hits_index_find(hits->file->index, &hits->view.contents.names, name, row))
        return false;
    *id = hits->view.contents.ids != NULL ? hits->view.contents.ids[*row] : *row;
    return is_left(hits, (uint32_t)*row);
}

static bool find(const thr_hits *hits, const char *name, uint64_t *id) {
    const thr_hits_contents *c = &hits->view.contents;
    const thr_hit_owner *owner = &hits->owner;
    uint64_t row;
    if (c->names.offsets == NULL)
        return thr_decimal_parse(name, strlen(name), id) && thr_hits_find_row(hits, *id, &row);
    if (hits->delta != NULL)
        return thr_hits_find_name(hits, name, &row, id);
    for (row = 0; row < c->names.n; row++) {
        const char *candidate = thr_strings_get(&c->names, row);
        if (candidate != NULL && strcmp(candidate, name) == 0) {
            *id = owner->index != NULL ? owner->id(owner->index, row) : c->ids != NULL ? c->ids[row] : row;
            return thr_hits_find_row(hits, *id, &row); /* false if an index has removed it */
        }
    }
    return false;
}

bool thr_hits_find(const thr_hits *hits, const char *name, uint64_t *id) {
    if (!is_unchanged(hits))
        return false;
    return hits->owner.find != NULL ? hits->owner.find(hits->owner.index, name, id)
                                    : find(hits, name, id) && is_whole(hits);
}

thr_status thr_hits_name_query(thr_status status, uint64_t q, thr_error *err) {
    char text[THR_ERROR_TEXT_SIZE];
    if (status == THR_OK || status == THR_ENOMEM || err == NULL)
        return status;
    memcpy(text, err->text, sizeof text);
    return thr_fail(err, status, "query %" PRIu64 ": %.600s", q, text);
}
