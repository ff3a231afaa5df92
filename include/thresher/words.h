/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - the tokeniser of translations (translate.h): text to words and back.
 *
 * Text is UTF-8; an invalid byte counts as U+FFFD. Letters are lower-cased. A maximal run of letters and digits is a
 * word; every other character except white space is a word by itself. White space: tab, LF, VT, FF, CR, space, U+0085,
 * U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000, and the joiner U+FFED.
 *
 * The joiner marks two words without white space between them, so that the text can be rebuilt. It precedes the right
 * word if that is a punctuation word, else it follows the left one. With + for the joiner:
 *
 *     don't (ab).     is     don +'+ t (+ ab +) +.
 *
 * Threads: the functions keep no state.
 */
#ifndef THRESHER_WORDS_H
#define THRESHER_WORDS_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Write the words of a text of length bytes to out, of size bytes: separated by single spaces, NUL-terminated.
 *
 * Returns the length of the full result without the NUL. If it is not below size, out holds only the first size - 1
 * bytes; 10 bytes per byte of text, plus one, always suffice. out may be NULL with size 0.
 */
THR_API size_t thr_words_split(const char *text, size_t length, char *out, size_t size);

/*
 * Join words, separated by single spaces, to a text: removes joiners and the spaces beside them. For words of
 * thr_words_split the result is the lower-cased text with single spaces. Returns and out are as above; the text is
 * never longer than the words.
 */
THR_API size_t thr_words_join(const char *words, size_t length, char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
