/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - reading the lines whose words are known, then ordering each source word's target words. */
#include "align/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <thresher/matrix.h>

#include "base/error.h"
#include "base/text/number.h"

enum { LEAST_KNOWN = 20 }; /* one line in so many must have known words, else the table is of another vocabulary */

typedef struct entry {
    uint32_t source, target;
    float weight;
} entry;

/* The lines of a table so far. */
typedef struct lines {
    thr_context *context;
    const char *path;
    const thr_dictionary *const *vocabularies;
    entry *entries;
    size_t n, capacity;
    uint64_t n_lines;
} lines;

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->weight > y->weight || x->weight < y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* The next word of a line, whose end it moves to; false without one. */
static bool next_word(const char **at, const char **word, size_t *length) {
    *at += strspn(*at, " \t");
    *word = *at;
    *length = strcspn(*at, " \t");
    *at += *length;
    return *length > 0;
}

static thr_status add_line(lines *l, const char *line, size_t length, thr_error *err) {
    const char *at = line, *words[3];
    size_t lengths[3];
    char *end = NULL;
    entry e;
    bool whole = true;
    l->n_lines++;
    for (int i = 0; i < 3; i++)
        whole = whole && next_word(&at, &words[i], &lengths[i]);
    whole = whole && at + strspn(at, " \t") == line + length; /* else more words, or a zero byte */
    e.weight = whole ? thr_text_float(words[2], &end) : 0;
    if (!whole || end != words[2] + lengths[2] || !isfinite(e.weight))
        return thr_fail(err, THR_EFORMAT, "%s: line %" PRIu64 " is not a source word, a target word and a probability",
                        l->path, l->n_lines);
    if (!thr_dictionary_find(l->vocabularies[0], words[0], lengths[0], &e.source) ||
        !thr_dictionary_find(l->vocabularies[1], words[1], lengths[1], &e.target))
        return THR_OK;
    THR_TRY(thr_grow(l->context, &l->entries, &l->capacity, l->n + 1, sizeof *l->entries, "word translations", err));
    l->entries[l->n++] = e;
    return THR_OK;
}

static thr_status read_lines(lines *l, const char *model, thr_error *err) {
    thr_reader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_reader_open_lines(l->context, l->path, 0, &reader, err));
    for (;;) {
        THR_TRY_OUT(thr_reader_next_line(reader, &line, &length, err));
        if (line == NULL)
            break;
        THR_TRY_OUT(add_line(l, line, length, err));
    }
    if (l->n == 0 || l->n < l->n_lines / LEAST_KNOWN)
        status = thr_fail(err, THR_EMISMATCH,
                          "%s: %s has the words of %zu of its %" PRIu64
                          " lines: learn it of the model's words, source before target",
                          l->path, model, l->n, l->n_lines);
out:
    thr_reader_free(reader);
    return status;
}

static thr_status fill(const lines *l, uint32_t n_best, thr_align_table *table, thr_error *err) {
    const uint32_t n_source = l->vocabularies[0]->n;
    size_t n = 0;
    THR_TRY(
        thr_alloc(l->context, (size_t)n_source + 1, sizeof *table->starts, &table->starts, "word translations", err));
    THR_TRY(thr_alloc(l->context, l->n, sizeof *table->words, &table->words, "word translations", err));
    for (uint32_t e = 0, i = 0; e < n_source; e++) {
        table->starts[e] = n;
        for (uint32_t taken = 0; i < l->n && l->entries[i].source == e; i++)
            if (taken++ < n_best)
                table->words[n++] = l->entries[i].target;
    }
    table->starts[n_source] = n;
    return THR_OK;
}

thr_status thr_align_table_read(thr_context *context, const char *path, const thr_dictionary *const vocabularies[2],
                                const char *model, uint32_t n_best, thr_align_table *table, thr_error *err) {
    lines l = {.context = context, .path = path, .vocabularies = vocabularies};
    thr_status status = read_lines(&l, model, err);
    if (status == THR_OK) {
        qsort(l.entries, l.n, sizeof *l.entries, compare);
        status = fill(&l, n_best, table, err);
    }
    thr_release(context, l.entries);
    return status;
}

void thr_align_table_free(thr_context *context, thr_align_table *table) {
    THR_RELEASE(context, table->starts, table->words);
    *table = (thr_align_table){NULL, NULL};
}
