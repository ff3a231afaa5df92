/* SPDX-License-Identifier: Apache-2.0 */
/*
 * letters.h - from bytes to words: UTF-8 decoded, case folded, split at everything but letters and digits.
 *
 * Bytes that are not UTF-8 separate words like punctuation. A word longer than THR_WORD_LETTERS is truncated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THR_WORD_LETTERS = 64 };

typedef struct thr_letters {
    const unsigned char *next, *end;
} thr_letters;

/*
 * Decode the code point at text->next and advance past it; text->next must be before the end. A byte that is not part
 * of valid UTF-8 (a stray or missing continuation, an overlong form, a surrogate, more than 0x10FFFF) yields U+FFFD.
 */
uint32_t thr_words_letters_next(thr_letters *text);

/* Write the folded code points of the next word to `word` and return their number, 0 at the end of the text. */
size_t thr_words_letters_next_word(thr_letters *text, uint32_t word[THR_WORD_LETTERS]);

/*
 * A trigram of three adjacent code points, 21 bits each, packed into one number. THR_WORD_EDGE pads a word on both
 * sides, so a word of n letters has n trigrams: #word# (Huang et al. 2013).
 */
enum { THR_WORD_EDGE = '#' };
static inline uint64_t thr_gram(uint32_t left, uint32_t middle, uint32_t right) {
    return (uint64_t)left << 42 | (uint64_t)middle << 21 | right;
}
/* Trigram i < n of a word of n letters. */
static inline uint64_t thr_word_gram(const uint32_t *word, size_t n, size_t i) {
    return thr_gram(i == 0 ? (uint32_t)THR_WORD_EDGE : word[i - 1], word[i],
                    i + 1 == n ? (uint32_t)THR_WORD_EDGE : word[i + 1]);
}

/* The lower case of a code point, or the code point itself: simple folding, for scripts that have case. */
uint32_t thr_words_fold_case(uint32_t letter);

/*
 * Whether a code point is part of a word: letters, digits and marks are; spaces, punctuation and symbols separate
 * words.
 */
bool thr_words_is_letter(uint32_t letter);
