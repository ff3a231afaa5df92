/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_table.c - rows of .tsv and .csv by hand, and random ones against a naive reader; bad rows counted; and what is
 * read through gzip, from files and more than once.
 */
#include "unit/io_files.h"

#include "io/table.h"

#ifndef THR_WITH_GZ
#define THR_WITH_GZ 0
#endif
#if THR_WITH_GZ
#include <zlib.h>
#endif

static void test_free_thr_table(thr_table **handle) {
    thr_io_table_free(*handle);
}

/* All rows as text: fields in brackets, a newline after every row; then the number of rows left out, if any. */
static void show_table(thr_table *table, bytes *out) {
    for (;;) {
        const thr_field *fields = NULL;
        size_t n = 0;
        expect_ok(thr_io_table_next(table, &fields, &n, &err));
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(strlen(fields[i].text), fields[i].length);
            put_text(out, "[");
            put(out, fields[i].text, fields[i].length);
            put_text(out, "]");
        }
        put_text(out, "\n");
    }
    if (thr_io_table_n_refused(table) != 0) {
        char line[32];
        (void)snprintf(line, sizeof line, "%llu refused\n", (unsigned long long)thr_io_table_n_refused(table));
        put_text(out, line);
    }
    put(out, "", 1);
}

static thr_table *open_memory(const char *name, const void *data, size_t size, bool sized, size_t buffer_bytes) {
    thr_table *table = NULL;
    thr_image image = {.data = data, .size = size, .sized = sized, .buffer_bytes = buffer_bytes};
    expect_ok(thr_io_table_open_memory(io_context, name, &image, &table, &err));
    return table;
}

/* The same from a plain file and from pipes whose buffers are filled after every few bytes. */
static void check_table(const char *name, const char *text, size_t size, const char *expected) {
    for (size_t buffer = 0; buffer < 12; buffer++) {
        bytes got = {0};
        OWNED(thr_table, table) = open_memory(name, text, size, buffer == 0, buffer);
        show_table(table, &got);
        assert_string_equal((char *)got.data, expected);
    }
}

TEST(tabs_part_fields_and_quotes_mean_nothing_in_tsv) {
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"a\tb\nc\td\n", "[a][b]\n[c][d]\n"},
        {"a\tb\r\nc\td", "[a][b]\n[c][d]\n"},
        {"\n", "[]\n"},
        {"\r\n\n", "[]\n[]\n"},
        {"a\n\nb\n", "[a]\n[]\n[b]\n"},
        {"\t\n", "[][]\n"},
        {"\ta\t\t", "[][a][][]\n"},
        {"a,b\t\"c\n\"\t", "[a,b][\"c]\n[\"][]\n"},
        {"a\rb\r\r\nc\r", "[a\rb\r]\n[c\r]\n"},
        {"\xef\xbb\xbf"
         "a\tb\n\xef\xbb\xbf\n",
         "[a][b]\n[\xef\xbb\xbf]\n"},
        {"\xef\xbb\n", "[\xef\xbb]\n"},
        {" a \t b\n", "[ a ][ b]\n"},
        {"1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\t16\t17\t18\n",
         "[1][2][3][4][5][6][7][8][9][10][11][12][13][14][15][16][17][18]\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_table("a.tsv", cases[i].text, strlen(cases[i].text), cases[i].rows);
}

TEST(quoted_fields_of_csv_hold_anything) {
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"a,b\nc,d", "[a][b]\n[c][d]\n"},
        {"\"a\",\"b\"\r\n\"c\"", "[a][b]\n[c]\n"},
        {"\"a,b\",\"c\nd\",\"e\r\nf\"\n", "[a,b][c\nd][e\r\nf]\n"},
        {"\"\"\n\"\"\"\"\n\"\"\"a\"\"\"\n", "[]\n[\"]\n[\"a\"]\n"},
        {"\"\",\"\"\n", "[][]\n"},
        {",\n", "[][]\n"},
        {"\"a\"", "[a]\n"},
        {"\"a\n\"", "[a\n]\n"},
        {"a\"b\",c\n", "[a\"b\"][c]\n"},       /* a quote within a field is a character */
        {"a\"b,\"c\nd\"\n", "[a\"b][c\nd]\n"}, /* and the next one at a start is not */
        {"\"a\"b\"c\",d\n", "[ab\"c\"][d]\n"}, /* bytes after a closing quote belong to the field */
        {"\"a\" ,b\n", "[a ][b]\n"},
        {" \"a\",b\n", "[ \"a\"][b]\n"},
        {"\xef\xbb\xbf\"a,b\"\n", "[a,b]\n"},
        {"a\tb\n", "[a\tb]\n"},
        {"\"a\r\"\r\n", "[a\r]\n"},
        {"x,\"\"\"\"\"\"\ny\n", "[x][\"\"]\n[y]\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_table("a.csv", cases[i].text, strlen(cases[i].text), cases[i].rows);
}

TEST(rows_with_nul_bytes_are_counted_and_left_out) {
    check_table("a.tsv", "a\tb\nc\0\td\n\0\ne\n", 13, "[a][b]\n[e]\n2 refused\n");
    check_table("a.csv", "a\n\"b\0\n\",c\nd", 11, "[a]\n[d]\n1 refused\n");
    OWNED(thr_table, table) = open_memory("a.tsv", "\0\na\n\0\nb\n", 8, true, 0);
    const thr_field *fields = NULL;
    size_t n = 0;
    assert_int_equal(thr_io_table_row(table), 0);
    for (uint64_t row = 2; row <= 4; row += 2) {
        expect_ok(thr_io_table_next(table, &fields, &n, &err));
        assert_int_equal(n, 1);
        assert_int_equal(thr_io_table_row(table), row);
        assert_int_equal(thr_io_table_n_refused(table), row / 2);
    }
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        expect_ok(thr_io_table_next(table, &fields, &n, &err));
        assert_int_equal(n, 0);
    }
}

/* A row of n bytes, all of them c but for the first ones, between two short rows. */
static void check_long(const char *name, const char *first, size_t n, const char *end, bool given) {
    bytes file = {0}, got = {0};
    char *row = test_new(1, n);
    memset(row, 'x', n);
    memcpy(row, first, strlen(first));
    put_text(&file, "first\n");
    put(&file, row, n);
    put_text(&file, end);
    put_text(&file, "last\n");
    for (size_t buffer = 0; buffer <= 64; buffer += 64) {
        OWNED(thr_table, table) = open_memory(name, file.data, file.size, buffer == 0, buffer);
        got.size = 0;
        show_table(table, &got);
        if (given)
            assert_int_equal(got.size, strlen("[first]\n[]\n[last]\n") + n + 1);
        else
            assert_string_equal((char *)got.data, "[first]\n[last]\n1 refused\n");
        assert_int_equal(thr_io_table_row(table), 3);
    }
}

TEST(rows_past_the_limit_are_counted_and_left_out) {
    check_long("a.tsv", "", THR_TABLE_ROW_MAX, "\n", true);
    check_long("a.tsv", "", THR_TABLE_ROW_MAX, "\r\n", true);
    check_long("a.tsv", "", THR_TABLE_ROW_MAX + 1, "\n", false);
    check_long("a.tsv", "", THR_TABLE_ROW_MAX + 1, "\r\n", false);
    check_long("a.tsv", "", 3 * (size_t)THR_TABLE_ROW_MAX + 7, "\n", false);
    check_long("a.csv", "", 2 * (size_t)THR_TABLE_ROW_MAX, "\n", false);
    /* The quotes hold newlines and are closed past the limit; a doubled one and one that opens are seen there, too. */
    check_long("a.csv", "\"\n\n\n", 2 * (size_t)THR_TABLE_ROW_MAX, "\"\"\n\",\"\n\",\n", false);
}

TEST(a_file_that_ends_within_quotes_is_refused_with_their_line) {
    static const char text[] = "a,b\nc,\"d\ne\nf";
    OWNED(thr_table, table) = open_memory("a.csv", text, sizeof text - 1, true, 0);
    const thr_field *fields = NULL;
    size_t n = 0;
    expect_ok(thr_io_table_next(table, &fields, &n, &err));
    expect_error(thr_io_table_next(table, &fields, &n, &err), THR_ECORRUPT,
                 "a.csv: ends within quotes that open in row 2, at byte 4");
    assert_int_equal(n, 0);
    expect_error(thr_io_table_next(table, &fields, &n, &err), THR_ECORRUPT, "open it again");
}

TEST(other_endings_and_parts_are_refused_and_empty_files_have_no_rows) {
    thr_table *table = NULL;
    const thr_image none = {.data = "", .size = 0, .sized = true};
    static const char *const pipes[] = {"", "\xef\xbb\xbf"};
    for (size_t i = 0; i < 2; i++) {
        const thr_field *fields = NULL;
        size_t n = 0;
        table = open_memory("a.csv", pipes[i], strlen(pipes[i]), i == 0, 0);
        expect_ok(thr_io_table_next(table, &fields, &n, &err));
        assert_null(fields);
        thr_io_table_free(table);
    }
    static const struct {
        const char *name, *wanted_text;
    } wrong[] = {{"a.txt", "is .txt, not a table: give a .tsv or .csv file"},
                 {"a.tsv:2", "leave ':2' off"},
                 {"a.tab", "did you mean .tsv?): rename the file to end in one of .tsv .csv ("}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        expect_error(thr_io_table_open_memory(io_context, wrong[i].name, &none, &table, &err), THR_EINVAL,
                     wrong[i].wanted_text);
        assert_null(table);
    }
    expect_error(thr_io_table_open(io_context, in_dir("missing.tsv"), &table, &err), THR_ENOTFOUND, "missing.tsv");
    thr_io_table_free(NULL);
}

TEST(a_file_is_read_like_a_pipe) {
    bytes file = {0}, got = {0};
    thr_table *table = NULL;
    put_text(&file, "a\tb\n");
    put(&file, "\0\n", 2);
    put_text(&file, "c\n");
    const char *path = write_file("again.tsv", &file);
    expect_ok(thr_io_table_open(io_context, path, &table, &err));
    assert_string_equal(thr_io_table_name(table), path);
    show_table(table, &got);
    assert_string_equal((char *)got.data, "[a][b]\n[c]\n1 refused\n");
    thr_io_table_free(table);
    table = open_memory("-.tsv", file.data, file.size, false, 0);
    got.size = 0;
    show_table(table, &got);
    assert_string_equal((char *)got.data, "[a][b]\n[c]\n1 refused\n");
    thr_io_table_free(table);
}

#if THR_WITH_GZ
TEST(a_packed_table_is_read_through_and_damage_found) {
    const char *path = in_dir("packed.csv.gz");
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 5000; i++)
        assert_true(gzprintf(file, "%d,\"x\ny\"\n", i) > 0);
    assert_int_equal(gzclose(file), Z_OK);
    thr_table *table = NULL;
    const thr_field *fields = NULL;
    size_t n = 0;
    expect_ok(thr_io_table_open(io_context, path, &table, &err));
    for (int i = 0; i < 5000; i++) {
        expect_ok(thr_io_table_next(table, &fields, &n, &err));
        assert_int_equal(n, 2);
        assert_int_equal(atoi(fields[0].text), i);
        assert_string_equal(fields[1].text, "x\ny");
    }
    expect_ok(thr_io_table_next(table, &fields, &n, &err));
    assert_int_equal(n, 0);
    thr_io_table_free(table);
    assert_int_equal(truncate(path, 300), 0);
    expect_ok(thr_io_table_open(io_context, path, &table, &err));
    thr_status status = THR_OK;
    do
        status = thr_io_table_next(table, &fields, &n, &err);
    while (status == THR_OK && n != 0);
    assert_int_equal(status, THR_ECORRUPT);
    thr_io_table_free(table);
}
#endif

/* ------------------------------------------------------------------------------------------------ against a model */

/* One line, from *at on, as "[field][field]". False where a quoted field does not end; *nul: it holds a NUL. */
static bool model_line(const char *text, size_t size, bool csv, size_t *at, bytes *out, bool *nul) {
    bool within = false, start = true;
    size_t i = *at;
    *nul = false;
    put_text(out, "[");
    for (;; i++) {
        char c = i < size ? text[i] : '\n';
        if (i == size && within)
            return false;
        if (within && c == '"' && i + 1 < size && text[i + 1] == '"')
            i++;
        else if (within && c == '"') {
            within = false;
            continue;
        } else if (!within && c == '\n') {
            break;
        } else if (!within && c == (csv ? ',' : '\t')) {
            put_text(out, "][");
            start = true;
            continue;
        } else if (csv && start && c == '"') {
            within = true;
            start = false;
            continue;
        } else if (!within && c == '\r' && i + 1 < size && text[i + 1] == '\n') {
            continue;
        }
        *nul = *nul || c == '\0';
        start = false;
        put(out, &c, 1);
    }
    put_text(out, "]\n");
    *at = i + 1;
    return true;
}

/* The same text byte by byte, shown as show_table does; false when it ends within quotes. */
static bool model(const char *text, size_t size, bool csv, bytes *out) {
    size_t refused = 0, i = 0, mark;
    while (i < size) {
        bool nul;
        mark = out->size;
        if (!model_line(text, size, csv, &i, out, &nul))
            return false;
        if (nul) {
            out->size = mark;
            refused++;
        }
    }
    char line[32];
    (void)snprintf(line, sizeof line, "%zu refused\n", refused);
    if (refused != 0)
        put_text(out, line);
    put(out, "", 1);
    return true;
}

RANDOM_TEST(random_text_reads_as_a_naive_reader_has_it) {
    static const char alphabet[] = {'a', 'b', '"', '"', ',', '\t', '\n', '\n', '\r', '\0'};
    rng = 7;
    for (int run = 0; run < 20000; run++) {
        const uint64_t seed = rng;
        char text[40];
        const size_t size = 1 + thr_rng_below(&rng, sizeof text - 1);
        const bool csv = run % 2 == 0;
        for (size_t i = 0; i < size; i++)
            text[i] = alphabet[thr_rng_below(&rng, sizeof alphabet)];
        bytes expected = {0}, got = {0};
        if (model(text, size, csv, &expected)) {
            OWNED(thr_table, table) = open_memory(csv ? "a.csv" : "a.tsv", text, size, false, 1 + (size_t)run % 9);
            show_table(table, &got);
            if (strcmp((char *)got.data, (char *)expected.data) != 0)
                fail_msg("seed %llu: \"%s\" is not \"%s\"", (unsigned long long)seed, (char *)got.data,
                         (char *)expected.data);
        }
    }
}

TEST(every_allocation_may_fail) {
    bytes file = {0};
    for (int i = 0; i < 3000; i++)
        put_text(&file, "\"field\",");
    put_text(&file, "\nlast\n");
    test_oom oom = test_oom_start(&io_memory);
    while (test_oom_next(&oom)) {
        OWNED(thr_table, table) = NULL;
        size_t n = 1;
        thr_image image = {.data = file.data, .size = file.size, .sized = true, .buffer_bytes = 100};
        test_oom_arm(&oom);
        thr_status status = thr_io_table_open_memory(io_context, "a.csv", &image, &table, &err);
        while (status == THR_OK && n != 0) {
            const thr_field *fields = NULL;
            status = thr_io_table_next(table, &fields, &n, &err);
        }
        (void)test_oom_check(&oom, status, &err, NULL);
    }
}
