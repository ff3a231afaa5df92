/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexicon.h - the distinct words of some texts, numbered in order of first occurrence.
 *
 * Words repeat, in a batch as in a file. With numbers, letters are parsed once per word and a model computes each
 * distinct word once.
 */
#pragma once

#include "base/files/checksum.h"
#include "base/slots.h"
#include "nn/bags.h"
#include "words/trigrams.h"
#include "words/letters.h"

typedef struct thr_lexicon {
    size_t n_words;
    uint32_t *letters; /* word w is letters[starts[w]] to letters[starts[w + 1] - 1] */
    size_t *starts;
    uint64_t *counts; /* occurrences of each word */
    thr_slots slots;
    size_t letters_capacity, starts_capacity, counts_capacity;
    /* Set by thr_words_lexicon_spell: word w has rows[offsets[w]] to rows[offsets[w + 1] - 1], its known trigrams. */
    size_t *offsets;
    uint32_t *rows;
    size_t offsets_capacity, rows_capacity;
} thr_lexicon;

/* Count a word, adding it if it is new; *number is its number. *lexicon starts zeroed. THR_OK or THR_ENOMEM. */
thr_status thr_words_lexicon_add(thr_context *context, thr_lexicon *lexicon, const uint32_t *word, size_t n_letters,
                                 uint32_t *number, thr_error *err);

/* Look a word up without counting it. Returns false if it is absent. */
bool thr_words_lexicon_find(const thr_lexicon *lexicon, const uint32_t *word, size_t n_letters, uint32_t *number);

/* A growing list of word numbers. Starts zeroed. */
typedef struct thr_word_list {
    uint32_t *items;
    size_t n, capacity;
} thr_word_list;

/* Count the words of a text, at most max_words, and append their numbers to *words. THR_OK or THR_ENOMEM. */
thr_status thr_words_lexicon_read(thr_context *context, thr_lexicon *lexicon, const char *text, size_t length,
                                  uint32_t max_words, thr_word_list *words, thr_error *err);

/* Find the table rows of all words' trigrams; thr_lexicon_bags returns them as bags. THR_OK or THR_ENOMEM. */
thr_status thr_words_lexicon_spell(thr_context *context, thr_lexicon *lexicon, const thr_grams *grams, thr_error *err);
static inline thr_bags thr_lexicon_bags(const thr_lexicon *lexicon) {
    return (thr_bags){.n_bags = lexicon->n_words, .offsets = lexicon->offsets, .rows = lexicon->rows};
}

/* List every trigram of every word with the word's count. The caller releases *counts. THR_OK or THR_ENOMEM. */
thr_status thr_words_lexicon_count(thr_context *context, const thr_lexicon *lexicon, thr_gram_count **counts, size_t *n,
                                   thr_error *err);

/* Add all words to a checksum. */
void thr_words_lexicon_add_to_sum(thr_checksum *sum, const thr_lexicon *lexicon);

/* Remove all words but keep the memory. */
void thr_words_lexicon_clear(thr_lexicon *lexicon);
void thr_words_lexicon_free(thr_context *context, thr_lexicon *lexicon);
