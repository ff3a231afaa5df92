/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - transposes the lists of a file to features by new row, appends those of added items, and builds the lists
 * again. Memory: as a build.
 */
#include "hits/rewrite.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal.h"
#include "hits/build.h"
#include "select/bitmap.h"

/* ------------------------------------------------------------------------------------------------ added items */

/* Replace the numbers of words by the numbers that the words are. */
static thr_status parse_numbers(const thr_hits_rows *table, uint32_t *features, thr_error *err) {
    for (size_t e = 0; e < table->n_postings; e++) {
        const char *text = thr_dictionary_text(&table->words, table->features[e]);
        uint64_t number;
        if (!thr_decimal_parse(text, strlen(text), &number) || number > THR_HITS_MAX_FEATURE)
            return thr_fail(err, THR_EFORMAT,
                            "%s: feature %.200s: those of the index are numbers up to %" PRIu32 ", and no words",
                            table->name, text, THR_HITS_MAX_FEATURE);
        features[e] = (uint32_t)number;
    }
    return THR_OK;
}

static thr_status read_table(const thr_hits *hits, const char *path, thr_hits_added *added, thr_error *err) {
    static const uint64_t none[1] = {0};
    thr_hits_rows *table = &added->table;
    THR_TRY(thr_hits_rows_read(hits->context, path, table, err));
    added->items = (thr_item_features){table->offsets == NULL ? none : table->offsets, table->features, table->items.n};
    if (hits->info.has_words)
        return THR_OK;
    THR_TRY(thr_alloc(hits->context, table->n_postings, sizeof *added->owned, &added->owned, "features", err));
    added->items.features = added->owned;
    return parse_numbers(table, added->owned, err);
}

static thr_status check_values(const float *values, uint64_t n, const char *what, thr_error *err) {
    for (uint64_t row = 0; values != NULL && row < n; row++)
        if (!isfinite(values[row]))
            return thr_fail(err, THR_ERANGE, "the %s of row %" PRIu64 " is %g", what, row, (double)values[row]);
    return THR_OK;
}

static thr_status check_arrays(const thr_hits *hits, const thr_item_features *items, thr_error *err) {
    if (hits->info.has_words && items->n_items > 0 && items->offsets[items->n_items] > 0)
        return thr_fail(err, THR_EINVAL, "%s: features are words: give a table with the words of each item",
                        hits->path);
    if (items->n_items > 0 && items->offsets[0] != 0)
        return thr_fail(err, THR_EINVAL, "the features of row 0 begin at %" PRIu64 ": the first offset must be 0",
                        items->offsets[0]);
    for (uint64_t i = 0; i < items->n_items; i++)
        if (items->offsets[i + 1] < items->offsets[i])
            return thr_fail(err, THR_EINVAL, "the features of row %" PRIu64 " end before they begin", i);
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
        return thr_fail(err, THR_EDIM, "values of %" PRIu64 " items, but there are %" PRIu64, options->n_added,
                        added->items.n_items);
    THR_TRY(check_values(added->multipliers, options->n_added, "multiplier", err));
    return check_values(added->offsets, options->n_added, "offset", err);
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

typedef struct rewriter {
    thr_context *context;
    thr_hits *hits;
    const thr_hits_moves *moves;
    const thr_hits_added *added; /* or NULL */
    uint32_t *to;                /* the new row of every row of the file, or GONE */
    uint32_t *added_to;          /* of every added item */
    uint32_t *items;             /* of one list */
    uint32_t *numbers;           /* new numbers of the file's features; GONE: no item has it any more */
    uint64_t *offsets;           /* the result, by new row */
    uint32_t *features;
    thr_dictionary words;
    uint64_t *word_offsets;
    char *word_bytes;
    float *multipliers, *item_offsets;
} rewriter;

static uint64_t n_added(const rewriter *w) {
    return w->added == NULL ? 0 : w->added->items.n_items;
}

/* Give every item its row. */
static thr_status place(rewriter *w, thr_error *err) {
    const uint32_t n_old = w->hits->view.contents.lists.n_items;
    uint64_t next = 0, new_row, at = 0;
    if (w->moves->n_rows > THR_HITS_MAX_ITEMS)
        return thr_fail(err, THR_EDIM, "%" PRIu64 " rows: posting lists hold 1 to %" PRIu64, w->moves->n_rows,
                        THR_HITS_MAX_ITEMS);
    const uint64_t n_kept = thr_select_bitmap_count_range(w->moves->kept, 0, n_old);
    if (n_kept + n_added(w) != thr_select_bitmap_count_range(w->moves->filled, 0, w->moves->n_rows))
        return thr_fail(err, THR_EDIM, "features of %" PRIu64 " new items for another number of rows", n_added(w));
    THR_TRY(thr_alloc(w->context, n_old, sizeof *w->to, &w->to, "rows", err));
    THR_TRY(thr_alloc(w->context, (size_t)n_added(w), sizeof *w->added_to, &w->added_to, "rows", err));
    for (uint32_t row = 0; row < n_old; row++) {
        w->to[row] = GONE;
        if ((w->moves->kept[row / 64] >> row % 64 & 1) != 0 &&
            thr_select_bitmap_next_rows(w->moves->filled, &next, w->moves->n_rows, &new_row, 1) == 1)
            w->to[row] = (uint32_t)new_row;
    }
    while (thr_select_bitmap_next_rows(w->moves->filled, &next, w->moves->n_rows, &new_row, 1) == 1)
        w->added_to[at++] = (uint32_t)new_row;
    return THR_OK;
}

/* Count the features of every new row in offsets[row + 1], and drop features without an item. */
static thr_status count(rewriter *w, thr_error *err) {
    const thr_lists *lists = &w->hits->view.contents.lists;
    THR_TRY(thr_alloc(w->context, lists->n_items, sizeof *w->items, &w->items, "rows", err));
    THR_TRY(thr_alloc(w->context, lists->n_features, sizeof *w->numbers, &w->numbers, "features", err));
    THR_TRY(thr_alloc_zero(w->context, (size_t)w->moves->n_rows + 1, sizeof *w->offsets, &w->offsets, "rows", err));
    for (uint32_t f = 0; f < lists->n_features; f++) {
        const uint32_t n = thr_lists_items(lists, f, w->items);
        w->numbers[f] = GONE;
        for (uint32_t i = 0; i < n; i++)
            if (w->to[w->items[i]] != GONE) {
                w->offsets[w->to[w->items[i]] + 1]++;
                w->numbers[f] = thr_lists_feature(lists, f);
            }
    }
    for (uint64_t i = 0; i < n_added(w); i++)
        w->offsets[w->added_to[i] + 1] = w->added->items.offsets[i + 1] - w->added->items.offsets[i];
    for (uint64_t row = 0; row < w->moves->n_rows; row++)
        w->offsets[row + 1] += w->offsets[row];
    return THR_OK;
}

/* Number all words that are left and those of the added items; *added_numbers are those of the table's words. */
static thr_status number_words(rewriter *w, uint32_t **added_numbers, thr_error *err) {
    const thr_hits_contents *c = &w->hits->view.contents;
    const thr_dictionary *more = w->added == NULL ? NULL : &w->added->table.words;
    uint32_t *sorted = NULL;
    bool is_new;
    thr_status status = THR_OK;
    for (uint32_t f = 0; f < c->lists.n_features; f++) {
        const char *word = thr_strings_get(&c->words, f);
        if (w->numbers[f] != GONE && word == NULL)
            return thr_fail(err, THR_ECORRUPT, "%s: the offsets of words are wrong: " THR_HITS_REMEDY, w->hits->path);
        if (w->numbers[f] != GONE)
            THR_TRY(thr_dictionary_add(w->context, &w->words, word, strlen(word), &w->numbers[f], &is_new, err));
    }
    THR_TRY(thr_alloc(w->context, more == NULL ? 0 : more->n, sizeof **added_numbers, added_numbers, "words", err));
    for (uint32_t i = 0; more != NULL && i < more->n; i++) {
        const char *word = thr_dictionary_text(more, i);
        THR_TRY(thr_dictionary_add(w->context, &w->words, word, strlen(word), &(*added_numbers)[i], &is_new, err));
    }
    THR_TRY_OUT(thr_alloc(w->context, w->words.n, sizeof *sorted, &sorted, "words", err));
    THR_TRY_OUT(thr_hits_words_sort(w->context, &w->words, sorted, &w->word_offsets, &w->word_bytes, err));
    for (uint32_t f = 0; f < c->lists.n_features; f++)
        w->numbers[f] = w->numbers[f] == GONE ? GONE : sorted[w->numbers[f]];
    for (uint32_t i = 0; more != NULL && i < more->n; i++)
        (*added_numbers)[i] = sorted[(*added_numbers)[i]];
out:
    thr_release(w->context, sorted);
    return status;
}

/* Fill in the features; offsets[row] moves to its end while row is filled, and back at last. */
static thr_status fill(rewriter *w, const uint32_t *added_numbers, thr_error *err) {
    const thr_lists *lists = &w->hits->view.contents.lists;
    const uint64_t n_rows = w->moves->n_rows;
    THR_TRY(thr_alloc(w->context, (size_t)w->offsets[n_rows], sizeof *w->features, &w->features, "features", err));
    for (uint32_t f = 0; f < lists->n_features; f++) {
        const uint32_t n = w->numbers[f] == GONE ? 0 : thr_lists_items(lists, f, w->items);
        for (uint32_t i = 0; i < n; i++)
            if (w->to[w->items[i]] != GONE)
                w->features[w->offsets[w->to[w->items[i]]]++] = w->numbers[f];
    }
    for (uint64_t i = 0; i < n_added(w); i++) {
        const thr_item_features *more = &w->added->items;
        for (uint64_t e = more->offsets[i]; e < more->offsets[i + 1]; e++)
            w->features[w->offsets[w->added_to[i]]++] =
                added_numbers == NULL ? more->features[e] : added_numbers[more->features[e]];
    }
    memmove(w->offsets + 1, w->offsets, (size_t)n_rows * sizeof *w->offsets);
    w->offsets[0] = 0;
    return THR_OK;
}

/* The values of all rows, if any item has one. */
static thr_status move_values(const rewriter *w, const float *old, const float *added, float fallback, float **values,
                              thr_error *err) {
    const uint32_t n_old = w->hits->view.contents.lists.n_items;
    if (old == NULL && added == NULL)
        return THR_OK;
    THR_TRY(thr_alloc(w->context, (size_t)w->moves->n_rows, sizeof **values, values, "values", err));
    for (uint64_t row = 0; row < w->moves->n_rows; row++)
        (*values)[row] = fallback;
    for (uint32_t row = 0; old != NULL && row < n_old; row++)
        if (w->to[row] != GONE)
            (*values)[w->to[row]] = old[row];
    for (uint64_t i = 0; added != NULL && i < n_added(w); i++)
        (*values)[w->added_to[i]] = added[i];
    return THR_OK;
}

static thr_status rewrite(rewriter *w, const char *path, thr_error *err) {
    const thr_hits_contents *c = &w->hits->view.contents;
    const thr_hits_added none = {.context = NULL}, *added = w->added == NULL ? &none : w->added;
    uint32_t *added_numbers = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_hits_verify(w->hits, err)); /* else damaged bytes would get a right checksum */
    THR_TRY_OUT(place(w, err));
    THR_TRY_OUT(count(w, err));
    if (w->hits->info.has_words)
        THR_TRY_OUT(number_words(w, &added_numbers, err));
    THR_TRY_OUT(fill(w, added_numbers, err));
    THR_TRY_OUT(move_values(w, c->multipliers, added->multipliers, 1, &w->multipliers, err));
    THR_TRY_OUT(move_values(w, c->offsets, added->offsets, 0, &w->item_offsets, err));
    thr_hits_build_options how;
    thr_hits_build_options_init(&how);
    how.order = THR_HITS_ORDER_ROWS;
    how.model = c->model;
    how.multipliers = w->multipliers;
    how.offsets = w->item_offsets;
    how.n_values = w->moves->n_rows;
    const thr_item_features items = {w->offsets, w->features, w->moves->n_rows};
    const thr_strings words = {w->word_offsets, w->word_bytes, w->words.n,
                               w->word_offsets == NULL ? 0 : w->word_offsets[w->words.n]};
    THR_TRY_OUT(thr_hits_build_all(w->context, path, &items, &how, NULL, w->hits->info.has_words ? &words : NULL, err));
out:
    thr_release(w->context, added_numbers);
    return status;
}

thr_status thr_hits_rewrite(thr_hits *hits, const thr_hits_moves *moves, const thr_hits_added *added, const char *path,
                            thr_error *err) {
    rewriter w = {.context = hits->context, .hits = hits, .moves = moves, .added = added};
    const thr_status status = rewrite(&w, path, err);
    THR_RELEASE(w.context, w.to, w.added_to, w.items, w.numbers, w.offsets, w.features, w.word_offsets, w.word_bytes,
                w.multipliers, w.item_offsets);
    thr_dictionary_free(w.context, &w.words);
    return status;
}
