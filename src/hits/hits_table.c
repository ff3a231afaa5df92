/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_table.c - a file of posting lists from a table of items and their features, as text.
 *
 * Names and words are numbered as they come. At the end it is known whether all of them are numbers, which then are
 * meant, and words are numbered anew in order, so that a file's words can be looked up by halving.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/dictionary.h"
#include "base/error.h"
#include "hits/hits_build.h"
#include "io/table.h"

typedef struct table {
    thr_context *context;
    const char *name; /* of the file */
    thr_dictionary items, words;
    uint64_t *offsets;
    uint32_t *features; /* numbers of words */
    size_t offsets_capacity, features_capacity, n_postings;
    /* What becomes of them: either, or neither, where names and words are numbers. */
    uint64_t *ids;
    uint64_t *word_offsets;
    char *word_bytes;
} table;

/* ------------------------------------------------------------------------------------------------ read */

static thr_status add_feature(table *t, const char *word, size_t length, thr_error *err) {
    bool is_new;
    THR_TRY(thr_grow(t->context, &t->features, &t->features_capacity, t->n_postings, t->n_postings + 1,
                     sizeof *t->features, "features", err));
    THR_TRY(thr_dictionary_add(t->context, &t->words, word, length, &t->features[t->n_postings], &is_new, err));
    t->n_postings++;
    return THR_OK;
}

static thr_status add_item(table *t, const thr_field *fields, uint64_t line, thr_error *err) {
    uint32_t item;
    bool is_new;
    if (fields[0].length == 0)
        return thr_fail(err, THR_EFORMAT, "%s: line %" PRIu64 ": the item has no name", t->name, line);
    THR_TRY(thr_dictionary_add(t->context, &t->items, fields[0].text, fields[0].length, &item, &is_new, err));
    if (!is_new)
        return thr_fail(err, THR_EDUPLICATE, "%s: line %" PRIu64 ": item %.200s stands twice: its row was %" PRIu32,
                        t->name, line, fields[0].text, item);
    THR_TRY(thr_grow(t->context, &t->offsets, &t->offsets_capacity, item == 0 ? 0 : item + 1u, item + 2u,
                     sizeof *t->offsets, "items", err));
    t->offsets[item] = t->n_postings;
    const char *p = fields[1].text;
    while (*(p += strspn(p, " ")) != '\0') {
        const size_t length = strcspn(p, " ");
        THR_TRY(add_feature(t, p, length, err));
        p += length;
    }
    t->offsets[item + 1] = t->n_postings;
    return THR_OK;
}

static thr_status read_rows(table *t, thr_table *rows, thr_error *err) {
    thr_progress progress = thr_progress_start(t->context, "reading items", 0);
    for (;;) {
        const thr_field *fields;
        size_t n_fields;
        THR_TRY(thr_table_next_whole(rows, &progress, &fields, &n_fields, err));
        if (n_fields == 0)
            return THR_OK;
        const uint64_t line = thr_table_row(rows);
        if (n_fields != 2)
            return thr_fail(err, THR_EFORMAT,
                            "%s: line %" PRIu64 " has %zu columns, not 2: an item's name, and behind a tab its "
                            "features, parted by spaces",
                            t->name, line, n_fields);
        THR_TRY(add_item(t, fields, line, err));
    }
}

/* ------------------------------------------------------------------------------------------------ numbers */

/* Whether all strings are numbers up to most, below. */
static bool all_numbers(const thr_dictionary *d, uint64_t most) {
    for (uint32_t i = 0; i < d->n; i++) {
        uint64_t value;
        if (!thr_decimal_parse(thr_dictionary_text(d, i), (size_t)(d->starts[i + 1] - d->starts[i] - 1), &value) ||
            value > most)
            return false;
    }
    return true;
}

static uint64_t number_of(const thr_dictionary *d, uint32_t i) {
    return strtoull(thr_dictionary_text(d, i), NULL, 10);
}

static thr_status names_to_ids(table *t, thr_error *err) {
    if (!all_numbers(&t->items, THR_NO_ID - 1))
        return THR_OK;
    THR_TRY(thr_alloc(t->context, t->items.n, sizeof *t->ids, &t->ids, "ids", err));
    for (uint32_t i = 0; i < t->items.n; i++)
        t->ids[i] = number_of(&t->items, i);
    return THR_OK;
}

typedef struct numbered {
    const char *text;
    uint32_t number;
} numbered;

static int by_text(const void *a, const void *b) {
    return strcmp(((const numbered *)a)->text, ((const numbered *)b)->text);
}

/* In ascending order into word_offsets and word_bytes; numbers[old] is the new number. */
static thr_status sort_words(table *t, uint32_t *numbers, thr_error *err) {
    const thr_dictionary *d = &t->words;
    numbered *sorted = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(t->context, d->n, sizeof *sorted, &sorted, "words", err));
    THR_TRY_OUT(thr_alloc(t->context, d->n + (size_t)1, sizeof *t->word_offsets, &t->word_offsets, "words", err));
    THR_TRY_OUT(thr_alloc(t->context, d->n == 0 ? 0 : (size_t)d->starts[d->n], 1, &t->word_bytes, "words", err));
    for (uint32_t i = 0; i < d->n; i++)
        sorted[i] = (numbered){thr_dictionary_text(d, i), i};
    qsort(sorted, d->n, sizeof *sorted, by_text);
    uint64_t at = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const size_t size = strlen(sorted[i].text) + 1;
        t->word_offsets[i] = at;
        memcpy(t->word_bytes + at, sorted[i].text, size);
        numbers[sorted[i].number] = i;
        at += size;
    }
    t->word_offsets[d->n] = at;
out:
    thr_release(t->context, sorted);
    return status;
}

/* Words become what they are numbered by. */
static thr_status number_words(table *t, thr_error *err) {
    thr_status status = THR_OK;
    uint32_t *numbers = NULL;
    THR_TRY_OUT(thr_alloc(t->context, t->words.n, sizeof *numbers, &numbers, "words", err));
    if (all_numbers(&t->words, THR_HITS_MAX_FEATURE)) {
        for (uint32_t i = 0; i < t->words.n; i++)
            numbers[i] = (uint32_t)number_of(&t->words, i);
    } else {
        THR_TRY_OUT(sort_words(t, numbers, err));
    }
    for (size_t e = 0; e < t->n_postings; e++)
        t->features[e] = numbers[t->features[e]];
out:
    thr_release(t->context, numbers);
    return status;
}

/* ------------------------------------------------------------------------------------------------ together */

static thr_status build(table *t, const char *path, thr_hits_build_options *options, thr_error *err) {
    if (t->items.n == 0)
        return thr_fail(err, THR_EDIM, "%s: holds no items", t->name);
    THR_TRY(names_to_ids(t, err));
    THR_TRY(number_words(t, err));
    const thr_item_features items = {t->offsets, t->features, t->items.n};
    const thr_strings names = {t->items.starts, t->items.bytes, t->items.n, t->items.starts[t->items.n]};
    options->ids = t->ids;
    options->n_ids = t->ids == NULL ? 0 : t->items.n;
    if (t->word_offsets == NULL)
        return thr_hits_build_all(t->context, path, &items, options, t->ids == NULL ? &names : NULL, NULL, err);
    const thr_strings words = {t->word_offsets, t->word_bytes, t->words.n, t->word_offsets[t->words.n]};
    return thr_hits_build_all(t->context, path, &items, options, t->ids == NULL ? &names : NULL, &words, err);
}

thr_status thr_hits_build_table(thr_context *context, const char *path, const char *table_path,
                                const thr_hits_build_options *options, thr_error *err) {
    thr_status status = THR_OK;
    thr_hits_build_options complete;
    thr_table *rows = NULL;
    table t = {.context = context, .name = table_path};
    if (context == NULL || table_path == NULL)
        return thr_fail(err, THR_EINVAL, "a build needs a context and a table of items");
    THR_TRY(thr_hits_take_build(path, options, &complete, err));
    if (complete.ids != NULL)
        return thr_fail(err, THR_EINVAL, "%s: a table has ids or names of its own: give no others", table_path);
    THR_TRY_OUT(thr_table_open(context, table_path, &rows, err));
    THR_TRY_OUT(read_rows(&t, rows, err));
    THR_TRY_OUT(build(&t, path, &complete, err));
out:
    thr_table_free(rows);
    thr_dictionary_free(context, &t.items);
    thr_dictionary_free(context, &t.words);
    thr_release(context, t.offsets);
    thr_release(context, t.features);
    thr_release(context, t.ids);
    thr_release(context, t.word_offsets);
    thr_release(context, t.word_bytes);
    return status;
}
