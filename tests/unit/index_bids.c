/* SPDX-License-Identifier: Apache-2.0 */
/* Values that were set in an index stay with their items in later snapshots, but for those that a change gives. */
#include "index_support.h"

#include <thresher/index_change.h>

static const char DIR_A[] = "index-bids";
enum { DIMS = 8, N = 300, BEST = 123 };

static uint64_t starts[N + 1];
static uint32_t ones[N]; /* every item has feature 1 */

static thr_item_features features_of(uint64_t n) {
    for (uint64_t i = 0; i < N; i++) {
        starts[i + 1] = i + 1;
        ones[i] = 1;
    }
    return (thr_item_features){starts, ones, n};
}

/* multipliers: of the build, or NULL */
static thr_index *build(thr_context *context, uint32_t cells, const float *multipliers) {
    float *rows = random_rows(N, DIMS, 1);
    const thr_item_features features = features_of(N);
    thr_index_build_options options = {.replace = true,
                                       .metric = THR_METRIC_IP,
                                       .cells = cells,
                                       .features = &features,
                                       .multipliers = multipliers,
                                       .n_values = multipliers == NULL ? 0 : N};
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    return test_index_open(context, DIR_A);
}

/* Add or replace the item with this id. */
static void put(thr_context *context, uint64_t id, const float *multiplier) {
    float *rows = random_rows(1, DIMS, id + 5);
    const thr_matrix matrix = thr_matrix_f32(rows, 1, DIMS);
    const thr_item_features features = features_of(1);
    thr_index_add_options options = {.replace = true,
                                     .ids = &id,
                                     .n_ids = 1,
                                     .features = &features,
                                     .multipliers = multiplier,
                                     .n_values = multiplier == NULL ? 0 : 1};
    expect_ok(add_matrix(context, DIR_A, &matrix, &options, NULL, &err));
}

/* Bid on one item, by its row. */
static void bid(thr_index *index, uint64_t id, float value) {
    const uint64_t n = thr_index_n_rows(index);
    float *bids = test_new(n, sizeof *bids);
    uint64_t row;
    for (uint64_t i = 0; i < n; i++)
        bids[i] = 1;
    assert_true(thr_index_row(index, id, &row));
    bids[row] = value;
    expect_ok(thr_hits_set_values(thr_index_hits(index), bids, NULL, n, &err));
}

/* The best item for a query with feature 1. */
static uint64_t best(thr_index *index) {
    static const uint64_t offsets[] = {0, 1};
    static const uint32_t feature = 1;
    static const float weight = 100;
    const thr_hits_queries queries = {1, offsets, &feature, &weight};
    float *row = random_rows(1, DIMS, 99);
    const thr_matrix matrix = thr_matrix_f32(row, 1, DIMS);
    thr_search_options options = {0};
    uint64_t id;
    options.features = &queries;
    options.exact = true;
    expect_ok(thr_index_search(index, &matrix, 1, &options, &id, NULL, &err));
    return id;
}

static void refresh(thr_index **index) {
    thr_index *newer = NULL;
    expect_ok(thr_index_refresh(*index, &newer, &err));
    if (newer != NULL) {
        thr_index_free(*index);
        *index = newer;
    }
}

TEST(values_stay_with_their_items) {
    float own[N];
    for (int i = 0; i < N; i++)
        own[i] = 1;
    for (int kind = 0; kind < 4; kind++) {
        OWNED(thr_index, index) = build(*state, kind % 2 == 0 ? 1 : 6, kind < 2 ? NULL : own);
        bid(index, BEST, 1e4f);
        assert_int_equal(best(index), BEST);
        put(*state, 5, NULL);
        refresh(&index);
        assert_int_equal(best(index), BEST);
        put(*state, BEST, NULL); /* keeps its bid: the change gives none */
        const uint64_t gone = 0;
        expect_ok(thr_index_remove(*state, DIR_A, &gone, 1, NULL, &err));
        expect_ok(thr_index_recode(*state, DIR_A, NULL, &err));
        refresh(&index);
        assert_int_equal(best(index), BEST);
    }
}

TEST(values_of_a_change_hold) {
    const float one = 1, more = 1e5f;
    for (int compacts = 0; compacts < 2; compacts++) {
        OWNED(thr_index, index) = build(*state, 1, NULL);
        bid(index, BEST, 1e4f);
        put(*state, BEST, &one);
        if (compacts)
            expect_ok(thr_index_compact(*state, DIR_A, NULL, &err));
        refresh(&index);
        assert_int_not_equal(best(index), BEST);
        bid(index, BEST, 1e4f); /* set again, after the change */
        put(*state, 7, &one);
        refresh(&index);
        assert_int_equal(best(index), BEST);
        put(*state, 7000, &more);
        refresh(&index);
        assert_int_equal(best(index), 7000);
    }
}

TEST(a_follower_keeps_values) {
    thr_index_follower *follower = NULL;
    thr_index *index = build(*state, 6, NULL);
    thr_index_free(index);
    expect_ok(thr_index_follower_open(*state, DIR_A, &follower, &err));
    expect_ok(thr_index_follower_take(follower, &index, &err));
    bid(index, BEST, 1e4f);
    thr_index_follower_put(index);
    put(*state, 5, NULL);
    expect_ok(thr_index_follower_take(follower, &index, &err));
    assert_true(thr_index_n_commits(index) > 0);
    assert_int_equal(best(index), BEST);
    thr_index_follower_put(index);
    thr_index_follower_free(follower);
}

TEST(values_that_were_not_set_are_those_of_the_files) {
    float own[N];
    for (int i = 0; i < N; i++)
        own[i] = i == 77 ? 1e4f : 1;
    OWNED(thr_index, index) = build(*state, 6, own);
    assert_int_equal(best(index), 77);
    put(*state, 77, NULL);
    refresh(&index);
    assert_int_not_equal(best(index), 77);
}

TEST_IN_CONTEXT(2, DIR_A)
