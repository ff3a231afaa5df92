/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - the one reader and the one writer of JSON (RFC 8259), of the library and of its programs.
 *
 * Both are driven by the caller, token by token, and allocate nothing. The reader is strict: strings are valid UTF-8
 * without NUL characters, counts are non-negative integers in JSON's notation. The caller expects each token, so no
 * unexpected value is read, and nesting is no deeper than the caller's own. Values that the caller does not need are
 * skipped.
 */
#pragma once

#include <thresher/status.h>

typedef struct thr_json {
    const char *name; /* of the file, for messages */
    const char *start, *at, *end;
    uint64_t offset; /* of start in the file */
} thr_json;

/* A reader of size bytes at text, which begin the file. */
thr_json thr_json_of(const char *name, const void *text, size_t size);

/* Return THR_EFORMAT with the file and the current byte offset. */
thr_status thr_json_fail(const thr_json *json, const char *what, thr_error *err);

/* Skip white space; if the next character is mark, consume it and return true. */
bool thr_json_take(thr_json *json, char mark);

/* Like thr_json_take, but any other character is an error: `what` describes it. */
thr_status thr_json_expect(thr_json *json, char mark, const char *what, thr_error *err);

/* Return whether only white space is left. */
bool thr_json_at_end(thr_json *json);

/* If the next characters are this key, without escapes, and a colon, consume both and return true. */
bool thr_json_take_key(thr_json *json, const char *key);

/*
 * Parse a string into out, decoded and NUL-terminated. out needs no more bytes than the text: the quotes make room
 * for the NUL.
 */
thr_status thr_json_take_string(thr_json *json, char *out, size_t *length, thr_error *err);

/*
 * Skip a value of any type, nested up to 64 deep. Its contents are not validated beyond the punctuation; Python's NaN
 * and Infinity pass.
 */
thr_status thr_json_skip(thr_json *json, thr_error *err);

/* If the next characters are this word (true, false, null), consume them and return true. */
bool thr_json_take_word(thr_json *json, const char *word);

/* Parse a non-negative integer below 2^64. */
thr_status thr_json_take_count(thr_json *json, uint64_t *count, thr_error *err);

/* ------------------------------------------------------------------------------------------------ writing */

/*
 * A writer, which separates values by commas. put receives the text in pieces; errors are its own to keep.
 *
 *     thr_json_open(&out, '{');          {
 *     thr_json_put_key(&out, "n");       "n":
 *     thr_json_put_count(&out, 3);       3
 *     thr_json_close(&out, '}');         }
 */
typedef struct thr_json_out {
    void (*put)(void *to, const char *bytes, size_t n);
    void *to;
    bool lines;   /* begin a line before each key, each value of a list, and each bracket that closes */
    bool comma;   /* the writer's own: a comma is needed before the next value, */
    bool has_key; /* and the next value is that of a key */
} thr_json_out;

void thr_json_open(thr_json_out *out, char bracket);
void thr_json_close(thr_json_out *out, char bracket);
void thr_json_put_key(thr_json_out *out, const char *key);

/* A string; bytes that are no UTF-8 become U+FFFD. */
void thr_json_put_text(thr_json_out *out, const char *text);
void thr_json_put_count(thr_json_out *out, uint64_t n);

/* A number or a word (true, false, null) as it is. */
void thr_json_put_word(thr_json_out *out, const char *word);
