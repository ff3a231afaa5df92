/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - parse the parts of JSON (RFC 8259) that file headers consist of: punctuation, strings and counts.
 *
 * The parser is strict: strings are valid UTF-8 without NUL characters, counts are non-negative integers in JSON's
 * notation. The caller drives it and expects each token, so no unexpected value is read, and nesting is no deeper
 * than the caller's own. Values that the caller does not need are skipped.
 */
#pragma once

#include <thresher/status.h>

typedef struct thr_json {
    const char *name; /* of the file, for messages */
    const char *start, *at, *end;
    uint64_t offset; /* of start in the file */
} thr_json;

/* Return THR_EFORMAT with the file and the current byte offset. */
thr_status thr_tensors_json_fail(const thr_json *json, const char *what, thr_error *err);

/* Skip white space; if the next character is mark, consume it and return true. */
bool thr_tensors_json_take(thr_json *json, char mark);

/* Like thr_tensors_json_take, but any other character is an error: `what` describes it. */
thr_status thr_tensors_json_expect(thr_json *json, char mark, const char *what, thr_error *err);

/* Return whether only white space is left. */
bool thr_tensors_json_at_end(thr_json *json);

/*
 * Parse a string into out, decoded and NUL-terminated. out needs no more bytes than the text: the quotes make room
 * for the NUL.
 */
thr_status thr_tensors_json_take_string(thr_json *json, char *out, size_t *length, thr_error *err);

/*
 * Skip a value of any type, nested up to 64 deep. Its contents are not validated beyond the punctuation; Python's NaN
 * and Infinity pass.
 */
thr_status thr_tensors_json_skip(thr_json *json, thr_error *err);

/* If the next characters are this word (true, false, null), consume them and return true. */
bool thr_tensors_json_take_word(thr_json *json, const char *word);

/* Parse a non-negative integer below 2^64. */
thr_status thr_tensors_json_take_count(thr_json *json, uint64_t *count, thr_error *err);

/* Write text in quotes to out, which has room for 6 bytes for each byte, plus 2. Returns the bytes written. */
size_t thr_tensors_json_quote(const char *text, char *out);
