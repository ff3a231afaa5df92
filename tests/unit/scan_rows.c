/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_rows.c - filters that let few rows through are answered from the vectors, exactly; and blocks with few and with
 * many allowed rows are scored alike.
 */
#include "owned.h"

#include "naive.h"
#include "scan/job.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};
enum { ITEMS = 6000, WORDS = (ITEMS + 63) / 64, DIMS = 50, K = 10, QUERIES = 5 };

static thr_search_options defaults(const uint64_t *filter) {
    thr_search_options options = {.recall = 0.99f};
    options.recall = 0;                             /* the counts decide */
    options.n_candidates = options.n_survivors = K; /* so few that codes alone do not find the true best */
    options.filter = filter;
    options.filter_bits = ITEMS;
    return options;
}

static uint64_t count(const uint64_t *filter) {
    uint64_t n = 0;
    for (size_t w = 0; w < WORDS; w++)
        n += (uint64_t)__builtin_popcountll(filter[w]);
    return n;
}

static void fill(uint64_t *rng, uint64_t *filter, uint64_t one_in) {
    memset(filter, 0, WORDS * sizeof *filter);
    for (uint64_t i = 0; i < ITEMS; i++)
        if (thr_rng_below(rng, one_in) == 0)
            filter[i / 64] |= UINT64_C(1) << i % 64;
}

/* The answer among the allowed rows, by the vectors. */
static void answer_exactly(const test_corpus *corpus, const float *vector, const uint64_t *filter, uint64_t *rows) {
    thr_candidate *items = test_new(ITEMS, sizeof *items);
    test_query query;
    size_t n = 0;
    test_query_make(&query, corpus, vector, 4);
    for (uint64_t i = 0; i < ITEMS; i++)
        if ((filter[i / 64] >> i % 64 & 1) != 0)
            items[n++] = (thr_candidate){.row = i, .score = test_exact(corpus, &query, i)};
    qsort(items, n, sizeof *items, test_candidate_order);
    for (size_t i = 0; i < K; i++)
        rows[i] = i < n ? items[i].row : THR_NO_ID;
    test_query_free(&query);
}

/* How many of all queries are answered exactly. */
static size_t count_exact(thr_context *context, const test_corpus *corpus, const float *queries,
                          const uint64_t *filter) {
    const thr_search_options options = defaults(filter);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    uint64_t found[QUERIES * K], wanted[K];
    size_t n = 0;
    thr_scan *scan = test_scan_create(context);
    expect_ok(thr_scan_search(scan, &corpus->scan, &matrix, &options, &(thr_answers){.k = K, .ids = found}, &err));
    thr_scan_free(scan);
    for (size_t q = 0; q < QUERIES; q++) {
        answer_exactly(corpus, queries + q * DIMS, filter, wanted);
        n += memcmp(wanted, found + q * K, sizeof wanted) == 0;
    }
    return n;
}

typedef struct case_of_rows {
    thr_context *context;
    float *rows, queries[QUERIES * DIMS];
    uint64_t rng, filter[WORDS];
} case_of_rows;

static void start(case_of_rows *c) {
    c->rng = test_seed();
    c->context = test_context(2, THR_ISA_BEST, NULL);
    c->rows = test_new((size_t)ITEMS * DIMS, sizeof *c->rows);
    test_gaussian(&c->rng, c->rows, (size_t)ITEMS * DIMS);
    test_gaussian(&c->rng, c->queries, sizeof c->queries / sizeof *c->queries);
}

static void end(case_of_rows *c) {
    thr_context_free(c->context);
}

TEST(few_rows_are_answered_exactly_and_many_by_codes) {
    case_of_rows c;
    start(&c);
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 3; keep++)
            for (uint32_t lead = 0; lead <= 1; lead++) {
                const test_shape shape = {ITEMS, DIMS, 2, METRICS[m], KEEPS[keep], 1280, false, lead, false};
                test_corpus corpus;
                test_target_make(&corpus, &shape, c.rows);
                fill(&c.rng, c.filter, 200);
                assert_true(thr_scan_rows_are_cheaper(&corpus.scan, c.filter, count(c.filter)));
                assert_int_equal(count_exact(c.context, &corpus, c.queries, c.filter), QUERIES);
                fill(&c.rng, c.filter, 1);
                assert_false(thr_scan_rows_are_cheaper(&corpus.scan, c.filter, count(c.filter)));
                assert_true(count_exact(c.context, &corpus, c.queries, c.filter) < QUERIES);
                test_target_free(&corpus);
            }
    end(&c);
}

/* The more rows are allowed in the same blocks, the more they cost; the blocks cost what they did. */
TEST(it_is_decided_once_from_few_to_many) {
    case_of_rows c;
    start(&c);
    const test_shape shape = {ITEMS, DIMS, 2, THR_METRIC_IP, THR_DTYPE_F32, 0, false, 1, false};
    test_corpus corpus;
    test_target_make(&corpus, &shape, c.rows);
    bool before = true;
    for (uint64_t rows = 1; rows <= 64; rows++) {
        for (size_t w = 0; w < WORDS; w++)
            c.filter[w] = rows == 64 ? ~UINT64_C(0) : (UINT64_C(1) << rows) - 1;
        const bool now = thr_scan_rows_are_cheaper(&corpus.scan, c.filter, count(c.filter));
        assert_true(before || !now);
        before = now;
    }
    assert_false(before);
    memset(c.filter, 0, sizeof c.filter);
    c.filter[3] = 1;
    assert_true(thr_scan_rows_are_cheaper(&corpus.scan, c.filter, 1));
    test_target_free(&corpus);
    end(&c);
}

TEST(without_a_filter_or_vectors_codes_are_screened) {
    case_of_rows c;
    start(&c);
    for (size_t keep = 0; keep < 4; keep += 3) {
        const test_shape shape = {ITEMS, DIMS, 2, THR_METRIC_IP, KEEPS[keep], 0, false, 1, false};
        test_corpus corpus;
        test_target_make(&corpus, &shape, c.rows);
        memset(c.filter, 0, sizeof c.filter);
        c.filter[3] = c.filter[40] = c.filter[41] = 1;
        assert_false(thr_scan_rows_are_cheaper(&corpus.scan, NULL, ITEMS));
        assert_int_equal(thr_scan_rows_are_cheaper(&corpus.scan, c.filter, 3), KEEPS[keep] != THR_DTYPE_NONE);
        const thr_search_options options = defaults(c.filter);
        test_search_equals_naive(c.context, &corpus, c.queries, QUERIES, K, &options, "three rows");
        test_target_free(&corpus);
    }
    end(&c);
}

/* Blocks of 0 to 64 allowed rows: few are scored one by one, in bunches, many as a block. */
TEST(blocks_of_every_number_of_rows_equal_the_naive_answer) {
    case_of_rows c;
    start(&c);
    for (size_t m = 0; m < 3; m++)
        for (size_t keep = 0; keep < 3; keep++)
            for (uint64_t most = 8; most <= 64; most *= 2) {
                const test_shape shape = {ITEMS, DIMS, 2, METRICS[m], KEEPS[keep], 1280, false, 1, false};
                test_corpus corpus;
                test_target_make(&corpus, &shape, c.rows);
                memset(c.filter, 0, sizeof c.filter);
                for (size_t w = 0; w < WORDS; w++)
                    for (uint64_t n = thr_rng_below(&c.rng, most + 1); n > 0; n--)
                        c.filter[w] |= UINT64_C(1)
                                       << thr_rng_below(&c.rng, 64); /* past the last item too: not counted */
                thr_search_options options = defaults(c.filter);
                options.exact = true;
                test_search_equals_naive(c.context, &corpus, c.queries, QUERIES, 40, &options, "rows of blocks");
                test_search_equals_naive(c.context, &corpus, c.queries, 1, ITEMS, &options, "all rows of blocks");
                test_target_free(&corpus);
            }
    end(&c);
}
