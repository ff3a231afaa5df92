/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexicon.h - the distinct words of some texts, numbered as they come.
 *
 * The same word is met again and again, in a batch as in a file: its letters are looked at once, and what a model makes
 * of it is computed once.
 */
#ifndef THR_WORDS_LEXICON_H
#define THR_WORDS_LEXICON_H

#include "base/checksum.h"
#include "base/slots.h"
#include "nn/bags.h"
#include "words/trigrams.h"
#include "words/letters.h"

typedef struct thr_lexicon {
    size_t n_words;
    uint32_t *letters; /* of word w: letters[starts[w]] to letters[starts[w + 1] - 1] */
    size_t *starts;
    uint64_t *counts; /* how often it was met */
    thr_slots slots;
    size_t letters_capacity, starts_capacity, counts_capacity;
    /* After thr_words_lexicon_spell: the rows of each word's known trigrams. */
    size_t *offsets;
    uint32_t *rows;
    size_t offsets_capacity, rows_capacity;
} thr_lexicon;

/* Number of the word, which is added when it is new. *lexicon starts zeroed. THR_OK or THR_ENOMEM. */
thr_status thr_words_lexicon_add(thr_context *context, thr_lexicon *lexicon, const uint32_t *word, size_t n_letters,
                                 uint32_t *number, thr_error *err);

/* The number of a word that is there, and is not counted; false: it is not. */
bool thr_words_lexicon_find(const thr_lexicon *lexicon, const uint32_t *word, size_t n_letters, uint32_t *number);

/* Numbers of words; grows. Starts zeroed. */
typedef struct thr_word_list {
    uint32_t *items;
    size_t n, capacity;
} thr_word_list;

/* Append the numbers of a text's words, at most max_words. THR_OK or THR_ENOMEM. */
thr_status thr_words_lexicon_read(thr_context *context, thr_lexicon *lexicon, const char *text, size_t length,
                                  uint32_t max_words, thr_word_list *words, thr_error *err);

/* The rows of all words' trigrams, as bags over a table of a model. */
thr_status thr_words_lexicon_spell(thr_context *context, thr_lexicon *lexicon, const thr_grams *grams, thr_error *err);
static inline thr_bags thr_lexicon_bags(const thr_lexicon *lexicon) {
    return (thr_bags){.n_bags = lexicon->n_words, .offsets = lexicon->offsets, .rows = lexicon->rows};
}

/* All trigrams of all words, counted as often as the words were met. *counts is the caller's to release. */
thr_status thr_words_lexicon_count(thr_context *context, const thr_lexicon *lexicon, thr_gram_count **counts, size_t *n,
                                   thr_error *err);

/* Add all words to a checksum. */
void thr_words_lexicon_add_to_sum(thr_checksum *sum, const thr_lexicon *lexicon);

/* Forget all words, but keep the memory. */
void thr_words_lexicon_clear(thr_lexicon *lexicon);
void thr_words_lexicon_free(thr_context *context, thr_lexicon *lexicon);

#endif
