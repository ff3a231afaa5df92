/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json.h"

#include <inttypes.h>
#include <math.h>

prog_json prog_json_to(FILE *file) {
    return (prog_json){.file = file, .comma = false};
}

static void separate(prog_json *json) {
    if (json->comma)
        (void)putc(',', json->file);
    json->comma = true;
}

void prog_json_open(prog_json *json, char bracket) {
    separate(json);
    (void)putc(bracket, json->file);
    json->comma = false;
}

void prog_json_close(prog_json *json, char bracket) {
    (void)putc(bracket, json->file);
    json->comma = true;
}

void prog_json_end(prog_json *json) {
    (void)putc('\n', json->file);
    json->comma = false;
}

prog_json prog_json_object(void) {
    prog_json json = prog_json_to(stdout);

    prog_json_open(&json, '{');
    return json;
}

void prog_json_end_object(prog_json *json) {
    prog_json_close(json, '}');
    prog_json_end(json);
}

/*
 * Bytes of the UTF-8 character at text, 0 when it is none (RFC 3629: no overlong forms, surrogates or beyond 10FFFF).
 */
static size_t utf8_length(const unsigned char *text) {
    unsigned char c = text[0];
    size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((c == 0xE0 && text[1] < 0xA0) || (c == 0xED && text[1] > 0x9F) || (c == 0xF0 && text[1] < 0x90) ||
        (c == 0xF4 && text[1] > 0x8F))
        return 0;
    return n;
}

static void write_quoted(FILE *file, const char *text) {
    const unsigned char *c = (const unsigned char *)text;

    (void)putc('"', file);
    while (*c != '\0') {
        size_t length = utf8_length(c);

        if (*c == '"' || *c == '\\')
            (void)fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            (void)fprintf(file, "\\u%04x", (unsigned)*c);
        else if (length == 0)
            (void)fputs("\\ufffd", file);
        else
            (void)fwrite(c, 1, length, file);
        c += length > 0 ? length : 1;
    }
    (void)putc('"', file);
}

void prog_json_key(prog_json *json, const char *key) {
    separate(json);
    write_quoted(json->file, key);
    (void)putc(':', json->file);
    json->comma = false;
}

void prog_json_text(prog_json *json, const char *text) {
    if (text == NULL) {
        prog_json_null(json);
        return;
    }
    separate(json);
    write_quoted(json->file, text);
}

void prog_json_count(prog_json *json, uint64_t n) {
    separate(json);
    (void)fprintf(json->file, "%" PRIu64, n);
}

void prog_json_real(prog_json *json, double x) {
    if (!isfinite(x)) {
        prog_json_null(json);
        return;
    }
    separate(json);
    (void)fprintf(json->file, "%.9g", x);
}

void prog_json_bool(prog_json *json, bool yes) {
    separate(json);
    (void)fputs(yes ? "true" : "false", json->file);
}

void prog_json_null(prog_json *json) {
    separate(json);
    (void)fputs("null", json->file);
}

void prog_json_key_text(prog_json *json, const char *key, const char *text) {
    prog_json_key(json, key);
    prog_json_text(json, text);
}

void prog_json_key_count(prog_json *json, const char *key, uint64_t n) {
    prog_json_key(json, key);
    prog_json_count(json, n);
}

void prog_json_key_real(prog_json *json, const char *key, double x) {
    prog_json_key(json, key);
    prog_json_real(json, x);
}

void prog_json_key_bool(prog_json *json, const char *key, bool yes) {
    prog_json_key(json, key);
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
