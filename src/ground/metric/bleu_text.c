/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bleu_text.c - normalise a sentence before it is split at white space.
 *
 * Tokeniser 13a applies a chain of replacements to the whole sentence. Each replacement continues after the text it
 * replaced: in "1.,5" the second finds nothing before the comma, because the full stop is already consumed. All
 * patterns are ASCII, and every byte of a multi-byte character matches "no digit", so working on bytes is correct.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "metric/bleu_sentence.h"

enum { CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2, SMALL_SIGMA = 0x3C3, CAPITAL_DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

bool thr_metric_bleu_reserve(thr_bleu_bytes *bytes, size_t length) {
    if (bytes->bytes != NULL && length <= bytes->capacity)
        return true;
    const size_t capacity = length + length / 2 + 64;
    char *grown = capacity < length ? NULL : realloc(bytes->bytes, capacity);
    if (grown == NULL)
        return false;
    bytes->bytes = grown;
    bytes->capacity = capacity;
    return true;
}

static void swap(thr_bleu_bytes *a, thr_bleu_bytes *b) {
    const thr_bleu_bytes kept = *a;
    *a = *b;
    *b = kept;
}

/* ------------------------------------------------------------------------------------------------ lower case */

/* Decode the code point before `at` in valid UTF-8 and return its start. */
static const char *step_back(const char *start, const char *at, uint32_t *letter) {
    const char *before = at;
    do
        before--;
    while (before > start && ((unsigned char)*before & 0xC0) == 0x80);
    const char *next = before;
    (void)thr_utf8_next(&next, at, letter);
    return before;
}

/*
 * A sigma at [at, next) is final if a cased letter precedes it and none follows; case-ignorable characters are
 * skipped.
 */
static bool is_final(const char *start, const char *at, const char *next, const char *end) {
    uint32_t letter = 0;
    bool found = false;
    while (at > start && !found) {
        at = step_back(start, at, &letter);
        found = !thr_metric_is_case_ignorable(letter);
    }
    if (!found || !thr_metric_is_cased(letter))
        return false;
    found = false;
    while (next < end && !found) {
        (void)thr_utf8_next(&next, end, &letter);
        found = !thr_metric_is_case_ignorable(letter);
    }
    return !found || !thr_metric_is_cased(letter);
}

/* Write the lower case of text to out. A byte of input becomes at most 3 bytes. */
static bool lower_text(const char *text, size_t length, thr_bleu_bytes *out) {
    const char *end = text + length;
    out->n = 0;
    if (length > SIZE_MAX / 4 || !thr_metric_bleu_reserve(out, 4 * length))
        return false;
    for (const char *at = text; at < end;) {
        const char *first = at;
        uint32_t letter = 0;
        (void)thr_utf8_next(&at, end, &letter);
        uint32_t small = thr_metric_lower(letter);
        if (letter == CAPITAL_SIGMA)
            small = is_final(text, first, at, end) ? FINAL_SIGMA : SMALL_SIGMA;
        if (letter == CAPITAL_DOTTED_I)
            small = 'i';
        out->n += thr_utf8_put(small, out->bytes + out->n);
        if (letter == CAPITAL_DOTTED_I)
            out->n += thr_utf8_put(DOT_ABOVE, out->bytes + out->n);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ 13a */

/* Replace all occurrences of from by to, which is not longer. */
static void replace(thr_bleu_bytes *b, const char *from, const char *to) {
    const size_t n_from = strlen(from), n_to = strlen(to);
    size_t n = 0;
    for (size_t i = 0; i < b->n;) {
        if (b->bytes[i] == *from && b->n - i >= n_from && memcmp(b->bytes + i, from, n_from) == 0) {
            memcpy(b->bytes + n, to, n_to);
            n += n_to;
            i += n_from;
        } else {
            b->bytes[n++] = b->bytes[i++];
        }
    }
    b->n = n;
}

/* ASCII except letters, digits, apostrophe, comma, minus, full stop and control characters. */
static bool is_mark(char c) {
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_stop(char c) {
    return c == '.' || c == ',';
}

static bool stop_after_nondigit(char a, char b) {
    return !is_digit(a) && is_stop(b);
}

static bool stop_before_nondigit(char a, char b) {
    return is_stop(a) && !is_digit(b);
}

static bool minus_after_digit(char a, char b) {
    return is_digit(a) && b == '-';
}

/* Put blanks around marks, and at both ends. */
static void separate_marks(const thr_bleu_bytes *in, thr_bleu_bytes *out) {
    size_t n = 0;
    out->bytes[n++] = ' ';
    for (size_t i = 0; i < in->n; i++) {
        const bool mark = is_mark(in->bytes[i]);
        if (mark)
            out->bytes[n++] = ' ';
        out->bytes[n++] = in->bytes[i];
        if (mark)
            out->bytes[n++] = ' ';
    }
    out->bytes[n++] = ' ';
    out->n = n;
}

/* Separate two bytes: "ab" becomes "a b ", or " a b" if `before` is set. */
static void separate_pairs(const thr_bleu_bytes *in, bool (*apart)(char a, char b), bool before, thr_bleu_bytes *out) {
    size_t n = 0, i = 0;
    while (i < in->n) {
        if (i + 1 == in->n || !apart(in->bytes[i], in->bytes[i + 1])) {
            out->bytes[n++] = in->bytes[i++];
            continue;
        }
        if (before)
            out->bytes[n++] = ' ';
        out->bytes[n++] = in->bytes[i++];
        out->bytes[n++] = ' ';
        out->bytes[n++] = in->bytes[i++];
        if (!before)
            out->bytes[n++] = ' ';
    }
    out->n = n;
}

static bool tokenise_13a(thr_bleu_bytes *text, thr_bleu_bytes *spare) {
    replace(text, "<skipped>", "");
    replace(text, "-\n", "");
    replace(text, "\n", " ");
    replace(text, "&quot;", "\"");
    replace(text, "&amp;", "&");
    replace(text, "&lt;", "<");
    replace(text, "&gt;", ">");
    /* Marks take 3 bytes, and each of three passes over pairs at most doubles the length. */
    if (text->n > SIZE_MAX / 32 || !thr_metric_bleu_reserve(text, 24 * (text->n + 1)) ||
        !thr_metric_bleu_reserve(spare, 24 * (text->n + 1)))
        return false;
    separate_marks(text, spare);
    separate_pairs(spare, stop_after_nondigit, false, text);
    separate_pairs(text, stop_before_nondigit, true, spare);
    separate_pairs(spare, minus_after_digit, false, text);
    return true;
}

/* ------------------------------------------------------------------------------------------------ a sentence */

bool thr_metric_is_blank(uint32_t letter) {
    if (letter < 0x80)
        return letter == ' ' || (letter >= 0x09 && letter <= 0x0D) || (letter >= 0x1C && letter <= 0x1F);
    return letter == 0x85 || letter == 0xA0 || letter == 0x1680 || (letter >= 0x2000 && letter <= 0x200A) ||
           letter == 0x2028 || letter == 0x2029 || letter == 0x202F || letter == 0x205F || letter == 0x3000;
}

/* Return the length without trailing white space. */
static size_t trim(const char *text, size_t length) {
    const char *end = text + length;
    while (end > text) {
        uint32_t letter = 0;
        const char *before = step_back(text, end, &letter);
        if (!thr_metric_is_blank(letter))
            break;
        end = before;
    }
    return (size_t)(end - text);
}

thr_status thr_metric_bleu_normalise(const thr_bleu_options *options, const char *text, size_t length,
                                     thr_bleu_bytes *out, thr_bleu_bytes *spare, size_t *bad) {
    *bad = thr_utf8_valid(text, length);
    if (*bad < length)
        return THR_EFORMAT;
    if (options->lower_case) {
        if (!lower_text(text, length, spare))
            return THR_ENOMEM;
        swap(out, spare);
    } else {
        if (!thr_metric_bleu_reserve(out, length))
            return THR_ENOMEM;
        if (length > 0)
            memcpy(out->bytes, text, length);
        out->n = length;
    }
    out->n = trim(out->bytes, out->n);
    if (options->tokeniser == THR_BLEU_TOKENISER_13A && !tokenise_13a(out, spare))
        return THR_ENOMEM;
    return THR_OK;
}
