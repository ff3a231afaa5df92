/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translator.h - the members of a translator: the model, its head, the beam search, and the texts of one call.
 *
 * Texts are translated longest first and put back in the caller's order at the end. All strings of a result share one
 * array, which moves while it grows: until the end they are offsets.
 */
#pragma once

#include <thresher/translate.h>

#include "align/table.h"
#include "device/policy.h"
#include "translate/device/copy.h"
#include "translate/workspace.h"

/*
 * A text of the call: offsets of its split form in split, of its words' numbers in words, of its translations in made.
 */
typedef struct thr_text {
    size_t split, words, n_words, made, n_made;
} thr_text;

/* A translation; its strings are offsets into strings. */
typedef struct thr_made {
    size_t text, words;
    uint32_t n_words;
    bool ended;
    double log_prob, score;
} thr_made;

struct thr_translator {
    thr_context *outer;
    thr_context context; /* a copy of outer whose progress counts all texts */
    thr_translator_options options;
    thr_seq2seq model;
    thr_seq2seq_work work;
    thr_device_policy on_device;
    thr_seq2seq_device *device; /* during a batch: where it runs; NULL: the CPU, in work */
    double device_seconds;      /* of its steps in a batch */
    thr_head *head;
    thr_beam *beam;
    thr_align_table table; /* with THR_HEAD_SCREEN_ALIGN, else empty */
    char *source_name, *target_name;
    uint64_t n_parameters, n_texts, n_done;
    /* The texts of the call, and their order, longest first. */
    thr_text *texts;
    char *split;
    uint32_t *words, *order;
    uint64_t *lengths; /* the keys of the order */
    size_t n_split, n_words;
    size_t texts_capacity, split_capacity, words_capacity, order_capacity, lengths_capacity;
    /* A batch in the encoder's layout. */
    uint32_t *batch_words, *max_lengths;
    size_t *batch_starts;
    size_t batch_words_capacity, max_lengths_capacity, batch_starts_capacity;
    /* With a table: the target words of each sentence, which the beam search reads. */
    thr_head_word_lists lists;
    uint64_t *list_starts;
    uint32_t *list_words;
    size_t list_starts_capacity, list_words_capacity;
    /*
     * For unknown words: rows of sequences to decode again, and for each word of the batch its attended source place.
     */
    uint32_t *rows, *row_sentences, *row_words, *attended, *attended_words;
    thr_floats states;
    size_t rows_capacity, row_sentences_capacity, row_words_capacity, attended_capacity, attended_words_capacity;
    /* The translations. */
    char *strings;
    thr_made *made;
    uint64_t *first_of;
    thr_translation *translations;
    size_t n_strings, n_made;
    size_t strings_capacity, made_capacity, first_of_capacity, translations_capacity;
};

/* Set t->device for a batch of n_places source words. THR_OK or a status of device/policy.h. */
thr_status thr_translate_enter_device(thr_translator *t, size_t n_places, thr_error *err);

/* The functions of workspace.h on t->device, or on the CPU if it is NULL. */
thr_status thr_translate_encode(thr_translator *t, const uint32_t *words, const size_t *starts, size_t n,
                                thr_error *err);
thr_status thr_translate_begin(thr_translator *t, const uint32_t *sentences, size_t n, thr_error *err);
thr_status thr_translate_step(thr_translator *t, const uint32_t *words, float *states, uint32_t *attended,
                              thr_error *err);
thr_status thr_translate_reorder(thr_translator *t, const uint32_t *from, size_t n, thr_error *err);

/* Store the translations of a batch; its sentence s is text order[first + s]. THR_OK or THR_ENOMEM. */
thr_status thr_translate_take(thr_translator *translator, size_t first, const thr_beam_result *result, thr_error *err);

/* Store an empty translation for a text without words. THR_OK or THR_ENOMEM. */
thr_status thr_translate_take_nothing(thr_translator *translator, size_t text, thr_error *err);

/* Return all translations, in the order of the texts. THR_OK or THR_ENOMEM. */
thr_status thr_translate_report(thr_translator *translator, thr_translations *result, thr_error *err);

/*
 * Open options->head, or make a head of weights and bias; model is their file, for messages. THR_OK; THR_EMISMATCH for
 * another model's head; what thr_head_open or thr_head_create returns.
 */
thr_status thr_translate_open_head(thr_translator *t, const char *model, const thr_translator_options *options,
                                   const thr_matrix *weights, const float *bias, thr_error *err);
