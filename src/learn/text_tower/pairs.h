/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - pairs of texts to learn from, read once and kept as word numbers, four bytes per word. */
#pragma once

#include <thresher/tower.h>

#include "words/lexicon.h"
#include "text_tower/model.h"

/* The texts of one side, concatenated. */
typedef struct thr_text_list {
    thr_word_list words;
    size_t *offsets; /* n_texts + 1 */
    size_t offsets_capacity;
} thr_text_list;

typedef struct thr_pairs {
    size_t n;
    thr_text_list texts[THR_N_SIDES];
    size_t split_capacity;
    uint64_t *split; /* a hash of every query's text: the split keeps all pairs of a query together */
    uint64_t n_refused;
} thr_pairs;

/*
 * Append the good pairs of a file. A row that lacks a column, or has a text without words, is rejected and counted.
 * Words are added to the lexicon, which all files of a training share.
 *
 * THR_OK; THR_EFORMAT when more than one row in 20 is rejected; what thr_io_table_open and thr_io_table_next return;
 * THR_ECANCELED; THR_ENOMEM.
 */
thr_status thr_text_pairs_read(thr_context *context, const char *path, const thr_pairs_format *format,
                               uint32_t max_words, thr_lexicon *lexicon, thr_pairs *pairs, thr_error *err);
void thr_text_pairs_free(thr_context *context, thr_pairs *pairs);
