/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_noise.c - the noise of a rotated index, measured once with random queries, is near that measured for each query
 * of any kind; other indexes have none.
 */
#include "index_support.h"
#include "little.h"

#include "index/search/memory.h"
#include "scan/margins/noise.h"
#include "scan/margins/unbias.h"
#include "scan/radius_plan.h"

static const char PLACE[] = "index-noise";

enum { N = 12000, DIMS = 32, QUERIES = 60 };

/* Rows that vary most in the first dimensions, about a common direction. */
static float *make_rows(uint64_t n, uint64_t seed) {
    float *rows = random_rows(n, DIMS, seed);
    for (uint64_t i = 0; i < n * DIMS; i++)
        rows[i] = 0.5f + rows[i] * 4 / (4 + (float)(i % DIMS));
    return rows;
}

static thr_index *build_and_open(thr_context *context, const float *rows, thr_metric metric, bool rotated) {
    thr_index_build_options options = build_options(metric, THR_DTYPE_F32, 3);
    options.rotate = rotated ? THR_ROTATE_ON : THR_ROTATE_OFF;
    test_remove_directory(PLACE);
    expect_ok(build_rows(context, PLACE, rows, N, DIMS, &options, &err));
    return test_index_open(context, PLACE);
}

/* A query's noise: measured on rows, and computed from the noise of the index. */
static void noise_of(thr_index *index, thr_scan *scan, const float *vector, thr_noise *measured, thr_noise *expected) {
    thr_search_options options = {.recall = 0.95f};
    const thr_matrix query = thr_matrix_f32(vector, 1, DIMS);
    const thr_answers answers = {.k = 10};
    const thr_job job = thr_scan_job_make(index->context, &index->corpus, &options, &answers);
    thr_scan_query screen, rescoring;
    expect_ok(thr_scan_make_room(scan, &index->corpus, 1, 1, thr_scan_most_survivors(&job), &err));
    thr_scan_query_prepare(&job, &query, 0, scan->lanes, &screen);
    rescoring = screen;
    assert_true(thr_scan_unbias_screen(&screen) && thr_scan_unbias_rescoring(&rescoring));
    *expected = thr_scan_noise_of_corpus(&screen);
    *measured = thr_scan_noise_measure(&job, &screen, &rescoring, scan->lanes);
}

static double screened_by(const thr_noise *noise) {
    return hypot(noise->random, noise->query);
}

TEST(every_kind_of_query_has_the_noise_of_the_index) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = make_rows(N, 1), *queries = make_rows(QUERIES, 2);
    for (size_t m = 0; m < 3; m++) {
        OWNED(thr_index, index) = build_and_open(context, rows, metrics[m], true);
        thr_search_memory *memory = NULL;
        expect_ok(thr_index_memory_take(index, &memory, &err));
        assert_true(index->noise.screened > 0 && index->noise.rescored > 0);
        double screened = 0, rescored = 0, n = 0;
        for (uint64_t q = 0; q < QUERIES; q++) {
            thr_noise measured, expected;
            for (uint32_t d = 0; d < DIMS && q % 3 != 0; d++) /* items; negated ones; a single component */
                queries[q * DIMS + d] *= q % 3 == 1 ? -1.0f : d == q % DIMS ? 1.0f : 0.0f;
            noise_of(index, memory->scan, queries + q * DIMS, &measured, &expected);
            assert_true(measured.known);
            if (!expected.known) /* a few have too few effective dimensions */
                continue;
            n++;
            const double screen = screened_by(&measured) / screened_by(&expected);
            screened += screen;
            rescored += measured.rescored / expected.rescored;
            assert_true(screen < 1.5 && measured.rescored < 1.5 * expected.rescored);
        }
        assert_true(n >= 0.9 * QUERIES && fabs(screened / n - 1) < 0.12 && fabs(rescored / n - 1) < 0.12);
        thr_index_memory_return(index, memory);
    }
}

TEST(other_indexes_have_no_noise) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = make_rows(N, 1);
    thr_search_memory *memory = NULL;
    OWNED(thr_index, index) = build_and_open(context, rows, THR_METRIC_L2, false);
    expect_ok(thr_index_memory_take(index, &memory, &err));
    assert_true(index->noise.screened == 0 && index->noise.rescored == 0);
    thr_noise measured, expected;
    noise_of(index, memory->scan, rows, &measured, &expected);
    assert_true(measured.known && !expected.known);
    thr_index_memory_return(index, memory);
}

/* A rotated query can still have few effective dimensions. Its errors are not those of random queries. */
TEST(a_query_of_few_components_is_measured) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *rows = make_rows(N, 1);
    thr_search_memory *memory = NULL;
    OWNED(thr_index, index) = build_and_open(context, rows, THR_METRIC_IP, true);
    expect_ok(thr_index_memory_take(index, &memory, &err));
    thr_scan_query query = {.corpus = &index->corpus, .geometry = {.part_length = 1, .effective_dims = DIMS / 3.0}};
    query.code.n_dims = DIMS;
    query.code.query_bits = THR_DEFAULT_QUERY_BITS;
    assert_true(thr_scan_noise_of_corpus(&query).known);
    query.geometry.effective_dims = 4;
    assert_false(thr_scan_noise_of_corpus(&query).known);
    thr_index_memory_return(index, memory);
}

/*
 * All items of a tight cluster have the error of the query's own code in common, which is large if the query has one
 * bit a dimension.
 */
TEST(coarse_queries_of_clusters_keep_the_recall) {
    enum { CLUSTERS = 500, MANY = 240, K = 10 };
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    float *centres = random_rows(CLUSTERS, DIMS, 1), *rows = random_rows(N, DIMS, 2);
    float *vectors = random_rows(MANY, DIMS, 3), scores[MANY * K], exact[MANY * K];
    uint64_t ids[MANY * K];
    const thr_matrix queries = thr_matrix_f32(vectors, MANY, DIMS);
    for (uint64_t i = 0; i < N * DIMS; i++)
        rows[i] = centres[i / DIMS % CLUSTERS * DIMS + i % DIMS] + 0.001f * rows[i];
    OWNED(thr_index, index) = build_and_open(context, rows, THR_METRIC_IP, true);
    thr_search_options options = {.exact = true};
    expect_ok(thr_index_search(index, &queries, K, &options, ids, exact, &err));
    options.exact = false;
    options.recall = 0.95f;
    for (options.query_bits = 1; options.query_bits <= 4; options.query_bits++) {
        size_t found = 0;
        expect_ok(thr_index_search(index, &queries, K, &options, ids, scores, &err));
        for (size_t i = 0; i < MANY * K; i++)
            found += scores[i] >= exact[i / K * K + K - 1];
        assert_true((double)found >= 0.945 * MANY * K);
    }
}

static int clean(void **state) {
    (void)state;
    test_remove_directory(PLACE);
    return 0;
}

TEST_GROUP(NULL, clean)
