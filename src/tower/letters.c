/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/letters.h"

enum { NOT_UTF8 = 0xFFFD };

/* A sequence's first byte, by its high bits: how many follow, and the least code point that needs so many. */
static const struct {
    unsigned char mask, mark, n_more;
    uint32_t least;
} leads[] = {{0xE0, 0xC0, 1, 0x80}, {0xF0, 0xE0, 2, 0x800}, {0xF8, 0xF0, 3, 0x10000}};

uint32_t thr_letters_next(thr_letters *text) {
    const unsigned char *at = text->next++;
    if (*at < 0x80)
        return *at;
    for (size_t l = 0; l < sizeof leads / sizeof leads[0]; l++) {
        if ((*at & leads[l].mask) != leads[l].mark)
            continue;
        if ((size_t)(text->end - at) <= leads[l].n_more)
            return NOT_UTF8;
        uint32_t letter = *at & (unsigned char)~leads[l].mask;
        for (size_t i = 1; i <= leads[l].n_more; i++) {
            if ((at[i] & 0xC0) != 0x80)
                return NOT_UTF8;
            letter = letter << 6 | (at[i] & 0x3Fu);
        }
        if (letter < leads[l].least || letter > 0x10FFFF || (letter >= 0xD800 && letter < 0xE000))
            return NOT_UTF8;
        text->next = at + 1 + leads[l].n_more;
        return letter;
    }
    return NOT_UTF8;
}

size_t thr_letters_next_word(thr_letters *text, uint32_t word[THR_WORD_LETTERS]) {
    size_t n = 0;
    while (text->next < text->end) {
        const uint32_t letter = thr_letters_next(text);
        if (thr_is_letter(letter)) {
            if (n < THR_WORD_LETTERS)
                word[n++] = thr_fold(letter);
        } else if (n > 0) {
            break;
        }
    }
    return n;
}
