/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - parsing the words of users and items. */
#include "dual_tower/words.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "io/numeral.h"

enum { NUMBER_MAX = 63 }; /* most characters of a number */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *thr_dual_skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at))
        at++;
    return at;
}

const char *thr_dual_skip_word(const char *at, const char *end) {
    while (at < end && !is_blank(*at))
        at++;
    return at;
}

/* Only text that begins like a decimal number is one: "nan" and "infinity" are words. */
bool thr_dual_cut_number(const char *text, size_t *length, float *x) {
    thr_numeral numeral;
    size_t colon = *length;
    while (colon > 0 && text[colon - 1] != ':')
        colon--;
    const size_t n = *length - colon;
    const char *const end = text + *length;
    if (colon == 0 || n > NUMBER_MAX || thr_numeral_scan(text + colon, end, &numeral) != end)
        return false;
    *x = thr_numeral_float(&numeral);
    *length = colon - 1;
    return true;
}

static thr_status bad_word(const thr_dual_word *word, thr_status status, const char *what, thr_error *err) {
    enum { SHOWN = 80 };
    return thr_fail(err, status, "the word '%.*s' %s", (int)THR_MIN(word->length, SHOWN), word->text, what);
}

thr_status thr_dual_next_word(const char **at, const char *end, thr_side side, thr_dual_word *word, bool *got,
                              thr_error *err) {
    const char *begin = thr_dual_skip_blanks(*at, end);
    *at = thr_dual_skip_word(begin, end);
    *got = begin < *at;
    *word = (thr_dual_word){.text = begin, .length = (size_t)(*at - begin), .x = 1};
    if (!*got)
        return THR_OK;
    if (word->length > THR_DUAL_WORD_MAX)
        return bad_word(word, THR_EFORMAT, "has more than 1000 bytes", err);
    if (side == THR_SIDE_QUERY && thr_dual_cut_number(word->text, &word->length, &word->x) && !isfinite(word->x))
        return bad_word(word, THR_ERANGE, "has a number that is not finite", err);
    const char *equals = memchr(word->text, '=', word->length);
    word->field_length = equals != NULL ? (size_t)(equals - word->text) : word->length;
    const char *dot = side == THR_SIDE_QUERY ? memchr(word->text, '.', word->field_length) : NULL;
    if (dot != NULL)
        word->feature = (size_t)(dot - word->text) + 1;
    if (dot == word->text || word->field_length == word->feature)
        return bad_word(word, THR_EFORMAT, "has no name before '=' or '.': write field=value or sequence.field=value",
                        err);
    return THR_OK;
}

static size_t widen(const char *bytes, size_t n, uint32_t *letters) {
    for (size_t i = 0; i < n; i++)
        letters[i] = (unsigned char)bytes[i];
    return n;
}

thr_status thr_dual_add_bytes(thr_context *context, thr_lexicon *lexicon, const char *bytes, size_t n, uint32_t *number,
                              thr_error *err) {
    uint32_t letters[THR_DUAL_WORD_MAX];
    return thr_words_lexicon_add(context, lexicon, letters, widen(bytes, n, letters), number, err);
}

uint32_t thr_dual_find_bytes(const thr_lexicon *lexicon, const char *bytes, size_t n) {
    uint32_t letters[THR_DUAL_WORD_MAX], number = 0;
    if (n > THR_DUAL_WORD_MAX)
        return THR_DUAL_NONE;
    return thr_words_lexicon_find(lexicon, letters, widen(bytes, n, letters), &number) ? number : THR_DUAL_NONE;
}

size_t thr_dual_get_bytes(const thr_lexicon *lexicon, uint32_t number, char *bytes) {
    const size_t first = lexicon->starts[number], n = lexicon->starts[number + 1] - first;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)lexicon->letters[first + i];
    return n;
}
