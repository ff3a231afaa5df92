/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translator.h - what a translator has: the model, the head and the search over it, and the texts of one call.
 *
 * Texts are translated longest first; what is made is put in the order of texts at the end. All strings of a result lie
 * in one array, which moves while it grows: until the end they are offsets.
 */
#ifndef THR_TRANSLATE_TRANSLATOR_H
#define THR_TRANSLATE_TRANSLATOR_H

#include <thresher/translate.h>

#include "translate/workspace.h"

/* A text of the call: its words' text in split, their numbers in words, what was made of it in made. */
typedef struct thr_text {
    size_t split, words, n_words, made, n_made;
} thr_text;

/* A translation; strings are offsets into strings. */
typedef struct thr_made {
    size_t text, words;
    uint32_t n_words;
    bool ended;
    double log_prob, score;
} thr_made;

struct thr_translator {
    thr_context *outer;
    thr_context context; /* the same but for its progress, which is that of all texts */
    thr_translator_options options;
    thr_seq2seq model;
    thr_seq2seq_work work;
    thr_head *head;
    thr_beam *beam;
    char *source_name, *target_name;
    uint64_t n_parameters, n_texts, n_done;
    /* The texts, and their order, the longest first. */
    thr_text *texts;
    char *split;
    uint32_t *words, *order;
    uint64_t *lengths; /* what they are ordered by */
    size_t n_split, n_words;
    size_t texts_capacity, split_capacity, words_capacity, order_capacity, lengths_capacity;
    /* A batch, as the encoder wants it. */
    uint32_t *batch_words, *max_lengths;
    size_t *batch_starts;
    size_t batch_words_capacity, max_lengths_capacity, batch_starts_capacity;
    /* Where unknown words were looked for: rows of sequences, and a place of the source for each word of the batch. */
    uint32_t *rows, *row_sentences, *row_words, *attended, *attended_words;
    thr_floats states;
    size_t rows_capacity, row_sentences_capacity, row_words_capacity, attended_capacity, attended_words_capacity;
    /* What was made. */
    char *strings;
    thr_made *made;
    uint64_t *first_of;
    thr_translation *translations;
    size_t n_strings, n_made;
    size_t strings_capacity, made_capacity, first_of_capacity, translations_capacity;
};

/* Translate a batch's result: text order[first + s] is sentence s of it. THR_OK; THR_ENOMEM. */
thr_status thr_translate_take(thr_translator *translator, size_t first, const thr_beam_result *result, thr_error *err);

/* An empty translation of a text without words. THR_OK; THR_ENOMEM. */
thr_status thr_translate_take_nothing(thr_translator *translator, size_t text, thr_error *err);

/* All that was made, in the order of the texts. THR_OK; THR_ENOMEM. */
thr_status thr_translate_report(thr_translator *translator, thr_translations *result, thr_error *err);

/* t->head, of options or made of weights and bias; model is the file that has them. */
thr_status thr_translate_open_head(thr_translator *t, const char *model, const thr_translator_options *options,
                                   const thr_matrix *weights, const float *bias, thr_error *err);

#endif
