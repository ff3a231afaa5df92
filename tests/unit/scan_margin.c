/* SPDX-License-Identifier: Apache-2.0 */
/* scan_margin.c - a recall that margins keep: for queries unlike the items, with few survivors, and the same bits. */
#include "owned.h"

#include "naive.h"
#include "scan/margins/margin.h"

enum { ITEMS = 8000, DIMS = 24, QUERIES = 40, K = 10, KINDS = 4 };

static const struct {
    thr_metric metric;
    uint32_t bits, lead;
    thr_dtype keep;
} CASES[] = {
    {THR_METRIC_COSINE, 3, 1, THR_DTYPE_F32}, {THR_METRIC_IP, 3, 2, THR_DTYPE_F32},
    {THR_METRIC_L2, 4, 1, THR_DTYPE_F16},     {THR_METRIC_IP, 2, 0, THR_DTYPE_F32},
    {THR_METRIC_L2, 3, 0, THR_DTYPE_I8},
};
enum { N_CASES = COUNT_OF(CASES) };

static const char *const kinds[KINDS] = {"near a row", "means of five", "negated", "unrelated"};

/* Rows of several lengths that vary most in the first dimensions: errors depend on the direction. */
static float *make_rows(uint64_t *rng) {
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows);
    test_gaussian(rng, rows, (size_t)ITEMS * DIMS);
    for (uint32_t i = 0; i < ITEMS; i++)
        for (uint32_t d = 0; d < DIMS; d++)
            rows[i * DIMS + d] *= (0.5f + (float)(i % 11) / 10) * 3 / (3 + (float)d);
    return rows;
}

static void make_query(uint64_t *rng, const float *rows, int kind, float *query) {
    float noise[DIMS];
    test_gaussian(rng, noise, DIMS);
    memset(query, 0, DIMS * sizeof *query);
    for (int i = 0; i < (kind == 1 ? 5 : 1); i++) {
        const float *row = rows + (size_t)thr_rng_below(rng, ITEMS) * DIMS;
        for (uint32_t d = 0; d < DIMS; d++)
            query[d] += kind == 3 ? noise[d] : (kind == 2 ? -row[d] : row[d]) + 0.1f * noise[d];
    }
}

static float *make_queries(uint64_t *rng, const float *rows, int kind) {
    float *queries = test_new((size_t)QUERIES * DIMS, sizeof *queries);
    for (int q = 0; q < QUERIES; q++)
        make_query(rng, rows, kind, queries + (size_t)q * DIMS);
    return queries;
}

/* NULL if the processor lacks the level. */
static thr_context *try_context(uint32_t n_threads, thr_isa isa) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.isa = isa;
    options.n_threads = n_threads;
    const thr_status status = thr_context_create(&options, &context, &err);
    assert_true(status == THR_OK || status == THR_EUNSUPPORTED);
    return context;
}

static thr_search_options options_of(float recall, uint64_t n_rows) {
    thr_search_options options = {.recall = recall};
    options.n_survivors = options.n_candidates = n_rows;
    return options;
}

static thr_status search(thr_context *context, const test_corpus *corpus, const float *queries, uint64_t n,
                         const thr_search_options *options, uint64_t *ids, float *scores, thr_error *error) {
    const thr_matrix matrix = thr_matrix_f32(queries, n, corpus->scan.quantiser->n_dims);
    const thr_answers answers = {.k = K, .ids = ids, .scores = scores};
    OWNED(thr_scan, scan) = NULL;
    thr_status status = thr_scan_create(context, &scan, error);
    if (status == THR_OK)
        status = thr_scan_search(scan, &corpus->scan, &matrix, options, &answers, error);
    return status;
}

/* The share of the true best K that a search finds: of scores that reach the K-th best. */
static double measure_recall(thr_context *context, const test_corpus *corpus, const float *queries,
                             const thr_search_options *options) {
    uint64_t ids[QUERIES * K];
    float truth[QUERIES * K], scores[QUERIES * K];
    thr_search_options exact = *options;
    size_t n = 0;
    exact.exact = true;
    expect_ok(search(context, corpus, queries, QUERIES, &exact, ids, truth, &err));
    expect_ok(search(context, corpus, queries, QUERIES, options, ids, scores, &err));
    for (size_t i = 0; i < (size_t)QUERIES * K; i++)
        n += scores[i] >= truth[i / K * K + K - 1];
    return (double)n / (QUERIES * K);
}

static void make_corpus(test_corpus *corpus, int i, const float *rows) {
    const test_shape shape = {.n_items = ITEMS,
                              .n_dims = DIMS,
                              .bits = CASES[i].bits,
                              .lead = CASES[i].lead,
                              .metric = CASES[i].metric,
                              .keep = CASES[i].keep};
    test_target_make(corpus, &shape, rows);
}

/* With ten survivors, counts alone find few of the best; margins keep the recall of every kind of query. */
TEST(every_kind_of_query_gets_its_recall) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    uint64_t rng = test_seed();
    float *rows = make_rows(&rng);
    uint64_t *filter = test_filter(&rng, ITEMS, 3);
    for (int i = 0; i < N_CASES; i++) {
        test_corpus corpus;
        make_corpus(&corpus, i, rows);
        for (int kind = 0; kind < KINDS; kind++) {
            float *queries = make_queries(&rng, rows, kind);
            for (int round = 0; round < 4; round++) {
                thr_search_options options = options_of(round % 2 == 0 ? 0.9f : 0.99f, K);
                options.filter = round < 2 ? NULL : filter;
                const double recall = measure_recall(context, &corpus, queries, &options);
                assert_case(recall >= (double)options.recall - 0.02,
                            "seed %llu, case %d, queries %s, round %d: a recall of %.4f, not %.2f",
                            (unsigned long long)test_seed(), i, kinds[kind], round, recall, (double)options.recall);
            }
            const thr_search_options counts = options_of(0, K);
            assert_true(measure_recall(context, &corpus, queries, &counts) < 0.85);
        }
        test_target_free(&corpus);
    }
}

/* Factors over many orders of magnitude: a margin must be that of rows near the query. */
/* Codes without rotation clip large components. The best items of such a query are those that are clipped most. */
TEST(queries_of_few_components_get_their_recall) {
    enum { MANY = 64, SURVIVORS = 1000 }; /* fewer cause a second pass, which mends most of these queries */
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    uint64_t rng = test_seed();
    float *rows = test_new((size_t)ITEMS * MANY, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ITEMS * MANY);
    for (int i = 0; i < N_CASES; i++) {
        const test_shape shape = {.n_items = ITEMS,
                                  .n_dims = MANY,
                                  .bits = CASES[i].bits,
                                  .lead = CASES[i].lead,
                                  .metric = CASES[i].metric,
                                  .keep = CASES[i].keep};
        test_corpus corpus;
        test_target_make(&corpus, &shape, rows);
        for (uint32_t n = 1; n <= MANY; n *= 2) {
            float *queries = test_new((size_t)QUERIES * MANY, sizeof *queries);
            for (size_t q = 0; q < QUERIES; q++)
                for (uint32_t d = 0; d < n; d++)
                    test_gaussian(&rng, &queries[q * MANY + (q + d) % MANY], 1);
            const thr_search_options options = options_of(0.9f, SURVIVORS);
            const double recall = measure_recall(context, &corpus, queries, &options);
            assert_case(recall >= 0.88, "seed %llu, case %d, %u components: a recall of %.4f, not 0.9",
                        (unsigned long long)test_seed(), i, n, recall);
        }
        test_target_free(&corpus);
    }
}

TEST(items_of_very_different_lengths_keep_their_recall) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    uint64_t rng = test_seed();
    float *rows = make_rows(&rng), *queries = make_queries(&rng, rows, 3);
    for (uint32_t i = 0; i < ITEMS; i++) {
        const float times = powf(10, (float)(i % 61) / 10 - 3);
        for (uint32_t d = 0; d < DIMS; d++)
            rows[i * DIMS + d] *= times;
    }
    for (int i = 0; i < N_CASES; i++) {
        test_corpus corpus;
        make_corpus(&corpus, i, rows);
        for (uint64_t survivors = K; survivors <= 32 * K; survivors *= 8) {
            const thr_search_options options = options_of(0.95f, survivors);
            const double recall = measure_recall(context, &corpus, queries, &options);
            assert_case(recall >= 0.93, "seed %llu, case %d, %d survivors: a recall of %.4f",
                        (unsigned long long)test_seed(), i, (int)survivors, recall);
        }
        test_target_free(&corpus);
    }
}

/* Thousands of rows share the best score: the first of them are the answer, as in an exact scan. */
TEST(repeated_items_are_answered_in_order) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    uint64_t rng = test_seed(), ids[QUERIES * K], truth[QUERIES * K];
    float *rows = make_rows(&rng), *queries = make_queries(&rng, rows, 0);
    const thr_search_options options = options_of(0.95f, K);
    thr_search_options exact = options;
    exact.exact = true;
    for (uint32_t i = 0; i < ITEMS; i++)
        memcpy(rows + (size_t)i * DIMS, rows + (size_t)(i % 3 == 0 ? i % 30 : 0) * DIMS, DIMS * sizeof *rows);
    for (int q = 0; q < QUERIES; q++)
        memcpy(queries + (size_t)q * DIMS, rows + (size_t)(q % 30) * DIMS, DIMS * sizeof *rows);
    for (int i = 0; i < N_CASES; i++) {
        test_corpus corpus;
        make_corpus(&corpus, i, rows);
        expect_ok(search(context, &corpus, queries, QUERIES, &exact, truth, NULL, &err));
        expect_ok(search(context, &corpus, queries, QUERIES, &options, ids, NULL, &err));
        assert_memory_equal(ids, truth, sizeof ids);
        test_target_free(&corpus);
    }
}

/* Level, threads and batch do not change an answer; nor does the number of survivors make it worse. */
TEST(answers_depend_on_nothing_but_the_question) {
    uint64_t rng = test_seed();
    float *rows = make_rows(&rng), *queries = make_queries(&rng, rows, 3);
    for (int i = 0; i < N_CASES; i++) {
        test_corpus corpus;
        uint64_t wanted[QUERIES * K], ids[QUERIES * K];
        float wanted_scores[QUERIES * K], scores[QUERIES * K];
        bool first = true;
        make_corpus(&corpus, i, rows);
        const thr_search_options options = options_of(0.9f, 3 * K);
        for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
            for (uint32_t n_threads = 1; n_threads <= 3; n_threads++) {
                OWNED(thr_context, context) = try_context(n_threads, (thr_isa)isa);
                if (context == NULL)
                    continue;
                const uint64_t batch = n_threads == 2 ? QUERIES : n_threads == 1 ? 7 : 1;
                for (uint64_t q = 0; q < QUERIES; q += batch)
                    expect_ok(search(context, &corpus, queries + q * DIMS, QUERIES - q < batch ? QUERIES - q : batch,
                                     &options, ids + q * K, scores + q * K, &err));
                if (!first) {
                    assert_memory_equal(ids, wanted, sizeof ids);
                    assert_memory_equal(scores, wanted_scores, sizeof scores);
                }
                memcpy(wanted, ids, sizeof ids);
                memcpy(wanted_scores, scores, sizeof scores);
                first = false;
            }
        test_target_free(&corpus);
    }
}

/* Against the definition, by trying many z. */
TEST(the_margin_is_the_least_that_keeps_the_share) {
    thr_candidate items[5] = {{.score = 9}, {.score = 4}, {.score = 2}, {.score = 1}, {.score = 1}};
    for (double miss = 0.01; miss < 0.6; miss *= 1.7) {
        double best = 3;
        for (double z = 3; z >= 0; z -= 1e-3) {
            double sum = 0;
            for (int i = 0; i < 5; i++)
                sum += erfc((z + ((double)items[i].score - 1) / 2) / sqrt(2)) / 2;
            if (sum / 5 <= miss)
                best = z;
        }
        const double z = thr_scan_margin_z(items, &(thr_reach){1, 5, false}, 2, 3, miss);
        /* The last row has the least score, so as the one that counts more it changes nothing. */
        assert_true(thr_scan_margin_z(items, &(thr_reach){1, 4, true}, 2, 3, miss) == z);
        assert_case(fabs(z - best) < 3.0 / 128, "missing %.3f takes a z of %.4f, not %.4f", miss, best, z);
    }
    assert_true(thr_scan_margin_z(items, &(thr_reach){9, 1, false}, 2, 3, 1e-9) == 3); /* never more than allowed */
    assert_true(thr_scan_margin_z(items, &(thr_reach){1, 5, false}, 0, 3, 0.1) == 0);  /* estimates without errors */
    assert_true(thr_scan_margin_z(items, &(thr_reach){1, 0, true}, 2, 3, 0.1) == 3);   /* no row is known */
}

TEST(memory_may_end_at_any_allocation) {
    uint64_t rng = test_seed(), ids[3 * K];
    float *rows = make_rows(&rng), *queries = make_queries(&rng, rows, 3);
    test_corpus corpus;
    make_corpus(&corpus, 0, rows);
    const thr_search_options options = options_of(0.99f, K);
    for (uint64_t n_queries = 1; n_queries <= 3; n_queries += 2) {
        test_memory memory = {0};
        test_oom oom = test_oom_start(&memory);
        oom.tolerant = true; /* the choice of a kernel does without memory */
        while (test_oom_next(&oom)) {
            OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, &memory);
            test_oom_arm(&oom);
            const thr_status status = search(context, &corpus, queries, n_queries, &options, ids, NULL, &err);
            (void)test_oom_check(&oom, status, &err, "no memory");
        }
        assert_true(oom.n_failed > 10);
    }
    test_target_free(&corpus);
}
