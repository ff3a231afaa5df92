/* SPDX-License-Identifier: Apache-2.0 */
/* bench_tower_split.c - pairs for the bench of towers are read, and no query is both learned from and tested with. */
#include "../programs/bench/tower_split.h"

#include "support.h"

#include <stdio.h>
#include <string.h>

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void a_query_has_one_place_however_it_is_written(void **state) {
    (void)state;
    static const char *const same[][2] = {
        {"l bracket", "L Bracket"}, {"l bracket", "  l,bracket!"}, {"8 ft. ladder", "8 FT LADDER"}, {"a", "a."}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_true(bench_split_place(same[i][0]) == bench_split_place(same[i][1]));
    assert_true(bench_split_place("l bracket") != bench_split_place("lbracket"));
    assert_true(bench_split_place("\xc3\xa4") != bench_split_place("\xc3\xb6"));
}

static void places_are_spread_evenly(void **state) {
    (void)state;
    enum { N = 20000, PARTS = 10 };
    int counts[PARTS] = {0};
    for (int i = 0; i < N; i++) {
        char query[32];
        (void)snprintf(query, sizeof query, "query %d", i);
        const double place = bench_split_place(query);
        assert_true(place >= 0 && place < 1);
        counts[(int)(place * PARTS)]++;
    }
    for (int p = 0; p < PARTS; p++) /* five standard deviations */
        assert_in_range(counts[p], N / PARTS - 212, N / PARTS + 212);
}

static void no_query_is_in_both_parts(void **state) {
    (void)state;
    enum { N = 3000 };
    FILE *file = fopen("split.tsv", "w");
    assert_non_null(file);
    for (int i = 0; i < N; i++) /* every query stands five times, written in two ways */
        (void)fprintf(file, i % 2 == 0 ? "Query %d\titem %d\n" : "query, %d\titem %d\n", i % (N / 5), i);
    assert_int_equal(fclose(file), 0);
    thr_error err;
    thr_context *context = NULL;
    bench_pairs pairs = {0};
    assert_int_equal(thr_context_create(NULL, &context, &err), THR_OK);
    assert_int_equal(bench_pairs_read(context, "split.tsv:1,2", false, 1.0, &pairs, &err), THR_OK);
    assert_int_equal(pairs.n, N);
    size_t n_test = 0;
    for (size_t i = 0; i < pairs.n; i++) {
        n_test += pairs.rows[i].test;
        for (size_t j = i % (N / 5); j < i; j += N / 5)
            assert_int_equal(pairs.rows[i].test, pairs.rows[j].test);
    }
    assert_in_range(n_test, N / 20, N * 3 / 20);

    /* The files of both parts, read again, hold all rows and no query twice. */
    (void)remove("part.tsv");
    assert_int_equal(bench_pairs_write(&pairs, BENCH_ROWS_TRAIN, "part.tsv"), 0);
    bench_pairs train = {0};
    assert_int_equal(bench_pairs_read(context, "part.tsv:1,2,3", true, 1.0, &train, &err), THR_OK);
    assert_int_equal(train.n, N - n_test);
    for (size_t i = 0; i < train.n; i++)
        assert_false(train.rows[i].test);
    bench_pairs_free(&train);
    bench_pairs_free(&pairs);

    bench_pairs half = {0};
    assert_int_equal(bench_pairs_read(context, "split.tsv:1,2", false, 0.5, &half, &err), THR_OK);
    assert_in_range(half.n, N * 4 / 10, N * 6 / 10);
    bench_pairs_free(&half);
    thr_context_free(context);
}

static void labels_are_read_and_rows_without_words_left_out(void **state) {
    (void)state;
    write_text("labels.csv", "id,item,query,relevance\n1,\"a, b\",q one,1.67\n2,c,q two,3\n3,!,q three,3\n4,d,??,2\n");
    thr_error err;
    thr_context *context = NULL;
    bench_pairs pairs = {0};
    assert_int_equal(thr_context_create(NULL, &context, &err), THR_OK);
    assert_int_equal(bench_pairs_read(context, "labels.csv:query,item,relevance", true, 1.0, &pairs, &err), THR_OK);
    assert_int_equal(pairs.n, 2);
    assert_int_equal(pairs.n_left_out, 2);
    assert_string_equal(bench_query(&pairs, 0), "q one");
    assert_string_equal(bench_item(&pairs, 0), "a, b");
    assert_true(pairs.rows[0].label < BENCH_LEAST_LABEL && pairs.rows[1].label >= BENCH_LEAST_LABEL);
    for (size_t i = 0; i < pairs.n; i++)
        pairs.rows[i].test = true;
    assert_true(bench_pairs_is(&pairs.rows[0], BENCH_ROWS_TEST));
    assert_false(bench_pairs_is(&pairs.rows[0], BENCH_ROWS_TEST_GOOD));
    assert_true(bench_pairs_is(&pairs.rows[1], BENCH_ROWS_TEST_GOOD));
    assert_false(bench_pairs_is(&pairs.rows[1], BENCH_ROWS_TRAIN));
    bench_pairs_free(&pairs);
    bench_pairs none = {0};
    assert_int_equal(bench_pairs_read(context, "nowhere.tsv:1,2", false, 1.0, &none, &err), THR_ENOTFOUND);
    thr_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_has_one_place_however_it_is_written),
        cmocka_unit_test(places_are_spread_evenly),
        cmocka_unit_test(no_query_is_in_both_parts),
        cmocka_unit_test(labels_are_read_and_rows_without_words_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
