/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_pairs.c - what files of pairs may hold: rows that are left out, too many of them, texts of all sorts. */
#define TOWER_TEST "pairs"
#include "text_tower_support.h"

static const char pairs[] = NAME("pairs.tsv"), model[] = NAME("model"), other[] = NAME("other");
enum { LONG = 3 << 20 };

typedef struct row {
    const char *text;
    bool refused;
} row;

/* TOWER_PAIRS good rows with these among them. */
static void write_with(const char *path, const row *rows, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint64_t i = 0; i < TOWER_PAIRS; i++) {
        char text[TOWER_TEXT_ROOM];
        tower_text(i, text);
        (void)fprintf(file, "%s\t%s\n", text, text);
        if (i < n)
            (void)fprintf(file, "%s\n", rows[i].text);
    }
    assert_int_equal(fclose(file), 0);
}

static void small(thr_tower_train_options *options) {
    tower_small(options);
    options->run.n_epochs = 1;
}

TEST(rows_without_words_are_counted_and_left_out) {
    static const row rows[] = {{"", true},
                               {"edit", true},
                               {"\t", true},
                               {"edit\t", true},
                               {"\tedit", true},
                               {" .,;!\tedit", true},
                               {"edit\xff\xfe\tpl\xc3", false},
                               {"edit\t\xf0\x28\x8c\x28", true},
                               {"edit\tplay\tmore\tcolumns", false},
                               {"\xff\t\xff", true}};
    enum { N = COUNT_OF(rows) };
    thr_tower_train_options options;
    uint64_t n_refused = 0;
    for (size_t i = 0; i < N; i++)
        n_refused += rows[i].refused;
    small(&options);
    write_with(pairs, rows, N);
    /* 8 of 130 are more than one in 20: the same good rows once more */
    char *once = NULL;
    size_t size = 0;
    tower_write_pairs(other, 0, 60);
    once = tower_read(other, &size);
    FILE *file = fopen(pairs, "ab");
    assert_true(file != NULL && fwrite(once, 1, size, file) == size && fclose(file) == 0);
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_int_equal(report.n_refused, n_refused);
    assert_int_equal(report.n_pairs + report.n_valid, TOWER_PAIRS + 60 + N - n_refused);
}

TEST(more_than_one_row_in_twenty_is_too_many) {
    enum { ROWS = 400 };
    thr_tower_train_options options;
    small(&options);
    for (unsigned n_bad = 20; n_bad <= 21; n_bad++) {
        FILE *file = fopen(pairs, "wb");
        assert_non_null(file);
        for (unsigned i = 0; i < ROWS; i++) {
            char text[TOWER_TEXT_ROOM];
            tower_text(i, text);
            if (i < n_bad)
                (void)fprintf(file, "one column\n");
            else
                (void)fprintf(file, "%s\t%s\n", text, text);
        }
        assert_int_equal(fclose(file), 0);
        if (n_bad == 20)
            assert_int_equal(tower_train(*state, pairs, model, &options).n_refused, 20);
        else
            expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EFORMAT, "21 of 400");
    }
    options.format.item_column = 3;
    expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EFORMAT, "column 3");
    options.format.item_column = 0;
    expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EINVAL, "from 1");
}

TEST(labels_that_are_no_numbers_are_refused_rows) {
    static const char *const labels[] = {"1", "0.5", "x", "", "nan", "1 ", " 1", "1e9", "inf", "-inf", "0x1p3"};
    static const bool good[] = {true, false, false, false, false, false, true, true, true, false, true};
    static const bool refused[] = {false, false, true, true, true, true, false, false, false, false, false};
    enum { N = COUNT_OF(labels), REST = 200 };
    thr_tower_train_options options;
    uint64_t n_good = REST, n_refused = 0;
    FILE *file = fopen(pairs, "wb");
    assert_non_null(file);
    for (uint64_t i = 0; i < REST + N; i++) {
        char text[TOWER_TEXT_ROOM];
        tower_text(i, text);
        (void)fprintf(file, "%s\t%s\t%s\n", text, text, i < N ? labels[i] : "1");
    }
    for (size_t i = 0; i < N; i++) {
        n_good += good[i];
        n_refused += refused[i];
    }
    assert_int_equal(fclose(file), 0);
    small(&options);
    options.format.label_column = 3;
    options.format.least_label = 1;
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_int_equal(report.n_pairs + report.n_valid, n_good);
    assert_int_equal(report.n_refused, n_refused);
}

/* A row of so many bytes: a word again and again. */
static void append_long(const char *path, size_t bytes) {
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    (void)fprintf(file, "edit\t");
    for (size_t i = 0; i < bytes; i += 8)
        (void)fprintf(file, "wo%05zu ", i / 8 % 100000);
    (void)fprintf(file, "\n");
    assert_int_equal(fclose(file), 0);
}

TEST(lines_of_megabytes_are_cut_or_left_out) {
    thr_tower_train_options options;
    small(&options);
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    append_long(pairs, 1 << 19);
    append_long(pairs, LONG);
    const thr_tower_report report = tower_train(*state, pairs, model, &options);
    assert_int_equal(report.n_refused, 1);
    assert_int_equal(report.n_pairs + report.n_valid, TOWER_PAIRS + 1);
    options.config.max_words = 65535;
    assert_int_equal(tower_train(*state, pairs, model, &options).n_refused, 1);
}

TEST(a_word_of_megabytes_is_one_word) {
    thr_tower_train_options options;
    char *word = test_new(LONG / 4 + 1, 1);
    small(&options);
    memset(word, 'a', LONG / 4);
    FILE *file = fopen(pairs, "wb");
    assert_non_null(file);
    for (int i = 0; i < TOWER_PAIRS; i++)
        (void)fprintf(file, "edit %d\t%s %d\n", i, i == 5 ? word : "word", i);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tower_train(*state, pairs, model, &options).n_refused, 0);
}

TEST(a_csv_file_and_a_header_are_no_different) {
    thr_tower_train_options options;
    char text[TOWER_TEXT_ROOM];
    tower_write_pairs(pairs, 0, TOWER_PAIRS);
    FILE *file = fopen(NAME("pairs.csv"), "wb"), *tsv = fopen(pairs, "wb");
    assert_true(file != NULL && tsv != NULL);
    (void)fprintf(file, "\xef\xbb\xbfquery,\"item, quoted\"\r\n");
    for (uint64_t i = 0; i < TOWER_PAIRS; i++) {
        tower_text(i, text);
        (void)fprintf(file, "\"%s\",\"%s\"\r\n", text, text);
        (void)fprintf(tsv, "%s\t%s\n", text, text);
    }
    assert_true(fclose(file) == 0 && fclose(tsv) == 0);
    small(&options);
    (void)tower_train(*state, pairs, model, &options);
    options.format.header = true;
    (void)unlink(other);
    (void)tower_train(*state, NAME("pairs.csv"), other, &options);
    assert_true(tower_same_files(model, other));
}

TEST(fewer_pairs_than_two_batches_are_too_few) {
    thr_tower_train_options options;
    small(&options);
    options.run.valid_path = NAME("valid.tsv");
    tower_write_pairs(options.run.valid_path, 500, 5);
    tower_write_pairs(pairs, 0, 39);
    (void)unlink(model);
    expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EFORMAT, "39 pairs");
    test_write_text(pairs, "");
    const thr_status status = thr_tower_train(*state, pairs, model, &options, NULL, &err);
    assert_true(status == THR_EFORMAT || status == THR_ECORRUPT);
    test_write_text(pairs, "\n");
    expect_error(thr_tower_train(*state, pairs, model, &options, NULL, &err), THR_EFORMAT, "1 of 1");
    expect_error(thr_tower_train(*state, NAME("pairs.txt"), model, &options, NULL, &err), THR_EINVAL, ".tsv");
    expect_error(thr_tower_train(*state, NAME("none.tsv"), model, &options, NULL, &err), THR_ENOTFOUND, "none");
    assert_true(access(model, F_OK) != 0 && test_leftovers(".", model) == 0);
    tower_write_pairs(pairs, 0, 40);
    (void)tower_train(*state, pairs, model, &options);
}
