/* SPDX-License-Identifier: Apache-2.0 */
/* index_radius.c - all items within a radius of an index on disk: answers, ids, options, and refusals. */
#include "index_support.h"

static const char DIR_A[] = "index-radius";
enum { N = 300, DIMS = 12, QUERIES = 6 };

static thr_index *build_and_open(thr_context *context, const float *rows, const thr_index_build_options *options) {
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, options, &err));
    return test_index_open(context, DIR_A);
}

static thr_search_options exact_options(void) {
    thr_search_options options = {.recall = 1};
    return options;
}

/* The best of all items of an exact search for the best N, down to least. */
static void expect_all_from(thr_index *index, const thr_matrix *queries, float least, const thr_search_options *options,
                            const thr_radius_result *result) {
    uint64_t *ids = test_new(N * QUERIES, sizeof *ids), at = 0;
    float *scores = test_new(N * QUERIES, sizeof *scores);
    thr_search_options best = *options;
    best.exact = true;
    best.certified = NULL;
    expect_ok(thr_index_search(index, queries, N, &best, ids, scores, &err));
    assert_int_equal(result->n_queries, queries->n_rows);
    assert_int_equal(result->offsets[0], 0);
    for (uint64_t q = 0; q < queries->n_rows; q++) {
        assert_int_equal(result->offsets[q], at);
        for (uint64_t i = q * N; i < (q + 1) * N && ids[i] != THR_NO_ID && scores[i] >= least; i++, at++) {
            assert_int_equal(result->ids[at], ids[i]);
            assert_true(result->scores[at] == scores[i]);
        }
        /* items whose given vectors may be within the radius */
        while (thr_index_get_info(index).keep != THR_DTYPE_F32 && at < result->offsets[q + 1])
            assert_true(result->scores[at++] < least);
    }
    assert_int_equal(result->offsets[queries->n_rows], at);
}

TEST(a_radius_search_finds_what_the_best_of_all_begin_with) {
    float *rows = random_rows(N, DIMS, 5), *queries = random_rows(QUERIES, DIMS, 6);
    uint64_t ids[N], filter[(N + 63) / 64];
    uint8_t certified[QUERIES];
    size_t n_certified = 0;
    for (uint64_t i = 0; i < N; i++)
        ids[i] = 7 * (N - i);
    for (size_t i = 0; i < COUNT_OF(filter); i++)
        filter[i] = UINT64_C(0xf0f0f0f00f0f0f0f);
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    for (int metric = 0; metric < 3; metric++)
        for (int given = 0; given < 2; given++) {
            thr_index_build_options build = build_options((thr_metric)metric, THR_DTYPE_F16, 4);
            build.ids = given ? ids : NULL;
            build.n_ids = given ? N : 0;
            build.segment_rows = 128;
            OWNED(thr_index, index) = build_and_open(context, rows, &build);
            thr_search_options options = exact_options();
            options.certified = certified;
            for (int filtered = 0; filtered < 2; filtered++) {
                const float least = metric == THR_METRIC_L2 ? -8 : 0.3f;
                OWNED(thr_radius_result, result) = NULL;
                options.filter = filtered ? filter : NULL;
                options.filter_bits = N;
                expect_ok(thr_index_search_radius(index, &matrix, least, &options, &result, &err));
                expect_all_from(index, &matrix, least, &options, result);
                assert_in_range(result->offsets[QUERIES], 10, N * QUERIES - 10);
                for (size_t q = 0; q < QUERIES; q++) /* not if the rounding decides about an item at the border */
                    n_certified += certified[q];
            }
        }
    assert_true(n_certified > 0);
    test_remove_directory(DIR_A);
}

TEST(no_queries_and_no_items_make_empty_answers) {
    float *rows = random_rows(N, DIMS, 7);
    OWNED(thr_context, context) = test_context(3, THR_ISA_BEST, NULL);
    const thr_index_build_options build = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    thr_index *index = build_and_open(context, rows, &build);
    const thr_matrix none = thr_matrix_f32(rows, 0, DIMS), two = thr_matrix_f32(rows, 2, DIMS);
    thr_radius_result *result = NULL;
    expect_ok(thr_index_search_radius(index, &none, 0.5f, NULL, &result, &err));
    assert_int_equal(result->n_queries, 0);
    assert_int_equal(result->offsets[0], 0);
    thr_radius_result_free(result);
    expect_ok(thr_index_search_radius(index, &two, 1.5f, NULL, &result, &err));
    for (size_t q = 0; q <= 2; q++)
        assert_int_equal(result->offsets[q], 0);
    thr_radius_result_free(result);
    expect_ok(thr_index_search_radius(index, &two, -1.5f, NULL, &result, &err));
    for (size_t q = 0; q <= 2; q++)
        assert_int_equal(result->offsets[q], q * N);
    thr_radius_result_free(result);
    thr_radius_result_free(NULL);
    thr_index_free(index);
    test_remove_directory(DIR_A);
}

TEST(missing_arguments_and_wrong_scores_are_refused) {
    float *rows = random_rows(N, DIMS, 8);
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_matrix matrix = thr_matrix_f32(rows, 1, DIMS), narrow = thr_matrix_f32(rows, 1, DIMS - 1);
    const thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    thr_index *index = build_and_open(context, rows, &build);
    thr_radius_result *result = (thr_radius_result *)(void *)rows;
    expect_error(thr_index_search_radius(NULL, &matrix, -1, NULL, &result, &err), THR_EINVAL, NULL);
    expect_error(thr_index_search_radius(index, NULL, -1, NULL, &result, &err), THR_EINVAL, NULL);
    expect_error(thr_index_search_radius(index, &matrix, -1, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_search_radius(index, &matrix, NAN, NULL, &result, &err), THR_EINVAL, NULL);
    assert_null(result);
    assert_non_null(strstr(err.text, "NaN"));
    expect_error(thr_index_search_radius(index, &matrix, 4, NULL, &result, &err), THR_EINVAL,
                 "for all within a distance of 4 give -16");
    expect_error(thr_index_search_radius(index, &narrow, -1, NULL, &result, &err), THR_EDIM, NULL);
    rows[3] = INFINITY;
    expect_error(thr_index_search_radius(index, &matrix, -1, NULL, &result, &err), THR_ERANGE, NULL);
    assert_null(result);
    thr_index_free(index);
    test_remove_directory(DIR_A);
}

/* The default options with one change to o, their copy: the search is refused, and the error has this part. */
#define refuse_options(change, part)                                                                                   \
    do {                                                                                                               \
        thr_search_options o = {0};                                                                                    \
        thr_radius_result *result = NULL;                                                                              \
        (change);                                                                                                      \
        expect_error(thr_index_search_radius(index, &matrix, -1, &o, &result, &err), THR_EINVAL, (part));              \
        assert_null(result);                                                                                           \
    } while (0)

TEST(options_that_a_radius_search_does_not_have_are_refused) {
    float *rows = random_rows(N, DIMS, 8);
    const uint64_t filter[(N + 63) / 64] = {1};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_matrix matrix = thr_matrix_f32(rows, 1, DIMS);
    const thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    thr_index *index = build_and_open(context, rows, &build);
    refuse_options(o.n_candidates = 10, "for the best k");
    refuse_options(o.n_survivors = 10, "for the best k");
    refuse_options(o.recall = -1, "");
    refuse_options(o.query_bits = 9, "");
    refuse_options((o.filter = filter, o.filter_bits = N - 1), "");
    thr_index_free(index);
    test_remove_directory(DIR_A);
}

TEST(an_exact_search_needs_vectors) {
    float *rows = random_rows(N, DIMS, 8);
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_matrix matrix = thr_matrix_f32(rows, 1, DIMS);
    const thr_index_build_options build = build_options(THR_METRIC_COSINE, THR_DTYPE_NONE, 3);
    thr_index *index = build_and_open(context, rows, &build);
    thr_radius_result *result = NULL;
    thr_search_options options = {.exact = true};
    expect_error(thr_index_search_radius(index, &matrix, 0, &options, &result, &err), THR_EUNSUPPORTED, NULL);
    thr_index_free(index);
    test_remove_directory(DIR_A);
}

/* N / 2 rows, of unit length for ip, else with values that float16 holds; then the same, for cosine times 3. */
static float *pairs_of_rows(thr_metric metric) {
    float *rows = random_rows(N, DIMS, 11);
    for (size_t i = 0; i < N / 2; i++) {
        double square = 0;
        for (size_t d = 0; d < DIMS; d++)
            square += (double)rows[i * DIMS + d] * (double)rows[i * DIMS + d];
        for (size_t d = 0; d < DIMS; d++) {
            float *x = &rows[i * DIMS + d];
            *x = metric == THR_METRIC_IP ? (float)((double)*x / sqrt(square)) : roundf(*x * 256) / 256;
            x[(size_t)N / 2 * DIMS] = metric == THR_METRIC_COSINE ? 3 * *x : *x;
        }
    }
    return rows;
}

/* Every row finds itself and its partner, and no score is better than that of an equal item. */
static void check_self_matches(thr_index *index, thr_metric metric, const float *rows) {
    const thr_matrix queries = thr_matrix_f32(rows, N / 2, DIMS);
    const float best = metric == THR_METRIC_L2 ? 0 : 1;
    const thr_search_options options = exact_options();
    thr_radius_result *result = NULL;
    uint64_t ids[N];
    float scores[N];
    expect_ok(thr_index_search_radius(index, &queries, best, &options, &result, &err));
    for (uint64_t q = 0; q < N / 2; q++) {
        assert_int_equal(result->offsets[q], 2 * q);
        assert_int_equal(result->ids[2 * q], q);
        assert_int_equal(result->ids[2 * q + 1], q + N / 2);
        for (size_t i = 0; i < 2; i++)
            assert_true(metric == THR_METRIC_IP ? fabsf(result->scores[2 * q + i] - 1) < 1e-6f
                                                : result->scores[2 * q + i] == best);
    }
    thr_radius_result_free(result);
    expect_ok(thr_index_search(index, &queries, 2, NULL, ids, scores, &err));
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(ids[i], i / 2 + i % 2 * (N / 2));
        assert_true(metric == THR_METRIC_IP || scores[i] == best);
    }
}

TEST(every_item_is_within_the_best_score_of_itself_and_its_multiples) {
    static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_F16};
    for (int metric = 0; metric < 3; metric++) {
        float *rows = pairs_of_rows((thr_metric)metric);
        for (size_t i = 0; i < (metric == THR_METRIC_IP ? 1 : 2); i++)
            for (int level = THR_ISA_SCALAR; level <= THR_ISA_BEST; level += THR_ISA_BEST - THR_ISA_SCALAR) {
                OWNED(thr_context, context) = test_context(2, (thr_isa)level, NULL);
                const thr_index_build_options build = build_options((thr_metric)metric, keeps[i], 3);
                OWNED(thr_index, index) = build_and_open(context, rows, &build);
                check_self_matches(index, (thr_metric)metric, rows);
            }
    }
    test_remove_directory(DIR_A);
}

TEST(cosines_are_between_minus_1_and_1) {
    static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};
    float *rows = random_rows(N, DIMS, 12);
    uint64_t *ids = test_new(N * N, sizeof *ids);
    float *scores = test_new(N * N, sizeof *scores);
    for (size_t i = 0; i < (size_t)N / 2 * DIMS; i++)
        rows[(size_t)N / 2 * DIMS + i] = -5 * rows[i];
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    const thr_matrix queries = thr_matrix_f32(rows, N, DIMS);
    for (size_t i = 0; i < COUNT_OF(keeps); i++) {
        const thr_index_build_options build = build_options(THR_METRIC_COSINE, keeps[i], 3);
        const thr_search_options options = exact_options();
        OWNED(thr_index, index) = build_and_open(context, rows, &build);
        OWNED(thr_radius_result, result) = NULL;
        expect_ok(thr_index_search(index, &queries, N, &options, ids, scores, &err));
        for (size_t j = 0; j < (size_t)N * N; j++)
            assert_true(fabsf(scores[j]) <= 1);
        expect_ok(thr_index_search_radius(index, &queries, 0.9f, &options, &result, &err));
        for (size_t j = 0; j < result->offsets[N]; j++)
            assert_true(result->scores[j] <= 1);
    }
    test_remove_directory(DIR_A);
}

TEST(codes_alone_answer_with_the_estimates_of_a_search) {
    float *rows = random_rows(N, DIMS, 9);
    uint64_t ids[N];
    float scores[N];
    uint8_t certified = 7;
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const thr_matrix matrix = thr_matrix_f32(rows, 1, DIMS);
    const thr_index_build_options build = build_options(THR_METRIC_IP, THR_DTYPE_NONE, 3);
    thr_index *index = build_and_open(context, rows, &build);
    thr_search_options options = exact_options();
    options.n_survivors = N;
    expect_ok(thr_index_search(index, &matrix, N, &options, ids, scores, &err));
    options.n_survivors = 0;
    options.certified = &certified;
    thr_radius_result *result = NULL;
    expect_ok(thr_index_search_radius(index, &matrix, scores[20], &options, &result, &err));
    assert_int_equal(result->offsets[1], 21);
    assert_memory_equal(result->ids, ids, 21 * sizeof *ids);
    assert_memory_equal(result->scores, scores, 21 * sizeof *scores);
    assert_int_equal(certified, 0);
    thr_radius_result_free(result);
    thr_index_free(index);
    test_remove_directory(DIR_A);
}

TEST(every_allocation_may_fail) {
    float *rows = random_rows(N, DIMS, 10);
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    const thr_index_build_options build = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    const thr_matrix matrix = thr_matrix_f32(rows, QUERIES, DIMS);
    thr_index_free(build_and_open(context, rows, &build));
    test_oom oom = test_oom_start(&memory);
    oom.tolerant = true; /* the choice of a kernel does without memory */
    while (test_oom_next(&oom)) {
        OWNED(thr_radius_result, result) = NULL;
        OWNED(thr_index, index) = test_index_open(context, DIR_A);
        test_oom_arm(&oom);
        const thr_status status = thr_index_search_radius(index, &matrix, 0.1f, NULL, &result, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
        assert_true((status == THR_OK) == (result != NULL));
    }
    assert_true(oom.n_failed > 10);
    test_remove_directory(DIR_A);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}
