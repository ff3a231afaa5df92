/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - checks the changes of an update, and resolves names to ids and words to feature numbers. */
#include "hits/change.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "hits/build.h"
#include "hits/hits.h"
#include "lists/transpose.h"

/* ------------------------------------------------------------------------------------------------ checks */

static thr_status check_kinds(const thr_hits *hits, const thr_hits_changes *g, thr_error *err) {
    const bool named = hits->info.has_names, worded = hits->info.has_words;
    const void *added = named ? (const void *)g->names : g->ids, *other = named ? (const void *)g->ids : g->names;
    const void *removed = named ? (const void *)g->removed_names : g->removed_ids;
    const uint64_t n_features = g->n_added > 0 && g->offsets != NULL ? g->offsets[g->n_added] : 0;
    if (g->n_added > 0 && (added == NULL || other != NULL))
        return thr_fail(err, THR_EINVAL, "%s: its items have %s: add items by these alone", hits->path,
                        named ? "names" : "ids");
    if (g->n_removed > 0 && removed == NULL)
        return thr_fail(err, THR_EINVAL, "%s: its items have %s: remove items by these", hits->path,
                        named ? "names" : "ids");
    for (uint64_t i = 0; named && i < g->n_removed; i++)
        if (g->removed_names[i] == NULL || g->removed_names[i][0] == '\0')
            return thr_fail(err, THR_EINVAL, "removed item %" PRIu64 " has no name", i);
    if (g->n_added > 0 && g->offsets == NULL)
        return thr_fail(err, THR_EINVAL, "added items need offsets of their features");
    if (n_features > 0 &&
        ((worded ? (const void *)g->words : g->features) == NULL || (worded ? (const void *)g->features : g->words)))
        return thr_fail(err, THR_EINVAL, "%s: its features are %s: give items these alone", hits->path,
                        worded ? "words" : "numbers");
    return THR_OK;
}

static thr_status check(const thr_hits *hits, const thr_hits_changes *g, thr_error *err) {
    if (g->n_added > THR_HITS_MAX_ADDED)
        return thr_fail(err, THR_EDIM, "%s: %" PRIu64 " items to add, the limit is %" PRIu64 ": rebuild the lists",
                        hits->path, g->n_added, THR_HITS_MAX_ADDED);
    THR_TRY(check_kinds(hits, g, err));
    THR_TRY(thr_lists_check_offsets(g->offsets, g->n_added, "added item", err));
    if (g->n_added > 0 && g->offsets[g->n_added] > THR_HITS_MAX_ADDED_FEATURES)
        return thr_fail(err, THR_EDIM,
                        "%s: %" PRIu64 " features of added items, the limit is %" PRIu64 ": rebuild the lists",
                        hits->path, g->offsets[g->n_added], THR_HITS_MAX_ADDED_FEATURES);
    return thr_hits_check_values(g->multipliers, g->item_offsets, g->n_added, "added item", err);
}

/* ------------------------------------------------------------------------------------------------ features */

static thr_status check_features(const thr_hits_changes *g, thr_hit_change *change, thr_error *err) {
    change->features = g->features;
    for (uint64_t i = 0; i < g->n_added; i++)
        for (uint64_t e = g->offsets[i]; e < g->offsets[i + 1]; e++)
            if (g->features[e] > THR_HITS_MAX_FEATURE)
                return thr_fail(err, THR_ERANGE,
                                "added item %" PRIu64 " has feature %" PRIu32 ": numbers go up to %" PRIu32, i,
                                g->features[e], THR_HITS_MAX_FEATURE);
    return THR_OK;
}

/* Number the words of the added items. Words of the delta before keep their numbers. */
static thr_status take_words(const thr_hits *hits, thr_hit_change *change, thr_error *err) {
    const thr_hits_changes *g = change->given;
    const uint64_t n = g->n_added > 0 ? g->offsets[g->n_added] : 0;
    const uint32_t n_file = hits->info.n_features;
    if (hits->delta != NULL)
        THR_TRY(thr_dictionary_add_all(hits->context, &change->words, &hits->delta->words, err));
    THR_TRY(thr_alloc(hits->context, (size_t)n, sizeof *change->resolved, &change->resolved, "features", err));
    change->features = change->resolved;
    for (uint64_t e = 0; e < n; e++) {
        const size_t length = g->words[e] == NULL ? 0 : strlen(g->words[e]);
        if (length == 0)
            return thr_fail(err, THR_EINVAL, "word %" PRIu64 " of the added items' features is empty", e);
        if (thr_hits_number(hits, g->words[e], &change->resolved[e]))
            continue;
        THR_TRY(
            thr_dictionary_add(hits->context, &change->words, g->words[e], length, &change->resolved[e], NULL, err));
        change->resolved[e] += n_file;
    }
    if (change->words.n > THR_HITS_MAX_FEATURE - n_file)
        return thr_fail(err, THR_EDIM, "%s: more words than feature numbers: rebuild the lists", hits->path);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ items */

static thr_status name_items(thr_hits *hits, thr_hit_change *change, thr_dictionary *seen, thr_error *err) {
    const thr_hits_changes *g = change->given;
    for (uint64_t i = 0; i < g->n_added; i++) {
        const size_t length = g->names[i] == NULL ? 0 : strlen(g->names[i]);
        uint32_t first;
        uint64_t row;
        bool is_new;
        if (length == 0)
            return thr_fail(err, THR_EINVAL, "added item %" PRIu64 " has no name", i);
        THR_TRY(thr_dictionary_add(hits->context, seen, g->names[i], length, &first, &is_new, err));
        if (!is_new)
            return thr_fail(err, THR_EDUPLICATE, "item %.200s is added twice: it is number %" PRIu32 " and %" PRIu64,
                            g->names[i], first, i);
        if (!thr_hits_find_name(hits, g->names[i], &row, &change->ids[i]))
            change->ids[i] = change->next_id++;
    }
    return THR_OK;
}

static void touch(thr_hit_change *change, uint64_t id, uint64_t row) {
    change->touched[change->n_touched++] = (thr_keyed){id, row};
}

static void touch_removed(thr_hits *hits, thr_hit_change *change) {
    const thr_hits_changes *g = change->given;
    for (uint64_t i = 0; i < g->n_removed; i++) {
        uint64_t row, id = THR_NO_ID;
        const bool there = hits->info.has_names ? thr_hits_find_name(hits, g->removed_names[i], &row, &id)
                                                : thr_hits_find_row(hits, id = g->removed_ids[i], &row);
        change->n_missing += !there;
        if (there || !hits->info.has_names) /* the removal of an unknown id is recorded, too: newer lists may have it */
            touch(change, id, g->n_added + i);
    }
}

/* Collect the ids of all added and removed items in ascending order. THR_EDUPLICATE if an id is added twice. */
static thr_status touch_all(thr_hits *hits, thr_hit_change *change, thr_error *err) {
    const thr_hits_changes *g = change->given;
    THR_TRY(thr_alloc(hits->context, (size_t)(g->n_added + g->n_removed), sizeof *change->touched, &change->touched,
                      "changes", err));
    for (uint64_t i = 0; i < g->n_added; i++) {
        if (change->ids[i] == THR_NO_ID)
            return thr_fail(err, THR_ERANGE, "added item %" PRIu64 ": the id %" PRIu64 " means 'none': choose another",
                            i, THR_NO_ID);
        touch(change, change->ids[i], i);
    }
    touch_removed(hits, change);
    THR_TRY(thr_radix_sort(hits->context, change->touched, change->n_touched, err));
    for (size_t i = 1; i < change->n_touched; i++) /* among equal ids, added items come first */
        if (change->touched[i].key == change->touched[i - 1].key && change->touched[i].value < g->n_added)
            return thr_fail(err, THR_EDUPLICATE, "id %" PRIu64 " is added twice: as number %" PRIu64 " and %" PRIu64,
                            change->touched[i].key, change->touched[i - 1].value, change->touched[i].value);
    return THR_OK;
}

static bool is_touched(const thr_hit_change *change, uint64_t id) {
    const size_t i = thr_radix_first(change->touched, change->n_touched, id);
    return i < change->n_touched && change->touched[i].key == id;
}

static thr_status keep_others(thr_hits *hits, thr_hit_change *change, thr_error *err) {
    const uint32_t n = thr_hits_n_added(hits);
    THR_TRY(thr_alloc(hits->context, n, sizeof *change->remaining, &change->remaining, "changes", err));
    for (uint32_t i = 0; i < n; i++)
        if (!is_touched(change, hits->delta->ids[i]))
            change->remaining[change->n_remaining++] = i;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ together */

thr_status thr_hits_change_make(thr_hits *hits, const thr_hits_changes *given, thr_hit_change *change, thr_error *err) {
    thr_status status = THR_OK;
    thr_dictionary seen = {.n = 0};
    THR_TRY_OUT(check(hits, given, err));
    change->given = given;
    change->next_id = hits->delta == NULL ? hits->view.contents.lists.n_items : hits->delta->next_id;
    THR_TRY_OUT(hits->info.has_words ? take_words(hits, change, err) : check_features(given, change, err));
    THR_TRY_OUT(thr_alloc(hits->context, (size_t)given->n_added, sizeof *change->ids, &change->ids, "ids", err));
    if (hits->info.has_names)
        THR_TRY_OUT(name_items(hits, change, &seen, err));
    else if (given->n_added > 0)
        memcpy(change->ids, given->ids, (size_t)given->n_added * sizeof *change->ids);
    THR_TRY_OUT(touch_all(hits, change, err));
    THR_TRY_OUT(keep_others(hits, change, err));
out:
    thr_dictionary_free(hits->context, &seen);
    return status;
}

void thr_hits_change_free(thr_context *context, thr_hit_change *change) {
    thr_dictionary_free(context, &change->words);
    THR_RELEASE(context, change->ids, change->resolved, change->touched, change->remaining);
    *change = (thr_hit_change){.given = NULL};
}
