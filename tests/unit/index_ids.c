/* SPDX-License-Identifier: Apache-2.0 */
#include "index_support.h"

#include "base/radix.h"

static const char DIR_A[] = "index-ids", FILE_A[] = "index-ids.txt";
enum { N = 200, DIMS = 6 };

static thr_status build_with(thr_context *context, const uint64_t *ids, uint64_t n_ids, const char *path) {
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    options.ids = ids;
    options.n_ids = n_ids;
    options.ids_path = path;
    options.segment_rows = 64;
    test_remove_directory(DIR_A);
    thr_status status = build_rows(context, DIR_A, rows, N, DIMS, &options, &err);
    if (status != THR_OK)
        assert_int_equal(access(DIR_A, F_OK), -1); /* nothing is left */
    return status;
}

/* The index finds every row by its id, and answers with ids. */
static void check_ids(thr_context *context, const uint64_t *ids) {
    float *rows = random_rows(N, DIMS, 1), vector[DIMS];
    uint64_t found, *answer = test_new(N, sizeof *answer);
    thr_matrix queries = thr_matrix_f32(rows, N, DIMS);
    char text[32];
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    assert_true(thr_index_get_info(index).has_ids);
    expect_ok(thr_index_search(index, &queries, 1, NULL, answer, NULL, &err));
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(answer[i], ids[i]);
        expect_ok(thr_index_vector(index, ids[i], vector, &err));
        assert_memory_equal(vector, rows + i * DIMS, sizeof vector);
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)ids[i]);
        expect_ok(thr_index_find(index, text, &found, &err));
        assert_int_equal(found, ids[i]);
        assert_null(thr_index_name(index, ids[i]));
    }
    expect_error(thr_index_vector(index, 12345678901u, vector, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_find(index, "12345678901", &found, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_find(index, "word", &found, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_find(index, "", &found, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_find(index, "99999999999999999999999", &found, &err), THR_ENOTFOUND, NULL);
    assert_null(strstr(err.text, "MANIFEST"));
}

static void make_ids(uint64_t ids[N]) {
    uint64_t seed = 4;
    for (uint64_t i = 0; i < N; i++)
        ids[i] = thr_rng_next(&seed) >> thr_rng_below(&seed, 40);
    ids[17] = 0;
    ids[99] = THR_NO_ID - 1;
}

TEST(ids_of_an_array_are_answered) {
    uint64_t ids[N];
    make_ids(ids);
    expect_ok(build_with(*state, ids, N, NULL));
    check_ids(*state, ids);
}

TEST(ids_of_a_text_are_answered) {
    uint64_t ids[N];
    make_ids(ids);
    FILE *file = fopen(FILE_A, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < N; i++)
        (void)fprintf(file, "%llu\n", (unsigned long long)ids[i]);
    (void)fclose(file);
    expect_ok(build_with(*state, NULL, 0, FILE_A));
    check_ids(*state, ids);
}

TEST(ids_of_a_column_of_integers_are_answered) {
    uint64_t ids[N];
    uint32_t head[2] = {N, 1};
    int32_t values[N];
    FILE *file = fopen("index-ids.ibin", "wb");
    assert_non_null(file);
    for (int32_t i = 0; i < N; i++) {
        values[i] = 3 * (N - i);
        ids[i] = (uint64_t)values[i];
    }
    assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
    assert_int_equal(fwrite(values, sizeof values, 1, file), 1);
    (void)fclose(file);
    expect_ok(build_with(*state, NULL, 0, "index-ids.ibin"));
    check_ids(*state, ids);

    values[50] = -5;
    file = fopen("index-ids.ibin", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
    assert_int_equal(fwrite(values, sizeof values, 1, file), 1);
    (void)fclose(file);
    expect_error(build_with(*state, NULL, 0, "index-ids.ibin"), THR_ERANGE, "row 50: the id -5 is negative");
    (void)unlink("index-ids.ibin");
}

static void write_names(int n, int last) {
    FILE *file = fopen(FILE_A, "w");
    assert_non_null(file);
    for (int i = 0; i < n; i++)
        (void)fprintf(file, i == 3 ? "na\xc3\xafve word %d\n" : "w%d\n", i == n - 1 ? last : i);
    (void)fclose(file);
}

TEST(names_are_found_and_given_back) {
    uint64_t id;
    char text[32];
    write_names(N, N - 1);
    expect_ok(build_with(*state, NULL, 0, FILE_A));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_verify(index, &err));
    assert_true(thr_index_get_info(index).has_names && !thr_index_get_info(index).has_ids);
    for (uint64_t i = 0; i < N; i++) {
        (void)snprintf(text, sizeof text, i == 3 ? "na\xc3\xafve word %d" : "w%d", (int)i);
        assert_string_equal(thr_index_name(index, i), text);
        expect_ok(thr_index_find(index, text, &id, &err));
        assert_int_equal(id, i);
    }
    assert_null(thr_index_name(index, N));
    assert_null(thr_index_name(index, THR_NO_ID));
    const char *names[N + 1];
    expect_ok(thr_index_row_names(index, 2, N - 1, names, &err));
    for (uint64_t i = 2; i < N; i++)
        assert_ptr_equal(names[i - 2], thr_index_name(index, i));
    assert_null(names[N - 2]);
    expect_ok(thr_index_row_names(index, UINT64_MAX, 2, names, &err));
    assert_true(names[0] == NULL && names[1] == NULL);
    expect_error(thr_index_row_names(NULL, 0, 1, names, &err), THR_EINVAL, NULL);
    expect_error(thr_index_find(index, "w", &id, &err), THR_ENOTFOUND, NULL);
    expect_error(thr_index_find(index, "17", &id, &err), THR_ENOTFOUND, NULL);
}

TEST(an_index_without_ids_finds_row_numbers) {
    uint64_t id;
    expect_ok(build_with(*state, NULL, 0, NULL));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    expect_ok(thr_index_find(index, "17", &id, &err));
    assert_int_equal(id, 17);
    expect_error(thr_index_find(index, "200", &id, &err), THR_ENOTFOUND, NULL);
}

TEST(duplicates_are_named_with_both_rows) {
    uint64_t ids[N];
    make_ids(ids);
    ids[150] = ids[42] = 77;
    expect_error(build_with(*state, ids, N, NULL), THR_EDUPLICATE, "the id 77 is repeated, in rows 42 and 150");
    write_names(N, 5);
    expect_error(build_with(*state, NULL, 0, FILE_A), THR_EDUPLICATE, "the name 'w5' is repeated, in rows 5 and 199");
}

TEST(wrong_counts_and_types_are_refused) {
    uint64_t ids[N + 1];
    make_ids(ids);
    ids[N] = 1234567;
    expect_error(build_with(*state, ids, N - 1, NULL), THR_EDIM, NULL);
    expect_error(build_with(*state, ids, N + 1, NULL), THR_EDIM, NULL);
    expect_error(build_with(*state, ids, 0, NULL), THR_EDIM, NULL);
    expect_error(build_with(*state, NULL, N, NULL), THR_EINVAL, NULL);
    expect_error(build_with(*state, ids, N, FILE_A), THR_EINVAL, NULL);
    write_names(N - 1, 0);
    expect_error(build_with(*state, NULL, 0, FILE_A), THR_EDUPLICATE, NULL);
    write_names(N - 1, N - 2);
    expect_error(build_with(*state, NULL, 0, FILE_A), THR_EDIM, NULL);
    test_write_text(FILE_A, "");
    assert_int_not_equal(build_with(*state, NULL, 0, FILE_A), THR_OK);
    assert_true(strlen(err.text) > 0);
    (void)unlink(FILE_A);
    expect_error(build_with(*state, NULL, 0, FILE_A), THR_ENOTFOUND, NULL);
    ids[7] = THR_NO_ID;
    expect_error(build_with(*state, ids, N, NULL), THR_ERANGE, NULL);
}

TEST(sorting_is_stable_and_complete) {
    enum { COUNT = 5000 };
    thr_keyed *pairs = test_new(COUNT, sizeof *pairs);
    for (unsigned shift = 0; shift < 64; shift += 9) {
        uint64_t seed = shift, sum = 0;
        for (uint64_t i = 0; i < COUNT; i++) {
            pairs[i] = (thr_keyed){thr_rng_next(&seed) >> shift, i};
            sum += pairs[i].key;
        }
        expect_ok(thr_radix_sort(*state, pairs, COUNT, &err));
        for (uint64_t i = 1; i < COUNT; i++)
            assert_true(pairs[i - 1].key < pairs[i].key ||
                        (pairs[i - 1].key == pairs[i].key && pairs[i - 1].value < pairs[i].value));
        for (uint64_t i = 0; i < COUNT; i++)
            sum -= pairs[i].key;
        assert_int_equal(sum, 0);
    }
}

TEST_IN_CONTEXT(1, NULL)
