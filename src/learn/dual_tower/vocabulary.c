/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary.c - choosing a vocabulary's words, parsing it from a file, and mapping words to rows. */
#include "dual_tower/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"

static thr_status damaged(const char *name, thr_side side, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: its list of %s words is damaged: fetch or train it again", name,
                    side == THR_SIDE_QUERY ? "users'" : "items'");
}

/* Add the next word of the text and its field. *right is false if it is malformed or out of order. */
static thr_status add(thr_context *context, const char *bytes, size_t n, thr_side side, thr_dual_vocabulary *v,
                      bool *right, thr_error *err) {
    const char *at = bytes;
    thr_dual_word word;
    bool got = false;
    const uint32_t row = thr_dual_n_words(v);
    uint32_t number = 0;
    *right = thr_dual_next_word(&at, bytes + n, side, &word, &got, NULL) == THR_OK && got && at == bytes + n &&
             word.length == n;
    if (!*right)
        return THR_OK;
    THR_TRY(thr_dual_add_bytes(context, &v->words, bytes, n, &number, err));
    *right = number == row;
    return thr_dual_add_bytes(context, &v->field_names, bytes, word.field_length, &v->fields[row], err);
}

static int compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b) {
    const int order = memcmp(a, b, THR_MIN(n_a, n_b));
    return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

thr_status thr_dual_vocabulary_make(thr_context *context, const char *text, size_t n_text, thr_side side,
                                    const char *name, thr_dual_vocabulary *vocabulary, thr_error *err) {
    thr_dual_vocabulary *v = vocabulary;
    size_t n = 0;
    for (size_t i = 0; i < n_text; i++)
        n += text[i] == '\n';
    if (n == 0 || n >= THR_DUAL_NONE || text[n_text - 1] != '\n')
        return damaged(name, side, err);
    THR_TRY(thr_alloc(context, n, sizeof *v->fields, &v->fields, "a vocabulary", err));
    THR_TRY(thr_alloc(context, n_text, 1, &v->text, "a vocabulary", err));
    memcpy(v->text, text, n_text);
    v->n_text = n_text;
    const char *at = text, *before = NULL;
    size_t n_before = 0;
    for (uint32_t row = 0; row < n; row++) {
        const char *stop = memchr(at, '\n', (size_t)(text + n_text - at));
        const size_t length = (size_t)(stop - at);
        bool right = before == NULL || compare_bytes(before, n_before, at, length) < 0;
        if (right)
            THR_TRY(add(context, at, length, side, v, &right, err));
        if (!right)
            return damaged(name, side, err);
        if (thr_dual_n_fields(v) > THR_DUAL_FIELDS_MAX)
            return thr_fail(err, THR_EFORMAT,
                            "%s: the words of %s are of more than %d fields: write values after their field's name, "
                            "as in field=value",
                            name, side == THR_SIDE_QUERY ? "users" : "items", THR_DUAL_FIELDS_MAX);
        before = at;
        n_before = length;
        at = stop + 1;
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ choose words */

typedef struct entry {
    const uint32_t *letters; /* bytes */
    size_t n;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    for (size_t i = 0; i < x->n && i < y->n; i++)
        if (x->letters[i] != y->letters[i])
            return x->letters[i] < y->letters[i] ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

/* List the words with a large enough count in ascending order. *n_text: the bytes of their text. */
static size_t list_entries(const thr_lexicon *lexicon, const uint32_t *counts, uint32_t least, entry *entries,
                           size_t *n_text) {
    size_t n = 0;
    *n_text = 0;
    for (size_t w = 0; w < lexicon->n_words; w++) {
        const size_t first = lexicon->starts[w], length = lexicon->starts[w + 1] - first;
        if (counts[w] < least || counts[w] == 0)
            continue;
        entries[n++] = (entry){lexicon->letters + first, length};
        *n_text += length + 1;
    }
    qsort(entries, n, sizeof *entries, compare_entries);
    return n;
}

thr_status thr_dual_vocabulary_choose(thr_context *context, const thr_lexicon *lexicon, const uint32_t *counts,
                                      uint32_t least, thr_side side, thr_dual_vocabulary *vocabulary, thr_error *err) {
    entry *entries = NULL;
    char *text = NULL;
    size_t n_text = 0, at = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, lexicon->n_words, sizeof *entries, &entries, "a vocabulary", err));
    const size_t n = list_entries(lexicon, counts, least, entries, &n_text);
    if (n == 0)
        THR_TRY_OUT(thr_fail(err, THR_EFORMAT, "no word of %s occurs in %u requests: there is nothing to learn from",
                             side == THR_SIDE_QUERY ? "users" : "items", least));
    THR_TRY_OUT(thr_alloc(context, n_text, 1, &text, "a vocabulary", err));
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < entries[i].n; c++)
            text[at++] = (char)entries[i].letters[c];
        text[at++] = '\n';
    }
    THR_TRY_OUT(thr_dual_vocabulary_make(context, text, n_text, side, "the training", vocabulary, err));
out:
    THR_RELEASE(context, entries, text);
    return status;
}

void thr_dual_vocabulary_free(thr_context *context, thr_dual_vocabulary *vocabulary) {
    thr_words_lexicon_free(context, &vocabulary->words);
    thr_words_lexicon_free(context, &vocabulary->field_names);
    THR_RELEASE(context, vocabulary->fields, vocabulary->text);
    *vocabulary = (thr_dual_vocabulary){0};
}

/* ------------------------------------------------------------------------------------------------ map words to rows */

/* Look up the first n_letters bytes of a word; lexicons of features hold bytes as letters. */
static uint32_t find(const thr_lexicon *known, const thr_lexicon *lexicon, size_t word, size_t n_letters) {
    uint32_t number = 0;
    return thr_words_lexicon_find(known, lexicon->letters + lexicon->starts[word], n_letters, &number) ? number
                                                                                                       : THR_DUAL_NONE;
}

thr_status thr_dual_map_make(thr_context *context, const thr_dual_lexicon *lexicon,
                             const thr_dual_vocabulary vocabularies[THR_N_SIDES], thr_dual_map *map, thr_error *err) {
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_lexicon *words = &lexicon->words[side];
        THR_TRY(thr_alloc(context, words->n_words, sizeof *map->rows[side], &map->rows[side], "rows of words", err));
        for (size_t w = 0; w < words->n_words; w++)
            map->rows[side][w] = find(&vocabularies[side].words, words, w, words->starts[w + 1] - words->starts[w]);
    }
    const thr_lexicon *users = &lexicon->words[THR_SIDE_QUERY];
    THR_TRY(thr_alloc(context, users->n_words, sizeof *map->fields, &map->fields, "fields of words", err));
    for (size_t w = 0; w < users->n_words; w++)
        map->fields[w] = find(&vocabularies[THR_SIDE_QUERY].field_names, users, w, lexicon->field_lengths[w]);
    return THR_OK;
}

void thr_dual_map_free(thr_context *context, thr_dual_map *map) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_release(context, map->rows[side]);
    thr_release(context, map->fields);
    *map = (thr_dual_map){0};
}
