/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.c - the writer. Text is passed on in runs between the characters that need an escape. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "base/text/utf8.h"

static void put(const thr_json_out *out, const char *text) {
    out->put(out->to, text, strlen(text));
}

static void separate(thr_json_out *out) {
    if (!out->has_key && out->comma)
        put(out, ",");
    if (!out->has_key && out->lines)
        put(out, "\n");
    out->comma = true;
    out->has_key = false;
}

void thr_json_open(thr_json_out *out, char bracket) {
    separate(out);
    out->put(out->to, &bracket, 1);
    out->comma = false;
}

void thr_json_close(thr_json_out *out, char bracket) {
    if (out->lines)
        put(out, "\n");
    out->put(out->to, &bracket, 1);
    out->comma = true;
}

static void put_quoted(const thr_json_out *out, const char *text) {
    const char *const end = text + strlen(text), *begin = text, *at = text;
    char escape[8];
    uint32_t letter;

    put(out, "\"");
    while (at < end) {
        const char *const next = at;
        const bool valid = thr_utf8_next(&at, end, &letter);
        if (valid && letter >= 0x20 && letter != '"' && letter != '\\')
            continue;
        out->put(out->to, begin, (size_t)(next - begin));
        if (!valid)
            (void)snprintf(escape, sizeof escape, "\\ufffd");
        else if (letter < 0x20)
            (void)snprintf(escape, sizeof escape, "\\u%04" PRIx32, letter);
        else
            (void)snprintf(escape, sizeof escape, "\\%c", (char)letter);
        put(out, escape);
        begin = at = next + 1;
    }
    out->put(out->to, begin, (size_t)(end - begin));
    put(out, "\"");
}

void thr_json_put_key(thr_json_out *out, const char *key) {
    separate(out);
    put_quoted(out, key);
    put(out, ":");
    out->has_key = true;
}

void thr_json_put_text(thr_json_out *out, const char *text) {
    separate(out);
    put_quoted(out, text);
}

void thr_json_put_count(thr_json_out *out, uint64_t n) {
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRIu64, n);
    thr_json_put_word(out, digits);
}

void thr_json_put_word(thr_json_out *out, const char *word) {
    separate(out);
    put(out, word);
}
