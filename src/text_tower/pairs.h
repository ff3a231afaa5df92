/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.h - pairs of texts to learn from, read once and kept as numbers of words, four bytes a word.
 */
#ifndef THR_TEXT_TOWER_PAIRS_H
#define THR_TEXT_TOWER_PAIRS_H

#include <thresher/tower.h>

#include "words/lexicon.h"
#include "text_tower/model.h"

/* Texts of one side, one behind the other. */
typedef struct thr_text_list {
    thr_word_list words;
    size_t *offsets; /* n_texts + 1 */
    size_t offsets_capacity;
} thr_text_list;

typedef struct thr_pairs {
    size_t n;
    thr_text_list texts[THR_N_SIDES];
    size_t split_capacity;
    uint64_t *split; /* a hash of every query's text: by it all pairs of a query are on one side of the split */
    uint64_t n_refused;
} thr_pairs;

/*
 * Append the good pairs in a file. A row that lacks a column, or whose columns have no word, is refused and counted.
 * Words go to the lexicon, which all files of a training share.
 *
 * THR_OK; THR_EFORMAT when more than one row in 20 is refused; what thr_io_table_open and _next return; THR_ECANCELED;
 * THR_ENOMEM.
 */
thr_status thr_text_pairs_read(thr_context *context, const char *path, const thr_pairs_format *format,
                               uint32_t max_words, thr_lexicon *lexicon, thr_pairs *pairs, thr_error *err);
void thr_text_pairs_free(thr_context *context, thr_pairs *pairs);

#endif
