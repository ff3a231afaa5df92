/* SPDX-License-Identifier: Apache-2.0 */
/* scan_ranks.c - ranks are the places that sorting all items by their estimates gives. */
#include "owned.h"

#include "naive.h"

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
enum { ITEMS = 900, DIMS = 13, ROWS = 60 };

/* Places by sorting: of all items by the leading planes, then of the first n_survivors of those by all planes. */
static void rank_naively(const test_corpus *corpus, const float *vector, uint64_t n_survivors, uint32_t *lead_ranks,
                         uint32_t *full_ranks) {
    thr_candidate items[ITEMS];
    test_query query;
    test_query_make(&query, corpus, vector, 4);
    const bool nested = test_is_nested(&corpus->shape);
    const bool nothing = query.norm == 0 && corpus->shape.metric != THR_METRIC_L2;
    const size_t n = n_survivors < ITEMS ? (size_t)n_survivors : ITEMS;
    for (uint64_t i = 0; i < ITEMS; i++) {
        lead_ranks[i] = full_ranks[i] = UINT32_MAX;
        items[i] = (thr_candidate){.row = i,
                                   .score = nothing  ? 0
                                            : nested ? test_lead_estimate(corpus, &query, i)
                                                     : test_estimate(corpus, &query, i)};
    }
    qsort(items, ITEMS, sizeof *items, test_candidate_order);
    for (size_t i = 0; i < n; i++) {
        lead_ranks[items[i].row] = (uint32_t)i;
        if (!nothing)
            items[i].score = test_estimate(corpus, &query, items[i].row);
    }
    qsort(items, n, sizeof *items, test_candidate_order);
    for (size_t i = 0; i < n; i++)
        full_ranks[items[i].row] = (uint32_t)i;
    test_query_free(&query);
}

static void check_ranks(thr_context *context, const test_corpus *corpus, const thr_matrix *queries, uint64_t query,
                        uint64_t n_survivors, const uint64_t *rows, size_t n_rows) {
    uint32_t lead_ranks[ITEMS], full_ranks[ITEMS], wanted_lead[ITEMS], wanted_full[ITEMS];
    const thr_scan_rank_request request = {rows, n_rows, n_survivors, lead_ranks, full_ranks};
    rank_naively(corpus, (const float *)queries->data + query * DIMS, n_survivors, wanted_lead, wanted_full);
    thr_scan *scan = test_scan_create(context);
    for (int again = 0; again < 2; again++) /* a scan is used again and again */
        expect_ok(thr_scan_ranks(scan, &corpus->scan, queries, query, &request, &err));
    thr_scan_free(scan);
    for (size_t j = 0; j < n_rows; j++)
        assert_case(lead_ranks[j] == wanted_lead[rows[j]] && full_ranks[j] == wanted_full[rows[j]],
                    "seed %llu: metric %s, %u of %u planes, query %llu, %llu survivors: row %llu has ranks %u and %u, "
                    "not %u and %u",
                    (unsigned long long)test_seed(), thr_metric_name(corpus->shape.metric), corpus->shape.lead,
                    corpus->shape.bits, (unsigned long long)query, (unsigned long long)n_survivors,
                    (unsigned long long)rows[j], lead_ranks[j], full_ranks[j], wanted_lead[rows[j]],
                    wanted_full[rows[j]]);
}

TEST(ranks_are_places_in_both_orders) {
    enum { QUERIES = 3 };
    static const uint64_t survivors[] = {1, 40, 300, ITEMS, UINT64_MAX};
    uint64_t rng = test_seed(), some[ROWS], all[ITEMS];
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows), queries[QUERIES * DIMS] = {0};
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
    test_gaussian(&rng, queries, (QUERIES - 1) * DIMS); /* the last one stays zero */
    for (uint64_t i = 0; i < ITEMS; i++) {
        all[i] = i;
        if (i % 5 == 4) /* ties */
            memcpy(rows + i * DIMS, rows + thr_rng_below(&rng, i) * DIMS, DIMS * sizeof *rows);
    }
    for (uint32_t n_threads = 1; n_threads <= 2; n_threads++) {
        OWNED(thr_context, context) = test_context(n_threads, THR_ISA_BEST, NULL);
        for (size_t m = 0; m < 3; m++)
            for (uint32_t lead = 0; lead <= 2; lead++) {
                const test_shape shape = {ITEMS, DIMS,      3,    METRICS[m], m == 2 ? THR_DTYPE_NONE : THR_DTYPE_F32,
                                          320,   lead == 2, lead, lead == 1};
                test_corpus corpus;
                test_target_make(&corpus, &shape, rows);
                for (size_t j = 0; j < ROWS; j++)
                    some[j] = j * (ITEMS / ROWS) + thr_rng_below(&rng, ITEMS / ROWS);
                for (size_t s = 0; s < COUNT_OF(survivors); s++)
                    for (uint64_t q = 0; q < QUERIES; q++)
                        check_ranks(context, &corpus, &matrix, q, survivors[s], some, ROWS);
                check_ranks(context, &corpus, &matrix, 0, 500, all, ITEMS);
                check_ranks(context, &corpus, &matrix, 1, 500, all + 17, 1);
                check_ranks(context, &corpus, &matrix, 1, 500, all, 0);
                test_target_free(&corpus);
            }
    }
}

TEST(without_memory_it_is_enomem_and_nothing_is_lost) {
    uint64_t rng = test_seed(), row = 5;
    float *rows = test_new((size_t)ITEMS * DIMS, sizeof *rows);
    test_gaussian(&rng, rows, (size_t)ITEMS * DIMS);
    const test_shape shape = {ITEMS, DIMS, 3, THR_METRIC_L2, THR_DTYPE_NONE, 0, false, 1, false};
    const thr_matrix matrix = thr_matrix_f32(rows, 1, DIMS);
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    assert_int_equal(setenv("THR_KERNEL", "table", 1), 0); /* which one is guessed without memory */
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
        uint32_t lead_rank = 0, full_rank = 0;
        OWNED(thr_scan, scan) = NULL;
        test_oom_arm(&oom);
        thr_status status = thr_scan_create(context, &scan, &err);
        if (status == THR_OK)
            status = thr_scan_ranks(scan, &corpus.scan, &matrix, 0,
                                    &(thr_scan_rank_request){&row, 1, ITEMS, &lead_rank, &full_rank}, &err);
        (void)test_oom_check(&oom, status, &err, "no memory");
    }
    assert_true(oom.n_failed > 4);
    assert_int_equal(unsetenv("THR_KERNEL"), 0);
    test_target_free(&corpus);
}
