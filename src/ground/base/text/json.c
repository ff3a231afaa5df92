/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/json.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"

thr_json thr_json_of(const char *name, const void *text, size_t size) {
    return (thr_json){.name = name, .start = text, .at = text, .end = (const char *)text + size};
}

/* Not by thr_fail: programs compile this file, too, and have the library's exported functions only. */
thr_status thr_json_fail(const thr_json *json, const char *what, thr_error *err) {
    if (err == NULL)
        return THR_EFORMAT;
    err->status = THR_EFORMAT;
    (void)snprintf(err->text, sizeof err->text, "%s: byte %llu: %s: write or fetch the file again", json->name,
                   (unsigned long long)(json->offset + (uint64_t)(json->at - json->start)), what);
    thr_make_printable(err->text);
    return THR_EFORMAT;
}

static void skip_space(thr_json *json) {
    while (json->at < json->end && (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
        json->at++;
}

bool thr_json_take(thr_json *json, char mark) {
    skip_space(json);
    if (json->at == json->end || *json->at != mark)
        return false;
    json->at++;
    return true;
}

thr_status thr_json_expect(thr_json *json, char mark, const char *what, thr_error *err) {
    return thr_json_take(json, mark) ? THR_OK : thr_json_fail(json, what, err);
}

bool thr_json_at_end(thr_json *json) {
    skip_space(json);
    return json->at == json->end;
}

bool thr_json_take_key(thr_json *json, const char *key) {
    const size_t n = strlen(key);
    skip_space(json);
    const char *const before = json->at;
    if ((size_t)(json->end - before) < n + 2 || before[0] != '"' || memcmp(before + 1, key, n) != 0 ||
        before[n + 1] != '"')
        return false;
    json->at += n + 2;
    if (thr_json_take(json, ':'))
        return true;
    json->at = before;
    return false;
}

/* ------------------------------------------------------------------------------------------------ strings */

/* Parse four hexadecimal digits after \u. */
static bool parse_hex(thr_json *json, uint32_t *code) {
    *code = 0;
    if (json->end - json->at < 4)
        return false;
    for (int i = 0; i < 4; i++, json->at++) {
        const char c = *json->at;
        const char low = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            *code = *code << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            *code = *code << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Parse a character after \u; beyond 16 bits it is a surrogate pair. */
static bool parse_code_point(thr_json *json, uint32_t *code) {
    uint32_t second = 0;
    if (!parse_hex(json, code) || *code == 0 || (*code >= 0xdc00 && *code <= 0xdfff))
        return false;
    if (*code < 0xd800 || *code > 0xdbff)
        return true;
    if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
        return false;
    json->at += 2;
    if (!parse_hex(json, &second) || second < 0xdc00 || second > 0xdfff)
        return false;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (second - 0xdc00);
    return true;
}

/* Parse the escape after a backslash. */
static bool parse_escape(thr_json *json, char **out) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (json->at == json->end)
        return false;
    const char c = *json->at++;
    uint32_t code = 0;
    if (c == 'u') {
        if (!parse_code_point(json, &code))
            return false;
    } else {
        const char *letter = memchr(letters, c, sizeof letters - 1);
        if (letter == NULL)
            return false;
        code = (unsigned char)meant[letter - letters];
    }
    *out += thr_utf8_put(code, *out);
    return true;
}

thr_status thr_json_take_string(thr_json *json, char *out, size_t *length, thr_error *err) {
    char *to = out;
    THR_TRY(thr_json_expect(json, '"', "a string was expected", err));
    for (;;) {
        if (json->at == json->end)
            return thr_json_fail(json, "a string has no end", err);
        const char c = *json->at++;
        if (c == '"')
            break;
        if ((unsigned char)c < 0x20)
            return thr_json_fail(json, "a string holds a control character", err);
        if (c != '\\')
            *to++ = c;
        else if (!parse_escape(json, &to))
            return thr_json_fail(json, "a string holds an invalid escape, or half a character", err);
    }
    *to = '\0';
    *length = (size_t)(to - out);
    if (thr_utf8_valid(out, *length) < *length)
        return thr_json_fail(json, "a string is not UTF-8", err);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ counts */

thr_status thr_json_take_count(thr_json *json, uint64_t *count, thr_error *err) {
    skip_space(json);
    const char *from = json->at;
    *count = 0;
    for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++)
        if (__builtin_mul_overflow(*count, (uint64_t)10, count) ||
            __builtin_add_overflow(*count, (uint64_t)(*json->at - '0'), count))
            return thr_json_fail(json, "a number is too large", err);
    const char next = json->at < json->end ? *json->at : '\0';
    if (json->at == from || (*from == '0' && json->at - from > 1) || next == '.' || next == 'e' || next == 'E')
        return thr_json_fail(json, "a whole number, 0 or more, was expected", err);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ skipping */

bool thr_json_take_word(thr_json *json, const char *word) {
    const size_t n = strlen(word);
    skip_space(json);
    if ((size_t)(json->end - json->at) < n || memcmp(json->at, word, n) != 0)
        return false;
    json->at += n;
    return true;
}

static thr_status skip_string(thr_json *json, thr_error *err) {
    THR_TRY(thr_json_expect(json, '"', "a string was expected", err));
    for (; json->at < json->end && *json->at != '"'; json->at++)
        if (*json->at == '\\' && json->at + 1 < json->end)
            json->at++;
    return thr_json_expect(json, '"', "a string has no end", err);
}

/* A number or a word. */
static thr_status skip_plain(thr_json *json, thr_error *err) {
    static const char letters[] = "0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *from = json->at;
    while (json->at < json->end && *json->at != '\0' && strchr(letters, *json->at) != NULL)
        json->at++;
    return json->at > from ? THR_OK : thr_json_fail(json, "a value was expected", err);
}

/* Skip the key before a value of an object; before a value of a list there is nothing to skip. */
static thr_status skip_key(thr_json *json, bool in_object, thr_error *err) {
    if (!in_object)
        return THR_OK;
    THR_TRY(skip_string(json, err));
    return thr_json_expect(json, ':', "a colon was expected", err);
}

thr_status thr_json_skip(thr_json *json, thr_error *err) {
    enum { DEPTH_MOST = 64 };
    uint64_t objects = 0; /* bit d: level d is an object, not a list */
    int depth = 0;
    for (;;) {
        bool opened = thr_json_take(json, '{');
        const bool is_object = opened;
        opened = opened || thr_json_take(json, '[');
        if (opened && depth == DEPTH_MOST)
            return thr_json_fail(json, "values are nested too deeply", err);
        if (opened) {
            objects = (objects & ~(UINT64_C(1) << depth)) | (uint64_t)is_object << depth;
            depth++;
            if (!thr_json_take(json, is_object ? '}' : ']')) {
                THR_TRY(skip_key(json, is_object, err));
                continue;
            }
            depth--;
        } else {
            THR_TRY(json->at < json->end && *json->at == '"' ? skip_string(json, err) : skip_plain(json, err));
        }
        for (; depth > 0 && !thr_json_take(json, ','); depth--)
            THR_TRY(thr_json_expect(json, (objects >> (depth - 1) & 1) != 0 ? '}' : ']',
                                    "a list or an object has no end", err));
        if (depth == 0)
            return THR_OK;
        THR_TRY(skip_key(json, (objects >> (depth - 1) & 1) != 0, err));
    }
}
