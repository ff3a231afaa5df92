/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration: new queries get the promised recall; an index that cannot be calibrated is refused.
 */
#include "index_support.h"

#include "index/impl.h"
#include "index/calibration/calibrate.h"

#define DIR_A "index-tune"

enum {
    N = 6000,
    DIMS = 40,
    QUERIES = 300,
    K = 10,
#ifdef THR_SANITIZED
    LEAST_BITS = 3,
#else
    LEAST_BITS = 1,
#endif
};

/* Rows around centres; the larger their distance, the harder the rows are to separate. */
static float *clustered_rows(uint64_t n, uint32_t n_dims, uint64_t seed) {
    enum { CENTRES = 20 };
    uint64_t same = 99;
    float *centres = random_rows(CENTRES, n_dims, same), *rows = random_rows(n, n_dims, seed);
    for (uint64_t r = 0; r < n; r++)
        for (uint32_t d = 0; d < n_dims; d++)
            rows[r * n_dims + d] += centres[r % CENTRES * n_dims + d] + 0.3f;
    return rows;
}

/* As many queries as tests have time for. */
static thr_index_build_options tuned_options(thr_metric metric, thr_dtype keep, uint32_t bits) {
    thr_index_build_options options = build_options(metric, keep, bits);
    options.calibration_queries = 250;
    return options;
}

/* The mean recall at k over queries, by the library's own measure, and whether all answers were exact ones. */
static double recall_of(thr_index *index, const float *queries, uint64_t n, uint64_t k, float recall, uint64_t *exact) {
    const thr_matrix rows = thr_matrix_f32(queries, n, DIMS);
    uint64_t *truth = test_new(n * k, sizeof *truth), *found = test_new(n * k, sizeof *found);
    float *scores = test_new(n * k, sizeof *scores), *true_scores = test_new(n * k, sizeof *scores);
    thr_search_options options = {.recall = recall};
    expect_ok(thr_index_search(index, &rows, k, &options, found, scores, &err));
    options.exact = true;
    expect_ok(thr_index_search(index, &rows, k, &options, truth, true_scores, &err));
    double sum = 0;
    *exact = 0;
    for (uint64_t q = 0; q < n; q++) {
        uint64_t hits = 0;
        for (uint64_t i = 0; i < k; i++)
            hits += scores[q * k + i] >= true_scores[q * k + k - 1];
        sum += (double)hits / (double)k;
        *exact += memcmp(found + q * k, truth + q * k, k * sizeof *found) == 0;
    }
    return sum / (double)n;
}

TEST(a_promised_recall_is_reached_by_queries_that_were_not_calibrated_with) {
    static const float recalls[] = {0.5f, 0.9f, 0.95f, 0.99f, 0.999f};
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    float *rows = clustered_rows(N, DIMS, 1), *queries = clustered_rows(QUERIES, DIMS, 2);
    for (size_t m = 0; m < 3; m++)
        for (uint32_t bits = LEAST_BITS; bits <= 3; bits += 2) {
            thr_index_build_options options = tuned_options(metrics[m], THR_DTYPE_F16, bits);
            options.replace = true;
            options.lead_bits = 1;
            expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
            OWNED(thr_index, index) = test_index_open(*state, DIR_A);
            assert_true(thr_index_get_info(index).tuned_queries >= THR_TUNE_LEAST_QUERIES);
            for (size_t r = 0; r < COUNT_OF(recalls); r++)
                for (uint64_t k = 1; k <= K; k += K - 1) {
                    uint64_t exact;
                    const double got = recall_of(index, queries, QUERIES, k, recalls[r], &exact);
                    if (got < (double)recalls[r] - 0.005)
                        fail_msg("metric %s, %u bits, k %llu: recall %.4f, promised %.4f", thr_metric_name(metrics[m]),
                                 bits, (unsigned long long)k, got, (double)recalls[r]);
                }
            uint64_t exact;
            assert_true(recall_of(index, queries, QUERIES, K, 1, &exact) == 1);
            assert_int_equal(exact, QUERIES);
        }
}

/* Less is read for less recall, and more for more results. */
TEST(counts_grow_with_recall_and_k) {
    float *rows = clustered_rows(N, DIMS, 3);
    thr_index_build_options options = tuned_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    options.replace = true;
    options.lead_bits = 1;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    thr_search_options low, high;
    for (uint64_t k = 1; k <= 3000; k = k * 3 / 2 + 1) {
        low = (thr_search_options){0};
        low.recall = 0.9f;
        thr_index_resolve_recall(index, k, &low);
        high = (thr_search_options){0};
        high.recall = 0.99f;
        thr_index_resolve_recall(index, k, &high);
        assert_true(low.n_candidates >= k && low.n_survivors >= low.n_candidates);
        assert_true(high.exact || high.n_survivors >= low.n_survivors);
    }
    low = (thr_search_options){.n_candidates = 77, .n_survivors = 99};
    low.recall = 1;
    thr_index_resolve_recall(index, 5, &low);
    assert_int_equal(low.n_candidates, 77);
    assert_int_equal(low.n_survivors, 99);
    assert_false(low.exact);
}

TEST(a_calibration_by_queries_is_kept_in_the_index) {
    float *rows = clustered_rows(N, DIMS, 4), *queries = clustered_rows(QUERIES, DIMS, 5);
    thr_index_build_options options = tuned_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    options.replace = true;
    options.calibration_queries = THR_NO_CALIBRATION;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    thr_index *index = test_index_open(*state, DIR_A), *other = test_index_open(*state, DIR_A);
    assert_int_equal(thr_index_get_info(index).tuned_queries, 0);
    const thr_matrix all = thr_matrix_f32(queries, QUERIES, DIMS);
    expect_ok(thr_index_tune(index, &all, &err));
    assert_int_equal(thr_index_get_info(index).tuned_queries, QUERIES);
    expect_ok(thr_index_verify(index, &err));
    expect_ok(thr_index_tune(index, &all, &err));
    expect_error(thr_index_tune(other, &all, &err), THR_ECHANGED, NULL);
    thr_index_free(other);
    thr_index_free(index);
    index = test_index_open(*state, DIR_A);
    assert_int_equal(thr_index_get_info(index).tuned_queries, QUERIES);
    uint64_t exact;
    assert_true(recall_of(index, queries, QUERIES, K, 0.95f, &exact) >= 0.95);
    thr_index_free(index);
}

TEST(what_cannot_be_calibrated_is_refused) {
    float *rows = clustered_rows(N, DIMS, 6);
    thr_index_build_options options = tuned_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    options.replace = true;
    options.calibration_queries = 50;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    thr_matrix few = thr_matrix_f32(rows, 1, DIMS);
    expect_error(thr_index_tune(index, &few, &err), THR_EINVAL, "1 queries are too few");
    few.n_rows = 40;
    few.n_dims = DIMS - 1;
    expect_error(thr_index_tune(index, &few, &err), THR_EDIM, NULL);
    few.n_dims = DIMS;
    few.n_rows = 200;
    rows[170 * DIMS + 3] = NAN;
    expect_error(thr_index_tune(index, &few, &err), THR_ERANGE, "query 170 ");
    expect_error(thr_index_tune(NULL, &few, &err), THR_EINVAL, NULL);
    expect_ok(thr_index_tune(index, NULL, &err));
    thr_search_options search = {0};
    const float wrong[] = {-0.5f, 1.0001f, NAN, INFINITY};
    uint64_t ids[K];
    few.n_rows = 1;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        search.recall = wrong[i];
        expect_error(thr_index_search(index, &few, K, &search, ids, NULL, &err), THR_EINVAL, "recall");
    }
}

/* Ten items, one, and many that are all the same: nothing to learn, and answers are exact. */
TEST(tiny_and_equal_collections_answer_exactly) {
    float *rows = clustered_rows(N, DIMS, 7);
    const uint64_t sizes[] = {1, 10, THR_TUNE_LEAST_ITEMS - 1, THR_TUNE_LEAST_ITEMS};
    thr_index_build_options options = tuned_options(THR_METRIC_COSINE, THR_DTYPE_F32, 2);
    options.replace = true;
    uint64_t exact;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        expect_ok(build_rows(*state, DIR_A, rows, sizes[i], DIMS, &options, &err));
        thr_index *index = test_index_open(*state, DIR_A);
        const uint64_t tuned = thr_index_get_info(index).tuned_queries;
        assert_true(sizes[i] < THR_TUNE_LEAST_ITEMS ? tuned == 0 : tuned >= THR_TUNE_LEAST_QUERIES);
        if (sizes[i] < THR_TUNE_LEAST_ITEMS) {
            (void)recall_of(index, rows, 100, 5 < sizes[i] ? 5 : sizes[i], 0.9f, &exact);
            assert_int_equal(exact, 100);
            const thr_matrix queries = thr_matrix_f32(rows, 100, DIMS);
            expect_error(thr_index_tune(index, &queries, &err), THR_EUNSUPPORTED, NULL);
        }
        thr_index_free(index);
    }
    for (uint64_t r = 1; r < N; r++)
        memcpy(rows + r * DIMS, rows, DIMS * sizeof *rows);
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    thr_index *index = test_index_open(*state, DIR_A);
    assert_true(recall_of(index, rows, 40, K, 0.9f, &exact) == 1);
    assert_int_equal(exact, 40);
    thr_index_free(index);
}

/* The others' planes are the truth when there is nothing else. */
TEST(codes_only_are_calibrated_for_their_own_order) {
    float *rows = clustered_rows(N, DIMS, 8), *queries = clustered_rows(QUERIES, DIMS, 9);
    thr_index_build_options options = tuned_options(THR_METRIC_COSINE, THR_DTYPE_NONE, 3);
    options.replace = true;
    options.lead_bits = 1;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    assert_true(thr_index_get_info(index).tuned_queries >= THR_TUNE_LEAST_QUERIES);
    const thr_matrix all = thr_matrix_f32(queries, QUERIES, DIMS);
    uint64_t found[QUERIES * K], truth[QUERIES * K], hits = 0;
    thr_search_options search = {0};
    expect_ok(thr_index_search(index, &all, K, &search, found, NULL, &err));
    search.n_survivors = search.n_candidates = N;
    expect_ok(thr_index_search(index, &all, K, &search, truth, NULL, &err));
    for (size_t i = 0; i < QUERIES * K; i++)
        for (size_t j = i / K * K; j < i / K * K + K; j++)
            hits += found[i] == truth[j];
    assert_true((double)hits >= 0.985 * QUERIES * K);
}

/* Every third row: of the allowed ones the best are found as often as promised. */
TEST(a_filtered_search_keeps_the_promise) {
    float *rows = clustered_rows(N, DIMS, 10), *queries = clustered_rows(QUERIES, DIMS, 11);
    thr_index_build_options options = tuned_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    options.replace = true;
    options.lead_bits = 1;
    expect_ok(build_rows(*state, DIR_A, rows, N, DIMS, &options, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    uint64_t filter[(N + 63) / 64] = {0}, found[QUERIES * K], truth[QUERIES * K], hits = 0;
    for (uint64_t r = 0; r < N; r += 3)
        filter[r / 64] |= UINT64_C(1) << r % 64;
    const thr_matrix all = thr_matrix_f32(queries, QUERIES, DIMS);
    thr_search_options search = {.filter = filter, .filter_bits = N};
    expect_ok(thr_index_search(index, &all, K, &search, found, NULL, &err));
    search.exact = true;
    expect_ok(thr_index_search(index, &all, K, &search, truth, NULL, &err));
    for (size_t i = 0; i < QUERIES * K; i++)
        for (size_t j = i / K * K; j < i / K * K + K; j++)
            hits += found[i] == truth[j];
    assert_true((double)hits >= 0.985 * QUERIES * K);
}

TEST_IN_CONTEXT(2, DIR_A)
