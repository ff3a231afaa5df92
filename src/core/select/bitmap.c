/* SPDX-License-Identifier: Apache-2.0 */
#include "select/bitmap.h"

#include "base/error.h"
#include "base/minmax.h"

#include <inttypes.h>
#include <string.h>

enum {
    COUNT_GROUP = 31, /* words whose byte counts, at most 8 each, can be added without overflowing a byte */
    SKIP_GROUP = 8,   /* words tested at once where most are zero */
};

static const uint64_t ALL = ~UINT64_C(0);

/* Population count of each byte. Plain arithmetic, which compilers can vectorise on any CPU. */
static uint64_t count_bytes(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}

/* Horizontal sum of eight bytes. */
static uint64_t add_bytes(uint64_t x) {
    x = (x & 0x00ff00ff00ff00ffu) + (x >> 8 & 0x00ff00ff00ff00ffu);
    return x * 0x0001000100010001u >> 48;
}

uint64_t thr_select_bitmap_count_words(const uint64_t *words, size_t n_words) {
    uint64_t total = 0;
    for (size_t i = 0; i < n_words; i += COUNT_GROUP) {
        const size_t end = n_words - i < COUNT_GROUP ? n_words : i + COUNT_GROUP;
        uint64_t bytes = 0;
        for (size_t j = i; j < end; j++)
            bytes += count_bytes(words[j]);
        total += add_bytes(bytes);
    }
    return total;
}

uint64_t thr_select_bitmap_count_range(const uint64_t *words, uint64_t first, uint64_t end) {
    if (first >= end)
        return 0;
    const size_t head = (size_t)(first / THR_WORD_BITS), tail = (size_t)((end - 1) / THR_WORD_BITS);
    const uint64_t from = ALL << first % THR_WORD_BITS;
    const uint64_t to = ALL >> (THR_WORD_BITS - 1 - (end - 1) % THR_WORD_BITS);
    if (head == tail)
        return add_bytes(count_bytes(words[head] & from & to));
    return add_bytes(count_bytes(words[head] & from)) +
           thr_select_bitmap_count_words(words + head + 1, tail - head - 1) + add_bytes(count_bytes(words[tail] & to));
}

size_t thr_select_bitmap_next_word(const uint64_t *words, size_t from, size_t end) {
    while (end - from >= SKIP_GROUP) {
        uint64_t any = 0;
        for (size_t i = 0; i < SKIP_GROUP; i++)
            any |= words[from + i];
        if (any != 0)
            break;
        from += SKIP_GROUP;
    }
    while (from < end && words[from] == 0)
        from++;
    return from;
}

uint64_t thr_select_bitmap_next_row(const uint64_t *words, uint64_t from, uint64_t end) {
    uint64_t row = end;
    return thr_select_bitmap_next_rows(words, &from, end, &row, 1) == 0 ? end : row;
}

size_t thr_select_bitmap_next_rows(const uint64_t *words, uint64_t *from, uint64_t end, uint64_t *rows, size_t room) {
    const size_t n_words = thr_bitmap_words(end);
    size_t n = 0;
    if (*from >= end)
        return 0;
    size_t at = (size_t)(*from / THR_WORD_BITS);
    uint64_t left = words[at] & ALL << *from % THR_WORD_BITS;
    while (n < room) {
        if (left == 0) {
            at = thr_select_bitmap_next_word(words, at + 1, n_words);
            if (at == n_words)
                break;
            left = words[at];
        }
        const uint64_t row = (uint64_t)at * THR_WORD_BITS + (uint64_t)__builtin_ctzll(left);
        if (row >= end)
            break;
        left &= left - 1;
        rows[n++] = row;
    }
    *from = n == room ? rows[n - 1] + 1 : end;
    return n;
}

/* ------------------------------------------------------------------------------------------ <thresher/filter.h> */

uint64_t thr_bitmap_count(const uint64_t *words, uint64_t n_bits) {
    return thr_select_bitmap_count_range(words, 0, n_bits);
}

thr_status thr_select_bitmap_too_small(uint64_t largest, uint64_t n_bits, thr_error *err) {
    return thr_fail(err, THR_EINVAL,
                    "the filter holds row %" PRIu64 ", its largest, but there are %" PRIu64 " rows, counted from 0: it "
                    "was made for other items",
                    largest, n_bits);
}

thr_status thr_bitmap_from_rows(const uint64_t *rows, size_t n_rows, uint64_t n_bits, uint64_t *words, thr_error *err) {
    uint64_t largest = 0;
    if ((rows == NULL && n_rows > 0) || (words == NULL && n_bits > 0))
        return thr_fail(err, THR_EINVAL, "a bitmap of rows is made from their numbers, with room for its words");
    if (n_bits > 0)
        memset(words, 0, thr_bitmap_words(n_bits) * sizeof *words);
    for (size_t i = 0; i < n_rows; i++)
        largest = THR_MAX(rows[i], largest);
    if (n_rows > 0 && largest >= n_bits)
        return thr_select_bitmap_too_small(largest, n_bits, err);
    for (size_t i = 0; i < n_rows; i++)
        thr_bitmap_set(words, rows[i]);
    return THR_OK;
}
