/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - the pieces of JSON (RFC 8259) that headers of files are made of: marks, strings and counts.
 *
 * The reader is strict: strings are valid UTF-8 without NUL characters, counts are whole numbers as JSON writes them.
 * What stands where is the caller's to know, so that no value is read that nobody asked for, and nothing nests deeper
 * than the caller.
 */
#ifndef THR_IO_JSON_TEXT_H
#define THR_IO_JSON_TEXT_H

#include <thresher/status.h>

typedef struct thr_json {
    const char *name; /* of the file, for messages */
    const char *start, *at, *end;
    uint64_t offset; /* of start in the file */
} thr_json;

/* THR_EFORMAT naming the file and the byte where the text stands. */
thr_status thr_io_json_fail(const thr_json *json, const char *what, thr_error *err);

/* Whether this mark is next, behind space; if so, step over it. */
bool thr_io_json_take(thr_json *json, char mark);

/* The same where nothing else can be. */
thr_status thr_io_json_expect(thr_json *json, char mark, const char *what, thr_error *err);

/* Only space is left. */
bool thr_io_json_at_end(thr_json *json);

/*
 * A string, decoded and with a NUL behind it: in out are at most as many bytes as in the text, whose quotes make room
 * for the NUL.
 */
thr_status thr_io_json_take_string(thr_json *json, char *out, size_t *length, thr_error *err);

/* A whole number that fits. */
thr_status thr_io_json_take_count(thr_json *json, uint64_t *count, thr_error *err);

/* The text in quotes to out, which has room for 6 bytes a byte and 2; the bytes written. */
size_t thr_io_json_quote(const char *text, char *out);

#endif
