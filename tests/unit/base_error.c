/* SPDX-License-Identifier: Apache-2.0 */
/* base_error.c - an error is one line that ends, whatever was put into it; options of every size are taken. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void an_error_has_the_status_and_the_sentence(void **state) {
    (void)state;
    thr_error err;
    memset(&err, 0xee, sizeof err);
    assert_int_equal(thr_fail(&err, THR_EDIM, "%u dimensions, not %s", 3u, "four"), THR_EDIM);
    assert_int_equal(err.status, THR_EDIM);
    assert_string_equal(err.text, "3 dimensions, not four");
}

static void a_null_error_is_allowed(void **state) {
    (void)state;
    assert_int_equal(thr_fail(NULL, THR_EIO, "%s", "nobody reads this"), THR_EIO);
    assert_int_equal(thr_fail_errno(NULL, ENOENT, "open", "x"), THR_ENOTFOUND);
}

static void what_could_drive_a_terminal_becomes_question_marks(void **state) {
    (void)state;
    thr_error err;
    char every[256];
    for (int c = 1; c < 256; c++)
        every[c - 1] = (char)c;
    every[255] = '\0';
    (void)thr_fail(&err, THR_EIO, "%s", every);
    assert_int_equal(strlen(err.text), 255);
    for (size_t i = 0; i < 255; i++) {
        const unsigned char c = (unsigned char)every[i], got = (unsigned char)err.text[i];
        assert_int_equal(got, c < 0x20 || c >= 0x7f ? '?' : c); /* from 0x80 on they are no UTF-8 */
    }
    (void)thr_fail(&err, THR_EIO, "a\nb\tc");
    assert_string_equal(err.text, "a?b?c");
    static const struct {
        const char *text, *printable;
    } cases[] = {
        {"\xc2\x9b"
         "31m\xc2\x85.",
         "?31m?."}, /* C1 */
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8f\xd8\x9c",
         "a?b????"},                        /* marks of direction */
        {"\xe2\x80\xa8\xe2\x80\xa9", "??"}, /* ends of lines */
        {"caf\xc3\xa9 \xc2\xa0\xe2\x80\x8d\xf0\x9f\x98\x80 \xd7\x90",
         "caf\xc3\xa9 \xc2\xa0\xe2\x80\x8d\xf0\x9f\x98\x80 \xd7\x90"},
        {"caf\xe9 \xc3", "caf? ?"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        thr_make_printable(text);
        assert_string_equal(text, cases[i].printable);
    }
}

static void a_long_sentence_is_cut_and_ends(void **state) {
    (void)state;
    thr_error err;
    char longer[3 * THR_ERROR_TEXT_SIZE];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    longer[THR_ERROR_TEXT_SIZE - 2] = '\n';
    memset(&err, 0xee, sizeof err);
    (void)thr_fail(&err, THR_EIO, "%s", longer);
    assert_int_equal(strlen(err.text), THR_ERROR_TEXT_SIZE - 1);
    assert_null(strchr(err.text, '\n'));
}

static void errno_picks_the_status_and_the_path_is_named(void **state) {
    (void)state;
    const struct {
        int number;
        thr_status status;
    } cases[] = {{ENOENT, THR_ENOTFOUND}, {ENOTDIR, THR_ENOTFOUND}, {ENOSPC, THR_ENOSPACE}, {EDQUOT, THR_ENOSPACE},
                 {ENOMEM, THR_ENOMEM},    {EACCES, THR_EIO},        {EIO, THR_EIO},         {123456, THR_EIO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        thr_error err;
        assert_error(thr_fail_errno(&err, cases[i].number, "open", "a\nfile"), cases[i].status, &err, "a?file");
        assert_error(err.status, cases[i].status, &err, "cannot open");
    }
}

/* Options of a library that has grown: callers of before gave the first two fields. */
typedef struct grown_options {
    size_t size;
    int old_field, older_field;
    double new_field;
    void *newest_field;
} grown_options;
enum { OLD_SIZE = offsetof(grown_options, new_field) };

static grown_options defaults(void) {
    return (grown_options){.size = sizeof(grown_options), .old_field = 1, .older_field = 2, .new_field = 3};
}

static void no_options_are_the_defaults(void **state) {
    (void)state;
    grown_options complete = defaults();
    thr_error err;
    assert_ok(thr_take_options(&complete, sizeof complete, NULL, OLD_SIZE, "grown_options", &err), &err);
    assert_true(complete.size == sizeof complete && complete.old_field == 1 && complete.older_field == 2);
    assert_true(complete.new_field == 3 && complete.newest_field == NULL);
}

static void options_of_every_size_there_was_are_taken_over_the_defaults(void **state) {
    (void)state;
    const size_t sizes[] = {OLD_SIZE, offsetof(grown_options, newest_field), sizeof(grown_options)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        grown_options given = {sizes[i], 10, 20, 30, &given}, complete = defaults();
        void *exact = test_array(sizes[i], 1); /* so that a sanitizer reports reads past its end */
        thr_error err;
        memcpy(exact, &given, sizes[i]);
        assert_ok(thr_take_options(&complete, sizeof complete, exact, OLD_SIZE, "grown_options", &err), &err);
        free(exact);
        assert_int_equal(complete.size, sizeof complete);
        assert_true(complete.old_field == 10 && complete.older_field == 20);
        assert_true(complete.new_field == (i >= 1 ? 30 : 3));
        assert_ptr_equal(complete.newest_field, i == 2 ? &given : NULL);
    }
}

static void options_of_impossible_sizes_are_refused(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, OLD_SIZE - 1, sizeof(grown_options) + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        grown_options given = {sizes[i], 10, 20, 30, NULL}, complete = defaults();
        thr_error err;
        assert_error(thr_take_options(&complete, sizeof complete, &given, OLD_SIZE, "grown_options", &err), THR_EINVAL,
                     &err, "grown_options has size ");
        assert_error(err.status, THR_EINVAL, &err, "call _init first");
        assert_true(complete.old_field == 1 && complete.new_field == 3); /* untouched */
    }
}

static void every_status_has_a_name_and_a_text(void **state) {
    (void)state;
#define CHECK(number, name, text)                                                                                      \
    assert_string_equal(thr_status_name(THR_##name), #name);                                                           \
    assert_string_equal(thr_status_text(THR_##name), text);                                                            \
    assert_int_equal(THR_##name, number);
    THR_STATUS_LIST(CHECK)
#undef CHECK
    assert_string_equal(thr_status_name((thr_status)-999), "E?");
    assert_non_null(thr_status_text((thr_status)1));
    assert_string_equal(thr_version(), THR_VERSION_STRING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_the_status_and_the_sentence),
        cmocka_unit_test(a_null_error_is_allowed),
        cmocka_unit_test(what_could_drive_a_terminal_becomes_question_marks),
        cmocka_unit_test(a_long_sentence_is_cut_and_ends),
        cmocka_unit_test(errno_picks_the_status_and_the_path_is_named),
        cmocka_unit_test(no_options_are_the_defaults),
        cmocka_unit_test(options_of_every_size_there_was_are_taken_over_the_defaults),
        cmocka_unit_test(options_of_impossible_sizes_are_refused),
        cmocka_unit_test(every_status_has_a_name_and_a_text),
    };
    return test_run_group(tests);
}
