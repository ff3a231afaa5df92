/* SPDX-License-Identifier: Apache-2.0 */
/* base_json.c - what the writer of JSON writes, and that the reader reads it again. */
#include "test.h"

#include "base/text/json.h"

typedef struct text {
    char bytes[512];
    size_t n;
} text;

static void append(void *to, const char *bytes, size_t n) {
    text *t = to;
    assert_true(n < sizeof t->bytes - t->n);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

TEST(values_and_keys_are_separated) {
    text t = {.n = 0};
    thr_json_out out = {.put = append, .to = &t};
    thr_json_open(&out, '{');
    thr_json_put_key(&out, "n");
    thr_json_put_count(&out, UINT64_MAX);
    out.lines = true;
    thr_json_put_key(&out, "list");
    thr_json_open(&out, '[');
    thr_json_put_word(&out, "true");
    thr_json_put_text(&out, "a");
    thr_json_close(&out, ']');
    thr_json_close(&out, '}');
    assert_string_equal(t.bytes, "{\"n\":18446744073709551615,\n\"list\":[\ntrue,\n\"a\"\n]\n}");
}

TEST(strings_are_read_as_they_were_written) {
    static const char *const strings[] = {"", "a \"b\" \\ /", "\x01\n\x1f", "caf\xc3\xa9 \xf0\x9f\x98\x80", "\x7f"};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        text t = {.n = 0};
        thr_json_out out = {.put = append, .to = &t};
        char again[512];
        size_t length;
        thr_json_put_text(&out, strings[i]);
        thr_json json = thr_json_of("text", t.bytes, t.n);
        assert_int_equal(thr_json_take_string(&json, again, &length, NULL), THR_OK);
        assert_true(thr_json_at_end(&json));
        assert_string_equal(again, strings[i]);
        assert_int_equal(length, strlen(strings[i]));
    }
}

TEST(what_is_no_utf8_is_replaced) {
    text t = {.n = 0};
    thr_json_out out = {.put = append, .to = &t};
    thr_json_put_text(&out, "a\xff\xc3");
    assert_string_equal(t.bytes, "\"a\\ufffd\\ufffd\"");
}

TEST(a_key_is_taken_with_its_colon) {
    static const char keys[] = " \"name\" : 7, \"nam\": 8, \"name\" 9";
    thr_json json = thr_json_of("keys", keys, sizeof keys - 1);
    uint64_t n = 0;
    assert_false(thr_json_take_key(&json, "nam"));
    assert_true(thr_json_take_key(&json, "name"));
    assert_int_equal(thr_json_take_count(&json, &n, NULL), THR_OK);
    assert_int_equal(n, 7);
    assert_true(thr_json_take(&json, ','));
    assert_false(thr_json_take_key(&json, "name"));
    assert_true(thr_json_take_key(&json, "nam"));
    assert_int_equal(thr_json_skip(&json, NULL), THR_OK);
    assert_true(thr_json_take(&json, ','));
    assert_false(thr_json_take_key(&json, "name")); /* it has no colon */
    assert_int_equal(thr_json_fail(&json, "a colon was expected", &err), THR_EFORMAT);
    assert_string_equal(err.text, "keys: byte 23: a colon was expected: write or fetch the file again");
}
