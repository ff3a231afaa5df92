/* SPDX-License-Identifier: Apache-2.0 */
#include "svmlight/lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/minmax.h"
#include "io/numeral.h"
#include "svmlight/read.h"

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') <= 9;
}

static inline const char *skip_blanks(const char *p, const char *end) {
    while (p < end && is_blank(*p))
        p++;
    return p;
}

/* A number ends at the line's end, before a blank or before a comment. */
static inline bool ends_word(const char *p, const char *end) {
    return p == end || is_blank(*p) || *p == '#';
}

/* A split line: [begin, data_end) before '#', and the trimmed comment. */
typedef struct svm_line {
    const char *begin, *data_end, *comment, *comment_end;
} svm_line;

/* Split the line at p and return the start of the next one. It is a row unless begin == data_end. */
static const char *split_line(const char *p, const char *text_end, svm_line *line) {
    const char *end = memchr(p, '\n', (size_t)(text_end - p));
    const char *const next = end == NULL ? text_end : end + 1;
    if (end == NULL)
        end = text_end;
    line->begin = skip_blanks(p, end);
    const char *hash = memchr(line->begin, '#', (size_t)(end - line->begin));
    line->data_end = hash == NULL ? end : hash;
    line->comment = hash == NULL ? end : skip_blanks(hash + 1, end);
    while (end > line->comment && is_blank(end[-1]))
        end--;
    line->comment_end = end;
    return next;
}

static inline bool has_query(const char *p, const char *end) {
    return end - p >= 4 && memcmp(p, "qid:", 4) == 0;
}

/* ------------------------------------------------------------------------------------------------ count */

/* Count in pieces of 255 bytes, so that byte counters suffice and compilers vectorise the loop. */
static size_t count_colons(const char *p, const char *end) {
    enum { PIECE = 255 };
    size_t n = 0;
    while (p < end) {
        const size_t size = end - p < PIECE ? (size_t)(end - p) : PIECE;
        uint8_t in_piece = 0;
        for (size_t i = 0; i < size; i++)
            in_piece = (uint8_t)(in_piece + (p[i] == ':'));
        n += in_piece;
        p += size;
    }
    return n;
}

static const char *find_word_end(const char *p, const char *end) {
    while (p < end && !is_blank(*p))
        p++;
    return p;
}

/* Parse the digits before the last colon; 0 if they are malformed or exceed the largest index. */
static uint32_t find_last_index(const char *begin, const char *end) {
    const char *colon = end;
    while (colon > begin && *--colon != ':')
        ;
    uint64_t index = 0, power = 1;
    const char *p = colon;
    for (; p > begin && is_digit(p[-1]) && colon - p < 10; p--, power *= 10)
        index += power * (uint64_t)(p[-1] - '0');
    while (p > begin && p[-1] == '0') /* skip leading zeros */
        p--;
    return index <= THR_SVMLIGHT_MAX_INDEX && !(p > begin && is_digit(p[-1])) ? (uint32_t)index : 0;
}

void thr_svmlight_count(const char *text, size_t size, thr_svmlight_counts *counts) {
    *counts = (thr_svmlight_counts){0};
    const char *const end = text + size;
    for (const char *p = text; p < end; counts->n_lines++) {
        svm_line line;
        p = split_line(p, end, &line);
        if (line.begin == line.data_end)
            continue;
        const char *values = skip_blanks(find_word_end(line.begin, line.data_end), line.data_end);
        const bool query = has_query(values, line.data_end);
        if (query) /* the colon of qid is no value's */
            values = find_word_end(values, line.data_end);
        counts->n_rows++;
        counts->n_queries += query;
        counts->n_values += count_colons(values, line.data_end);
        counts->comment_bytes += (size_t)(line.comment_end - line.comment);
        const uint32_t index = find_last_index(values, line.data_end);
        counts->largest = THR_MAX(index, counts->largest);
    }
}

/* ------------------------------------------------------------------------------------------------ parse */

/* Parsing state; row, value and comment count from the start of the range. */
typedef struct parsing {
    const thr_svmlight_counts *counts;
    const thr_svmlight_places *places;
    size_t row, value, comment;
    thr_svmlight_fault *fault;
} parsing;

static bool refuse(parsing *t, thr_svmlight_fault_kind kind, const char *at) {
    t->fault->kind = kind;
    t->fault->at = at;
    return false;
}

/* Return whether the word at p is nan, inf or infinity, with or without a sign. */
static bool is_not_finite(const char *p, const char *end) {
    p += p < end && (*p == '-' || *p == '+');
    return end - p >= 3 && (strncasecmp(p, "nan", 3) == 0 || strncasecmp(p, "inf", 3) == 0);
}

static bool parse_label(parsing *t, const char **at, const char *end) {
    thr_numeral number;
    const char *p = thr_numeral_scan(*at, end, &number);
    if (p == NULL || !ends_word(p, end))
        return refuse(t, is_not_finite(*at, end) ? THR_SVMLIGHT_LABEL_RANGE : THR_SVMLIGHT_NO_LABEL, *at);
    const double label = thr_numeral_double(&number);
    if (!isfinite(label))
        return refuse(t, THR_SVMLIGHT_LABEL_RANGE, *at);
    t->places->labels[t->row] = label;
    *at = skip_blanks(p, end);
    return true;
}

static bool parse_query(parsing *t, const char **at, const char *end) {
    if (!has_query(*at, end))
        return t->places->queries == NULL || refuse(t, THR_SVMLIGHT_NO_QUERY, *at);
    const char *p = *at + 4, *const digits = p;
    uint64_t query = 0;
    for (; p < end && is_digit(*p); p++)
        if (__builtin_mul_overflow(query, (uint64_t)10, &query) ||
            __builtin_add_overflow(query, (uint64_t)(*p - '0'), &query))
            return refuse(t, THR_SVMLIGHT_QUERY_NUMBER, *at);
    if (p == digits || !ends_word(p, end))
        return refuse(t, THR_SVMLIGHT_QUERY_NUMBER, *at);
    if (t->places->queries != NULL)
        t->places->queries[t->row] = query;
    *at = skip_blanks(p, end);
    return true;
}

/* Parse an index and its colon; *index is at least 1. */
static inline bool parse_index(parsing *t, const char **at, const char *end, uint64_t before, uint64_t *index) {
    const char *p = *at;
    uint64_t i = 0;
    for (; p < end && is_digit(*p); p++)
        i = i <= THR_SVMLIGHT_MAX_INDEX ? i * 10 + (uint64_t)(*p - '0') : i;
    t->fault->index = i;
    t->fault->before = before;
    if (p == *at || p == end || *p != ':') {
        const bool negative = *at + 1 < end && **at == '-' && is_digit((*at)[1]);
        const bool late = has_query(*at, end);
        return refuse(t,
                      negative ? THR_SVMLIGHT_INDEX_LOW
                      : late   ? THR_SVMLIGHT_QUERY_LATE
                               : THR_SVMLIGHT_NO_PAIR,
                      *at);
    }
    if (i == 0)
        return refuse(t, THR_SVMLIGHT_INDEX_LOW, *at);
    if (i > THR_SVMLIGHT_MAX_INDEX)
        return refuse(t, THR_SVMLIGHT_INDEX_HIGH, *at);
    if (i <= before)
        return refuse(t, i == before ? THR_SVMLIGHT_INDEX_TWICE : THR_SVMLIGHT_INDEX_DESCENDS, *at);
    *at = p + 1;
    *index = i;
    return true;
}

static inline bool parse_value(parsing *t, const char **at, const char *end, float *value) {
    thr_numeral number;
    const char *p = thr_numeral_scan(*at, end, &number);
    if (p == NULL || !ends_word(p, end))
        return refuse(t, is_not_finite(*at, end) ? THR_SVMLIGHT_VALUE_RANGE : THR_SVMLIGHT_NO_VALUE, *at);
    *value = thr_numeral_float(&number);
    if (!isfinite(*value))
        return refuse(t, THR_SVMLIGHT_VALUE_RANGE, *at);
    *at = p;
    return true;
}

/*
 * Parse all pairs of a row. n_features is the largest last index of all rows. An index above it must be followed by a
 * smaller one or by a malformed pair, which is rejected when reached; nothing is written until then.
 */
static bool parse_pairs(parsing *t, const char *p, const char *end) {
    const thr_svmlight_places *places = t->places;
    float *dense = places->dense != NULL ? places->dense + t->row * places->n_features : NULL;
    uint64_t index = 0, filled = 0; /* dense columns written */
    for (;;) {
        p = skip_blanks(p, end);
        if (p == end)
            break;
        float value;
        if (!parse_index(t, &p, end, index, &index) || !parse_value(t, &p, end, &value))
            return false;
        if (t->value == t->counts->n_values)
            return refuse(t, THR_SVMLIGHT_CHANGED, p);
        if (dense == NULL) {
            places->columns[t->value] = (uint32_t)(index - 1);
            places->values[t->value] = value;
        } else if (index <= places->n_features) {
            while (filled < index - 1)
                dense[filled++] = 0;
            dense[filled++] = value;
        }
        t->value++;
    }
    if (index > places->n_features)
        return refuse(t, THR_SVMLIGHT_CHANGED, p);
    while (dense != NULL && filled < places->n_features)
        dense[filled++] = 0;
    return true;
}

static bool parse_comment(parsing *t, const svm_line *line) {
    const thr_svmlight_places *places = t->places;
    if (places->comment_starts == NULL)
        return true;
    const size_t size = (size_t)(line->comment_end - line->comment);
    if (size > t->counts->comment_bytes - t->comment)
        return refuse(t, THR_SVMLIGHT_CHANGED, line->comment);
    places->comment_starts[t->row] = places->first_comment + t->comment;
    if (size != 0)
        memcpy(places->comments + t->comment, line->comment, size);
    t->comment += size;
    return true;
}

static bool parse_row(parsing *t, const svm_line *line) {
    if (t->row == t->counts->n_rows)
        return refuse(t, THR_SVMLIGHT_CHANGED, line->begin);
    if (t->places->starts != NULL)
        t->places->starts[t->row] = t->places->first_value + t->value;
    const char *p = line->begin;
    if (!parse_label(t, &p, line->data_end) || !parse_query(t, &p, line->data_end) ||
        !parse_pairs(t, p, line->data_end) || !parse_comment(t, line))
        return false;
    t->row++;
    return true;
}

void thr_svmlight_take(const char *text, size_t size, const thr_svmlight_counts *counts,
                       const thr_svmlight_places *places, thr_svmlight_fault *fault) {
    const char *const end = text + size;
    *fault = (thr_svmlight_fault){.line_begin = text, .at = text, .end = end};
    parsing t = {.counts = counts, .places = places, .fault = fault};
    for (const char *p = text; p < end; fault->line++) {
        svm_line line;
        fault->line_begin = p;
        p = split_line(p, end, &line);
        if (line.begin != line.data_end && !parse_row(&t, &line))
            return;
    }
    if (t.row != counts->n_rows || t.value != counts->n_values ||
        (places->comment_starts != NULL && t.comment != counts->comment_bytes))
        (void)refuse(&t, THR_SVMLIGHT_CHANGED, end);
}

/* ------------------------------------------------------------------------------------------------ errors */

thr_status thr_svmlight_report_fault(const char *name, uint64_t first_line, const thr_svmlight_fault *fault,
                                     thr_error *err) {
    if (fault->kind == THR_SVMLIGHT_CHANGED)
        return thr_fail(err, THR_ECHANGED, "%s: changed while it was read: read it again when it is complete", name);
    enum { SHOWN = 40 };
    int length = 0; /* length of the faulty word */
    while (length < SHOWN && fault->at + length < fault->end && fault->at[length] != '\n' &&
           !is_blank(fault->at[length]))
        length++;
    const char *word = fault->at;
    thr_error place; /* the beginning of the message */
    (void)thr_fail(&place, THR_OK, "%s: line %" PRIu64 ", column %zu", name, first_line + fault->line,
                   (size_t)(fault->at - fault->line_begin) + 1);
    if (memchr(word, '\0', (size_t)length) != NULL)
        return thr_fail(err, THR_EFORMAT,
                        "%s: a NUL byte is in this word: convert the text to UTF-8 (UTF-16 has such bytes)",
                        place.text);
    switch (fault->kind) {
    case THR_SVMLIGHT_FINE:
    case THR_SVMLIGHT_CHANGED:
        break;
    case THR_SVMLIGHT_NO_LABEL:
        return thr_fail(err, THR_EFORMAT, "%s: \"%.*s\" is not a label: a line begins with a number", place.text,
                        length, word);
    case THR_SVMLIGHT_LABEL_RANGE:
        return thr_fail(err, THR_ERANGE, "%s: the label %.*s is not a finite number", place.text, length, word);
    case THR_SVMLIGHT_NO_QUERY:
        return thr_fail(err, THR_EFORMAT, "%s: no qid:N after the label, where other lines have one", place.text);
    case THR_SVMLIGHT_QUERY_NUMBER:
        return thr_fail(err, THR_EFORMAT, "%s: \"%.*s\" is not a query: write qid: and a number from 0 to 2^64 - 1",
                        place.text, length, word);
    case THR_SVMLIGHT_QUERY_LATE:
        return thr_fail(err, THR_EFORMAT, "%s: \"%.*s\": a qid comes once, right after the label", place.text, length,
                        word);
    case THR_SVMLIGHT_NO_PAIR:
        return thr_fail(err, THR_EFORMAT, "%s: \"%.*s\" is not index:value", place.text, length, word);
    case THR_SVMLIGHT_INDEX_LOW:
        return thr_fail(err, THR_ERANGE, "%s: \"%.*s\": indices count from 1: add 1 to all of them", place.text, length,
                        word);
    case THR_SVMLIGHT_INDEX_HIGH:
        return thr_fail(err, THR_ERANGE, "%s: \"%.*s\": indices go up to %" PRIu32, place.text, length, word,
                        THR_SVMLIGHT_MAX_INDEX);
    case THR_SVMLIGHT_INDEX_TWICE:
        return thr_fail(err, THR_ERANGE, "%s: index %" PRIu64 " occurs twice in this line", place.text, fault->index);
    case THR_SVMLIGHT_INDEX_DESCENDS:
        return thr_fail(err, THR_ERANGE, "%s: index %" PRIu64 " comes after %" PRIu64 ": indices of a line ascend",
                        place.text, fault->index, fault->before);
    case THR_SVMLIGHT_NO_VALUE:
        return thr_fail(err, THR_EFORMAT, "%s: \"%.*s\" is not a number", place.text, length, word);
    case THR_SVMLIGHT_VALUE_RANGE:
        return thr_fail(err, THR_ERANGE, "%s: the value %.*s is not a finite float32", place.text, length, word);
    }
    return THR_OK;
}
