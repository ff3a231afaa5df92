/* SPDX-License-Identifier: Apache-2.0 */
/* index_least_scores.c - searches for items that reach a score, and the number of items that a search reads. */
#include "index_support.h"

static const char DIR_A[] = "index-least-scores";
enum { N = 6000, DIMS = 24, N_QUERIES = 40, K = 20 };

typedef struct answer {
    uint64_t ids[N_QUERIES * K], n_read[N_QUERIES];
    float scores[N_QUERIES * K];
    uint8_t certified[N_QUERIES];
} answer;

static answer *search(thr_index *index, const float *queries, const thr_search_options *options) {
    const thr_matrix m = {
        .data = queries, .n_rows = N_QUERIES, .n_dims = DIMS, .dtype = THR_DTYPE_F32, .stride = DIMS * sizeof(float)};
    answer *a = test_new(1, sizeof *a);
    thr_search_options given = *options;
    given.n_read = a->n_read;
    given.certified = options->certified == NULL ? NULL : a->certified;
    expect_ok(thr_index_search(index, &m, K, &given, a->ids, a->scores, &err));
    return a;
}

/* Every seventh query's limit lets nothing through, every fifth has none; the others' are scores of their best K. */
static void choose_limits(const answer *truth, float *least) {
    for (size_t q = 0; q < N_QUERIES; q++)
        least[q] = q % 7 == 6 ? truth->scores[q * K] + 1 : q % 5 == 4 ? -INFINITY : truth->scores[q * K + q % K];
}

static uint64_t sum_read(const answer *a) {
    uint64_t sum = 0;
    for (size_t q = 0; q < N_QUERIES; q++)
        sum += a->n_read[q];
    return sum;
}

/* a is an answer without limits, b one with them, by the same options. */
static void expect_cut(const answer *a, const answer *b, const float *least) {
    for (size_t q = 0; q < N_QUERIES; q++)
        for (size_t i = q * K; i < (q + 1) * K; i++) {
            const bool kept = a->scores[i] >= least[q];
            assert_true(b->ids[i] == (kept ? a->ids[i] : THR_NO_ID));
            assert_true(kept ? b->scores[i] == a->scores[i] : b->scores[i] == -INFINITY);
        }
}

/* By codes and vectors: scores are the true ones, and few items that reach their limit are missed. */
static void check_promise(const answer *truth, const answer *found, const float *least, double recall) {
    size_t wanted = 0, n = 0;
    for (size_t q = 0; q < N_QUERIES; q++)
        for (size_t i = q * K, at = q * K; i < (q + 1) * K; i++) {
            wanted += truth->scores[i] >= least[q];
            if (truth->scores[i] < least[q] || found->ids[at] != truth->ids[i])
                continue;
            assert_true(found->scores[at++] == truth->scores[i]);
            n++;
        }
    assert_case((double)n >= (recall - 0.01) * (double)wanted, "%zu of %zu items at a recall of %.3f", n, wanted,
                recall);
    for (size_t q = 0; q < N_QUERIES; q++)
        assert_true(found->ids[q * K] == THR_NO_ID || found->scores[q * K] >= least[q]);
}

static void check_index(thr_index *index, const float *queries, bool vectors, bool flat) {
    thr_search_options options = {0};
    uint8_t certified;
    float least[N_QUERIES];
    options.exact = vectors;
    if (!vectors)
        options.n_survivors = N;
    answer *truth = search(index, queries, &options);
    choose_limits(truth, least);
    options.least_scores = least;
    answer *cut = search(index, queries, &options);
    expect_cut(truth, cut, least);
    options.exact = false;
    for (int i = 0; i < 4 && vectors; i++) {
        options.recall = i % 2 == 0 ? 0.9f : 0.99f;
        options.certified = i < 2 ? NULL : &certified;
        cut = search(index, queries, &options);
        check_promise(truth, cut, least, (double)options.recall);
        options.least_scores = NULL;
        answer *all = search(index, queries, &options);
        options.least_scores = least;
        for (size_t q = 0; q < N_QUERIES && options.certified != NULL; q++)
            for (size_t j = q * K; j < (q + 1) * K && cut->certified[q]; j++)
                assert_true(cut->ids[j] == (truth->scores[j] >= least[q] ? truth->ids[j] : THR_NO_ID));
        if (i < 2 && !flat)
            assert_true(sum_read(cut) < sum_read(all));
    }
}

TEST(limits_cut_answers) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(N_QUERIES, DIMS, 2);
    OWNED(thr_context, context) = NULL;
    expect_ok(thr_context_create(NULL, &context, &err));
    for (int i = 0; i < 12; i++) {
        const bool vectors = i % 2 == 0, flat = i / 2 % 2 == 1;
        thr_index_build_options options = build_options(metrics[i / 4], vectors ? THR_DTYPE_F32 : THR_DTYPE_NONE, 3);
        options.lead_bits = flat ? 3 : 1;
        options.segment_rows = 2500;
        test_remove_directory(DIR_A);
        expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
        OWNED(thr_index, index) = test_index_open(context, DIR_A);
        check_index(index, queries, vectors, flat);
    }
    test_remove_directory(DIR_A);
}

TEST(limits_that_are_no_scores) {
    float *rows = random_rows(100, DIMS, 1), least[2] = {0, NAN}, scores[2];
    const thr_matrix m = {
        .data = rows, .n_rows = 2, .n_dims = DIMS, .dtype = THR_DTYPE_F32, .stride = DIMS * sizeof(float)};
    thr_index_build_options build = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 2);
    thr_search_options options = {0};
    thr_radius_result *result = NULL;
    OWNED(thr_context, context) = NULL;
    uint64_t ids[2];
    test_remove_directory(DIR_A);
    expect_ok(thr_context_create(NULL, &context, &err));
    expect_ok(build_rows(context, DIR_A, rows, 100, DIMS, &build, &err));
    thr_index *index = test_index_open(context, DIR_A);
    options.least_scores = least;
    expect_error(thr_index_search(index, &m, 1, &options, ids, scores, &err), THR_EINVAL, "query 1");
    least[1] = INFINITY;
    expect_error(thr_index_search(index, &m, 1, &options, ids, scores, &err), THR_EINVAL, NULL);
    least[1] = 0;
    expect_error(thr_index_search_radius(index, &m, 0, &options, &result, &err), THR_EINVAL, NULL);
    thr_index_free(index);
    test_remove_directory(DIR_A);
}
