/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vocabulary.h - the words of a side that a model has, in ascending order of their bytes: a word's position is its row
 * in the tables. Fields are numbered in the order of their first words.
 */
#pragma once

#include "dual_tower/data.h"

enum { THR_DUAL_FIELDS_MAX = 4096 }; /* of a side: each adds columns to a tower's first layer */

typedef struct thr_dual_vocabulary {
    thr_lexicon words;       /* word n is row n */
    thr_lexicon field_names; /* field n */
    uint32_t *fields;        /* of every word */
    char *text;              /* the words, each with a line feed after it, as stored in a model's file */
    size_t n_text;
} thr_dual_vocabulary;

static inline uint32_t thr_dual_n_words(const thr_dual_vocabulary *vocabulary) {
    return (uint32_t)vocabulary->words.n_words;
}
static inline uint32_t thr_dual_n_fields(const thr_dual_vocabulary *vocabulary) {
    return (uint32_t)vocabulary->field_names.n_words;
}

/*
 * Parse the text of a model's file; name is for messages. *vocabulary starts zeroed. THR_OK; THR_ECORRUPT when the
 * words do not ascend or are not words of the side; THR_EFORMAT for too many fields; THR_ENOMEM.
 */
thr_status thr_dual_vocabulary_make(thr_context *context, const char *text, size_t n_text, thr_side side,
                                    const char *name, thr_dual_vocabulary *vocabulary, thr_error *err);

/*
 * Choose the words of a lexicon whose count is at least `least`. counts: one for each word. Returns the same statuses,
 * and THR_EFORMAT when no word qualifies.
 */
thr_status thr_dual_vocabulary_choose(thr_context *context, const thr_lexicon *lexicon, const uint32_t *counts,
                                      uint32_t least, thr_side side, thr_dual_vocabulary *vocabulary, thr_error *err);
void thr_dual_vocabulary_free(thr_context *context, thr_dual_vocabulary *vocabulary);

/* Maps the words of files to rows and fields of a model; THR_DUAL_NONE for those the model lacks. */
typedef struct thr_dual_map {
    uint32_t *rows[THR_N_SIDES];
    uint32_t *fields; /* of users' words; a word without a row may have a field */
} thr_dual_map;

/* *map starts zeroed. THR_OK or THR_ENOMEM. */
thr_status thr_dual_map_make(thr_context *context, const thr_dual_lexicon *lexicon,
                             const thr_dual_vocabulary vocabularies[THR_N_SIDES], thr_dual_map *map, thr_error *err);
void thr_dual_map_free(thr_context *context, thr_dual_map *map);
