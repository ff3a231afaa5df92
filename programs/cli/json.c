/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json.h"

#include <math.h>

static void put(void *to, const char *bytes, size_t n) {
    (void)fwrite(bytes, 1, n, to);
}

prog_json prog_json_to(FILE *file) {
    return (prog_json){.put = put, .to = file};
}

void prog_json_end(prog_json *json) {
    put(json->to, "\n", 1);
    json->comma = false;
}

prog_json prog_json_object(void) {
    prog_json json = prog_json_to(stdout);

    thr_json_open(&json, '{');
    return json;
}

void prog_json_end_object(prog_json *json) {
    thr_json_close(json, '}');
    prog_json_end(json);
}

void prog_json_text(prog_json *json, const char *text) {
    if (text != NULL)
        thr_json_put_text(json, text);
    else
        prog_json_null(json);
}

void prog_json_real(prog_json *json, double x) {
    char digits[32];

    (void)snprintf(digits, sizeof digits, "%.9g", x);
    thr_json_put_word(json, isfinite(x) ? digits : "null");
}

void prog_json_bool(prog_json *json, bool yes) {
    thr_json_put_word(json, yes ? "true" : "false");
}

void prog_json_null(prog_json *json) {
    thr_json_put_word(json, "null");
}

void prog_json_key_text(prog_json *json, const char *key, const char *text) {
    thr_json_put_key(json, key);
    prog_json_text(json, text);
}

void prog_json_key_count(prog_json *json, const char *key, uint64_t n) {
    thr_json_put_key(json, key);
    thr_json_put_count(json, n);
}

void prog_json_key_real(prog_json *json, const char *key, double x) {
    thr_json_put_key(json, key);
    prog_json_real(json, x);
}

void prog_json_key_bool(prog_json *json, const char *key, bool yes) {
    thr_json_put_key(json, key);
    prog_json_bool(json, yes);
}

void prog_json_key_counts(prog_json *json, const prog_json_key_of_count *counts, size_t n_counts) {
    for (size_t i = 0; i < n_counts; i++)
        prog_json_key_count(json, counts[i].key, counts[i].n);
}

void prog_json_key_reals(prog_json *json, const prog_json_key_of_real *reals, size_t n_reals) {
    for (size_t i = 0; i < n_reals; i++)
        prog_json_key_real(json, reals[i].key, reals[i].x);
}
