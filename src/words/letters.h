/* SPDX-License-Identifier: Apache-2.0 */
/*
 * letters.h - from bytes to words: UTF-8 decoded, case folded, parted at all that is no letter or digit.
 *
 * Bytes that are not UTF-8 part words like punctuation does. Of a word longer than THR_WORD_LETTERS the first ones
 * count.
 */
#ifndef THR_WORDS_LETTERS_H
#define THR_WORDS_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THR_WORD_LETTERS = 64 };

typedef struct thr_letters {
    const unsigned char *next, *end;
} thr_letters;

/*
 * The code point at text->next, which moves behind it; not at the end. What is no UTF-8 (a stray or missing
 * continuation, a longer form than needed, a surrogate, more than 0x10FFFF) is U+FFFD and one byte long.
 */
uint32_t thr_words_letters_next(thr_letters *text);

/* The next word of the text, its folded code points in word; its length, 0 at the end of the text. */
size_t thr_words_letters_next_word(thr_letters *text, uint32_t word[THR_WORD_LETTERS]);

/*
 * The trigram of three neighbouring code points (21 bits each) as one number; THR_WORD_EDGE stands before the first
 * letter and behind the last, so a word of n letters has n of them: #word# (Huang et al. 2013).
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

/* The small letter of a code point that has one, else itself: simple folding of the scripts that have case. */
uint32_t thr_words_fold_case(uint32_t letter);

/* Is it part of words? Letters, digits and marks are; spaces, punctuation and symbols part them. */
bool thr_words_is_letter(uint32_t letter);

#endif
