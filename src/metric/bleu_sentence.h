/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bleu_sentence.h - a sentence on its way to BLEU: bytes, then tokens, then runs of tokens that are counted.
 *
 * The tokens of a hypothesis and its references stand behind each other; source 0 is the hypothesis.
 */
#ifndef THR_METRIC_BLEU_SENTENCE_H
#define THR_METRIC_BLEU_SENTENCE_H

#include <thresher/metric.h>

typedef struct thr_bleu_bytes {
    char *bytes;
    size_t n, capacity;
} thr_bleu_bytes;

typedef struct thr_bleu_token {
    const char *text;
    size_t length;
    uint32_t source, place; /* place: in all tokens of the sentence */
} thr_bleu_token;

/* A run of tokens: which first ones, by number, and which last one. */
typedef struct thr_bleu_gram {
    uint64_t key;
    uint32_t source, place; /* of its first token */
} thr_bleu_gram;

/* Memory of one sentence after the other. Set up by zeroing. */
typedef struct thr_bleu_room {
    thr_bleu_bytes *texts; /* of sources: tokens point into them */
    size_t n_texts;
    thr_bleu_bytes spare;
    thr_bleu_token *tokens;
    thr_bleu_gram *grams;
    uint32_t *words, *runs; /* numbers of each place's token, and of the run of the last order that begins there */
    size_t n_tokens, capacity;
    size_t *first_of; /* n_texts + 1 places */
} thr_bleu_room;

typedef struct thr_bleu_counts {
    uint64_t hypothesis_length, reference_length;
    uint64_t counts[THR_BLEU_ORDER], totals[THR_BLEU_ORDER];
} thr_bleu_counts;

/* Room for length bytes, of none some too; false where there is no memory. What is there stays. */
bool thr_metric_bleu_reserve(thr_bleu_bytes *bytes, size_t length);

/*
 * What the bytes of text come to before they are parted, to out: small letters where options want them, the tokeniser's
 * changes. *bad: the first byte that is no UTF-8, where THR_EFORMAT is returned. THR_ENOMEM.
 */
thr_status thr_metric_bleu_normalise(const thr_bleu_options *options, const char *text, size_t length,
                                     thr_bleu_bytes *out, thr_bleu_bytes *spare, size_t *bad);

/* Add the tokens of texts[source], which stand between white space. THR_ENOMEM. */
thr_status thr_metric_bleu_part(thr_bleu_room *room, uint32_t source);

/* Matches of the hypothesis's runs, and the lengths. Its tokens and those of all references have been added. */
void thr_metric_bleu_count(thr_bleu_room *room, thr_bleu_counts *counts);

/* ------------------------------------------------------------------------------------------------ letters */

/* What parts words: Unicode's white space and the separators 0x1C to 0x1F. */
bool thr_metric_is_blank(uint32_t letter);

/* The small letter of a capital; others as they are. 0x130, which has two, and the final sigma are the caller's. */
uint32_t thr_metric_lower(uint32_t letter);

/* For the final sigma: letters that have a case, and what may stand between them. No letter is both. */
bool thr_metric_is_cased(uint32_t letter);
bool thr_metric_is_case_ignorable(uint32_t letter);

#endif
