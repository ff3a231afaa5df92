/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - write JSON to a stream, by base/text/json.h: keys with their values, objects in one line.
 *
 *     prog_json json = prog_json_object();           {
 *     prog_json_key_count(&json, "n_items", 3);      "n_items":3
 *     prog_json_end_object(&json);                   } and a line end
 *
 * Write errors stay in the stream's error flag.
 */
#pragma once

#include <stdio.h>

#include "base/text/json.h"

typedef thr_json_out prog_json; /* to a stream */

prog_json prog_json_to(FILE *file);
void prog_json_end(prog_json *json); /* the line */

/* Open an object on standard output; close it and end the line. */
prog_json prog_json_object(void);
void prog_json_end_object(prog_json *json);

void prog_json_text(prog_json *json, const char *text); /* NULL: null */
void prog_json_real(prog_json *json, double x);         /* %.9g; null for infinity and NaN */
void prog_json_bool(prog_json *json, bool yes);
void prog_json_null(prog_json *json);

/* A key and its value. */
void prog_json_key_text(prog_json *json, const char *key, const char *text);
void prog_json_key_count(prog_json *json, const char *key, uint64_t n);
void prog_json_key_real(prog_json *json, const char *key, double x);
void prog_json_key_bool(prog_json *json, const char *key, bool yes);

/* Several: PROG_JSON_COUNTS(&json, {"n_items", 3}, {"n_dims", 100}). */
typedef struct prog_json_key_of_count {
    const char *key;
    uint64_t n;
} prog_json_key_of_count;
void prog_json_key_counts(prog_json *json, const prog_json_key_of_count *counts, size_t n_counts);

#define PROG_JSON_COUNTS(json, ...)                                                                                    \
    prog_json_key_counts((json), (const prog_json_key_of_count[]){__VA_ARGS__},                                        \
                         sizeof((const prog_json_key_of_count[]){__VA_ARGS__}) / sizeof(prog_json_key_of_count))

typedef struct prog_json_key_of_real {
    const char *key;
    double x;
} prog_json_key_of_real;
void prog_json_key_reals(prog_json *json, const prog_json_key_of_real *reals, size_t n_reals);

#define PROG_JSON_REALS(json, ...)                                                                                     \
    prog_json_key_reals((json), (const prog_json_key_of_real[]){__VA_ARGS__},                                          \
                        sizeof((const prog_json_key_of_real[]){__VA_ARGS__}) / sizeof(prog_json_key_of_real))
