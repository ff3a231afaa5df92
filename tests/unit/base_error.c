/* SPDX-License-Identifier: Apache-2.0 */
/* base_error.c - an error is one line that ends, whatever was put into it; options of every size are taken. */
#include "test.h"

#include <errno.h>
#include <sys/resource.h>

TEST(an_error_has_the_status_and_the_sentence) {
    memset(&err, 0xee, sizeof err);
    assert_int_equal(thr_fail(&err, THR_EDIM, "%u dimensions, not %s", 3u, "four"), THR_EDIM);
    assert_int_equal(err.status, THR_EDIM);
    assert_string_equal(err.text, "3 dimensions, not four");
}

TEST(a_null_error_is_allowed) {
    assert_int_equal(thr_fail(NULL, THR_EIO, "%s", "nobody reads this"), THR_EIO);
    assert_int_equal(thr_fail_errno(NULL, ENOENT, "open", "x"), THR_ENOTFOUND);
}

TEST(what_could_drive_a_terminal_becomes_question_marks) {
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
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        thr_make_printable(text);
        assert_string_equal(text, cases[i].printable);
    }
}

TEST(a_long_sentence_is_cut_and_ends) {
    char longer[3 * THR_ERROR_TEXT_SIZE];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    longer[THR_ERROR_TEXT_SIZE - 2] = '\n';
    memset(&err, 0xee, sizeof err);
    (void)thr_fail(&err, THR_EIO, "%s", longer);
    assert_int_equal(strlen(err.text), THR_ERROR_TEXT_SIZE - 1);
    assert_null(strchr(err.text, '\n'));
}

TEST(errno_picks_the_status_and_the_path_is_named) {
    const struct {
        int number;
        thr_status status;
    } cases[] = {{ENOENT, THR_ENOTFOUND}, {ENOTDIR, THR_ENOTFOUND}, {ENOSPC, THR_ENOSPACE}, {EDQUOT, THR_ENOSPACE},
                 {ENOMEM, THR_ENOMEM},    {EACCES, THR_EIO},        {EIO, THR_EIO},         {123456, THR_EIO}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_error(thr_fail_errno(&err, cases[i].number, "open", "a\nfile"), cases[i].status, "a?file");
        expect_error(err.status, cases[i].status, "cannot open");
    }
}

TEST(too_many_open_files_name_the_limit_and_the_remedy) {
    struct rlimit limit;
    char wanted[64];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    (void)snprintf(wanted, sizeof wanted, "this process may have %llu: ", (unsigned long long)limit.rlim_cur);
    expect_error(thr_fail_errno(&err, EMFILE, "open", "a"), THR_EIO, wanted);
    expect_error(err.status, THR_EIO, "'ulimit -n'");
    expect_error(thr_fail_errno(&err, ENFILE, "open", "a"), THR_EIO, "'sysctl fs.file-max'");
}

TEST(every_status_has_a_name_and_a_text) {
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
