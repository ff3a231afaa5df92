/* SPDX-License-Identifier: Apache-2.0 */
/* io_column.c - columns of tables as lines of a text: by number and by name, and rows that cannot be given. */
#include "unit/io_files.h"
#include "io/reader.h"

/* Lines as read, each followed by "\n", as a plain file and as a pipe. */
static void check_lines(const char *name, const char *text, const char *expected) {
    for (int sized = 0; sized < 2; sized++) {
        bytes got = {0};
        expect_ok(read_all_memory(io_context, name, text, strlen(text), sized, 1, &got, &err));
        put(&got, "", 1);
        assert_string_equal((char *)got.data, expected);
    }
}

static void check_refused(const char *name, const char *text, size_t size, const char *before, thr_status wanted,
                          const char *wanted_text) {
    for (int sized = 0; sized < 2; sized++) {
        bytes got = {0};
        assert_int_equal(read_all_memory(io_context, name, text, size, sized, 1, &got, &err), wanted);
        assert_contains(err.text, name);
        assert_contains(err.text, wanted_text);
        put(&got, "", 1);
        assert_string_equal((char *)got.data, before);
    }
}

TEST(columns_are_chosen_by_number) {
    static const char tsv[] = "a\tb\tc\r\nd\t\tf\n", csv[] = "a,\"b,\n\"\"x\"\"\"\n\xc3\xa9,d";
    check_lines("a.tsv", tsv, "a\nd\n");
    check_lines("a.tsv:1", tsv, "a\nd\n");
    check_lines("a.tsv:2", tsv, "b\n\n");
    check_lines("a.tsv:3", tsv, "c\nf\n");
    check_lines("a.tsv:003", tsv, "c\nf\n");
    check_lines("a.csv", csv, "a\n\xc3\xa9\n");
    check_lines("a.csv:2", csv, "b,\n\"x\"\nd\n");
    check_lines("-.csv:2", csv, "b,\n\"x\"\nd\n");
}

TEST(columns_are_chosen_by_the_names_in_the_first_row) {
    static const char csv[] = "\xef\xbb\xbf\"id\",product: title,\n1,one,\n2,\"t,wo\",x\n";
    check_lines("a.csv:id", csv, "1\n2\n");
    check_lines("a.csv:product: title", csv, "one\nt,wo\n");
    check_lines("a.tsv:b", "a\tb\n1\t2", "2\n");
    check_lines("a.tsv:a", "a", "");
    check_lines("a.tsv:2b", "2b\tx\n1\t2\n", "1\n");
}

TEST(several_columns_are_joined_by_tabs) {
    static const char csv[] = "id,\"a,b\",c\n1,\"o,ne\",\n2,two,x\n";
    check_lines("a.csv:3,1", csv, "c\tid\n\t1\nx\t2\n");
    check_lines("a.csv:c,id", csv, "\t1\nx\t2\n");
    check_lines("a.csv:a,b", csv, "o,ne\ntwo\n"); /* a name with a comma is one name */
    check_refused("a.csv:id,b", csv, sizeof csv - 1, "", THR_ENOTFOUND, "names no column 'b', but id a,b c");
    check_refused("a.csv:1,,2", csv, sizeof csv - 1, "", THR_EINVAL, "there is no column :");
    check_refused("a.csv:1,3,1", csv, sizeof csv - 1, "", THR_EINVAL, "column 1 is named twice");
    check_refused("a.csv:1,4", csv, sizeof csv - 1, "", THR_EFORMAT, "row 1, at byte 0, has 3 columns, where column 4");
}

TEST(columns_that_are_not_there_are_refused) {
    static const char csv[] = "id,title\n1,one\n2\n";
    check_refused("a.csv:2", csv, sizeof csv - 1, "title\none\n", THR_EFORMAT,
                  "row 3, at byte 15, has 1 columns, where column 2 is wanted");
    check_refused("a.csv:title", csv, sizeof csv - 1, "one\n", THR_EFORMAT, "row 3, at byte 15, has 1 columns");
    check_refused("a.csv:Title", csv, sizeof csv - 1, "", THR_ENOTFOUND,
                  "the first row names no column 'Title', but id title: name one of these");
    check_refused("a.csv:", csv, sizeof csv - 1, "", THR_EINVAL, "there is no column after the colon");
    check_refused("a.csv:0", csv, sizeof csv - 1, "", THR_EINVAL, "there is no column 0: columns are 1 to 1048576");
    check_refused("a.csv:99999999999999999999999", csv, sizeof csv - 1, "", THR_EINVAL, "there is no column 999");
}

TEST(rows_that_a_table_leaves_out_are_errors) {
    check_refused("a.tsv", "a\nb\0\nc\n", 7, "a\n", THR_EFORMAT, "row 2, at byte 2, holds a NUL byte");
    check_refused("a.tsv:x", "\0\nx\n", 4, "", THR_EFORMAT, "row 1, at byte 0, holds a NUL byte");
    check_refused("a.csv", "a\n\"b\n", 5, "a\n", THR_ECORRUPT, "ends within quotes that open in row 2, at byte 2");
    enum { N = (1 << 20) + 1 };
    char *line = test_new(1, N);
    memset(line, 'x', N);
    memcpy(line, "a\n", 2);
    bytes file = {0};
    put(&file, line, N);
    put_text(&file, "xx");
    check_refused("a.tsv", (char *)file.data, file.size, "a\n", THR_EFORMAT,
                  "row 2, at byte 2, is longer than 1048576 bytes");
}

TEST(a_long_list_of_columns_is_cut) {
    bytes file = {0};
    thr_reader *reader = NULL;
    for (int i = 0; i < 1000; i++)
        put_text(&file, "column,");
    thr_image image = {.data = file.data, .size = file.size, .sized = true};
    expect_error(thr_io_reader_open_memory(io_context, "a.csv:x", &image, &reader, &err), THR_ENOTFOUND,
                 "column column ...: name one");
}

TEST(a_column_is_a_text) {
    OWNED(thr_reader, reader) = NULL;
    thr_matrix rows;
    thr_image image = {.data = "a\tb\n", .size = 4, .sized = true};
    expect_ok(thr_io_reader_open_memory(io_context, "a.tsv:2", &image, &reader, &err));
    const thr_reader_shape shape = thr_reader_get_shape(reader);
    assert_int_equal(shape.n_dims, 0);
    assert_true(shape.n_rows == THR_ROWS_UNKNOWN);
    assert_false(shape.seekable);
    assert_int_equal(thr_reader_next(reader, 1, &rows, &err), THR_EINVAL);
    assert_int_equal(thr_io_reader_seek(reader, 0, &err), THR_EUNSUPPORTED);
    const char *line = NULL;
    size_t length = 0;
    expect_ok(thr_reader_next_line(reader, &line, &length, &err));
    assert_string_equal(line, "b");
    assert_int_equal(length, 1);
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        expect_ok(thr_reader_next_line(reader, &line, &length, &err));
        assert_null(line);
    }
}
