/* SPDX-License-Identifier: Apache-2.0 */
/* io_text.c - lines: both kinds of end, none at the end, NUL bytes, and lines at and past the limit. */
#include "unit/io_files.h"

enum { LINE_LIMIT = 1 << 20 };

/* Lines as read, each followed by "\n", as a plain file and as a pipe. */
static void check_lines(const char *text, size_t size, const char *expected) {
    for (int sized = 0; sized < 2; sized++) {
        bytes got = {0};
        thr_error err;
        assert_ok(read_all_memory(io_context, "a.txt", text, size, sized, 1, &got, &err), &err);
        put(&got, "", 1);
        assert_string_equal((char *)got.data, expected);
        drop(&got);
    }
}

static void line_ends_are_cut_off(void **state) {
    (void)state;
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
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_lines(cases[i].text, strlen(cases[i].text), cases[i].lines);
}

static void a_text_has_no_rows(void **state) {
    (void)state;
    thr_reader *reader = NULL;
    thr_error err;
    thr_matrix rows;
    assert_ok(thr_io_reader_open_memory(io_context, "a.txt", &(thr_image){"a\n", 2, true, 0}, &reader, &err), &err);
    thr_reader_shape shape = thr_reader_get_shape(reader);
    assert_int_equal(shape.n_dims, 0);
    assert_int_equal(shape.dtype, THR_DTYPE_NONE);
    assert_true(shape.n_rows == THR_ROWS_UNKNOWN);
    assert_false(shape.seekable);
    assert_int_equal(thr_reader_next(reader, 1, &rows, &err), THR_EINVAL);
    assert_contains(err.text, "a.txt");
    assert_int_equal(thr_reader_seek(reader, 0, &err), THR_EUNSUPPORTED);
    const char *line = NULL;
    size_t length = 0;
    assert_ok(thr_reader_next_line(reader, &line, &length, &err), &err);
    assert_string_equal(line, "a");
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        assert_ok(thr_reader_next_line(reader, &line, &length, &err), &err);
        assert_null(line);
    }
    thr_reader_free(reader);
}

static void an_empty_text_has_no_lines(void **state) {
    (void)state;
    for (int sized = 0; sized < 2; sized++) {
        bytes got = {0};
        thr_error err;
        assert_ok(read_all_memory(io_context, "a.txt", "", 0, sized, 1, &got, &err), &err);
        assert_int_equal(got.size, 0);
    }
}

static void a_nul_byte_is_named_by_line_and_offset(void **state) {
    (void)state;
    bytes got = {0};
    thr_error err;
    assert_int_equal(read_all_memory(io_context, "a.txt", "a\nb\nc\0d\ne", 9, true, 1, &got, &err), THR_EFORMAT);
    assert_contains(err.text, "line 3 holds a NUL byte at byte 5");
    assert_int_equal(got.size, 4); /* the lines before it */
    drop(&got);
    assert_int_equal(read_all_memory(io_context, "a.txt", "\0", 1, true, 1, &got, &err), THR_EFORMAT);
    assert_contains(err.text, "line 1 holds a NUL byte at byte 0");
}

/* One line of n bytes between two short ones, with this end. */
static thr_status read_long(size_t n, const char *end, uint64_t *n_lines, thr_error *err) {
    bytes file = {0}, got = {0};
    put_text(&file, "first\n");
    char *line = malloc(n);
    assert_non_null(line);
    memset(line, 'x', n);
    put(&file, line, n);
    put_text(&file, end);
    thr_reader *reader = NULL;
    assert_ok(thr_io_reader_open_memory(io_context, "a.txt", &(thr_image){file.data, file.size, true, 0}, &reader, err),
              err);
    thr_status status = read_lines(reader, &got, n_lines, err);
    thr_reader_free(reader);
    if (status == THR_OK)
        assert_memory_equal(got.data + 6, line, n);
    free(line);
    drop(&got);
    drop(&file);
    return status;
}

static void lines_up_to_the_limit_are_read(void **state) {
    (void)state;
    static const char *const ends[] = {"\nlast", "\r\nlast", ""};
    for (size_t i = 0; i < 3; i++) {
        uint64_t n = 0;
        thr_error err;
        assert_ok(read_long(LINE_LIMIT, ends[i], &n, &err), &err);
        assert_int_equal(n, i < 2 ? 3 : 2);
        assert_int_equal(read_long(LINE_LIMIT + 1, ends[i], &n, &err), THR_EFORMAT);
        assert_contains(err.text, "line 2, at byte 6, is longer than 1048576 bytes");
        assert_int_equal(n, 1);
        assert_int_equal(read_long(5 * LINE_LIMIT, ends[i], &n, &err), THR_EFORMAT);
    }
}

/* Lines of all lengths, so that the buffer's end falls everywhere. */
static void many_lines_of_many_lengths_read_back(void **state) {
    (void)state;
    bytes file = {0}, got = {0};
    size_t longest = 2000;
    for (size_t i = 0; i < 6000; i++) {
        for (size_t j = 0; j < i * 7919 % longest; j++)
            put(&file, (char[]){(char)('a' + (i + j) % 26)}, 1);
        put_text(&file, "\n");
    }
    const char *path = write_file("many.txt", &file);
    thr_error err;
    assert_ok(read_all(io_context, path, 1, &got, &err), &err);
    assert_int_equal(got.size, file.size);
    assert_memory_equal(got.data, file.data, file.size);
    drop(&file);
    drop(&got);
}

static thr_reader *open_lines(const char *path, size_t longest) {
    thr_reader *reader = NULL;
    thr_error err;
    assert_ok(thr_reader_open_lines(io_context, path, longest, &reader, &err), &err);
    return reader;
}

static void files_of_any_name_are_texts(void **state) {
    (void)state;
    static const char *const names[] = {"news.fr", "news", "news.txt"};
    for (size_t i = 0; i < 3; i++) {
        bytes file = {0}, got = {0};
        uint64_t n = 0;
        thr_error err;
        put_text(&file, "\xef\xbb\xbf"
                        "a\r\nbcdef\n");
        thr_reader *reader = open_lines(write_file(names[i], &file), 0);
        assert_ok(read_lines(reader, &got, &n, &err), &err);
        assert_int_equal(n, 2);
        assert_memory_equal(got.data, "a\nbcdef\n", 8);
        thr_reader_free(reader);
        reader = open_lines(write_file(names[i], &file), 4); /* with the mark */
        assert_int_equal(read_lines(reader, &got, &n, &err), THR_EFORMAT);
        assert_contains(err.text, "line 2, at byte 6, is longer than 4 bytes");
        thr_reader_free(reader);
        drop(&file);
        drop(&got);
    }
}

static void texts_of_any_name_may_be_empty_and_hold_no_nul_and_no_numbers(void **state) {
    (void)state;
    bytes file = {0}, got = {0};
    uint64_t n = 0;
    thr_error err;
    thr_reader *reader = open_lines(write_file("empty.fr", &file), 0);
    assert_ok(read_lines(reader, &got, &n, &err), &err);
    assert_int_equal(n, 0);
    thr_reader_free(reader);
    put(&file, "a\n\0b\n", 5);
    reader = open_lines(write_file("nul.fr", &file), 0);
    assert_int_equal(read_lines(reader, &got, &n, &err), THR_EFORMAT);
    assert_contains(err.text, "nul.fr: line 2 holds a NUL byte at byte 2");
    thr_reader_free(reader);
    drop(&file);
    put(&file, "\1\0\0\0\0\0\0\0", 8);
    assert_int_equal(thr_reader_open_lines(io_context, write_file("a.fvecs", &file), 0, &reader, &err), THR_EINVAL);
    assert_null(reader);
    assert_contains(err.text, "a.fvecs: holds rows of numbers, not lines");
    assert_int_equal(thr_reader_open_lines(io_context, "missing.fr", 0, &reader, &err), THR_ENOTFOUND);
    drop(&file);
    drop(&got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        io_test(line_ends_are_cut_off),          io_test(a_text_has_no_rows),
        io_test(an_empty_text_has_no_lines),     io_test(a_nul_byte_is_named_by_line_and_offset),
        io_test(lines_up_to_the_limit_are_read), io_test(many_lines_of_many_lengths_read_back),
        io_test(files_of_any_name_are_texts),    io_test(texts_of_any_name_may_be_empty_and_hold_no_nul_and_no_numbers),
    };
    return cmocka_run_group_tests(tests, setup_dir, teardown_dir);
}
