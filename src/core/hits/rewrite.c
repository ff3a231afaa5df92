/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - transposes the lists of a file to features by new row, appends those of added items, and builds the lists
 * again. Memory: as a build.
 */
#include "hits/rewrite.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/files/checksum.h"
#include "base/minmax.h"
#include "hits/build.h"
#include "hits/hits.h"
#include "lists/transpose.h"
#include "select/bitmap.h"

/* ------------------------------------------------------------------------------------------------ added items */

/* Lists without features have neither words nor numbers: the first features decide. */
static bool is_undecided(const thr_hits *hits) {
    return hits->delta == NULL && hits->view.contents.lists.n_features == 0;
}

static thr_status read_table(const thr_hits *hits, const char *path, thr_hits_added *added, thr_error *err) {
    static const uint64_t none[1] = {0};
    thr_hits_rows *table = &added->table;
    THR_TRY(thr_hits_rows_read(hits->context, path, table, err));
    added->items = (thr_item_features){table->offsets == NULL ? none : table->offsets, table->features, table->items.n};
    added->has_words =
        is_undecided(hits) ? !thr_hits_are_numbers(&table->words, THR_HITS_MAX_FEATURE) : hits->info.has_words;
    if (added->has_words)
        return THR_OK;
    THR_TRY(thr_alloc(hits->context, table->n_postings, sizeof *added->owned, &added->owned, "features", err));
    added->items.features = added->owned;
    return thr_hits_rows_parse(table, added->owned, err);
}

static thr_status check_arrays(const thr_hits *hits, const thr_item_features *items, thr_error *err) {
    if (hits->info.has_words && !is_undecided(hits) && items->n_items > 0 && items->offsets[items->n_items] > 0)
        return thr_fail(err, THR_EINVAL, "%s: features are words: give a table with the words of each item",
                        hits->path);
    THR_TRY(thr_lists_check_offsets(items->offsets, items->n_items, "row", err));
    for (uint64_t i = 0; i < items->n_items; i++)
        for (uint64_t e = items->offsets[i]; e < items->offsets[i + 1]; e++)
            if (items->features[e] > THR_HITS_MAX_FEATURE)
                return thr_fail(err, THR_ERANGE, "row %" PRIu64 " has feature %" PRIu32 ": numbers go up to %" PRIu32,
                                i, items->features[e], THR_HITS_MAX_FEATURE);
    return THR_OK;
}

thr_status thr_hits_added_open(const thr_hits *hits, const thr_hits_changes *options, thr_hits_added *added,
                               thr_error *err) {
    added->context = hits->context;
    if (options->added_path != NULL) {
        THR_TRY(read_table(hits, options->added_path, added, err));
    } else {
        added->items = (thr_item_features){options->offsets, options->features, options->n_added};
        THR_TRY(check_arrays(hits, &added->items, err));
    }
    added->multipliers = options->multipliers;
    added->offsets = options->item_offsets;
    if ((added->multipliers != NULL || added->offsets != NULL) && options->n_added != added->items.n_items)
        return thr_fail(err, THR_EDIM, "multipliers or offsets of %" PRIu64 " items, but there are %" PRIu64,
                        options->n_added, added->items.n_items);
    return thr_hits_check_values(added->multipliers, added->offsets, options->n_added, "row", err);
}

void thr_hits_added_free(thr_hits_added *added) {
    if (added->context == NULL)
        return;
    thr_hits_rows_free(&added->table);
    thr_release(added->context, added->owned);
    *added = (thr_hits_added){.context = NULL};
}

/* ------------------------------------------------------------------------------------------------ transpose */

static const uint32_t GONE = UINT32_MAX;

/* Lists to read: of the file, of that which is joined to it, or both. */
typedef struct source {
    const thr_hits_view *view;
    const thr_lists *lists; /* with the numbers of the joined features */
    uint32_t first;         /* element of `to` of place 0 */
    uint32_t begin;         /* the first place of a row of the source */
    uint32_t *features;     /* new numbers of features; GONE: no item has it any more */
} source;

typedef struct rewriter {
    thr_context *context;
    thr_hits *hits;
    const thr_hits_moves *moves;
    const thr_hits_added *added; /* or NULL */
    uint64_t from;               /* the row of the new file's place 0 */
    uint64_t n_places;           /* of the new file */
    source sources[2];
    uint32_t n_sources;
    uint32_t *to;       /* the new place of every row from `from` on, or GONE */
    uint32_t *added_to; /* of every added item */
    uint32_t *places;   /* of one list */
    uint64_t *offsets;  /* the result, by new place */
    uint32_t *features;
    thr_dictionary words;
    uint64_t *word_offsets;
    char *word_bytes;
    uint64_t *name_offsets;
    char *name_bytes;
    float *multipliers, *item_offsets;
    uint32_t *given;
} rewriter;

static uint64_t n_added(const rewriter *w) {
    return w->added == NULL ? 0 : w->added->items.n_items;
}

/* Choose what to read. Damaged bytes would get a right checksum, so it is verified. */
static thr_status choose_sources(rewriter *w, thr_error *err) {
    const thr_hit_delta *delta = w->hits->delta;
    if (w->moves->n_rows > THR_HITS_MAX_ITEMS)
        return thr_fail(err, THR_EDIM, "%" PRIu64 " rows: posting lists hold 1 to %" PRIu64, w->moves->n_rows,
                        THR_HITS_MAX_ITEMS);
    w->from = thr_hits_second_row(w->moves->first);
    w->n_places = w->moves->n_rows - w->from;
    if (w->moves->first == 0)
        w->sources[w->n_sources++] = (source){.view = &w->hits->view, .lists = &w->hits->view.contents.lists};
    if (delta != NULL)
        w->sources[w->n_sources++] = (source){.view = &delta->from->view,
                                              .lists = &delta->built.lists,
                                              .first = delta->first_row - (uint32_t)w->from,
                                              .begin = w->hits->view.contents.lists.n_items - delta->first_row};
    if (w->moves->first == 0)
        return thr_hits_verify(w->hits, err);
    return delta == NULL ? THR_OK : thr_hits_verify(delta->from, err);
}

/* Give the item of an old row, if it remains, the next new row, at *next or after it. */
static void place_row(rewriter *w, uint64_t row, uint64_t *next) {
    uint64_t new_row;
    if ((w->moves->remaining[row / 64] >> row % 64 & 1) != 0 &&
        thr_select_bitmap_next_rows(w->moves->filled, next, w->moves->n_rows, &new_row, 1) == 1)
        w->to[row - w->from] = (uint32_t)(new_row - w->from);
}

/* Give every item its place. */
static thr_status place(rewriter *w, thr_error *err) {
    const uint64_t n_old = w->hits->info.n_rows;
    const thr_hits_run none = {.begin = n_old, .end = n_old}, *run = w->moves->run == NULL ? &none : w->moves->run;
    uint64_t next = w->moves->first, new_row, at = 0;
    const uint64_t n_remaining = thr_select_bitmap_count_range(w->moves->remaining, w->moves->first, n_old);
    if (n_remaining + n_added(w) != thr_select_bitmap_count_range(w->moves->filled, w->moves->first, w->moves->n_rows))
        return thr_fail(err, THR_EDIM, "features of %" PRIu64 " new items for another number of rows", n_added(w));
    THR_TRY(thr_alloc(w->context, (size_t)(n_old - w->from), sizeof *w->to, &w->to, "rows", err));
    THR_TRY(thr_alloc(w->context, (size_t)n_added(w), sizeof *w->added_to, &w->added_to, "rows", err));
    for (uint64_t row = w->from; row < n_old; row++)
        w->to[row - w->from] = GONE;
    for (uint64_t row = w->moves->first; row < run->begin; row++)
        place_row(w, row, &next);
    for (uint64_t i = 0; i < run->n_rows; i++)
        place_row(w, run->rows[i], &next);
    for (uint64_t row = run->end; row < n_old; row++)
        place_row(w, row, &next);
    while (thr_select_bitmap_next_rows(w->moves->filled, &next, w->moves->n_rows, &new_row, 1) == 1)
        w->added_to[at++] = (uint32_t)(new_row - w->from);
    return THR_OK;
}

/* Count the features of a source, and drop those without an item. */
static thr_status count_source(rewriter *w, source *s, thr_error *err) {
    const thr_lists *lists = s->lists;
    THR_TRY(thr_alloc(w->context, lists->n_features, sizeof *s->features, &s->features, "features", err));
    for (uint32_t f = 0; f < lists->n_features; f++) {
        const uint32_t n = thr_lists_places(lists, f, w->places);
        s->features[f] = GONE;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t to = w->to[s->first + w->places[i]];
            if (to == GONE)
                continue;
            w->offsets[to + 1]++;
            s->features[f] = thr_lists_feature(lists, f);
        }
    }
    return THR_OK;
}

/* Count the features of every new place p in offsets[p + 1]. */
static thr_status count(rewriter *w, thr_error *err) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->n_sources; i++)
        most = THR_MAX(w->sources[i].lists->n_items, most);
    THR_TRY(thr_alloc(w->context, most, sizeof *w->places, &w->places, "rows", err));
    THR_TRY(thr_alloc_zero(w->context, (size_t)w->n_places + 1, sizeof *w->offsets, &w->offsets, "rows", err));
    for (uint32_t i = 0; i < w->n_sources; i++)
        THR_TRY(count_source(w, &w->sources[i], err));
    for (uint64_t i = 0; i < n_added(w); i++)
        w->offsets[w->added_to[i] + 1] = w->added->items.offsets[i + 1] - w->added->items.offsets[i];
    for (uint64_t p = 0; p < w->n_places; p++)
        w->offsets[p + 1] += w->offsets[p];
    return THR_OK;
}

/* Number the words of a source that are left. */
static thr_status number_source(rewriter *w, const source *s, thr_error *err) {
    for (uint32_t f = 0; f < s->lists->n_features; f++) {
        const char *word = s->features[f] == GONE ? NULL : thr_hits_text(w->hits, s->features[f]);
        if (s->features[f] != GONE && word == NULL)
            return thr_fail(err, THR_ECORRUPT, "%s: the offsets of words are wrong: " THR_HITS_REMEDY, w->hits->path);
        if (word != NULL)
            THR_TRY(thr_dictionary_add(w->context, &w->words, word, strlen(word), &s->features[f], NULL, err));
    }
    return THR_OK;
}

/* Number all words that are left and those of the added items; *added_numbers are those of the table's words. */
static thr_status number_words(rewriter *w, uint32_t **added_numbers, thr_error *err) {
    const thr_dictionary *more = w->added == NULL ? NULL : &w->added->table.words;
    uint32_t *sorted = NULL;
    thr_status status = THR_OK;
    for (uint32_t i = 0; i < w->n_sources; i++)
        THR_TRY(number_source(w, &w->sources[i], err));
    THR_TRY(thr_alloc(w->context, more == NULL ? 0 : more->n, sizeof **added_numbers, added_numbers, "words", err));
    for (uint32_t i = 0; more != NULL && i < more->n; i++) {
        const char *word = thr_dictionary_text(more, i);
        THR_TRY(thr_dictionary_add(w->context, &w->words, word, strlen(word), &(*added_numbers)[i], NULL, err));
    }
    THR_TRY_OUT(thr_alloc(w->context, w->words.n, sizeof *sorted, &sorted, "words", err));
    THR_TRY_OUT(thr_hits_words_sort(w->context, &w->words, sorted, &w->word_offsets, &w->word_bytes, err));
    for (uint32_t i = 0; i < w->n_sources; i++)
        for (uint32_t f = 0; f < w->sources[i].lists->n_features; f++)
            if (w->sources[i].features[f] != GONE)
                w->sources[i].features[f] = sorted[w->sources[i].features[f]];
    for (uint32_t i = 0; more != NULL && i < more->n; i++)
        (*added_numbers)[i] = sorted[(*added_numbers)[i]];
out:
    thr_release(w->context, sorted);
    return status;
}

/* Lists that are cut after they were counted may have other items; the change fails then. */
static void fill_source(const rewriter *w, const source *s, uint64_t n_features) {
    for (uint32_t f = 0; f < s->lists->n_features; f++) {
        const uint32_t n = s->features[f] == GONE ? 0 : thr_lists_places(s->lists, f, w->places);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t to = w->to[s->first + w->places[i]];
            if (to != GONE && w->offsets[to] < n_features)
                w->features[w->offsets[to]++] = s->features[f];
        }
    }
}

/* Fill in the features; offsets[p] moves to its end while place p is filled, and back at last. */
static thr_status fill(rewriter *w, const uint32_t *added_numbers, thr_error *err) {
    const uint64_t n = w->offsets[w->n_places];
    THR_TRY(thr_alloc(w->context, (size_t)n, sizeof *w->features, &w->features, "features", err));
    for (uint32_t i = 0; i < w->n_sources; i++)
        fill_source(w, &w->sources[i], n);
    for (uint64_t i = 0; i < n_added(w); i++) {
        const thr_item_features *more = &w->added->items;
        for (uint64_t e = more->offsets[i]; e < more->offsets[i + 1]; e++)
            w->features[w->offsets[w->added_to[i]]++] =
                added_numbers == NULL ? more->features[e] : added_numbers[more->features[e]];
    }
    memmove(w->offsets + 1, w->offsets, (size_t)w->n_places * sizeof *w->offsets);
    w->offsets[0] = 0;
    return THR_OK;
}

static const float *values_of(const source *s, bool multipliers) {
    return multipliers ? s->view->contents.multipliers : s->view->contents.offsets;
}

/* The multipliers or offsets of all places, if any item has one. */
static thr_status move_values(const rewriter *w, bool multipliers, float **values, thr_error *err) {
    const float *added = w->added == NULL ? NULL : multipliers ? w->added->multipliers : w->added->offsets;
    bool any = added != NULL;
    for (uint32_t i = 0; i < w->n_sources; i++)
        any = any || values_of(&w->sources[i], multipliers) != NULL;
    if (!any)
        return THR_OK;
    THR_TRY(thr_alloc(w->context, (size_t)w->n_places, sizeof **values, values, "values", err));
    for (uint64_t p = 0; p < w->n_places; p++)
        (*values)[p] = multipliers ? 1 : 0;
    for (uint32_t i = 0; i < w->n_sources; i++) {
        const source *s = &w->sources[i];
        const float *old = values_of(s, multipliers);
        for (uint32_t p = s->begin; old != NULL && p < s->lists->n_items; p++)
            if (w->to[s->first + p] != GONE)
                (*values)[w->to[s->first + p]] = old[p];
    }
    for (uint64_t i = 0; added != NULL && i < n_added(w); i++)
        (*values)[w->added_to[i]] = added[i];
    return THR_OK;
}

/*
 * Set w->given, by place: the number of the change that gave the item's values. It stays NULL if no item has values, or
 * if a build reorders its rows (thr_hits_given_at).
 */
static thr_status move_given(rewriter *w, thr_error *err) {
    const bool added = w->added != NULL && (w->added->multipliers != NULL || w->added->offsets != NULL);
    const uint32_t number = (uint32_t)thr_checksum_unique() | 1;
    if (w->moves->names || (w->multipliers == NULL && w->item_offsets == NULL))
        return THR_OK;
    THR_TRY(thr_alloc_zero(w->context, (size_t)w->n_places, sizeof *w->given, &w->given, "values", err));
    for (uint32_t i = 0; i < w->n_sources; i++) {
        const source *s = &w->sources[i];
        for (uint32_t p = s->begin; p < s->lists->n_items; p++)
            if (w->to[s->first + p] != GONE)
                w->given[w->to[s->first + p]] = thr_hits_given_at(s->view, p);
    }
    for (uint64_t i = 0; added && i < n_added(w); i++)
        w->given[w->added_to[i]] = number;
    return THR_OK;
}

static thr_status name_of(const rewriter *w, uint64_t row, const char **name, thr_error *err) {
    *name = thr_strings_get(&w->hits->view.contents.names, row);
    return *name != NULL
               ? THR_OK
               : thr_fail(err, THR_ECORRUPT, "%s: the offsets of names are wrong: " THR_HITS_REMEDY, w->hits->path);
}

/* The names of all places, if the file has some that are to be kept. */
static thr_status move_names(rewriter *w, thr_error *err) {
    const char *name;
    if (!w->moves->names || w->hits->view.contents.names.offsets == NULL)
        return THR_OK;
    THR_TRY(
        thr_alloc_zero(w->context, (size_t)w->n_places + 1, sizeof *w->name_offsets, &w->name_offsets, "names", err));
    for (uint64_t row = 0; row < w->hits->info.n_rows; row++) {
        THR_TRY(name_of(w, row, &name, err));
        w->name_offsets[w->to[row] + 1] = strlen(name) + 1;
    }
    for (uint64_t p = 0; p < w->n_places; p++)
        w->name_offsets[p + 1] += w->name_offsets[p];
    THR_TRY(thr_alloc(w->context, (size_t)w->name_offsets[w->n_places], 1, &w->name_bytes, "names", err));
    for (uint64_t row = 0; row < w->hits->info.n_rows; row++) {
        const uint64_t *at = &w->name_offsets[w->to[row]];
        THR_TRY(name_of(w, row, &name, err));
        memcpy(w->name_bytes + at[0], name, (size_t)(at[1] - at[0]));
    }
    return THR_OK;
}

static thr_status rewrite(rewriter *w, const char *path, thr_error *err) {
    uint32_t *added_numbers = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(choose_sources(w, err));
    THR_TRY_OUT(place(w, err));
    THR_TRY_OUT(count(w, err));
    const uint64_t n = n_added(w);
    const bool decides = is_undecided(w->hits) && n > 0 && w->added->items.offsets[n] > 0;
    const bool has_words = decides ? w->added->has_words : w->hits->info.has_words;
    if (has_words)
        THR_TRY_OUT(number_words(w, &added_numbers, err));
    THR_TRY_OUT(fill(w, added_numbers, err));
    THR_TRY_OUT(move_values(w, true, &w->multipliers, err));
    THR_TRY_OUT(move_values(w, false, &w->item_offsets, err));
    THR_TRY_OUT(move_given(w, err));
    THR_TRY_OUT(move_names(w, err));
    THR_TRY_OUT(thr_hits_check_unchanged(w->hits, err));
    thr_hits_build_options how = {0};
    how.order = THR_HITS_ORDER_ROWS;
    how.model = w->hits->view.contents.model;
    how.multipliers = w->multipliers;
    how.offsets = w->item_offsets;
    how.n_values = w->n_places;
    const thr_item_features items = {w->offsets, w->features, w->n_places};
    const thr_strings words = {w->word_offsets, w->word_bytes, w->words.n,
                               w->word_offsets == NULL ? 0 : w->word_offsets[w->words.n]};
    const thr_strings names = {w->name_offsets, w->name_bytes, w->n_places,
                               w->name_offsets == NULL ? 0 : w->name_offsets[w->n_places]};
    const thr_hits_extras extras = {w->name_offsets == NULL ? NULL : &names, has_words ? &words : NULL, w->given};
    THR_TRY_OUT(thr_hits_build_all(w->context, path, &items, &how, &extras, err));
out:
    thr_release(w->context, added_numbers);
    return status;
}

thr_status thr_hits_rewrite(thr_hits *hits, const thr_hits_moves *moves, const thr_hits_added *added, const char *path,
                            thr_error *err) {
    rewriter w = {.context = hits->context, .hits = hits, .moves = moves, .added = added};
    const thr_status status = rewrite(&w, path, err);
    THR_RELEASE(w.context, w.to, w.added_to, w.places, w.sources[0].features, w.sources[1].features, w.offsets,
                w.features, w.word_offsets, w.word_bytes, w.name_offsets, w.name_bytes, w.multipliers, w.item_offsets,
                w.given);
    thr_dictionary_free(w.context, &w.words);
    return thr_hits_check_after(hits, status, err);
}
