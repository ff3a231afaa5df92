/* SPDX-License-Identifier: Apache-2.0 */
/* read_items.c - reads lines of an item's name, a tab, and features with spaces between them. */
#include "hits/read_items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <thresher/hits.h>

#include "base/text/decimal.h"
#include "base/error.h"
#include "io/table.h"

static thr_status add_feature(thr_hits_rows *t, const char *word, size_t length, thr_error *err) {
    THR_TRY(thr_grow(t->context, &t->features, &t->features_capacity, t->n_postings + 1, sizeof *t->features,
                     "features", err));
    THR_TRY(thr_dictionary_add(t->context, &t->words, word, length, &t->features[t->n_postings], NULL, err));
    t->n_postings++;
    return THR_OK;
}

static thr_status add_item(thr_hits_rows *t, const thr_field *fields, uint64_t line, thr_error *err) {
    uint32_t item;
    bool is_new;
    if (fields[0].length == 0)
        return thr_fail(err, THR_EFORMAT, "%s: line %" PRIu64 ": the item has no name", t->name, line);
    THR_TRY(thr_dictionary_add(t->context, &t->items, fields[0].text, fields[0].length, &item, &is_new, err));
    if (!is_new)
        return thr_fail(err, THR_EDUPLICATE, "%s: line %" PRIu64 ": item %.200s is repeated: it is row %" PRIu32,
                        t->name, line, fields[0].text, item);
    THR_TRY(thr_grow(t->context, &t->offsets, &t->offsets_capacity, item + 2u, sizeof *t->offsets, "items", err));
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

static thr_status read_rows(thr_hits_rows *t, thr_table *rows, thr_error *err) {
    thr_progress progress = thr_progress_start(t->context, "reading items", 0);
    for (;;) {
        const thr_field *fields;
        size_t n_fields;
        THR_TRY(thr_io_table_next_whole(rows, &progress, &fields, &n_fields, err));
        if (n_fields == 0)
            return THR_OK;
        const uint64_t line = thr_io_table_row(rows);
        if (n_fields != 2)
            return thr_fail(err, THR_EFORMAT,
                            "%s: line %" PRIu64 " has %zu columns, not 2: an item's name, a tab, and its "
                            "features with spaces between them",
                            t->name, line, n_fields);
        THR_TRY(add_item(t, fields, line, err));
    }
}

thr_status thr_hits_rows_read(thr_context *context, const char *path, thr_hits_rows *rows, thr_error *err) {
    thr_table *table = NULL;
    rows->context = context;
    rows->name = path;
    thr_status status = thr_io_table_open(context, path, &table, err);
    if (status == THR_OK)
        status = read_rows(rows, table, err);
    thr_io_table_free(table);
    return status;
}

void thr_hits_rows_free(thr_hits_rows *rows) {
    if (rows->context == NULL)
        return;
    thr_dictionary_free(rows->context, &rows->items);
    thr_dictionary_free(rows->context, &rows->words);
    THR_RELEASE(rows->context, rows->offsets, rows->features);
    *rows = (thr_hits_rows){.context = NULL};
}

thr_status thr_hits_rows_parse(const thr_hits_rows *rows, uint32_t *features, thr_error *err) {
    for (size_t e = 0; e < rows->n_postings; e++) {
        const char *word = thr_dictionary_text(&rows->words, rows->features[e]);
        uint64_t feature;
        if (!thr_decimal_parse(word, strlen(word), &feature) || feature > THR_HITS_MAX_FEATURE)
            return thr_fail(err, THR_EFORMAT,
                            "%s: feature %.200s: those of these posting lists are numbers up to %" PRIu32
                            ", and no words",
                            rows->name, word, THR_HITS_MAX_FEATURE);
        features[e] = (uint32_t)feature;
    }
    return THR_OK;
}

bool thr_hits_are_numbers(const thr_dictionary *strings, uint64_t most) {
    for (uint32_t i = 0; i < strings->n; i++) {
        uint64_t value;
        const size_t length = (size_t)(strings->starts[i + 1] - strings->starts[i] - 1);
        if (!thr_decimal_parse(thr_dictionary_text(strings, i), length, &value) || value > most)
            return false;
    }
    return true;
}

uint64_t thr_hits_number_at(const thr_dictionary *strings, uint32_t i) {
    return strtoull(thr_dictionary_text(strings, i), NULL, 10);
}

/* ------------------------------------------------------------------------------------------------ order */

typedef struct numbered {
    const char *text;
    uint32_t number;
} numbered;

static int by_text(const void *a, const void *b) {
    return strcmp(((const numbered *)a)->text, ((const numbered *)b)->text);
}

thr_status thr_hits_words_sort(thr_context *context, const thr_dictionary *words, uint32_t *numbers, uint64_t **offsets,
                               char **bytes, thr_error *err) {
    numbered *sorted = NULL;
    uint64_t at = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, words->n, sizeof *sorted, &sorted, "words", err));
    THR_TRY_OUT(thr_alloc(context, words->n + (size_t)1, sizeof **offsets, offsets, "words", err));
    THR_TRY_OUT(thr_alloc(context, words->n == 0 ? 0 : (size_t)words->starts[words->n], 1, bytes, "words", err));
    for (uint32_t i = 0; i < words->n; i++)
        sorted[i] = (numbered){thr_dictionary_text(words, i), i};
    qsort(sorted, words->n, sizeof *sorted, by_text);
    for (uint32_t i = 0; i < words->n; i++) {
        const size_t size = strlen(sorted[i].text) + 1;
        (*offsets)[i] = at;
        memcpy(*bytes + at, sorted[i].text, size);
        numbers[sorted[i].number] = i;
        at += size;
    }
    (*offsets)[words->n] = at;
out:
    thr_release(context, sorted);
    return status;
}
