/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_nested.c - searches of nested codes, alone and in groups, against the search by the book in every bit: the
 * leading planes choose the survivors, all planes the candidates, the vectors the answer.
 */
#include "owned.h"

#include "kernel/kernel.h"
#include "naive.h"
#include "scan/job.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};
enum { MOST_THREADS = 3, MOST_LEVELS = 8, MOST_QUERIES = 40 };

/* A context for every number of threads and level, and a turn that goes round all of them. */
typedef struct contexts {
    thr_context *all[MOST_THREADS * MOST_LEVELS];
    size_t n, turn;
} contexts;

static int make_contexts(void **state) {
    contexts *c = test_new(1, sizeof *c);
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (uint32_t n_threads = 1; n_threads <= MOST_THREADS && thr_kernel_isa_has((thr_isa)isa); n_threads++)
            c->all[c->n++] = test_context(n_threads, (thr_isa)isa, NULL);
    *state = c;
    return 0;
}

static int free_contexts(void **state) {
    contexts *c = *state;
    for (size_t i = 0; i < c->n; i++)
        thr_context_free(c->all[i]);
    return 0;
}

static thr_context *next(contexts *c) {
    return c->all[c->turn++ % c->n];
}

static thr_search_options defaults(uint64_t survivors, uint64_t candidates) {
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0; /* the counts decide */
    options.n_survivors = survivors;
    options.n_candidates = candidates;
    return options;
}

static void check_corpus(contexts *c, const test_corpus *corpus, uint64_t *rng) {
    const uint64_t n = corpus->shape.n_items;
    const uint32_t n_dims = corpus->shape.n_dims;
    const uint64_t n_queries = 2 + thr_rng_below(rng, 4);
    float *queries = test_queries(rng, n_queries, n_dims);
    thr_search_options options = defaults(30, 12);
    test_search_equals_naive(next(c), corpus, queries, 1, 5, &options, "one query");
    test_search_equals_naive(next(c), corpus, queries, n_queries, 5, &options, "a batch");
    options.query_bits = 1 + (uint32_t)thr_rng_below(rng, 8);
    test_search_equals_naive(next(c), corpus, queries, n_queries, 20, &options, "k above the candidates");
    options = defaults(0, 0);
    test_search_equals_naive(next(c), corpus, queries, 1, 3, &options, "no more survivors than k");
    options = defaults(n, n);
    test_search_equals_naive(next(c), corpus, queries, 1, n + 1, &options, "all of them");
    options = defaults(10, 40);
    test_search_equals_naive(next(c), corpus, queries, n_queries, 2, &options, "fewer survivors than candidates");
    uint64_t *filter = test_filter(rng, corpus->shape.n_items, 3);
    options = defaults(20, 10);
    options.filter = filter;
    options.filter_bits = n;
    test_search_equals_naive(next(c), corpus, queries, n_queries, 4, &options, "filter");
    options.filter = NULL;
    options.exact = corpus->shape.keep != THR_DTYPE_NONE;
    test_search_equals_naive(next(c), corpus, queries, n_queries, 4, &options, "exact");
}

TEST(all_kinds_of_nested_codes_equal_the_naive_answer) {
    contexts *c = *state;
    uint64_t rng = test_seed();
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 4; keep++)
            for (uint32_t bits = 2; bits <= THR_MAX_BITS; bits++)
                for (uint32_t lead = 1; lead < bits; lead++)
                    for (int kind = 0; kind < 4; kind++) {
                        const test_shape shape = {.n_items = 70 + (uint32_t)thr_rng_below(&rng, 200),
                                                  .n_dims = 1 + (uint32_t)thr_rng_below(&rng, 30),
                                                  .bits = bits,
                                                  .metric = METRICS[m],
                                                  .keep = KEEPS[keep],
                                                  .segment_items = thr_rng_below(&rng, 2) == 0 ? 64 : 0,
                                                  .centre = kind % 2 == 1,
                                                  .lead = lead,
                                                  .rotate = kind / 2 == 1};
                        float *rows = test_tied_rows(&rng, shape.n_items, shape.n_dims, shape.centre);
                        test_corpus corpus;
                        test_target_make(&corpus, &shape, rows);
                        assert_true(corpus.segments->records != NULL);
                        check_corpus(c, &corpus, &rng);
                        test_target_free(&corpus);
                    }
}

/* Queries share tiles in groups of 16 a thread: every number of them, alike and not, gets each query its own answer. */
TEST(batches_of_any_size_answer_every_query_for_itself) {
    contexts *c = *state;
    enum { ITEMS = 700, DIMS = 20 };
    uint64_t rng = test_seed();
    for (size_t m = 0; m < 3; m++) {
        const test_shape shape = {ITEMS, DIMS, 3, METRICS[m], KEEPS[m + 1], 320, m == 1, 1, m == 2};
        float *rows = test_tied_rows(&rng, ITEMS, DIMS, shape.centre),
              *queries = test_queries(&rng, MOST_QUERIES, DIMS);
        uint64_t *filter = test_filter(&rng, ITEMS, 2);
        test_corpus corpus;
        test_target_make(&corpus, &shape, rows);
        for (uint64_t n_queries = 1; n_queries <= MOST_QUERIES; n_queries++) {
            thr_search_options options = defaults(60, 25);
            options.filter = n_queries % 3 == 0 ? filter : NULL;
            options.filter_bits = ITEMS;
            options.exact = shape.keep != THR_DTYPE_NONE && n_queries % 7 == 0;
            test_search_equals_naive(next(c), &corpus, queries, n_queries, 10, &options, "a batch of any size");
        }
        test_target_free(&corpus);
    }
}

/* ---------------------------------------------------------------------------------------- sampled thresholds */

enum { MANY = 20000, FEW_DIMS = 8, GROUP = 5 };

static void make_many(test_corpus *corpus, size_t m, const float *rows) {
    const test_shape shape = {MANY, FEW_DIMS, 4, METRICS[m], KEEPS[m], m == 1 ? 6400 : 0, false, 2, false};
    test_target_make(corpus, &shape, rows);
}

TEST(large_collections_equal_the_naive_answer) {
    contexts *c = *state;
    uint64_t rng = test_seed();
    float *rows = test_new((size_t)MANY * FEW_DIMS, sizeof *rows), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    uint64_t *filter = test_filter(&rng, MANY, 3);
    test_gaussian(&rng, rows, (size_t)MANY * FEW_DIMS);
    assert_true(thr_sample_blocks(MANY / 64) > 0);
    for (size_t m = 0; m < 3; m++) {
        test_corpus corpus;
        make_many(&corpus, m, rows);
        thr_search_options options = defaults(300, 60);
        test_search_equals_naive(next(c), &corpus, queries, 1, 10, &options, "large, one query");
        for (size_t i = 0; i < 2; i++)
            test_search_equals_naive(next(c), &corpus, queries, GROUP, 10, &options, "large");
        options.filter = filter;
        options.filter_bits = MANY;
        test_search_equals_naive(next(c), &corpus, queries, GROUP, 10, &options, "large, filter");
        options = defaults(15000, 9000);
        test_search_equals_naive(next(c), &corpus, queries, 1, 500, &options, "large, most of them");
        test_target_free(&corpus);
    }
}

/* Good rows only where the sample looks: its threshold is too high, for some queries of a group and not for others. */
TEST(a_sample_of_only_high_scores_does_not_lose_rows) {
    contexts *c = *state;
    uint64_t rng = test_seed();
    const uint64_t n_blocks = (MANY + 63) / 64, n_sampled = thr_sample_blocks(n_blocks);
    float *rows = test_new((size_t)MANY * FEW_DIMS, sizeof *rows), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    test_gaussian(&rng, rows, (size_t)MANY * FEW_DIMS);
    for (uint64_t s = 0; s < n_sampled; s++)
        for (uint64_t i = 0; i < 64 * FEW_DIMS; i++) {
            float *value = &rows[thr_select_sample_place(s, n_sampled, n_blocks) * 64 * FEW_DIMS + i];
            *value = queries[i % FEW_DIMS] + 0.1f * *value;
        }
    for (size_t m = 0; m < 3; m++) {
        test_corpus corpus;
        make_many(&corpus, m, rows);
        for (uint64_t survivors = 100; survivors <= 10000; survivors *= 10) {
            thr_search_options options = defaults(survivors, 60);
            test_search_equals_naive(next(c), &corpus, queries, 1, 20, &options, "high sample");
            test_search_equals_naive(next(c), &corpus, queries, GROUP, 20, &options, "high sample, group");
        }
        test_target_free(&corpus);
    }
}

/* ---------------------------------------------------------------------------------------- what records are for */

enum { RECALL_K = 10, RECALL_QUERIES = 30 };

/* The recall of a search with these numbers of survivors and candidates. */
static double recall_of(thr_scan *scan, const test_corpus *corpus, const thr_matrix *queries, const uint64_t *truth,
                        uint64_t survivors, uint64_t candidates) {
    uint64_t found[RECALL_QUERIES * RECALL_K];
    const thr_recall_rows true_rows = {truth, NULL, RECALL_K}, found_rows = {found, NULL, RECALL_K};
    const thr_search_options options = defaults(survivors, candidates);
    double recall = 0;
    expect_ok(
        thr_scan_search(scan, &corpus->scan, queries, &options, &(thr_answers){.k = RECALL_K, .ids = found}, &err));
    expect_ok(thr_recall(&true_rows, &found_rows, RECALL_QUERIES, RECALL_K, &recall, &err));
    return recall;
}

/* More survivors find more, far more than the first plane finds alone. */
TEST(survivors_are_all_that_the_other_planes_are_read_of) {
    contexts *c = *state;
    enum { ITEMS = 3000, DIMS = 40, K = RECALL_K, QUERIES = RECALL_QUERIES };
    uint64_t rng = test_seed();
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), *queries = test_new(QUERIES * DIMS, sizeof *queries);
    const test_shape shape = {ITEMS, DIMS, 4, THR_METRIC_IP, THR_DTYPE_F32, 0, false, 1, false};
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    test_corpus corpus;
    test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
    test_gaussian(&rng, queries, (size_t)QUERIES * DIMS);
    test_target_make(&corpus, &shape, rows);
    thr_scan *scan = test_scan_create(next(c));
    uint64_t truth[QUERIES * K];
    thr_search_options options = defaults(0, 0);
    options.exact = true;
    expect_ok(thr_scan_search(scan, &corpus.scan, &matrix, &options, &(thr_answers){.k = K, .ids = truth}, &err));
    double before = 0;
    for (uint64_t survivors = 20; survivors <= 2000; survivors *= 10) {
        const double recall = recall_of(scan, &corpus, &matrix, truth, survivors, 20);
        assert_case(recall >= before, "seed %llu: %llu survivors have recall %g, a tenth of them %g",
                    (unsigned long long)test_seed(), (unsigned long long)survivors, recall, before);
        before = recall;
    }
    /* 20 of 3,000 by four planes hold nearly all of the best 10; by the first plane alone they would not. */
    assert_case(before > 0.9, "seed %llu: recall %g", (unsigned long long)test_seed(), before);
    const double alone = recall_of(scan, &corpus, &matrix, truth, 20, 20);
    assert_case(alone < 0.8, "seed %llu: recall %g of the first plane alone", (unsigned long long)test_seed(), alone);
    thr_scan_free(scan);
    test_target_free(&corpus);
}

TEST_GROUP(make_contexts, free_contexts)
