/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.h - pairs of texts to learn from, read once and kept as numbers of words, four bytes a word.
 */
#ifndef THR_TOWER_PAIRS_H
#define THR_TOWER_PAIRS_H

#include <thresher/tower.h>

#include "tower/lexicon.h"
#include "tower/model.h"

/* Texts of one side, one behind the other. */
typedef struct thr_text_list {
    uint32_t *words;
    size_t *offsets; /* n_texts + 1 */
    size_t words_capacity, offsets_capacity;
} thr_text_list;

typedef struct thr_pairs {
    size_t n;
    thr_text_list texts[THR_N_SIDES];
    size_t split_capacity;
    uint64_t *split; /* of every query's text: a hash that says whether it is kept for validation */
    uint64_t n_refused;
} thr_pairs;

/*
 * Append the good pairs in a file. A row that lacks a column, or whose columns have no word, is refused and counted.
 * Words go to the lexicon, which all files of a training share.
 *
 * THR_OK; THR_EFORMAT when more than one row in 20 is refused; what thr_table_open and _next return; THR_ECANCELED;
 * THR_ENOMEM.
 */
thr_status thr_pairs_read(thr_context *context, const char *path, const thr_pairs_format *format, uint32_t max_words,
                          thr_lexicon *lexicon, thr_pairs *pairs, thr_error *err);
void thr_pairs_free(thr_context *context, thr_pairs *pairs);

/*
 * The numbers of pairs to learn from, and of those to validate with: a query's pairs are all on one side of the split.
 * share: of the queries, for validation. Both arrays are the caller's to release.
 */
thr_status thr_pairs_split(thr_context *context, const thr_pairs *pairs, float share, uint32_t **train, size_t *n_train,
                           uint32_t **valid, size_t *n_valid, thr_error *err);

#endif
