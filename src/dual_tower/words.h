/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - features of users and items, taken apart as thresher/dual.h writes them, and numbered.
 *
 * A lexicon of letters numbers them: a word's letters are its bytes here.
 */
#ifndef THR_DUAL_TOWER_WORDS_H
#define THR_DUAL_TOWER_WORDS_H

#include <thresher/dual.h>

#include "words/lexicon.h"

enum { THR_DUAL_WORD_MAX = 1000 }; /* bytes */
#define THR_DUAL_NONE UINT32_MAX   /* in the place of a word's, a row's or a field's number */

/* A word of a text; pointers into it. */
typedef struct thr_dual_word {
    const char *text; /* without a number behind it */
    size_t length;
    size_t field_length; /* its field is so many of its first bytes */
    size_t feature;      /* the feature it hits begins at this byte; 0 of a word that is of no sequence */
    float x;             /* the number behind it, or 1 */
} thr_dual_word;

/*
 * The word at *at, which moves behind it; *got false where there is none before end. THR_OK; THR_EFORMAT for a word
 * without a field's or a sequence's name, or that is too long; THR_ERANGE for a number that is not finite.
 */
thr_status thr_dual_next_word(const char **at, const char *end, thr_side side, thr_dual_word *word, bool *got,
                              thr_error *err);

/* The number of bytes at most THR_DUAL_WORD_MAX in a lexicon; added, or THR_DUAL_NONE. */
thr_status thr_dual_add_bytes(thr_context *context, thr_lexicon *lexicon, const char *bytes, size_t n, uint32_t *number,
                              thr_error *err);
uint32_t thr_dual_find_bytes(const thr_lexicon *lexicon, const char *bytes, size_t n);

/* The bytes of a word of a lexicon, which has no NUL; their number. bytes has room for THR_DUAL_WORD_MAX. */
size_t thr_dual_get_bytes(const thr_lexicon *lexicon, uint32_t number, char *bytes);

/* Where the run of blanks, or of others, that begins at `at` ends. */
const char *thr_dual_skip_blanks(const char *at, const char *end);
const char *thr_dual_skip_word(const char *at, const char *end);

/* A number behind the last colon of [text, text + *length), which then ends before it; false where there is none. */
bool thr_dual_cut_number(const char *text, size_t *length, float *x);

#endif
