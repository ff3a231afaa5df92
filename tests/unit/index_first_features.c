/* SPDX-License-Identifier: Apache-2.0 */
/* An index whose items have no features yet: the first features decide whether they are words or numbers. */
#include "index_support.h"

static const char DIR_A[] = "index-first-features", TABLE[] = "index-first-features.tsv";
enum { DIMS = 8, N = 100 };

static void build(thr_context *context) {
    static const uint64_t starts[N + 1];
    static const uint32_t none[1];
    float *rows = random_rows(N, DIMS, 1);
    const thr_item_features features = {starts, none, N};
    thr_index_build_options options = {.replace = true, .features = &features};
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
}

/* Add items of a table: ids and features. */
static thr_status add(thr_context *context, const char *table, uint64_t n) {
    float *rows = random_rows(n, DIMS, 2);
    const thr_matrix matrix = thr_matrix_f32(rows, n, DIMS);
    thr_index_add_options options = {0};
    test_write_text(TABLE, table);
    options.features_path = TABLE;
    return add_matrix(context, DIR_A, &matrix, &options, NULL, &err);
}

static uint64_t count(thr_context *context, const char *expression) {
    OWNED(thr_hits_target, target) = NULL;
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    expect_ok(thr_hits_target_create(thr_index_hits(index), expression, &target, &err));
    const uint64_t n = thr_hits_target_count(target);
    return n;
}

TEST(words_may_be_the_first) {
    build(*state);
    expect_ok(add(*state, "900\t\n", 1));
    expect_ok(add(*state, "901\tred\n902\tred blue\n", 2));
    assert_int_equal(count(*state, "red"), 2);
    expect_ok(add(*state, "903\tblue\n", 1));
    assert_int_equal(count(*state, "blue"), 2);
    expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
    assert_int_equal(count(*state, "NOT red"), N + 2);
}

TEST(numbers_may_be_the_first) {
    build(*state);
    expect_ok(add(*state, "901\t7\n902\t7 9\n", 2));
    assert_int_equal(count(*state, "7"), 2);
    expect_error(add(*state, "903\tblue\n", 1), THR_EFORMAT, NULL);
    assert_int_equal(count(*state, "NOT 9"), N + 1);
}

TEST_IN_CONTEXT(2, DIR_A)
