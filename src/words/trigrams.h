/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigrams.h - the vocabulary of letter trigrams: from a trigram to its row in the tables of a model.
 */
#ifndef THR_WORDS_TRIGRAMS_H
#define THR_WORDS_TRIGRAMS_H

#include "base/memory.h"

enum { THR_GRAM_UNKNOWN = -1 };

typedef struct thr_grams {
    uint32_t n;
    const uint64_t *keys; /* of every row (letters.h); a view, or own */
    uint64_t *own;
    uint32_t *slots; /* row + 1, or 0; open addressing, a power of two at least twice n */
    size_t mask;
} thr_grams;

/*
 * Over n different keys, which must live as long. THR_OK; THR_EDUPLICATE (err names the row) when a key stands twice;
 * THR_ENOMEM.
 */
thr_status thr_words_grams_make(thr_context *context, const uint64_t *keys, uint32_t n, thr_grams *grams,
                                thr_error *err);
void thr_words_grams_free(thr_context *context, thr_grams *grams);

/* The row of a trigram, THR_GRAM_UNKNOWN when it has none. */
int64_t thr_words_grams_row(const thr_grams *grams, uint64_t key);

/*
 * The most frequent of n keys with their counts, at most `most`, by count and then by key. keys and counts are sorted
 * in place; equal keys are counted together. grams->keys becomes its own. THR_OK or THR_ENOMEM.
 */
typedef struct thr_gram_count {
    uint64_t key, count;
} thr_gram_count;
thr_status thr_words_grams_choose(thr_context *context, thr_gram_count *counts, size_t n, uint32_t most,
                                  thr_grams *grams, thr_error *err);

#endif
