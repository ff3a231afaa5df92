/* SPDX-License-Identifier: Apache-2.0 */
/* io_text.c - lines: both kinds of end, none at the end, NUL bytes, and lines at and past the limit. */
#include "unit/io_files.h"
#include "io/reader.h"

enum { LINE_LIMIT = 1 << 20 };

/* Lines as read, each followed by "\n", as a plain file and as a pipe. */
static void check_lines(const char *text, size_t size, const char *expected) {
    for (int sized = 0; sized < 2; sized++) {
        bytes got = {0};
        expect_ok(read_all_memory(io_context, "a.txt", text, size, sized, 1, &got, &err));
        put(&got, "", 1);
        assert_string_equal((char *)got.data, expected);
    }
}

TEST(line_ends_are_cut_off) {
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"a\nb\n", "a\nb\n"},
        {"a\nb", "a\nb\n"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"a\r\nb", "a\nb\n"},
        {"\n", "\n"},
        {"\n\na\n\n", "\n\na\n\n"},
        {"\r\n", "\n"},
        {"a\rb\n", "a\rb\n"},
        {"a\r\r\nb", "a\r\nb\n"},
        {"a\nb\r", "a\nb\r\n"},
        {"\r", "\r\n"},
        {"-\n--\n-x\n", "-\n--\n-x\n"},
        {" a \n\tb\n", " a \n\tb\n"},
        {"\xc3\xa9\n\xff\n", "\xc3\xa9\n\xff\n"},
        {"\xef\xbb\xbf"
         "a\nb\n",
         "a\nb\n"}, /* a byte order mark */
        {"\xef\xbb\xbf", "\n"},
        {"\xef\xbb", "\xef\xbb\n"},
        {"a\n\xef\xbb\xbf"
         "b\n",
         "a\n\xef\xbb\xbf"
         "b\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_lines(cases[i].text, strlen(cases[i].text), cases[i].lines);
}

TEST(a_text_has_no_rows) {
    OWNED(thr_reader, reader) = NULL;
    thr_matrix rows;
    expect_ok(thr_io_reader_open_memory(io_context, "a.txt", &(thr_image){"a\n", 2, true, 0}, &reader, &err));
    thr_reader_shape shape = thr_reader_get_shape(reader);
    assert_int_equal(shape.n_dims, 0);
    assert_int_equal(shape.dtype, THR_DTYPE_NONE);
    assert_true(shape.n_rows == THR_ROWS_UNKNOWN);
    assert_false(shape.seekable);
    expect_error(thr_reader_next(reader, 1, &rows, &err), THR_EINVAL, "a.txt");
    assert_int_equal(thr_io_reader_seek(reader, 0, &err), THR_EUNSUPPORTED);
    const char *line = NULL;
    size_t length = 0;
    expect_ok(thr_reader_next_line(reader, &line, &length, &err));
    assert_string_equal(line, "a");
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        expect_ok(thr_reader_next_line(reader, &line, &length, &err));
        assert_null(line);
    }
}

TEST(an_empty_text_has_no_lines) {
    for (int sized = 0; sized < 2; sized++) {
        bytes got = {0};
        expect_ok(read_all_memory(io_context, "a.txt", "", 0, sized, 1, &got, &err));
        assert_int_equal(got.size, 0);
    }
}

TEST(a_nul_byte_is_named_by_line_and_offset) {
    bytes got = {0};
    expect_error(read_all_memory(io_context, "a.txt", "a\nb\nc\0d\ne", 9, true, 1, &got, &err), THR_EFORMAT,
                 "line 3 holds a NUL byte at byte 5");
    assert_int_equal(got.size, 4); /* the lines before it */
    drop(&got);
    expect_error(read_all_memory(io_context, "a.txt", "\0", 1, true, 1, &got, &err), THR_EFORMAT,
                 "line 1 holds a NUL byte at byte 0");
}

/* One line of n bytes between two short ones, with this end. */
static thr_status read_long(size_t n, const char *end, uint64_t *n_lines, thr_error *error) {
    bytes file = {0}, got = {0};
    put_text(&file, "first\n");
    char *line = test_new(1, n);
    memset(line, 'x', n);
    put(&file, line, n);
    put_text(&file, end);
    thr_reader *reader = NULL;
    assert_ok(
        thr_io_reader_open_memory(io_context, "a.txt", &(thr_image){file.data, file.size, true, 0}, &reader, error),
        error);
    thr_status status = read_lines(reader, &got, n_lines, error);
    thr_reader_free(reader);
    if (status == THR_OK)
        assert_memory_equal(got.data + 6, line, n);
    return status;
}

TEST(lines_up_to_the_limit_are_read) {
    static const char *const ends[] = {"\nlast", "\r\nlast", ""};
    for (size_t i = 0; i < 3; i++) {
        uint64_t n = 0;
        expect_ok(read_long(LINE_LIMIT, ends[i], &n, &err));
        assert_int_equal(n, i < 2 ? 3 : 2);
        expect_error(read_long(LINE_LIMIT + 1, ends[i], &n, &err), THR_EFORMAT,
                     "line 2, at byte 6, is longer than 1048576 bytes");
        assert_int_equal(n, 1);
        assert_int_equal(read_long(5 * LINE_LIMIT, ends[i], &n, &err), THR_EFORMAT);
    }
}

/* Lines of all lengths, so that the buffer's end falls everywhere. */
TEST(many_lines_of_many_lengths_read_back) {
    bytes file = {0}, got = {0};
    size_t longest = 2000;
    for (size_t i = 0; i < 6000; i++) {
        for (size_t j = 0; j < i * 7919 % longest; j++)
            put(&file, (char[]){(char)('a' + (i + j) % 26)}, 1);
        put_text(&file, "\n");
    }
    const char *path = write_file("many.txt", &file);
    expect_ok(read_all(io_context, path, 1, &got, &err));
    assert_int_equal(got.size, file.size);
    assert_memory_equal(got.data, file.data, file.size);
}

static thr_reader *open_lines(const char *path, size_t longest) {
    thr_reader *reader = NULL;
    expect_ok(thr_reader_open_lines(io_context, path, longest, &reader, &err));
    return reader;
}

TEST(files_of_any_name_are_texts) {
    static const char *const names[] = {"news.fr", "news", "news.txt"};
    for (size_t i = 0; i < 3; i++) {
        bytes file = {0}, got = {0};
        uint64_t n = 0;
        put_text(&file, "\xef\xbb\xbf"
                        "a\r\nbcdef\n");
        thr_reader *reader = open_lines(write_file(names[i], &file), 0);
        expect_ok(read_lines(reader, &got, &n, &err));
        assert_int_equal(n, 2);
        assert_memory_equal(got.data, "a\nbcdef\n", 8);
        thr_reader_free(reader);
        reader = open_lines(write_file(names[i], &file), 4); /* with the mark */
        expect_error(read_lines(reader, &got, &n, &err), THR_EFORMAT, "line 2, at byte 6, is longer than 4 bytes");
        thr_reader_free(reader);
    }
}

TEST(texts_of_any_name_may_be_empty_and_hold_no_nul_and_no_numbers) {
    bytes file = {0}, got = {0};
    uint64_t n = 0;
    thr_reader *reader = open_lines(write_file("empty.fr", &file), 0);
    expect_ok(read_lines(reader, &got, &n, &err));
    assert_int_equal(n, 0);
    thr_reader_free(reader);
    put(&file, "a\n\0b\n", 5);
    reader = open_lines(write_file("nul.fr", &file), 0);
    expect_error(read_lines(reader, &got, &n, &err), THR_EFORMAT, "nul.fr: line 2 holds a NUL byte at byte 2");
    thr_reader_free(reader);
    drop(&file);
    put(&file, "\1\0\0\0\0\0\0\0", 8);
    assert_int_equal(thr_reader_open_lines(io_context, write_file("a.fvecs", &file), 0, &reader, &err), THR_EINVAL);
    assert_null(reader);
    assert_contains(err.text, "a.fvecs: holds rows of numbers, not lines");
    assert_int_equal(thr_reader_open_lines(io_context, "missing.fr", 0, &reader, &err), THR_ENOTFOUND);
}
