/* SPDX-License-Identifier: Apache-2.0 */
/* Items in bulk: rows, ids, names and vectors of many agree with those of one, before and after changes. */
#include "index_support.h"

static const char DIR_A[] = "index-items", NAMES_A[] = "index-items.txt";
enum { N = 300, DIMS = 6, MORE = 40 };

/* Names PREFIX0, PREFIX1, ... */
static void add_more(thr_context *context, uint64_t first_id, bool names) {
    float *rows = random_rows(MORE, DIMS, 2);
    uint64_t ids[MORE];
    thr_index_add_options options = {0};
    const thr_matrix matrix = thr_matrix_f32(rows, MORE, DIMS);
    for (uint64_t i = 0; i < MORE; i++)
        ids[i] = first_id + 7 * i;
    options.ids = names ? NULL : ids;
    options.n_ids = names ? 0 : MORE;
    options.ids_path = names ? NAMES_A : NULL;
    expect_ok(add_matrix(context, DIR_A, &matrix, &options, NULL, &err));
}

/* An index of N items, MORE added, and every fifth of the first removed. */
static thr_index *make(thr_context *context, bool names) {
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 2);
    uint64_t removed[N / 5];
    write_lines(NAMES_A, "w", N);
    options.ids_path = names ? NAMES_A : NULL;
    options.segment_rows = 64;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    write_lines(NAMES_A, "more ", MORE);
    add_more(context, 1000, names);
    for (uint64_t i = 0; i < N / 5; i++)
        removed[i] = 5 * i;
    expect_ok(thr_index_remove(context, DIR_A, removed, N / 5, NULL, &err));
    return test_index_open(context, DIR_A);
}

static void check_rows_and_vectors(thr_index *index) {
    const uint64_t n_rows = thr_index_n_rows(index);
    uint64_t *ids = test_new((n_rows + 2), sizeof *ids), *rows = test_new((n_rows + 2), sizeof *rows), n = 0;
    float one[DIMS], *vectors = test_new(n_rows * DIMS, sizeof *vectors);
    expect_ok(thr_index_row_ids(index, 0, (size_t)n_rows + 2, ids, &err));
    expect_ok(thr_index_rows(index, ids, (size_t)n_rows + 2, rows, &err));
    for (uint64_t row = 0; row < n_rows + 2; row++) {
        assert_true(rows[row] == (ids[row] == THR_NO_ID ? THR_NO_ID : row));
        if (ids[row] != THR_NO_ID)
            ids[n++] = ids[row];
    }
    assert_int_equal(n, thr_index_get_info(index).n_items);
    assert_int_equal(n, N - N / 5 + MORE);
    assert_true(thr_index_n_removed(index) <= N / 5);
    expect_ok(thr_index_vectors(index, ids, (size_t)n, vectors, &err));
    for (uint64_t i = 0; i < n; i++) {
        expect_ok(thr_index_vector(index, ids[i], one, &err));
        assert_memory_equal(one, vectors + i * DIMS, sizeof one);
    }
    ids[3] = 5; /* removed */
    expect_error(thr_index_vectors(index, ids, (size_t)n, vectors, &err), THR_ENOTFOUND, "the id 5");
    expect_ok(thr_index_row_ids(index, UINT64_MAX - 1, 4, ids, &err));
    for (int i = 0; i < 4; i++)
        assert_true(ids[i] == THR_NO_ID);
}

TEST(rows_ids_and_vectors_agree_with_one_at_a_time) {
    for (int names = 0; names < 2; names++) {
        OWNED(thr_index, index) = make(*state, names != 0);
        check_rows_and_vectors(index);
        expect_error(thr_index_rows(NULL, NULL, 0, NULL, &err), THR_EINVAL, NULL);
        expect_error(thr_index_row_ids(index, 0, 1, NULL, &err), THR_EINVAL, NULL);
        expect_error(thr_index_vectors(index, NULL, 1, NULL, &err), THR_EINVAL, NULL);
    }
}

TEST(names_are_found_unless_their_items_were_removed) {
    OWNED(thr_index, index) = make(*state, true);
    char text[N + MORE + 2][16];
    const char *names[N + MORE + 2];
    uint64_t ids[N + MORE + 2], one;
    for (int i = 0; i < N + MORE; i++)
        (void)snprintf(text[i], sizeof text[i], i < N ? "w%d" : "more %d", i < N ? i : i - N);
    (void)snprintf(text[N + MORE], sizeof text[0], "w7");
    text[N + MORE + 1][0] = '\0';
    for (int i = 0; i < N + MORE + 2; i++)
        names[i] = text[i];
    expect_ok(thr_index_find_many(index, names, N + MORE + 2, ids, &err));
    for (int i = 0; i < N + MORE + 2; i++) {
        const bool gone = (i < N && i % 5 == 0) || i == N + MORE + 1;
        expect_status(thr_index_find(index, names[i], &one, &err), gone ? THR_ENOTFOUND : THR_OK);
        assert_true(ids[i] == (gone ? THR_NO_ID : one));
        assert_true(gone || strcmp(thr_index_name(index, one), names[i]) == 0);
    }
    names[2] = NULL;
    expect_error(thr_index_find_many(index, names, 3, ids, &err), THR_EINVAL, NULL);
    expect_ok(thr_index_find_many(index, NULL, 0, NULL, &err));
}

TEST(ids_are_names_where_there_are_none) {
    static const char *const names[] = {"1", "5", "1007", "", "x", "99999999999999999999999"};
    OWNED(thr_index, index) = make(*state, false);
    uint64_t ids[6];
    expect_ok(thr_index_find_many(index, names, 6, ids, &err));
    assert_true(ids[0] == 1 && ids[1] == THR_NO_ID && ids[2] == 1007);
    assert_true(ids[3] == THR_NO_ID && ids[4] == THR_NO_ID && ids[5] == THR_NO_ID);
}

TEST_IN_CONTEXT(2, NULL)
