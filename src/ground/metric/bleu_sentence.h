/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bleu_sentence.h - the steps of BLEU for one sentence: normalise bytes, split into tokens, count n-grams.
 *
 * The tokens of the hypothesis (source 0) and its references are consecutive in one array.
 */
#pragma once

#include <thresher/metric.h>

typedef struct thr_bleu_bytes {
    char *bytes;
    size_t n, capacity;
} thr_bleu_bytes;

typedef struct thr_bleu_token {
    const char *text;
    size_t length;
    uint32_t source, place; /* place: index among all tokens of the sentence */
} thr_bleu_token;

/* An n-gram: key combines the number of its first tokens with that of the last one. */
typedef struct thr_bleu_gram {
    uint64_t key;
    uint32_t source, place; /* place of its first token */
} thr_bleu_gram;

/* Buffers, reused for every sentence. Initialise with zeros. */
typedef struct thr_bleu_room {
    thr_bleu_bytes *texts; /* one a source; tokens point into them */
    size_t n_texts;
    thr_bleu_bytes spare;
    thr_bleu_token *tokens;
    thr_bleu_gram *grams;
    uint32_t *words, *runs; /* by place: the token's number, and that of the previous order's n-gram that begins
                               there */
    size_t n_tokens, capacity;
    size_t *first_of; /* n_texts + 1 indices into tokens */
} thr_bleu_room;

typedef struct thr_bleu_counts {
    uint64_t hypothesis_length, reference_length;
    uint64_t counts[THR_BLEU_ORDER], totals[THR_BLEU_ORDER];
} thr_bleu_counts;

/* Reserve space for length bytes (at least one) and keep the contents. Returns false if memory is exhausted. */
bool thr_metric_bleu_reserve(thr_bleu_bytes *bytes, size_t length);

/*
 * Write the text to out as it is before splitting: lower-cased if the options request it, with the tokeniser's
 * replacements. THR_ENOMEM; THR_EFORMAT with *bad the first byte that is not UTF-8.
 */
thr_status thr_metric_bleu_normalise(const thr_bleu_options *options, const char *text, size_t length,
                                     thr_bleu_bytes *out, thr_bleu_bytes *spare, size_t *bad);

/* Add the tokens of texts[source], which are separated by white space. THR_ENOMEM. */
thr_status thr_metric_bleu_part(thr_bleu_room *room, uint32_t source);

/* Count the matching n-grams of the hypothesis, and the lengths. All tokens of all sources must have been added. */
void thr_metric_bleu_count(thr_bleu_room *room, thr_bleu_counts *counts);

/* ------------------------------------------------------------------------------------------------ code points */

/* Return whether a code point separates tokens: Unicode white space and the separators 0x1C to 0x1F. */
bool thr_metric_is_blank(uint32_t letter);

/* Return the lower case of a code point. The caller handles 0x130, which has two letters, and the final sigma. */
uint32_t thr_metric_lower(uint32_t letter);

/* For the final sigma: cased letters, and the code points that may follow them within a word. No code point is both. */
bool thr_metric_is_cased(uint32_t letter);
bool thr_metric_is_case_ignorable(uint32_t letter);
