/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - parsing features of users and items in the format of thresher/dual.h, and numbering them.
 *
 * A thr_lexicon numbers them; its letters are the features' bytes here.
 */
#pragma once

#include <thresher/dual.h>

#include "words/lexicon.h"

enum { THR_DUAL_WORD_MAX = 1000 }; /* bytes */
#define THR_DUAL_NONE UINT32_MAX   /* instead of a word's, a row's or a field's number */

/* A word of a text; pointers point into the text. */
typedef struct thr_dual_word {
    const char *text; /* without the number after it */
    size_t length;
    size_t field_length; /* the first bytes of text that name its field */
    size_t feature;      /* offset of the feature it hits; 0 if it belongs to no sequence */
    float x;             /* the number after it, or 1 */
} thr_dual_word;

/*
 * Parse the word at *at and advance past it; *got is false if there is none before end. THR_OK; THR_EFORMAT for a word
 * without the name of a field or a sequence, or one that is too long; THR_ERANGE for a number that is not finite.
 */
thr_status thr_dual_next_word(const char **at, const char *end, thr_side side, thr_dual_word *word, bool *got,
                              thr_error *err);

/*
 * The number of n bytes (THR_DUAL_WORD_MAX at most) in a lexicon. _add adds new ones and returns THR_OK or THR_ENOMEM;
 * _find returns THR_DUAL_NONE for them.
 */
thr_status thr_dual_add_bytes(thr_context *context, thr_lexicon *lexicon, const char *bytes, size_t n, uint32_t *number,
                              thr_error *err);
uint32_t thr_dual_find_bytes(const thr_lexicon *lexicon, const char *bytes, size_t n);

/* Copy a word's bytes, without a NUL, to `bytes`, which holds THR_DUAL_WORD_MAX. Returns their number. */
size_t thr_dual_get_bytes(const thr_lexicon *lexicon, uint32_t number, char *bytes);

/* Skip the blanks at `at`, or the non-blanks. */
const char *thr_dual_skip_blanks(const char *at, const char *end);
const char *thr_dual_skip_word(const char *at, const char *end);

/*
 * Parse the number after the last colon of [text, text + *length) and shorten *length to end before the colon. Returns
 * false, with no change, if there is none.
 */
bool thr_dual_cut_number(const char *text, size_t *length, float *x);
