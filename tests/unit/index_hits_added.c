/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of added rows are in a file of their own, over windows of 65,536 rows: an index with additions and one that
 * is built at once give the same answers, by every kind of search, and readers follow.
 */
#include "index_hits_support.h"

#include "index/impl.h"

static const char DIR_A[] = "index-hits-added", DIR_B[] = "index-hits-at-once";
enum { DIMS = 8, K = 20, BASE = 65300, BATCH = 300, ALL = BASE + 5 * BATCH + 1 };

typedef struct data {
    float *rows, *multipliers;
    catalogue features;
} data;

static data all;

static void add(thr_context *context, uint64_t first, uint64_t n) {
    uint64_t offsets[BATCH + 1];
    const uint64_t begin = all.features.offsets[first];
    for (uint64_t i = 0; i <= n; i++)
        offsets[i] = all.features.offsets[first + i] - begin;
    const thr_item_features features = {offsets, all.features.features + begin, n};
    const thr_matrix rows = thr_matrix_f32(all.rows + first * DIMS, n, DIMS);
    thr_index_add_options options = {.features = &features, .multipliers = all.multipliers + first, .n_values = n};
    expect_ok(add_matrix(context, DIR_A, &rows, &options, NULL, &err));
}

static void build(thr_context *context, const char *dir, uint64_t n) {
    thr_index_build_options options = {0};
    const thr_item_features features = {all.features.offsets, all.features.features, n};
    options.metric = THR_METRIC_IP;
    options.calibration_queries = THR_NO_CALIBRATION;
    options.features = &features;
    options.multipliers = all.multipliers;
    options.n_values = n;
    test_remove_directory(dir);
    expect_ok(build_rows(context, dir, all.rows, n, DIMS, &options, &err));
}

/* The build of the first file of lists, and whether there is a second one. */
static uint32_t first_file(thr_context *context, bool *has_second) {
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    const uint32_t build_number = index->manifest.hits.build;
    *has_second = index->manifest.added.there;
    return build_number;
}

/* ------------------------------------------------------------------------------------------------ answers */

typedef struct answers {
    uint64_t ids[N_QUERIES * K];
    float values[N_QUERIES * K];
    uint32_t n_unknown[N_QUERIES];
} answers;

enum { PLAIN, FILTERED, TARGETED, LISTS_ALONE, N_WAYS };

/* All rows are scored exactly, so that answers depend on vectors and features alone. */
static void search(thr_index *index, int way, const uint64_t *ids, uint64_t n_ids, answers *found) {
    uint64_t *filter = test_new((size_t)thr_index_n_rows(index) / 64 + 1, sizeof *filter);
    float *rows = random_rows(N_QUERIES, DIMS, 7);
    const thr_matrix queries = thr_matrix_f32(rows, N_QUERIES, DIMS);
    thr_search_options options = {0};
    thr_hits_search_options lists = {0};
    OWNED(thr_hits_target, target) = NULL;
    asked a;
    ask(&a, 8);
    expect_ok(thr_hits_target_create(thr_index_hits(index), "1 OR NOT 2", &target, &err));
    expect_ok(thr_bitmap_from_ids(index, ids, n_ids, filter, &err));
    options.exact = true;
    options.features = &a.queries;
    options.n_unknown = found->n_unknown;
    options.target = way == TARGETED ? target : NULL;
    if (way == FILTERED) {
        options.filter = filter;
        options.filter_bits = thr_index_n_rows(index);
    }
    lists.target = target;
    lists.n_unknown = found->n_unknown;
    if (way == LISTS_ALONE)
        expect_ok(thr_hits_search(thr_index_hits(index), &a.queries, K, &lists, found->ids, found->values, &err));
    else
        expect_ok(thr_index_search(index, &queries, K, &options, found->ids, found->values, &err));
}

/* Both indexes answer the same; half of the filter's ids are of added items. */
static void expect_same(thr_index *a, thr_index *b) {
    static answers of_a, of_b;
    uint64_t ids[2 * BATCH], n_ids = 0, row;
    const uint64_t n = thr_index_n_rows(b);
    for (uint64_t i = 0; i < 2 * BATCH; i++) {
        const uint64_t id = i % 2 == 0 ? i * 101 % n : n - 1 - i;
        if (thr_index_row(b, id, &row))
            ids[n_ids++] = id;
    }
    for (int way = 0; way < N_WAYS; way++) {
        search(a, way, ids, n_ids, &of_a);
        search(b, way, ids, n_ids, &of_b);
        assert_memory_equal(of_a.ids, of_b.ids, sizeof of_a.ids);
        assert_memory_equal(of_a.values, of_b.values, sizeof of_a.values);
        assert_memory_equal(of_a.n_unknown, of_b.n_unknown, sizeof of_a.n_unknown);
    }
}

/* n items; those of removed are removed from both. */
static void expect_as_at_once(thr_context *context, uint64_t n, const uint64_t *removed, uint64_t n_removed) {
    build(context, DIR_B, n);
    if (n_removed > 0)
        expect_ok(thr_index_remove(context, DIR_B, removed, n_removed, NULL, &err));
    thr_index *a = test_index_open(context, DIR_A), *b = test_index_open(context, DIR_B);
    expect_ok(thr_index_verify(a, &err));
    expect_same(a, b);
    thr_index_free(a);
    thr_index_free(b);
}

TEST(additions_leave_the_first_file) {
    thr_context *context = *state;
    bool second;
    uint64_t n = BASE;
    build(context, DIR_A, n);
    const uint32_t first = first_file(context, &second);
    assert_false(second);
    for (int i = 0; i < 2; i++, n += BATCH) {
        add(context, n, BATCH);
        assert_int_equal(first_file(context, &second), first);
        assert_true(second);
    }
    expect_as_at_once(context, n, NULL, 0); /* the second file's rows begin in the middle of a window */
    expect_ok(thr_index_compact(context, DIR_A, NULL, &err));
    const uint32_t compacted = first_file(context, &second);
    assert_false(second);
    for (int i = 0; i < 3; i++, n += BATCH)
        add(context, n, BATCH);
    assert_int_equal(first_file(context, &second), compacted);
    assert_true(second && compacted != first);
    expect_as_at_once(context, n, NULL, 0); /* in the second window */
    const uint64_t removed[] = {0, 4711, BASE + 1, BASE + 2 * BATCH, n - 1};
    expect_ok(thr_index_remove(context, DIR_A, removed, COUNT_OF(removed), NULL, &err));
    expect_as_at_once(context, n, removed, COUNT_OF(removed));
    add(context, n, 1); /* many times one item would be written again at each commit: all are joined */
    assert_int_not_equal(first_file(context, &second), compacted);
    assert_false(second);
    expect_as_at_once(context, n + 1, removed, COUNT_OF(removed));
}

TEST(readers_follow) {
    static answers before, after;
    thr_context *context = *state;
    const uint64_t ids[] = {0, 1, 2};
    thr_index *newer = NULL, *fresh;
    build(context, DIR_A, BASE);
    thr_index *index = test_index_open(context, DIR_A);
    search(index, TARGETED, ids, 3, &before);
    add(context, BASE, BATCH);
    expect_ok(thr_index_refresh(index, &newer, &err));
    assert_non_null(newer);
    search(index, TARGETED, ids, 3, &after);
    assert_memory_equal(before.ids, after.ids, sizeof before.ids);
    build(context, DIR_B, BASE + BATCH);
    fresh = test_index_open(context, DIR_B);
    expect_same(newer, fresh);
    thr_index_free(fresh);
    thr_index_free(index);
    expect_ok(thr_index_compact(context, DIR_A, NULL, &err));
    search(newer, TARGETED, ids, 3, &before); /* its files are deleted */
    thr_index_free(newer);
}

TEST(a_second_file_that_does_not_fit_is_refused) {
    thr_context *context = *state;
    char path[PATH_ROOM], name[THR_INDEX_FILE_NAME_SIZE];
    thr_index *index = NULL;
    build(context, DIR_A, BASE);
    add(context, BASE, BATCH);
    index = test_index_open(context, DIR_A);
    thr_index_file_name_print(THR_INDEX_FILE_ADDED, index->manifest.added.build, name);
    join_path(path, DIR_A, name);
    thr_index_free(index);
    thr_hits_build_options options = {0};
    const thr_item_features few = {all.features.offsets, all.features.features, 10};
    options.order = THR_HITS_ORDER_ROWS;
    options.replace = true;
    expect_ok(thr_hits_build(context, path, &few, &options, &err));
    expect_error(thr_index_open(context, DIR_A, &index, &err), THR_ECORRUPT, NULL);
    assert_int_equal(unlink(path), 0);
    expect_error(thr_index_open(context, DIR_A, &index, &err), THR_ECORRUPT, NULL);
}

static int setup(void **state) {
    uint64_t rng = 11;
    *state = test_context(2, THR_ISA_BEST, NULL);
    all.rows = random_rows(ALL, DIMS, 12);
    all.features = draw_items(ALL, 13);
    all.multipliers = test_new(ALL, sizeof *all.multipliers);
    for (uint64_t i = 0; i < ALL; i++)
        all.multipliers[i] = 1 + (float)thr_rng_below(&rng, 3);
    return 0;
}

static int teardown(void **state) {
    thr_context_free(*state);
    test_remove_directory(DIR_A);
    test_remove_directory(DIR_B);
    return 0;
}

TEST_GROUP(setup, teardown)
