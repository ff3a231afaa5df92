/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_svmlight.c - SVMlight files: random ones against a naive parser, in pieces of all sizes and on threads; what is
 * refused, with its words; FILE.query; the cache, damaged, too; and every allocation failing.
 */
#include "unit/io_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "seal.h"
#include "svmlight/read.h"
#include "svmlight/side_files.h"
#include "io/whole_lines.h"
#include "parallel/pool.h"

#ifndef THR_WITH_GZ
#define THR_WITH_GZ 0
#endif
#if THR_WITH_GZ
#include <zlib.h>
#endif

/* ------------------------------------------------------------------------------------------------ naive model */

typedef struct naive_row {
    double label;
    unsigned long long query;
    size_t n;
    unsigned long indices[64];
    float values[64];
    char comment[64];
} naive_row;

/* A line of a right file, by the C library. */
static bool naive_line(const char *text, naive_row *row) {
    char line[4096];
    (void)snprintf(line, sizeof line, "%s", text);
    *row = (naive_row){0};
    char *hash = strchr(line, '#');
    if (hash != NULL) {
        *hash = '\0';
        hash += 1 + strspn(hash + 1, " \t\r");
        (void)snprintf(row->comment, sizeof row->comment, "%s", hash);
        size_t n = strlen(row->comment);
        while (n != 0 && strchr(" \t\r", row->comment[n - 1]) != NULL)
            row->comment[--n] = '\0';
    }
    char *rest = NULL, *word = strtok_r(line, " \t\r", &rest);
    if (word == NULL)
        return false;
    row->label = strtod(word, NULL);
    while ((word = strtok_r(NULL, " \t\r", &rest)) != NULL)
        if (strncmp(word, "qid:", 4) == 0)
            row->query = strtoull(word + 4, NULL, 10);
        else {
            row->indices[row->n] = strtoul(word, &word, 10);
            row->values[row->n++] = strtof(word + 1, NULL);
        }
    return true;
}

static float value_at(const thr_svmlight *s, size_t row, uint32_t column) {
    if (s->dense != NULL)
        return s->dense[row * s->n_features + column];
    for (uint64_t v = s->starts[row]; v < s->starts[row + 1]; v++)
        if (s->columns[v] == column)
            return s->values[v];
    return 0;
}

static void check_row(const thr_svmlight *s, size_t r, const naive_row *row) {
    assert_true(s->labels[r] == row->label);
    if (s->queries != NULL)
        assert_int_equal(s->queries[r], row->query);
    if (s->dense == NULL)
        assert_int_equal(s->starts[r + 1] - s->starts[r], row->n);
    size_t next = 0;
    for (uint32_t c = 0; c < s->n_features; c++) {
        const bool there = next < row->n && row->indices[next] == c + 1;
        const float expected = there ? row->values[next++] : 0, got = value_at(s, r, c);
        assert_memory_equal(&got, &expected, sizeof got);
    }
    assert_int_equal(next, row->n);
    if (s->comment_starts == NULL) {
        assert_string_equal(row->comment, "");
        return;
    }
    const size_t length = (size_t)(s->comment_starts[r + 1] - s->comment_starts[r]);
    assert_int_equal(length, strlen(row->comment));
    assert_memory_equal(s->comments + s->comment_starts[r], row->comment, length);
}

/* All rows of a right text are as the naive parser has them, and nothing else is there. */
static void check_against(const thr_svmlight *s, const bytes *text) {
    const char *p = (const char *)text->data, *const end = p + text->size;
    size_t r = 0, n_values = 0;
    unsigned long largest = 0;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const size_t length = (size_t)((newline != NULL ? newline : end) - p);
        char line[4096];
        naive_row row;
        assert_true(length < sizeof line);
        memcpy(line, p, length);
        line[length] = '\0';
        p += length + (newline != NULL);
        if (!naive_line(line, &row))
            continue;
        assert_true(r < s->n_rows);
        check_row(s, r++, &row);
        n_values += row.n;
        if (row.n != 0 && row.indices[row.n - 1] > largest)
            largest = row.indices[row.n - 1];
    }
    assert_int_equal(s->n_rows, r);
    assert_int_equal(s->n_values, n_values);
    assert_int_equal(s->n_features, largest);
    /* The rule of the header, in doubles. */
    const double dense = 4.0 * (double)r * (double)largest, sparse = 8.0 * (double)n_values + 8.0 * (double)r;
    assert_true((s->dense != NULL) == (dense <= sparse));
    assert_true((s->values != NULL) == (s->dense == NULL));
}

static void put_random_line(bytes *b, uint64_t *rng, bool queries, unsigned density, uint32_t n_features) {
    static const char *const labels[] = {"0", "1", "2", "+1", "-1", "0.5", "1267", "1e3", "-.25"};
    static const char *const blanks[] = {" ", " ", " ", "\t", "  ", " \t "};
    static const char *const ends[] = {"\n", "\n", "\r\n", " \n", "\t\r\n"};
    static const char *const comments[] = {"", "", "#docid = GX-1 inc = 1", "# x:y qid:3 1:2", "#", "  # a # b "};
    char word[64];
    if (thr_rng_below(rng, 20) == 0)
        put_text(b, thr_rng_below(rng, 2) == 0 ? "\n" : "  # only a comment 1:2\r\n");
    put_text(b, labels[thr_rng_below(rng, 9)]);
    if (queries) {
        (void)snprintf(word, sizeof word, " qid:%llu",
                       (unsigned long long)thr_rng_below(rng, 5) * 4000000000000000000u);
        put_text(b, word);
    }
    for (uint32_t i = 1; i <= n_features; i++) {
        if (thr_rng_below(rng, 100) >= density)
            continue;
        put_text(b, blanks[thr_rng_below(rng, 6)]);
        (void)snprintf(word, sizeof word, "%u:%.*g", i, 1 + (int)thr_rng_below(rng, 12),
                       ((double)thr_rng_below(rng, 2000001) - 1000000) / 1e6);
        put_text(b, word);
    }
    put_text(b, comments[thr_rng_below(rng, 6)]);
    put_text(b, ends[thr_rng_below(rng, 5)]);
}

static void put_random_file(bytes *b, uint64_t *rng) {
    static const unsigned densities[] = {0, 5, 30, 50, 90, 100};
    const bool queries = thr_rng_below(rng, 3) != 0;
    const unsigned density = densities[thr_rng_below(rng, 6)];
    const uint32_t n_features = 1 + (uint32_t)thr_rng_below(rng, 40);
    const size_t n = 1 + (size_t)thr_rng_below(rng, 60);
    for (size_t i = 0; i < n; i++)
        put_random_line(b, rng, queries, density, n_features);
    if (thr_rng_below(rng, 2) == 0) /* a last line without its end */
        b->size--;
}

static void run_backwards(thr_context *context, size_t n_pieces, thr_svmlight_piece fn, void *arg) {
    (void)context;
    for (size_t i = n_pieces; i-- > 0;)
        fn(arg, i, 0);
}

RANDOM_TEST(random_files_are_read_as_a_naive_parser_does) {
    static const size_t pieces[] = {0, 1, 3, 50, 1000};
    for (size_t i = 0; i < 300; i++) {
        bytes text = {0};
        put_random_file(&text, &rng);
        const thr_svmlight_options options = {.piece_bytes = pieces[i % 5], .run = i % 2 != 0 ? run_backwards : NULL};
        thr_svmlight s;
        if (thr_svmlight_read_memory(io_context, "a.svm", text.data, text.size, &options, &s, &err) != THR_OK)
            fail_msg("file %zu: %s", i, err.text);
        check_against(&s, &text);
        thr_svmlight_free(&s);
    }
}

static const char MARK[] = "\xef\xbb\xbf"; /* editors put it before a text */

RANDOM_TEST(files_are_read_as_texts_in_memory_are) {
    rng += 1;
    for (size_t i = 0; i < 20; i++) {
        bytes text = {0};
        put_random_file(&text, &rng);
        bytes marked = {0};
        if (i % 2 != 0)
            put(&marked, MARK, sizeof MARK - 1);
        put(&marked, text.data, text.size);
        const char *path = write_file("a.svm", &marked);
        const thr_svmlight_options options = {.piece_bytes = i * 7};
        thr_svmlight s;
        expect_ok(thr_svmlight_read(io_context, path, &options, &s, &err));
        check_against(&s, &text);
        thr_svmlight_free(&s);
    }
}

#if THR_WITH_GZ
/* Chunks of packed files end in the middle of lines, and a line may be longer than a chunk. */
RANDOM_TEST(packed_files_are_read_through) {
    rng += 2;
    for (size_t i = 0; i < 60; i++) {
        bytes text = {0};
        put_random_file(&text, &rng);
        const char *path = in_dir("a.svm.gz");
        gzFile file = gzopen(path, "wb");
        assert_non_null(file);
        if (i % 2 != 0)
            assert_int_equal(gzwrite(file, MARK, sizeof MARK - 1), sizeof MARK - 1);
        assert_int_equal(gzwrite(file, text.data, (unsigned)text.size), text.size);
        assert_int_equal(gzclose(file), Z_OK);
        const thr_svmlight_options options = {.piece_bytes = i};
        thr_svmlight s;
        expect_ok(thr_svmlight_read(io_context, path, &options, &s, &err));
        check_against(&s, &text);
        thr_svmlight_free(&s);
    }
}
#endif

#if THR_WITH_GZ
/* Small files are kept in memory; the rows are the same. */
TEST(packed_files_are_unpacked_once_where_they_are_small) {
    static const struct {
        size_t chunk_bytes;
        bool kept;
    } cases[] = {{1 << 20, true}, {2000, true}, {1000, false}, {10, false}}; /* 18 kB, packed below 1 kB */
    static const char line[] = "1 qid:1 1:1\n";
    const char *path = in_dir("same.svm.gz");
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 1500; i++)
        assert_int_equal(gzwrite(file, line, sizeof line - 1), sizeof line - 1);
    assert_int_equal(gzclose(file), Z_OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        thr_whole_lines lines;
        expect_ok(thr_io_whole_lines_open(io_context, path, cases[i].chunk_bytes, &lines, &err));
        assert_int_equal(lines.text != NULL, cases[i].kept);
        for (int round = 0; round < 2; round++) {
            size_t size = 1, all = 0;
            for (const char *chunk; size != 0; all += size)
                expect_ok(thr_io_whole_lines_next(&lines, &chunk, &size, &err));
            assert_int_equal(all, 18000);
            expect_ok(thr_io_whole_lines_rewind(&lines, &err));
        }
        thr_io_whole_lines_close(&lines);
    }
}
#endif

RANDOM_TEST(threads_give_the_same_arrays) {
    rng += 3;
    thr_context_options options = {0};
    options.n_threads = 4;
    OWNED(thr_context, context) = NULL;
    assert_int_equal(thr_context_create(&options, &context, NULL), THR_OK);
    for (size_t i = 0; i < 10; i++) {
        bytes text = {0};
        for (size_t k = 0; k < 10; k++)
            put_random_line(&text, &rng, true, i % 2 == 0 ? 100 : 10, 30);
        const thr_svmlight_options how = {.piece_bytes = 1 + i * 20, .run = thr_parallel_for};
        thr_svmlight s;
        expect_ok(thr_svmlight_read_memory(context, "a.svm", text.data, text.size, &how, &s, &err));
        check_against(&s, &text);
        thr_svmlight_free(&s);
    }
}

TEST(a_line_of_megabytes_is_a_line) {
    bytes text = {0};
    char word[32];
    put_text(&text, "1 qid:1 1:1\n2 qid:1");
    enum { N = 200000 };
    for (unsigned i = 1; i <= N; i++) {
        (void)snprintf(word, sizeof word, " %u:0.%06u", i * 3, i);
        put_text(&text, word);
    }
    put_text(&text, "\n3 qid:1 2:1\n");
    assert_true(text.size > 3 << 20);
    thr_svmlight s;
    expect_ok(thr_svmlight_read_memory(io_context, "a.svm", text.data, text.size, NULL, &s, &err));
    assert_int_equal(s.n_rows, 3);
    assert_int_equal(s.n_values, N + 2);
    assert_int_equal(s.n_features, 3 * N);
    assert_true(value_at(&s, 1, 3 * N - 1) == 0.2f && value_at(&s, 2, 1) == 1);
    thr_svmlight_free(&s);
}

/* ------------------------------------------------------------------------------------------------ refused */

TEST(wrong_lines_are_refused_with_line_and_column) {
    static const struct {
        const char *text;
        thr_status status;
        const char *words;
    } cases[] = {
        {"1 qid:1 1:1\nx qid:1\n", THR_EFORMAT,
         "a.svm: line 2, column 1: \"x\" is not a label: a line begins with a number"},
        {"1:2 2:3\n", THR_EFORMAT, "a.svm: line 1, column 1: \"1:2\" is not a label: a line begins with a number"},
        {"\n\n  nan qid:1 1:1\n", THR_ERANGE, "a.svm: line 3, column 3: the label nan is not a finite number"},
        {"-inf qid:1 1:1\n", THR_ERANGE, "a.svm: line 1, column 1: the label -inf is not a finite number"},
        {"1e999 qid:1 1:1\n", THR_ERANGE, "a.svm: line 1, column 1: the label 1e999 is not a finite number"},
        {"1 qid:1 1:1\n2 1:1\n", THR_EFORMAT,
         "a.svm: line 2, column 3: no qid:N after the label, where other lines have one"},
        {"2 1:1\n1 qid:1 1:1\n", THR_EFORMAT,
         "a.svm: line 1, column 3: no qid:N after the label, where other lines have one"},
        {"1 qid:a 1:1\n", THR_EFORMAT,
         "a.svm: line 1, column 3: \"qid:a\" is not a query: write qid: and a number from 0 to 2^64 - 1"},
        {"1 qid:-1 1:1\n", THR_EFORMAT,
         "a.svm: line 1, column 3: \"qid:-1\" is not a query: write qid: and a number from 0 to 2^64 - 1"},
        {"1 qid:18446744073709551616 1:1\n", THR_EFORMAT,
         "a.svm: line 1, column 3: \"qid:18446744073709551616\" is not a query: write qid: and a number from 0 to 2^64 "
         "- "
         "1"},
        {"1 qid:1 qid:1 1:1\n", THR_EFORMAT,
         "a.svm: line 1, column 9: \"qid:1\": a qid comes once, right after the label"},
        {"1 1:1 qid:1\n", THR_EFORMAT, "a.svm: line 1, column 7: \"qid:1\": a qid comes once, right after the label"},
        {"1 qid:1 0:5\n", THR_ERANGE, "a.svm: line 1, column 9: \"0:5\": indices count from 1: add 1 to all of them"},
        {"1 qid:1 -3:5\n", THR_ERANGE, "a.svm: line 1, column 9: \"-3:5\": indices count from 1: add 1 to all of them"},
        {"1 qid:1 3:1 2:1\n", THR_ERANGE, "a.svm: line 1, column 13: index 2 comes after 3: indices of a line ascend"},
        {"1 qid:1 3:1 3:1\n", THR_ERANGE, "a.svm: line 1, column 13: index 3 occurs twice in this line"},
        {"1 qid:1 1:1 2147483648:1\n", THR_ERANGE,
         "a.svm: line 1, column 13: \"2147483648:1\": indices go up to 2147483647"},
        {"1 qid:1 99999999999999999999999:1 2:1\n", THR_ERANGE,
         "a.svm: line 1, column 9: \"99999999999999999999999:1\": indices go up to 2147483647"},
        {"1 qid:1 5000:1 2:1\n", THR_ERANGE,
         "a.svm: line 1, column 16: index 2 comes after 5000: indices of a line ascend"},
        {"1 qid:1 2000000000:1 x\n", THR_EFORMAT, "a.svm: line 1, column 22: \"x\" is not index:value"},
        {"1 qid:1 1\n", THR_EFORMAT, "a.svm: line 1, column 9: \"1\" is not index:value"},
        {"1 qid:1 :1\n", THR_EFORMAT, "a.svm: line 1, column 9: \":1\" is not index:value"},
        {"1 qid:1 1:\n", THR_EFORMAT, "a.svm: line 1, column 11: \"\" is not a number"},
        {"1 qid:1 1: 2\n", THR_EFORMAT, "a.svm: line 1, column 11: \"\" is not a number"},
        {"1 qid:1 1:2:3\n", THR_EFORMAT, "a.svm: line 1, column 11: \"2:3\" is not a number"},
        {"1 qid:1 1:0x10\n", THR_EFORMAT, "a.svm: line 1, column 11: \"0x10\" is not a number"},
        {"1 qid:1 1:1,5\n", THR_EFORMAT, "a.svm: line 1, column 11: \"1,5\" is not a number"},
        {"1 qid:1 1:NaN\n", THR_ERANGE, "a.svm: line 1, column 11: the value NaN is not a finite float32"},
        {"1 qid:1 1:1 2:+Inf\n", THR_ERANGE, "a.svm: line 1, column 15: the value +Inf is not a finite float32"},
        {"1 qid:1 1:-1e39\n", THR_ERANGE, "a.svm: line 1, column 11: the value -1e39 is not a finite float32"},
        {"1 qid:1 1:1\n2 qid:1 1:1 junk_that_is_longer_than_what_is_shown_of_it_in_a_message\n", THR_EFORMAT,
         "a.svm: line 2, column 13: \"junk_that_is_longer_than_what_is_shown_o\" is not index:value"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t piece = 0; piece < 40; piece += 13) {
            const thr_svmlight_options options = {.piece_bytes = piece};
            thr_svmlight s;
            const thr_status status =
                thr_svmlight_read_memory(io_context, "a.svm", cases[i].text, strlen(cases[i].text), &options, &s, &err);
            if (status != cases[i].status || strcmp(err.text, cases[i].words) != 0)
                fail_msg("case %zu: %s: %s", i, thr_status_name(status), err.text);
            thr_svmlight_free(&s); /* nothing is held */
        }
    thr_svmlight s;
    assert_int_equal(thr_svmlight_read_memory(io_context, "a.svm", "1 1:1\0002:2\n", 11, NULL, &s, &err),
                     THR_EFORMAT); /* a NUL is a byte as others */
}

TEST(the_first_of_many_faults_is_said) {
    bytes text = {0};
    for (size_t i = 0; i < 100; i++)
        put_text(&text, i % 10 == 7 ? "1 qid:1 0:1\n" : "1 qid:1 1:1\n");
    for (size_t piece = 1; piece < 300; piece += 60) {
        const thr_svmlight_options options = {.piece_bytes = piece, .run = run_backwards};
        thr_svmlight s;
        expect_error(thr_svmlight_read_memory(io_context, "a.svm", text.data, text.size, &options, &s, &err),
                     THR_ERANGE, "line 8, column 9");
    }
}

TEST(options_say_what_is_wanted) {
    static const char with[] = "1 qid:7 1:1 # a\n2 qid:8 1:1\n", without[] = "1 1:1\n2 1:2\n";
    thr_svmlight s;
    const thr_svmlight_options need = {.need_queries = true}, ignore = {.ignore_queries = true, .drop_comments = true};
    assert_int_equal(thr_svmlight_read_memory(io_context, "a.svm", without, strlen(without), &need, &s, &err),
                     THR_EFORMAT);
    assert_string_equal(err.text,
                        "a.svm: none of 2 rows has a qid:N after its label, and there is no file a.svm.query: "
                        "rows are ranked within queries");
    expect_ok(thr_svmlight_read_memory(io_context, "a.svm", without, strlen(without), NULL, &s, &err));
    assert_null(s.queries);
    thr_svmlight_free(&s);
    expect_ok(thr_svmlight_read_memory(io_context, "a.svm", with, strlen(with), &ignore, &s, &err));
    assert_null(s.queries);
    assert_null(s.comments);
    thr_svmlight_free(&s);
}

/* ------------------------------------------------------------------------------------------------ side file */

static void check_side(const char *side_text, thr_status wanted, const char *words) {
    bytes text = {0}, side = {0};
    put_text(&text, "1 1:1\n2 1:2\n\n3 1:3\n0 1:4\n");
    put_text(&side, side_text);
    const char *path = write_file("b.svm", &text);
    (void)write_file("b.svm.query", &side);
    const thr_svmlight_options options = {.need_queries = true};
    thr_svmlight s;
    const thr_status status = thr_svmlight_read(io_context, path, &options, &s, &err);
    if (status != wanted || (wanted != THR_OK && strstr(err.text, words) == NULL))
        fail_msg("%s: %s", thr_status_name(status), err.text);
    if (status == THR_OK)
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(s.queries[i], words[i] - '0');
    thr_svmlight_free(&s);
}

TEST(a_query_file_gives_the_rows_of_each_query) {
    check_side("1\n2\n1\n", THR_OK, "0112");
    check_side("1\r\n\n3", THR_OK, "0111");
    check_side("4\n", THR_OK, "0000");
    check_side("", THR_EMISMATCH, "b.svm.query: its 0 queries have 0 rows, ");
    check_side("1\n2\n", THR_EMISMATCH, "b.svm.query: its 2 queries have 3 rows, ");
    check_side("1\n2\n2\n", THR_EMISMATCH, "b.svm.query: line 3 ends at row 5 of ");
    check_side("18446744073709551615\n2\n", THR_EMISMATCH, "b.svm.query: line 1 ends at row");
    check_side("1\nx\n", THR_EFORMAT, "b.svm.query: line 2: \"x\" is not a number of rows of a query");
    check_side("1\n0\n3\n", THR_EFORMAT, "b.svm.query: line 2: \"0\" is not a number of rows of a query");
    check_side("1.5\n", THR_EFORMAT, "b.svm.query: line 1: \"1.5\" is not a number of rows of a query");
    assert_int_equal(unlink(in_dir("b.svm.query")), 0);
}

/* ------------------------------------------------------------------------------------------------ cache */

enum { WITH_CACHE = 1, WRITE_CACHE = 2, NO_COMMENTS = 4 };

/* Read, and compare with the text; whether a cache was used. */
static bool read_cached(const char *name, const bytes *text, unsigned how) {
    const thr_svmlight_options options = {.use_cache = (how & WITH_CACHE) != 0,
                                          .write_cache = (how & WRITE_CACHE) != 0,
                                          .drop_comments = (how & NO_COMMENTS) != 0};
    thr_svmlight s;
    expect_ok(thr_svmlight_read(io_context, in_dir(name), &options, &s, &err));
    const bool cached = s.from_cache;
    if ((how & NO_COMMENTS) == 0)
        check_against(&s, text);
    else
        assert_null(s.comments);
    thr_svmlight_free(&s);
    return cached;
}

static void set_time(const char *path, long seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

RANDOM_TEST(a_cache_is_used_while_the_file_has_the_same_bytes) {
    rng += 4;
    for (size_t i = 0; i < 10; i++) {
        bytes text = {0};
        put_random_file(&text, &rng);
        (void)write_file("c.svm", &text);
        set_time(in_dir("c.svm"), 1000);
        (void)unlink(in_dir("c.svm.thr-cache"));
        assert_false(read_cached("c.svm", &text, WITH_CACHE));
        assert_int_equal(access(in_dir("c.svm.thr-cache"), F_OK), -1); /* the options request none */
        assert_false(read_cached("c.svm", &text, WITH_CACHE | WRITE_CACHE));
        assert_true(read_cached("c.svm", &text, WITH_CACHE));
        assert_true(read_cached("c.svm", &text, WITH_CACHE | NO_COMMENTS));
        assert_false(read_cached("c.svm", &text, 0));
        set_time(in_dir("c.svm"), 999); /* another time, the same bytes */
        assert_true(read_cached("c.svm", &text, WITH_CACHE));
        (void)unlink(in_dir("c.svm.thr-cache"));
        assert_false(read_cached("c.svm", &text, WITH_CACHE | WRITE_CACHE | NO_COMMENTS));
        assert_true(read_cached("c.svm", &text, WITH_CACHE | NO_COMMENTS));
        assert_false(read_cached("c.svm", &text, WITH_CACHE)); /* the cache has no comments */
    }
}

TEST(a_cache_is_of_one_query_file) {
    bytes text = {0}, side = {0}, other = {0};
    put_text(&text, "1 1:1\n2 1:2\n");
    put_text(&side, "1\n1\n");
    put_text(&other, "2\n\n");
    (void)write_file("d.svm", &text);
    const thr_svmlight_options options = {.use_cache = true, .write_cache = true, .need_queries = true};
    thr_svmlight s;
    for (size_t i = 0; i < 6; i++) {
        if (i == 2)
            (void)unlink(in_dir("d.svm.query"));
        if (i < 2 || i > 3)
            set_time(write_file("d.svm.query", i < 2 ? &side : &other), 1000);
        const thr_status status = thr_svmlight_read(io_context, in_dir("d.svm"), &options, &s, &err);
        assert_int_equal(status, i == 2 || i == 3 ? THR_EFORMAT : THR_OK);
        if (status == THR_OK)
            assert_true(s.from_cache == (i % 2 != 0) && s.queries[1] == (i < 2 ? 1 : 0));
        thr_svmlight_free(&s);
    }
}

/* Another content of the same length and time, as cp -p, rsync -t and reproducible builds leave. */
TEST(a_cache_is_of_one_content) {
    for (int turn = 0; turn < 4; turn++) {
        bytes text = {0};
        put_text(&text, turn % 2 == 0 ? "1 qid:1 1:1\n2 qid:1 1:2\n" : "2 qid:1 1:1\n1 qid:1 1:2\n");
        set_time(write_file("k.svm", &text), 1000);
        assert_false(read_cached("k.svm", &text, WITH_CACHE | WRITE_CACHE));
        assert_true(read_cached("k.svm", &text, WITH_CACHE | WRITE_CACHE));
#if THR_WITH_GZ
        gzFile file = gzopen(in_dir("k.svm.gz"), "wb0"); /* not compressed: of one length */
        assert_int_equal(gzwrite(file, text.data, (unsigned)text.size), text.size);
        assert_int_equal(gzclose(file), Z_OK);
        set_time(in_dir("k.svm.gz"), 1000);
        assert_false(read_cached("k.svm.gz", &text, WITH_CACHE | WRITE_CACHE));
        assert_true(read_cached("k.svm.gz", &text, WITH_CACHE | WRITE_CACHE));
#endif
        drop(&text);
    }
}

static void take_file(const char *name, bytes *out) {
    FILE *file = fopen(in_dir(name), "rb");
    assert_non_null(file);
    uint8_t byte;
    while (fread(&byte, 1, 1, file) == 1)
        put(out, &byte, 1);
    (void)fclose(file);
}

/* Whatever is wrong with a cache, the file is read instead, and nothing of the damage is seen. */
TEST(a_damaged_cache_is_not_believed) {
    for (int dense = 0; dense < 2; dense++) {
        bytes text = {0}, cache = {0};
        put_text(&text, dense != 0 ? "1 qid:1 1:1 2:2 # a\n2 qid:1 1:3 2:4\n0.5 qid:2 2:7\n"
                                   : "1 qid:1 1:1 20:2 # a\n2 qid:1 1:3\n0.5 qid:2 20:7\n");
        (void)write_file("e.svm", &text);
        assert_false(read_cached("e.svm", &text, WRITE_CACHE));
        take_file("e.svm.thr-cache", &cache);
        size_t n_used = 0;
        for (size_t i = 0; i < cache.size; i++)
            for (unsigned bit = 0; bit < 8; bit += 3) {
                cache.data[i] ^= (uint8_t)(1u << bit);
                (void)write_file("e.svm.thr-cache", &cache);
                n_used += read_cached("e.svm", &text, WITH_CACHE);
                cache.data[i] ^= (uint8_t)(1u << bit);
            }
        const size_t whole = cache.size;
        for (; cache.size-- > 0;) {
            (void)write_file("e.svm.thr-cache", &cache);
            assert_false(read_cached("e.svm", &text, WITH_CACHE));
        }
        cache.size = whole;
        put_text(&cache, "x");
        (void)write_file("e.svm.thr-cache", &cache);
        assert_false(read_cached("e.svm", &text, WITH_CACHE));
        assert_int_equal(n_used, 0);
        assert_false(read_cached("e.svm", &text, WITH_CACHE | WRITE_CACHE)); /* mended */
        assert_true(read_cached("e.svm", &text, WITH_CACHE));
    }
}

/* Right checksums over wrong contents: what a program gone wrong, or worse, would write. */
TEST(a_cache_whose_arrays_make_no_sense_is_not_believed) {
    bytes text = {0};
    put_text(&text, "1 qid:1 1:1 20:2 # a\n2 qid:1 1:3\n0.5 qid:2 20:7\n");
    (void)write_file("h.svm", &text);
    for (int wrong = 0; wrong < 12; wrong++) {
        double labels[3] = {1, 2, 0.5};
        uint64_t queries[3] = {1, 1, 2}, starts[4] = {0, 2, 3, 4}, comment_starts[4] = {0, 1, 1, 1};
        uint32_t columns[4] = {0, 19, 0, 19};
        float values[4] = {1, 2, 3, 7};
        const thr_svmlight s = {.n_rows = 3,
                                .n_values = 4,
                                .n_features = wrong == 11 ? 19 : 20,
                                .labels = labels,
                                .queries = queries,
                                .starts = starts,
                                .columns = columns,
                                .values = values,
                                .comment_starts = comment_starts,
                                .comments = "a"};
        thr_svmlight_source source;
        labels[1] = wrong == 1 ? (double)NAN : 2;
        values[3] = wrong == 2 ? INFINITY : 7;
        columns[3] = wrong == 3 ? 20 : wrong == 4 ? UINT32_MAX : 19;
        columns[1] = wrong == 5 ? 0 : 19;
        starts[1] = wrong == 6 ? 5 : wrong == 7 ? UINT64_MAX : 2;
        starts[0] = wrong == 8 ? 1 : 0;
        starts[3] = wrong == 9 ? 3 : 4;
        comment_starts[1] = wrong == 10 ? 2 : 1;
        expect_ok(thr_svmlight_look(io_context, in_dir("h.svm"), &source, &err));
        expect_ok(thr_svmlight_cache_write(io_context, in_dir("h.svm"), &source, true, &s, &err));
        if (read_cached("h.svm", &text, WITH_CACHE) != (wrong == 0))
            fail_msg("cache %d", wrong);
    }
}

TEST(a_cache_of_another_version_is_written_anew) {
    bytes text = {0}, cache = {0};
    put_text(&text, "1 qid:1 1:1 20:2 # a\n");
    (void)write_file("j.svm", &text);
    for (uint8_t version = 0; version < 4; version++) {
        assert_false(read_cached("j.svm", &text, WRITE_CACHE));
        take_file("j.svm.thr-cache", &cache);
        cache.data[8] = version;
        assert_true(test_seal(cache.data, cache.size));
        (void)write_file("j.svm.thr-cache", &cache);
        assert_true(read_cached("j.svm", &text, WITH_CACHE | WRITE_CACHE) == (version == 1));
        assert_true(read_cached("j.svm", &text, WITH_CACHE));
        drop(&cache);
    }
}

/* Offset and size of the table add up to the file's size modulo 2^64. */
TEST(a_cache_whose_table_lies_before_the_file_is_not_believed) {
    bytes text = {0};
    put_text(&text, "1 qid:1 1:1 20:2 # a\n");
    (void)write_file("i.svm", &text);
    for (uint64_t n_sections = 4; n_sections <= 8; n_sections += 2) {
        uint64_t header[8] = {0};
        bytes cache = {0};
        memcpy(header, "THRSVM\0\1", 8);
        header[1] = 1 | (uint64_t)20 << 32; /* version, features */
        header[2] = 1;                      /* rows */
        header[4] = n_sections;
        header[5] = sizeof header - n_sections * sizeof(thr_section);
        put(&cache, header, sizeof header);
        (void)write_file("i.svm.thr-cache", &cache);
        assert_false(read_cached("i.svm", &text, WITH_CACHE));
        assert_false(read_cached("i.svm", &text, WITH_CACHE | WRITE_CACHE)); /* mended */
        assert_true(read_cached("i.svm", &text, WITH_CACHE));
    }
}

TEST(a_cache_that_cannot_be_written_is_said_and_the_rows_are_read) {
    bytes text = {0};
    put_text(&text, "1 qid:1 1:1\n");
    const char *path = write_file("f.svm", &text);
    assert_int_equal(mkdir(in_dir("f.svm.thr-cache"), 0777), 0);
    const thr_svmlight_options options = {.write_cache = true};
    thr_svmlight s;
    expect_ok(thr_svmlight_read(io_context, path, &options, &s, &err));
    assert_int_equal(s.n_rows, 1);
    assert_int_equal(s.cache.status, THR_EIO);
    assert_non_null(strstr(s.cache.text, "f.svm.thr-cache: is a directory"));
    thr_svmlight_free(&s);
    assert_int_equal(rmdir(in_dir("f.svm.thr-cache")), 0);
    /* What is of the user's stays. */
    bytes mine = {0};
    put_text(&mine, "mine, of more than sixteen bytes");
    (void)write_file("f.svm.thr-cache", &mine);
    expect_ok(thr_svmlight_read(io_context, path, &options, &s, &err));
    assert_int_equal(s.cache.status, THR_EEXIST);
    thr_svmlight_free(&s);
}

/* ------------------------------------------------------------------------------------------------ memory */

TEST(every_allocation_may_fail) {
    for (int dense = 0; dense < 2; dense++) {
        bytes text = {0};
        for (size_t i = 0; i < 20; i++)
            put_text(&text, dense != 0 ? "1 1:1 2:2 # a\n" : "1 1:1 20:2 # a\n");
        bytes side = {0};
        put_text(&side, "20\n");
        const char *path = write_file("g.svm", &text);
        (void)write_file("g.svm.query", &side);
        const thr_svmlight_options options = {.need_queries = true, .write_cache = true, .piece_bytes = 16};
        test_oom oom = test_oom_start(&io_memory);
        oom.tolerant = true; /* the rows are read where only the cache cannot be written */
        while (test_oom_next(&oom)) {
            thr_svmlight s;
            test_oom_arm(&oom);
            const thr_status status = thr_svmlight_read(io_context, path, &options, &s, &err);
            (void)test_oom_check(&oom, status, &err, NULL);
            thr_svmlight_free(&s);
        }
        assert_true(oom.n_failed > 7);
    }
}

TEST(what_is_not_there_is_said) {
    thr_svmlight s;
    const thr_svmlight_options options = {.use_cache = true};
    assert_int_equal(thr_svmlight_read(io_context, in_dir("none.svm"), NULL, &s, &err), THR_ENOTFOUND);
    assert_int_equal(thr_svmlight_read(io_context, in_dir("none.svm"), &options, &s, &err), THR_ENOTFOUND);
    assert_int_equal(thr_svmlight_read(io_context, test_dir, NULL, &s, &err), THR_EFORMAT);
}
