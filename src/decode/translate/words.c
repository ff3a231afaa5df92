/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - text to words and back, in one pass, into the caller's memory. */
#include <thresher/words.h>

#include <string.h>

#include "base/minmax.h"
#include "base/text/utf8.h"
#include "words/letters.h"

static const char JOINER[] = "\xEF\xBF\xAD";
enum { JOINER_CODE = 0xFFED, JOINER_BYTES = sizeof JOINER - 1 };

/* Counts all bytes, writes those that fit. */
typedef struct writer {
    char *out;
    size_t size, n;
} writer;

static void put(writer *w, const char *bytes, size_t n) {
    const size_t room = w->n < w->size ? w->size - w->n : 0;
    if (room > 0)
        memcpy(w->out + w->n, bytes, THR_MIN(n, room));
    w->n += n;
}

static size_t finish(writer *w) {
    if (w->size > 0)
        w->out[w->n < w->size ? w->n : w->size - 1] = '\0';
    return w->n;
}

/* ------------------------------------------------------------------------------------------------ split */

static bool is_space(uint32_t letter) {
    switch (letter) {
    case ' ':
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
    case JOINER_CODE:
        return true;
    default:
        return (letter >= '\t' && letter <= '\r') || (letter >= 0x2000 && letter <= 0x200A);
    }
}

static void put_letter(writer *w, uint32_t letter) {
    char bytes[4];
    put(w, bytes, thr_utf8_put(letter, bytes));
}

/* Whether the text continues with a letter. */
static bool letter_follows(thr_letters text) {
    return text.next < text.end && thr_words_is_letter(thr_words_letters_next(&text));
}

size_t thr_words_split(const char *text, size_t length, char *out, size_t size) {
    const unsigned char *bytes = (const unsigned char *)text;
    thr_letters letters = {bytes, bytes + length};
    writer w = {out, size, 0};
    bool after_letter = false, after_sign = false; /* both false: after white space, or at the beginning */
    while (letters.next < letters.end) {
        const uint32_t letter = thr_words_letters_next(&letters);
        const bool in_word = thr_words_is_letter(letter);
        if (is_space(letter)) {
            after_letter = after_sign = false;
            continue;
        }
        if (w.n > 0 && !(in_word && after_letter))
            put(&w, " ", 1);
        if (!in_word && (after_letter || after_sign))
            put(&w, JOINER, JOINER_BYTES);
        put_letter(&w, thr_words_fold_case(letter));
        if (!in_word && letter_follows(letters))
            put(&w, JOINER, JOINER_BYTES);
        after_letter = in_word;
        after_sign = !in_word;
    }
    return finish(&w);
}

/* ------------------------------------------------------------------------------------------------ join */

static bool has_joiner(const char *at, size_t n) {
    return n >= JOINER_BYTES && memcmp(at, JOINER, JOINER_BYTES) == 0;
}

size_t thr_words_join(const char *words, size_t length, char *out, size_t size) {
    writer w = {out, size, 0};
    bool joined = true; /* put no space: the previous word ends with a joiner, or there is none */
    for (size_t i = 0; i < length;) {
        const char *const space = memchr(words + i, ' ', length - i), *word = words + i;
        size_t n = space != NULL ? (size_t)(space - word) : length - i;
        i += n + 1;
        if (n == 0)
            continue;
        const bool front = has_joiner(word, n);
        word += front ? JOINER_BYTES : 0;
        n -= front ? JOINER_BYTES : 0;
        const bool joins_next = n >= JOINER_BYTES && has_joiner(word + n - JOINER_BYTES, JOINER_BYTES);
        if (!front && !joined)
            put(&w, " ", 1);
        put(&w, word, n - (joins_next ? JOINER_BYTES : 0));
        joined = joins_next || n == 0;
    }
    return finish(&w);
}
