/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap.h - looking at bitmaps of rows (<thresher/filter.h>): counting, skipping what is empty, going through the
 * rest.
 *
 * Words beyond the one that holds the last bit asked for are never read.
 */
#ifndef THR_SELECT_BITMAP_H
#define THR_SELECT_BITMAP_H

#include <thresher/filter.h>

enum { THR_WORD_BITS = 64 };

/* Words that hold n_bits bits. */
static inline size_t thr_bitmap_words(uint64_t n_bits) {
    return (size_t)(n_bits / THR_WORD_BITS + (n_bits % THR_WORD_BITS != 0));
}

static inline void thr_bitmap_set(uint64_t *words, uint64_t row) {
    words[row / THR_WORD_BITS] |= UINT64_C(1) << row % THR_WORD_BITS;
}

/* Set bits of words [0, n_words). */
uint64_t thr_select_bitmap_count_words(const uint64_t *words, size_t n_words);

/* Set bits [first, end). */
uint64_t thr_select_bitmap_count_range(const uint64_t *words, uint64_t first, uint64_t end);

/* The first word of [from, end) that is not zero; end when there is none. */
size_t thr_select_bitmap_next_word(const uint64_t *words, size_t from, size_t end);

/* The first set bit of [from, end); end when there is none. */
uint64_t thr_select_bitmap_next_row(const uint64_t *words, uint64_t from, uint64_t end);

/*
 * The next set bits of [*from, end), at most room of them (at least 1), in increasing order; returns how many there
 * are. *from moves behind the last one, or to end when there are no more: call again until 0.
 */
size_t thr_select_bitmap_next_rows(const uint64_t *words, uint64_t *from, uint64_t end, uint64_t *rows, size_t room);

/* Answers THR_EINVAL with a sentence: the largest row does not fit in n_bits. */
thr_status thr_select_bitmap_too_small(uint64_t largest, uint64_t n_bits, thr_error *err);

#endif
