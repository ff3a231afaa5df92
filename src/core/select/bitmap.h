/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap.h - count and iterate over set bits of bitmaps of rows (<thresher/filter.h>).
 *
 * Words after the one with the last requested bit are never read.
 */
#pragma once

#include <thresher/filter.h>

enum { THR_WORD_BITS = 64 };

/* Return the number of words that hold n_bits bits. */
static inline size_t thr_bitmap_words(uint64_t n_bits) {
    return (size_t)(n_bits / THR_WORD_BITS + (n_bits % THR_WORD_BITS != 0));
}

static inline void thr_bitmap_set(uint64_t *words, uint64_t row) {
    words[row / THR_WORD_BITS] |= UINT64_C(1) << row % THR_WORD_BITS;
}

/* Count the set bits of words [0, n_words). */
uint64_t thr_select_bitmap_count_words(const uint64_t *words, size_t n_words);

/* Count the set bits in [first, end). */
uint64_t thr_select_bitmap_count_range(const uint64_t *words, uint64_t first, uint64_t end);

/* Return the first non-zero word of [from, end), or end. */
size_t thr_select_bitmap_next_word(const uint64_t *words, size_t from, size_t end);

/* Return the first set bit of [from, end), or end. */
uint64_t thr_select_bitmap_next_row(const uint64_t *words, uint64_t from, uint64_t end);

/*
 * Write the next set bits of [*from, end) to rows, ascending, at most room (at least 1) of them, and return their
 * number. *from advances past the last one, or to end if no more are set: call again until the result is 0.
 */
size_t thr_select_bitmap_next_rows(const uint64_t *words, uint64_t *from, uint64_t end, uint64_t *rows, size_t room);

/* Return THR_EINVAL with a message: row `largest` does not fit in n_bits. */
thr_status thr_select_bitmap_too_small(uint64_t largest, uint64_t n_bits, thr_error *err);
