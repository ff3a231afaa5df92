/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cells_bounds.c - exact and radius searches that skip cells by their bounds have the answers of searches that
 * read all, to the bit; and they do skip cells.
 */
#include "index_support.h"

#include "cells/bounded/search.h"
#include "index/search/kept_certificates.h"
#include "index/search/plan.h"

static const char DIR_A[] = "index-cells-bounds";

#ifdef THR_SANITIZED
enum { FIRST_THREADS = 1 };
#else
enum { FIRST_THREADS = 0 }; /* of {1, 3} */
#endif
enum { N = 6000, DIMS = 16, QUERIES = 24, CELLS = 80, CENTRES = 60 };

/* Rows near CENTRES centres; each 50th is far from all, each 60th equals another one. */
static float *clustered_rows(uint64_t n, uint64_t seed) {
    float *centres = random_rows(CENTRES, DIMS, 77), *rows = random_rows(n, DIMS, seed);
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < DIMS; d++) {
            const float near = centres[i % CENTRES * DIMS + d] + 0.05f * rows[i * DIMS + d];
            rows[i * DIMS + d] = i % 60 == 1 ? rows[i % CENTRES * DIMS + d] : i % 50 == 0 ? rows[i * DIMS + d] : near;
        }
    return rows;
}

typedef struct kind {
    thr_metric metric;
    thr_dtype keep;
    uint32_t bits, lead;
} kind;

static const kind kinds[] = {{THR_METRIC_COSINE, THR_DTYPE_F32, 3, 1}, {THR_METRIC_IP, THR_DTYPE_F16, 4, 2},
                             {THR_METRIC_L2, THR_DTYPE_I8, 3, 1},      {THR_METRIC_COSINE, THR_DTYPE_I8, 2, 2},
                             {THR_METRIC_IP, THR_DTYPE_F32, 1, 1},     {THR_METRIC_L2, THR_DTYPE_F32, 6, 6}};

/* Build an index of n rows with cells, and add n_more without. */
static thr_index *build(thr_context *context, const kind *k, const float *rows, uint64_t n, uint64_t n_more,
                        uint64_t segment_rows) {
    thr_index_build_options options = build_options(k->metric, k->keep, k->bits);
    options.lead_bits = k->lead;
    options.cells = CELLS;
    options.segment_rows = segment_rows;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, n, DIMS, &options, &err));
    if (n_more > 0) {
        const thr_matrix more = thr_matrix_f32(rows + n * DIMS, n_more, DIMS);
        expect_ok(add_matrix(context, DIR_A, &more, NULL, NULL, &err));
    }
    return test_index_open(context, DIR_A);
}

/* One in `step` rows passes. */
static uint64_t *make_filter(uint64_t n, uint64_t step) {
    uint64_t *filter = test_new(n / 64 + 1, sizeof *filter);
    for (uint64_t i = 0; i < n; i += step)
        filter[i / 64] |= UINT64_C(1) << i % 64;
    return filter;
}

/* ------------------------------------------------------------------------------------------------ radius */

/* Expect the same items from two radius searches: found has ids; all, from a search of all cells, has rows. */
static void expect_same_found(const thr_index *index, const thr_radius_result *found, const thr_found *all,
                              const char *what) {
    for (uint64_t q = 0; q < found->n_queries; q++) {
        const uint64_t n = found->offsets[q + 1] - found->offsets[q];
        assert_case(n == all[q].n, "%s: query %d: %d rows instead of %d", what, (int)q, (int)n, (int)all[q].n);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(found->ids[found->offsets[q] + i], thr_index_id_of(index, all[q].items[i].row));
            assert_memory_equal(&found->scores[found->offsets[q] + i], &all[q].items[i].score, sizeof(float));
        }
    }
}

/* Search one by one and in a batch, and compare with a search of all rows by scan. */
static void expect_radius(thr_index *index, thr_scan *scan, const float *queries, float least,
                          const thr_search_options *options, const char *what) {
    thr_found all[QUERIES] = {{0}};
    thr_radius_result *found;
    uint8_t certified[QUERIES];
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    thr_search_plan plan; /* its filter */
    expect_ok(thr_index_plan_begin(index, QUERIES, 0, options, &plan, &err));
    thr_search_options o = plan.options;
    const bool rounded = thr_index_scores_are_rounded(index);
    const float accepted = thr_scan_radius_least(index->manifest.metric, DIMS, least);
    float lowered = accepted;
    if (rounded)
        expect_ok(thr_index_lowered_radius(index, &matrix, accepted, &lowered, &err));
    expect_ok(thr_scan_radius(scan, &index->corpus, &matrix, lowered, &o, all, &err));
    if (rounded)
        expect_ok(thr_index_keep_radius(index, &matrix, accepted, &o, all, &err));
    thr_index_plan_end(index, &plan);
    o = *options;
    for (uint64_t each = 1; each <= QUERIES; each += QUERIES - 1)
        for (uint64_t q = 0; q < QUERIES; q += each) {
            const thr_matrix some = thr_matrix_f32(queries + q * DIMS, each, DIMS);
            o.certified = certified;
            memset(certified, 7, sizeof certified);
            expect_ok(thr_index_search_radius(index, &some, least, &o, &found, &err));
            for (uint64_t i = 0; i < each; i++)
                assert_true(certified[i] == 1 || (rounded && certified[i] == 0));
            expect_same_found(index, found, all + q, what);
            thr_radius_result_free(found);
        }
    for (size_t q = 0; q < QUERIES; q++)
        thr_scan_found_free(index->context, &all[q]);
}

/* The i-th best score of the first query. */
static float score_of(thr_index *index, const float *queries, uint64_t i) {
    uint64_t ids[64];
    float scores[64];
    const thr_matrix one = thr_matrix_f32(queries, 1, DIMS);
    thr_search_options options = {.recall = 0.99f, .exact = true};
    expect_ok(thr_index_search(index, &one, 64, &options, ids, scores, &err));
    return scores[i];
}

static void expect_all_radii(thr_index *index, const float *queries, const char *what) {
    const float top = score_of(index, queries, 0), low = score_of(index, queries, 63);
    const float least[] = {-INFINITY, low, score_of(index, queries, 9), nextafterf(top, -INFINITY), top, INFINITY};
    uint64_t *filters[] = {NULL, make_filter(thr_index_n_rows(index), 3), make_filter(thr_index_n_rows(index), 401)};
    const bool l2 = index->manifest.metric == THR_METRIC_L2;
    OWNED(thr_scan, scan) = test_scan_create(index->context);
    for (size_t f = 0; f < 3; f++)
        for (size_t i = 0; i < COUNT_OF(least); i++)
            for (int exact = 0; exact < 2; exact++) {
                thr_search_options options = {.recall = 1,
                                              .exact = exact == 1,
                                              .filter = filters[f],
                                              .filter_bits = f == 0 ? 0 : thr_index_n_rows(index)};
                if (!l2 || least[i] <= 0)
                    expect_radius(index, scan, queries, least[i], &options, what);
            }
}

TEST(radius_searches_find_the_same_rows) {
    static const uint32_t threads[] = {1, 3};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    memset(queries + DIMS, 0, DIMS * sizeof *queries);        /* one is the zero vector */
    memcpy(queries + 2 * DIMS, rows, DIMS * sizeof *queries); /* one is an item */
    for (size_t t = FIRST_THREADS; t < 2; t++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            char what[64];
            OWNED(thr_context, context) = test_context(threads[t], THR_ISA_BEST, NULL);
            const uint64_t n = k % 2 == 0 ? N : N - 700;
            OWNED(thr_index, index) = build(context, &kinds[k], rows, n, N - n, k % 3 == 0 ? 0 : 2048);
            (void)snprintf(what, sizeof what, "kind %d, %d threads", (int)k, (int)threads[t]);
            expect_all_radii(index, queries, what);
        }
}

/* The blocks that radius searches read, one query at a time. */
static uint64_t blocks_of(thr_context *context, const thr_index *index, const float *queries, float least) {
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    uint64_t n = 0;
    thr_bounded_workspace *workspace = NULL;
    thr_search_options options = {.recall = 1};
    expect_ok(thr_cells_bounded_workspace_make(context, &workspace, &err));
    OWNED(thr_scan, scan) = test_scan_create(context);
    assert_true(thr_cells_have_bounds(&corpus));
    for (size_t q = 0; q < QUERIES; q++) {
        const thr_matrix one = thr_matrix_f32(queries + q * DIMS, 1, DIMS);
        thr_found found = {0};
        const thr_bounded_search search = {scan, workspace, &corpus, &one, &options};
        expect_ok(thr_cells_radius(&search, least, &found, &err));
        n += thr_cells_bounded_blocks_read(workspace);
        thr_scan_found_free(context, &found);
    }
    thr_cells_bounded_workspace_free(workspace);
    return n;
}

TEST(radius_searches_skip_cells) {
    static const float least[] = {[THR_METRIC_COSINE] = 0.99f, [THR_METRIC_IP] = 25, [THR_METRIC_L2] = -0.03f};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        OWNED(thr_index, index) = build(*state, &kinds[k], rows, N, 0, 0);
        const uint64_t n = blocks_of(*state, index, queries, least[kinds[k].metric]), all = (N + 63) / 64 * QUERIES;
        assert_case(n > 0 && n < all / 3 * 2, "kind %d: %d of %d blocks", (int)k, (int)n, (int)all);
    }
}

/* With a recall below 1: only rows within the radius, and nearly all of them. */
TEST(radius_searches_keep_their_recall) {
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        OWNED(thr_index, index) = build(*state, &kinds[k], rows, N, 0, 0);
        thr_radius_result *found, *all;
        thr_search_options options = {.recall = 0.99f};
        const float least = score_of(index, queries + 4 * DIMS, 40);
        options.recall = 1;
        expect_ok(thr_index_search_radius(index, &matrix, least, &options, &all, &err));
        options.recall = 0.9f;
        expect_ok(thr_index_search_radius(index, &matrix, least, &options, &found, &err));
        const uint64_t n = found->offsets[QUERIES], n_all = all->offsets[QUERIES];
        uint64_t n_within = 0; /* a recall of 1 also finds rows whose given vectors may be within the radius */
        for (uint64_t i = 0; i < n_all; i++)
            n_within += all->scores[i] >= least;
        assert_case(n <= n_all && (double)n >= 0.9 * (double)n_within, "kind %d: %d of %d rows", (int)k, (int)n,
                    (int)n_within);
        for (uint64_t i = 0; i < n; i++)
            assert_true((double)found->scores[i] >= (double)least - 2e-6 * fmax(1, fabs((double)least)));
        thr_radius_result_free(found);
        thr_radius_result_free(all);
    }
}

/* A search that fails for want of memory does not change the answers of the next one. */
TEST(radius_searches_work_after_one_without_memory) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    float *rows = clustered_rows(N, 1);
    const thr_matrix matrix = thr_matrix_f32(rows, 3, DIMS);
    thr_search_options options = {.recall = 0.99f};
    thr_radius_result *found = NULL, *again = NULL;
    options.recall = 1;
    thr_index *index = build(context, &kinds[0], rows, N, 0, 0);
    const float least = score_of(index, rows, 40);
    thr_index_free(index);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        expect_ok(thr_index_open(context, DIR_A, &index, &err));
        test_oom_arm(&oom);
        const thr_status status = thr_index_search_radius(index, &matrix, least, &options, &found, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        expect_ok(thr_index_search_radius(index, &matrix, least, &options, &again, &err));
        assert_true(again->offsets[3] >= 40 && (status != THR_OK || found->offsets[3] == again->offsets[3]));
        thr_radius_result_free(found);
        thr_radius_result_free(again);
        thr_index_free(index);
    }
    assert_true(oom.n_failed > 10);
}

/* ------------------------------------------------------------------------------------------------ the best k */

enum { MOST_K = 180 };

typedef struct best {
    uint64_t ids[QUERIES * MOST_K], n_read[QUERIES];
    float scores[QUERIES * MOST_K];
} best;

/* Search one by one and in a batch, and compare with a search of all rows by scan. */
static void expect_best(thr_index *index, thr_scan *scan, const float *queries, uint64_t k,
                        const thr_search_options *options, const char *what) {
    static best all, found;
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    thr_search_options o = *options;
    thr_search_plan plan; /* its filter */
    uint8_t certified[QUERIES];
    const thr_answers answers = {.k = k, .ids = all.ids, .scores = all.scores, .least_scores = o.least_scores};
    o.least_scores = NULL; /* a plan of a search by radius leaves the other options as they are */
    expect_ok(thr_index_plan_begin(index, QUERIES, 0, &o, &plan, &err));
    o.least_scores = options->least_scores;
    o.filter = plan.options.filter;
    expect_ok(thr_scan_search(scan, &index->corpus, &matrix, &o, &answers, &err));
    thr_index_plan_end(index, &plan);
    thr_index_rows_to_ids(index, all.ids, QUERIES * k);
    for (uint64_t each = 1; each <= QUERIES; each += QUERIES - 1) {
        memset(&found, 7, sizeof found);
        memset(certified, 7, sizeof certified);
        for (uint64_t q = 0; q < QUERIES; q += each) {
            const thr_matrix some = thr_matrix_f32(queries + q * DIMS, each, DIMS);
            o = *options;
            o.certified = certified + q;
            o.n_read = found.n_read + q;
            o.least_scores = options->least_scores == NULL ? NULL : options->least_scores + q;
            expect_ok(thr_index_search(index, &some, k, &o, found.ids + q * k, found.scores + q * k, &err));
        }
        for (uint64_t q = 0; q < QUERIES; q++) {
            assert_true(certified[q] == 1 || (certified[q] == 0 && thr_index_scores_are_rounded(index)));
            assert_true(found.n_read[q] <= thr_index_n_rows(index));
            assert_case(memcmp(found.ids + q * k, all.ids + q * k, k * sizeof *all.ids) == 0 &&
                            memcmp(found.scores + q * k, all.scores + q * k, k * sizeof *all.scores) == 0,
                        "%s: query %d of %d, k %d: other answers", what, (int)q, (int)each, (int)k);
        }
    }
}

static void expect_all_best(thr_index *index, const float *queries, const char *what) {
    static const uint64_t ks[] = {1, 10, MOST_K};
    const uint64_t n = thr_index_n_rows(index);
    uint64_t *filters[] = {NULL, make_filter(n, 3), make_filter(n, 401), make_filter(n, n)};
    float least[2][QUERIES];
    OWNED(thr_scan, scan) = test_scan_create(index->context);
    for (size_t q = 0; q < QUERIES; q++) {
        least[0][q] = q % 3 == 0 ? -INFINITY : score_of(index, queries + q * DIMS, q % 60);
        least[1][q] = nextafterf(score_of(index, queries + q * DIMS, 0), INFINITY);
    }
    for (size_t f = 0; f < 4; f++)
        for (size_t l = 0; l < 3; l++)
            for (size_t i = 0; i < 3; i++) {
                thr_search_options options = {.recall = 0.99f, .exact = i % 2 == 0};
                options.recall = 1; /* exact, too */
                options.filter = filters[f];
                options.filter_bits = f == 0 ? 0 : n;
                options.least_scores = l == 0 ? NULL : least[l - 1];
                thr_index_resolve_recall(index, ks[i], &options);
                assert_true(options.exact);
                expect_best(index, scan, queries, ks[i], &options, what);
            }
}

TEST(exact_searches_have_the_same_answers) {
    static const uint32_t threads[] = {1, 3};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    memset(queries + DIMS, 0, DIMS * sizeof *queries);
    memcpy(queries + 2 * DIMS, rows, DIMS * sizeof *queries);
    for (size_t d = 0; d < DIMS; d++)
        queries[3 * DIMS + d] *= -1;
    for (size_t t = FIRST_THREADS; t < 2; t++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            char what[64];
            OWNED(thr_context, context) = test_context(threads[t], THR_ISA_BEST, NULL);
            const uint64_t n = k % 2 == 0 ? N : N - 700;
            OWNED(thr_index, index) = build(context, &kinds[k], rows, n, N - n, k % 3 == 0 ? 0 : 2048);
            (void)snprintf(what, sizeof what, "kind %d, %d threads", (int)k, (int)threads[t]);
            expect_all_best(index, queries, what);
        }
}

/* Each item occurs 40 times, in cells that are single points: ties of the k-th score are decided by the row. */
TEST(equal_items_are_ordered_by_row) {
    enum { DISTINCT = N / 40 };
    float *rows = random_rows(N, DIMS, 3);
    for (uint64_t i = DISTINCT; i < N; i++)
        memcpy(rows + i * DIMS, rows + i % DISTINCT * DIMS, DIMS * sizeof *rows);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        OWNED(thr_index, index) = build(*state, &kinds[k], rows, N, 0, k % 2 == 0 ? 0 : 2048);
        expect_all_best(index, rows, "equal items");
    }
}

/* The share of the rows that exact searches score. */
TEST(exact_searches_skip_cells) {
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        OWNED(thr_index, index) = build(*state, &kinds[k], rows, N, 0, 0);
        uint64_t n_read[QUERIES], ids[QUERIES], n = 0;
        thr_search_options options = {.recall = 0.99f, .exact = true};
        for (uint64_t q = 0; q < QUERIES; q++) {
            const thr_matrix one = thr_matrix_f32(queries + q * DIMS, 1, DIMS);
            options.n_read = &n_read[q];
            expect_ok(thr_index_search(index, &one, 1, &options, &ids[q], NULL, &err));
            n += n_read[q];
        }
        assert_case(n > 0 && n < (uint64_t)N * QUERIES / 5 * 4, "kind %d: %d of %d rows", (int)k, (int)n, N * QUERIES);
    }
}

TEST(a_second_exact_search_allocates_nothing) {
    test_memory count = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &count);
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    thr_index *index = build(context, &kinds[2], rows, N, 0, 0);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    uint64_t ids[QUERIES * 10];
    thr_search_options options = {.recall = 0.99f, .exact = true};
    expect_ok(thr_index_search(index, &matrix, 10, &options, ids, NULL, &err));
    const size_t calls = atomic_load(&count.calls);
    expect_ok(thr_index_search(index, &matrix, 10, &options, ids, NULL, &err));
    assert_int_equal(atomic_load(&count.calls), calls);
    thr_index_free(index);
    thr_context_free(context);
    assert_int_equal(atomic_load(&count.live), 0);
}

TEST(exact_searches_work_after_one_without_memory) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    float *rows = clustered_rows(N, 1);
    const thr_matrix matrix = thr_matrix_f32(rows, 3, DIMS);
    uint64_t ids[30], again[30];
    thr_search_options options = {.recall = 0.99f, .exact = true};
    thr_index *index = build(context, &kinds[2], rows, N, 0, 0);
    thr_index_free(index);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        expect_ok(thr_index_open(context, DIR_A, &index, &err));
        test_oom_arm(&oom);
        const thr_status status = thr_index_search(index, &matrix, 10, &options, ids, NULL, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        expect_ok(thr_index_search(index, &matrix, 10, &options, again, NULL, &err));
        assert_true(again[0] == 0 && (status != THR_OK || memcmp(ids, again, sizeof ids) == 0));
        thr_index_free(index);
    }
    assert_true(oom.n_failed > 10);
}

TEST_IN_CONTEXT(2, DIR_A)
