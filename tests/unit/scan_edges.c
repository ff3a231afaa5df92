/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_edges.c - ties, zeros, filters, bad queries; and that threads, levels, segments and time change nothing.
 */
#include "owned.h"

#include "kernel/kernel.h"
#include "naive.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};

static thr_search_options defaults(void) {
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0; /* the counts decide */
    options.n_candidates = 40;
    return options;
}

static float *gaussian_rows(uint64_t *rng, uint32_t n_items, uint32_t n_dims) {
    float *rows = test_new((size_t)n_items * n_dims, sizeof *rows);
    test_gaussian(rng, rows, (size_t)n_items * n_dims);
    return rows;
}

static void search(thr_scan *scan, const test_corpus *corpus, const float *queries, uint64_t n_queries, uint64_t k,
                   const thr_search_options *options, uint64_t *rows, float *scores) {
    const thr_matrix matrix = thr_matrix_f32(queries, n_queries, corpus->shape.n_dims);
    expect_ok(thr_scan_search(scan, &corpus->scan, &matrix, options,
                              &(thr_answers){.k = k, .ids = rows, .scores = scores}, &err));
}

TEST(equal_items_are_answered_by_the_smallest_rows) {
    enum { ITEMS = 3000, DIMS = 12, K = 70 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *rows = gaussian_rows(&rng, ITEMS, DIMS), query[DIMS];
    test_gaussian(&rng, query, DIMS);
    for (size_t i = 1; i < ITEMS; i++)
        memcpy(rows + i * DIMS, rows, DIMS * sizeof *rows);
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 4; keep++) {
            const test_shape shape = {ITEMS, DIMS, 3, METRICS[m], KEEPS[keep], 0, false, 0, false};
            test_corpus corpus;
            test_target_make(&corpus, &shape, rows);
            thr_search_options options = defaults();
            for (int exact = 0; exact < 2 - (KEEPS[keep] == THR_DTYPE_NONE); exact++) {
                uint64_t found[K];
                OWNED(thr_scan, scan) = NULL;
                assert_ok(thr_scan_create(context, &scan, NULL), NULL);
                options.exact = exact != 0;
                search(scan, &corpus, query, 1, K, &options, found, NULL);
                for (uint64_t i = 0; i < K; i++)
                    assert_int_equal(found[i], i);
            }
            test_target_free(&corpus);
        }
}

TEST(zero_queries_and_zero_items_score_by_the_metrics_definition) {
    enum { ITEMS = 200, DIMS = 9, K = 20 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *rows = gaussian_rows(&rng, ITEMS, DIMS);
    float queries[4 * DIMS] = {0};
    memset(rows + 30 * DIMS, 0, 10 * DIMS * sizeof *rows);
    test_gaussian(&rng, queries + DIMS, DIMS);
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 4; keep++)
            for (int all_zero = 0; all_zero < 2; all_zero++) {
                float *used = all_zero ? test_new((size_t)ITEMS * DIMS, sizeof *used) : rows;
                const test_shape shape = {ITEMS, DIMS, 3, METRICS[m], KEEPS[keep], 64, false, 0, false};
                test_corpus corpus;
                test_target_make(&corpus, &shape, used);
                thr_search_options options = defaults();
                test_search_equals_naive(context, &corpus, queries, 4, K, &options, "zeros");
                test_search_equals_naive(context, &corpus, queries, 1, ITEMS + 1, &options, "zero query");
                options.exact = KEEPS[keep] != THR_DTYPE_NONE;
                test_search_equals_naive(context, &corpus, queries, 4, K, &options, "zeros, exact");
                uint64_t filter[4] = {0, UINT64_C(5) << 20, 0, 1};
                options.filter = filter;
                options.filter_bits = ITEMS;
                test_search_equals_naive(context, &corpus, queries, 4, K, &options, "zeros, filter");
                test_target_free(&corpus);
            }
}

TEST(a_score_of_nothing_is_plus_zero) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    const float row[4] = {1, 2, 3, 4};
    const test_shape shape = {1, 4, 3, THR_METRIC_L2, THR_DTYPE_F32, 0, false, 0, false};
    test_corpus corpus;
    test_target_make(&corpus, &shape, row);
    thr_scan *scan = NULL;
    const thr_search_options options = defaults();
    uint64_t found = 9;
    float score = 1;
    assert_ok(thr_scan_create(context, &scan, NULL), NULL);
    search(scan, &corpus, row, 1, 1, &options, &found, &score);
    assert_true(found == 0 && score == 0 && !signbit(score));
    thr_scan_free(scan);
    test_target_free(&corpus);
}

TEST(filters_of_none_one_few_and_all_items_hold) {
    enum { ITEMS = 1000, WORDS = (ITEMS + 63) / 64, DIMS = 17 };
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *rows = gaussian_rows(&rng, ITEMS, DIMS), queries[3 * DIMS];
    test_gaussian(&rng, queries, COUNT_OF(queries));
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 4; keep++) {
            const test_shape shape = {ITEMS, DIMS, 2, METRICS[m], KEEPS[keep], 320, false, 0, false};
            test_corpus corpus;
            test_target_make(&corpus, &shape, rows);
            for (int kind = 0; kind < 5; kind++)
                for (int exact = 0; exact < 2 - (KEEPS[keep] == THR_DTYPE_NONE); exact++) {
                    uint64_t filter[WORDS] = {0};
                    if (kind == 1)
                        filter[999 / 64] |= UINT64_C(1) << 999 % 64;
                    else if (kind == 2)
                        for (uint64_t i = 13; i < ITEMS; i += 97)
                            filter[i / 64] |= UINT64_C(1) << i % 64;
                    else if (kind >= 3) /* bits past the last item must not count */
                        memset(filter, 0xff, sizeof filter);
                    if (kind == 4)
                        filter[0] = filter[7] = 0;
                    thr_search_options options = defaults();
                    options.exact = exact != 0;
                    options.filter = filter;
                    options.filter_bits = ITEMS;
                    test_search_equals_naive(context, &corpus, queries, 3, 20, &options, "filter");
                    test_search_equals_naive(context, &corpus, queries, 1, ITEMS + 5, &options, "filter, k > n");
                }
            test_target_free(&corpus);
        }
}

TEST(a_query_that_is_not_finite_or_too_long_is_erange_with_its_number) {
    enum { QUERIES = 9, DIMS = 5 };
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    const float rows[2 * DIMS] = {1, 2, 3, 4, 5, 5, 4, 3, 2, 1};
    const test_shape shape = {2, DIMS, 3, THR_METRIC_COSINE, THR_DTYPE_F32, 0, false, 0, false};
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    thr_scan *scan = NULL;
    assert_ok(thr_scan_create(context, &scan, NULL), NULL);
    const float bad[] = {NAN, INFINITY, -INFINITY, 0x1.8p120f, 3e38f};
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        float queries[QUERIES * DIMS];
        uint64_t found[QUERIES];
        const thr_search_options options = defaults();
        for (size_t i = 0; i < COUNT_OF(queries); i++)
            queries[i] = 1;
        queries[7 * DIMS + 4] = bad[b];
        const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
        expect_error(thr_scan_search(scan, &corpus.scan, &matrix, &options, &(thr_answers){.k = 1, .ids = found}, &err),
                     THR_ERANGE, "query 7");
    }
    thr_scan_free(scan);
    test_target_free(&corpus);
}

/* Sums of hits that are all 0, for queries before one; the others have none. */
typedef struct failing_hits {
    uint64_t first_bad;
    int32_t sums[THR_HITS_WINDOW_ROWS];
} failing_hits;

static thr_status begin_or_fail(void *arg, uint64_t query, size_t lane, float *unit, thr_error *error) {
    const failing_hits *hits = arg;
    (void)lane;
    *unit = 1;
    return query < hits->first_bad
               ? THR_OK
               : thr_fail(error, THR_EMISMATCH, "query %llu has no lists", (unsigned long long)query);
}

static const int32_t *no_hits(void *arg, size_t lane, uint32_t window) {
    const failing_hits *hits = arg;
    (void)lane;
    (void)window;
    return hits->sums;
}

/* A search whose lists fail, the same search without a failure, and one with a value that is not finite. */
static void search_failing(const test_corpus *corpus, failing_hits *hits, const thr_matrix *queries, float *bad_query,
                           float *multiplier_7, uint32_t n_threads) {
    enum { MOST = 70, BAD = 37 };
    const thr_search_options options = defaults();
    OWNED(thr_context, context) = test_context(n_threads, THR_ISA_BEST, NULL);
    OWNED(thr_scan, scan) = NULL;
    uint64_t found[MOST];
    const thr_answers answers = {.k = 1, .ids = found};
    assert_ok(thr_scan_create(context, &scan, NULL), NULL);
    hits->first_bad = BAD;
    expect_error(thr_scan_search(scan, &corpus->scan, queries, &options, &answers, &err), THR_EMISMATCH,
                 "query 37 has no lists");
    hits->first_bad = MOST;
    expect_ok(thr_scan_search(scan, &corpus->scan, queries, &options, &answers, &err));
    *bad_query = 1e9f; /* scores of -1e18 and, times the multiplier, of no number */
    *multiplier_7 = -1e30f;
    expect_error(thr_scan_search(scan, &corpus->scan, queries, &options, &answers, &err), THR_ERANGE,
                 "query 37: the value of row 7 is not finite");
    *bad_query = 1;
    *multiplier_7 = 1;
}

TEST(a_failure_in_a_thread_keeps_its_status_and_text) {
    enum { ITEMS = 300, DIMS = 8, QUERIES = 70, BAD = 37 };
    uint64_t rng = test_seed();
    float *rows = gaussian_rows(&rng, ITEMS, DIMS), *queries = gaussian_rows(&rng, QUERIES, DIMS);
    float *multipliers = test_new(THR_BLOCK_ITEMS * (ITEMS / THR_BLOCK_ITEMS + 1), sizeof *multipliers);
    failing_hits *hits = test_new(1, sizeof *hits);
    const test_shape shape = {ITEMS, DIMS, 3, THR_METRIC_L2, THR_DTYPE_F32, 0, false, 0, false};
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    for (size_t i = 0; i < ITEMS; i++)
        multipliers[i] = 1;
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    const thr_scan_hits scan_hits = {
        .arg = hits, .begin = begin_or_fail, .window = no_hits, .multipliers = multipliers};
    corpus.scan.hits = &scan_hits;
    for (uint32_t n_threads = 1; n_threads <= 8; n_threads *= 2)
        search_failing(&corpus, hits, &matrix, &queries[BAD * DIMS], &multipliers[7], n_threads);
    test_target_free(&corpus);
}

/* ---------------------------------------------------------------------------------------- nothing changes an answer */

#if THR_SANITIZED
enum { SAME_CENTRES = 1 };
#else
enum { SAME_CENTRES = 2 };
#endif
enum { SAME_ITEMS = 135000, SAME_DIMS = 10, SAME_K = 50, SAME_QUERIES = 5 };

/* All queries, at_once of them in a search, with n_threads at a level. */
static void search_all(const test_corpus *corpus, const float *queries, uint32_t n_threads, thr_isa isa, size_t at_once,
                       uint64_t *found, float *scores) {
    OWNED(thr_context, context) = test_context(n_threads, isa, NULL);
    OWNED(thr_scan, scan) = NULL;
    const thr_search_options options = defaults();
    assert_ok(thr_scan_create(context, &scan, NULL), NULL);
    for (size_t q = 0; q < SAME_QUERIES; q += at_once)
        search(scan, corpus, queries + q * SAME_DIMS, at_once, SAME_K, &options, found + q * SAME_K,
               scores + q * SAME_K);
}

enum { SAME_PLACES = SAME_K * SAME_QUERIES };

typedef struct same_answers {
    uint64_t found[SAME_PLACES];
    float scores[SAME_PLACES];
    bool known;
} same_answers;

/* Search with all levels and several numbers of threads; all answers are *wanted, which the first search sets. */
static void check_same(const test_corpus *corpus, const float *queries, same_answers *wanted) {
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++)
        for (uint32_t n_threads = 1; n_threads <= 8 && thr_kernel_isa_has((thr_isa)isa);
             n_threads += n_threads < 3 ? 1 : 5)
            for (int alone = 0; alone < 2; alone++) {
                same_answers got = {.known = true};
                search_all(corpus, queries, n_threads, (thr_isa)isa, alone ? 1 : SAME_QUERIES, got.found, got.scores);
                if (!wanted->known)
                    *wanted = got;
                assert_case(memcmp(got.found, wanted->found, sizeof got.found) == 0 &&
                                memcmp(got.scores, wanted->scores, sizeof got.scores) == 0,
                            "seed %llu: metric %s, centre %d, keep %s, segments of %u, %s, %u threads, queries alone "
                            "%d: another answer",
                            (unsigned long long)test_seed(), thr_metric_name(corpus->shape.metric),
                            corpus->shape.centre, thr_dtype_name(corpus->shape.keep), corpus->shape.segment_items,
                            thr_isa_name((thr_isa)isa), n_threads, alone);
            }
}

TEST(threads_levels_and_segments_do_not_change_a_bit) {
    uint64_t rng = test_seed();
    float *rows = gaussian_rows(&rng, SAME_ITEMS, SAME_DIMS), queries[SAME_QUERIES * SAME_DIMS];
    test_gaussian(&rng, queries, COUNT_OF(queries));
    for (size_t i = 0; i < (size_t)SAME_ITEMS * SAME_DIMS; i++)
        rows[i] = floorf(4 * rows[i]) / 4 + 1; /* ties, and a mean worth a centre */
    for (size_t m = 0; m < 3; m++)
        for (int c = 0; c < SAME_CENTRES; c++) {
            const int centre = (c + (int)m) % 2;
            const thr_dtype keep = KEEPS[(m + (size_t)centre) % 4];
            const uint32_t segments[] = {0, 64, 70016};
            same_answers wanted = {.known = false};
            for (size_t s = 0; s < 3; s++) {
                const test_shape shape = {SAME_ITEMS,  SAME_DIMS,   3, METRICS[m], keep,
                                          segments[s], centre != 0, 0, false};
                test_corpus corpus;
                test_target_make(&corpus, &shape, rows);
                check_same(&corpus, queries, &wanted);
                test_target_free(&corpus);
            }
        }
}

typedef struct caller {
    thr_context *context;
    const test_corpus *corpus;
    const float *query;
    uint64_t rows[SAME_K];
    thr_status status;
} caller;

/*
 * Products of the smallest rows that are worth a centre with the longest queries stay inside float32, and so do ranks.
 */
TEST(tiny_rows_around_a_centre_are_found_by_huge_queries) {
    enum { ITEMS = 2000, DIMS = 16, BEST = 10, QUERIES = 4 };
    static const float SIZES[][2] = {{1e-22f, 1e17f}, {1e-14f, 1e17f}, {1e-14f, 1e-14f}, {1e16f, 1e16f}};
    uint64_t rng = test_seed();
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), queries[QUERIES * DIMS];
    for (size_t size = 0; size < COUNT_OF(SIZES); size++) {
        test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
        test_gaussian(&rng, queries, (size_t)QUERIES * DIMS);
        for (size_t i = 0; i < (size_t)ITEMS * DIMS; i++)
            rows[i] = (rows[i] + 2) * SIZES[size][0];
        for (size_t i = 0; i < (size_t)QUERIES * DIMS; i++)
            queries[i] = (queries[i] + 2) * SIZES[size][1];
        const test_shape shape = {.metric = THR_METRIC_IP,
                                  .keep = THR_DTYPE_F32,
                                  .bits = 4,
                                  .n_items = ITEMS,
                                  .n_dims = DIMS,
                                  .centre = true};
        test_corpus corpus;
        test_target_make(&corpus, &shape, rows);
        thr_context *context = test_context(1, THR_ISA_BEST, NULL);
        thr_search_options options = {.recall = 0.99f};
        options.recall = 0; /* the counts decide */
        options.n_candidates = 400;
        uint64_t found[QUERIES * BEST], truth[QUERIES * BEST];
        thr_scan *scan = test_scan_create(context);
        search(scan, &corpus, queries, QUERIES, BEST, &options, found, NULL);
        options.exact = true;
        search(scan, &corpus, queries, QUERIES, BEST, &options, truth, NULL);
        assert_memory_equal(found, truth, sizeof found);
        thr_scan_free(scan);
        thr_context_free(context);
        test_target_free(&corpus);
    }
}

static void *caller_main(void *arg) {
    caller *c = arg;
    OWNED(thr_scan, scan) = NULL;
    const thr_search_options options = defaults();
    const thr_matrix matrix = thr_matrix_f32(c->query, 1, c->corpus->shape.n_dims);
    c->status = thr_scan_create(c->context, &scan, NULL);
    for (int round = 0; round < 5 && c->status == THR_OK; round++)
        c->status = thr_scan_search(scan, &c->corpus->scan, &matrix, &options,
                                    &(thr_answers){.k = SAME_K, .ids = c->rows}, NULL);
    return NULL;
}

/* A thread for each of CALLERS contexts, which may be one and the same. */
enum { CALLERS = 4 };

static void search_at_once(thr_context *const *contexts) {
    uint64_t rng = test_seed();
    float *rows = gaussian_rows(&rng, SAME_ITEMS, SAME_DIMS), queries[CALLERS * SAME_DIMS];
    test_gaussian(&rng, queries, COUNT_OF(queries));
    const test_shape shape = {SAME_ITEMS, SAME_DIMS, 3, THR_METRIC_COSINE, THR_DTYPE_F16, 0, false, 0, false};
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    caller callers[CALLERS];
    for (size_t i = 0; i < CALLERS; i++)
        callers[i] = (caller){.context = contexts[i], .corpus = &corpus, .query = queries + i * SAME_DIMS};
    test_at_once(CALLERS, caller_main, callers, sizeof *callers);
    for (size_t i = 0; i < CALLERS; i++) {
        uint64_t wanted[SAME_K];
        float scores[SAME_K];
        const thr_search_options options = defaults();
        assert_int_equal(callers[i].status, THR_OK);
        test_naive_search(&corpus, callers[i].query, SAME_K, &options, wanted, scores);
        assert_memory_equal(callers[i].rows, wanted, sizeof wanted);
    }
    test_target_free(&corpus);
}

TEST(searches_on_several_threads_of_one_context_do_not_disturb_each_other) {
    OWNED(thr_context, context) = test_context(3, THR_ISA_BEST, NULL);
    search_at_once((thr_context *[CALLERS]){context, context, context, context});
}

TEST(contexts_of_different_levels_search_at_once) {
    thr_context *contexts[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        const thr_isa level = (thr_isa)(i % (THR_ISA_LAST + 1));
        contexts[i] = test_context(1, thr_kernel_isa_has(level) ? level : THR_ISA_BEST, NULL);
    }
    search_at_once(contexts);
    for (int i = 0; i < CALLERS; i++)
        thr_context_free(contexts[i]);
}

/* ---------------------------------------------------------------------------------------- memory */

enum { AGAIN_DIMS = 33, AGAIN_QUERIES = 7, AGAIN_K = 10 };

/* Once one query and a group were searched, further searches allocate nothing. */
static void check_second_searches(const test_corpus *corpus, const float *queries, uint32_t n_threads) {
    test_memory memory = {0};
    thr_context *context = test_context(n_threads, THR_ISA_BEST, &memory);
    const size_t live = memory.live;
    thr_scan *scan = NULL;
    uint64_t found[AGAIN_QUERIES * AGAIN_K];
    float scores[AGAIN_QUERIES * AGAIN_K];
    thr_search_options options = defaults();
    options.n_survivors = 300;
    assert_ok(thr_scan_create(context, &scan, NULL), NULL);
    search(scan, corpus, queries, 1, AGAIN_K, &options, found, scores);
    search(scan, corpus, queries, AGAIN_QUERIES, AGAIN_K, &options, found, scores); /* a group takes more memory */
    const size_t calls = memory.calls;
    for (int round = 0; round < 3; round++) {
        search(scan, corpus, queries, AGAIN_QUERIES, AGAIN_K, &options, found, scores);
        search(scan, corpus, queries + round * AGAIN_DIMS, 1, AGAIN_K, &options, found, NULL);
        options.exact = round == 0 && corpus->shape.keep != THR_DTYPE_NONE;
    }
    assert_int_equal(memory.calls, calls);
    thr_scan_free(scan);
    assert_int_equal(memory.live, live);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

TEST(a_second_search_of_the_same_shape_allocates_nothing) {
    enum { ITEMS = 5000 };
    uint64_t rng = test_seed();
    float *rows = gaussian_rows(&rng, ITEMS, AGAIN_DIMS), queries[AGAIN_QUERIES * AGAIN_DIMS];
    test_gaussian(&rng, queries, AGAIN_QUERIES * AGAIN_DIMS);
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 4; keep++)
            for (uint32_t n_threads = 1; n_threads <= 3; n_threads += 2) {
                const uint32_t lead = n_threads == 1 ? 1 : 0;
                const test_shape shape = {ITEMS, AGAIN_DIMS, 3, METRICS[m], KEEPS[keep], 0, false, lead, false};
                test_corpus corpus;
                test_target_make(&corpus, &shape, rows);
                check_second_searches(&corpus, queries, n_threads);
                test_target_free(&corpus);
            }
}

enum { OOM_K = 5 };

/* A search with each allocation failing in turn; the same search once more finds the wanted rows. */
static void check_out_of_memory(uint32_t n_threads, const test_corpus *corpus, const float *query,
                                const thr_search_options *options, const uint64_t *wanted) {
    const thr_matrix matrix = thr_matrix_f32(query, 1, corpus->shape.n_dims);
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    oom.tolerant = true; /* the choice of a kernel does without memory */
    while (test_oom_next(&oom)) {
        OWNED(thr_context, context) = test_context(n_threads, THR_ISA_BEST, &memory);
        const size_t live = memory.live;
        uint64_t found[OOM_K];
        float scores[OOM_K];
        thr_scan *scan = NULL;
        test_oom_arm(&oom);
        thr_status status = thr_scan_create(context, &scan, &err);
        if (status == THR_OK)
            status = thr_scan_search(scan, &corpus->scan, &matrix, options,
                                     &(thr_answers){.k = OOM_K, .ids = found, .scores = scores}, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
        if (scan == NULL)
            expect_ok(thr_scan_create(context, &scan, &err));
        search(scan, corpus, query, 1, OOM_K, options, found, scores);
        assert_memory_equal(found, wanted, sizeof found);
        thr_scan_free(scan);
        assert_int_equal(memory.live, live);
    }
    assert_true(oom.n_failed > 4);
}

TEST(every_failing_allocation_is_enomem_and_the_next_search_is_right) {
    enum { ITEMS = 3000, DIMS = 6 };
    uint64_t rng = test_seed();
    float *rows = gaussian_rows(&rng, ITEMS, DIMS), query[DIMS];
    test_gaussian(&rng, query, DIMS);
    const test_shape shape = {ITEMS, DIMS, 3, THR_METRIC_IP, THR_DTYPE_F32, 0, false, 0, false};
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    thr_search_options options = defaults();
    uint64_t wanted[OOM_K];
    float scores[OOM_K];
    test_naive_search(&corpus, query, OOM_K, &options, wanted, scores);
    for (uint32_t n_threads = 1; n_threads <= 2; n_threads++)
        check_out_of_memory(n_threads, &corpus, query, &options, wanted);
    test_target_free(&corpus);
}

/* One scan serves corpora of different dimensions, larger and smaller ones in turn. */
TEST(one_scan_serves_targets_of_different_shapes) {
    enum { TARGETS = 4, K = 30 };
    const uint32_t dims[TARGETS] = {5, 90, 1, 33};
    uint64_t rng = test_seed();
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    OWNED(thr_scan, scan) = NULL;
    assert_ok(thr_scan_create(context, &scan, NULL), NULL);
    for (int round = 0; round < 2; round++)
        for (size_t t = 0; t < TARGETS; t++) {
            const test_shape shape = {300, dims[t], 1 + (uint32_t)t, METRICS[t % 3], THR_DTYPE_I8, 128, false,
                                      0,   false};
            float *rows = gaussian_rows(&rng, 300, dims[t]), *query = gaussian_rows(&rng, 1, dims[t]), scores[K];
            uint64_t found[K], wanted[K];
            test_corpus corpus;
            const thr_search_options options = defaults();
            test_target_make(&corpus, &shape, rows);
            search(scan, &corpus, query, 1, K, &options, found, NULL);
            test_naive_search(&corpus, query, K, &options, wanted, scores);
            assert_memory_equal(found, wanted, sizeof found);
            test_target_free(&corpus);
        }
    thr_scan_free(NULL);
}
