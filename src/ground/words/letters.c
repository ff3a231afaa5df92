/* SPDX-License-Identifier: Apache-2.0 */
/* letters.c - decoding UTF-8 and splitting a text into words. */
#include "words/letters.h"

#include "base/text/utf8.h"

enum { NOT_UTF8 = 0xFFFD };

uint32_t thr_words_letters_next(thr_letters *text) {
    const char *at = (const char *)text->next;
    uint32_t letter = NOT_UTF8;
    if (*text->next < 0x80)
        return *text->next++;
    text->next = thr_utf8_next(&at, (const char *)text->end, &letter) ? (const unsigned char *)at : text->next + 1;
    return letter;
}

size_t thr_words_letters_next_word(thr_letters *text, uint32_t word[THR_WORD_LETTERS]) {
    size_t n = 0;
    while (text->next < text->end) {
        const uint32_t letter = thr_words_letters_next(text);
        if (thr_words_is_letter(letter)) {
            if (n < THR_WORD_LETTERS)
                word[n++] = thr_words_fold_case(letter);
        } else if (n > 0) {
            break;
        }
    }
    return n;
}
