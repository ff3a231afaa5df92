/* SPDX-License-Identifier: Apache-2.0 */
/* trigrams.h - the vocabulary of letter trigrams: maps a trigram to its row in the tables of a model. */
#pragma once

#include "base/memory.h"

enum { THR_GRAM_UNKNOWN = -1 };

typedef struct thr_grams {
    uint32_t n;
    const uint64_t *keys; /* the trigram of every row (letters.h); a view, or own */
    uint64_t *own;
    uint32_t *slots; /* row + 1, or 0 if free; open addressing, a power of two that is at least 2 n */
    size_t mask;
} thr_grams;

/*
 * Index n distinct keys, a view that must outlive *grams. THR_OK; THR_EDUPLICATE for a repeated key (err names the
 * row); THR_ENOMEM.
 */
thr_status thr_words_grams_make(thr_context *context, const uint64_t *keys, uint32_t n, thr_grams *grams,
                                thr_error *err);
void thr_words_grams_free(thr_context *context, thr_grams *grams);

/* The row of a trigram, or THR_GRAM_UNKNOWN. */
int64_t thr_words_grams_row(const thr_grams *grams, uint64_t key);

/*
 * Choose the most frequent of n keys, at most `most`, by descending count, then by key. counts is sorted in place; the
 * counts of equal keys are added. *grams owns the chosen keys. THR_OK or THR_ENOMEM.
 */
typedef struct thr_gram_count {
    uint64_t key, count;
} thr_gram_count;
thr_status thr_words_grams_choose(thr_context *context, thr_gram_count *counts, size_t n, uint32_t most,
                                  thr_grams *grams, thr_error *err);
