/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - text to words and back: what translations are made of (translate.h).
 *
 * Text is UTF-8; a byte that is part of none is U+FFFD. Letters are folded to small ones. A maximal run of letters and
 * digits is a word; every other character that is not white space is a word by itself. White space are tab, LF, VT, FF,
 * CR, space, U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000, and the joiner.
 *
 * So that a text can be put together again, where no white space is between two words one of them has the joiner,
 * U+FFED, at that side: in front of the right one where that is no run of letters, else behind the left one, which then
 * is none. What is written here with + for the joiner:
 *
 *     don't (ab).     is     don +'+ t (+ ab +) +.
 *
 * Threads: nothing is kept between calls.
 */
#ifndef THRESHER_WORDS_H
#define THRESHER_WORDS_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The words of length bytes of text, a space between two, into out, size bytes, with a zero byte behind them.
 *
 * Returns how many bytes they take, without the zero byte. Where that is not less than size, out has only the first
 * size - 1 of them: ask again with room enough; 10 bytes for one of text and one more always are. out may be NULL with
 * size 0.
 */
THR_API size_t thr_words_split(const char *text, size_t length, char *out, size_t size);

/*
 * The text of words with a space between two: joiners are taken off, and the spaces at them. Of words that
 * thr_words_split made it is their text, folded, with single spaces. Returns and out are as above; the text is no
 * longer than the words.
 */
THR_API size_t thr_words_join(const char *words, size_t length, char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
