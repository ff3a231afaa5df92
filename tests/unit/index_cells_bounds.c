/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cells_bounds.c - exact and radius searches that skip cells by their bounds have the answers of searches that
 * read all, to the bit; and they do skip cells.
 */
#include "index_support.h"

#include "cells/bounded/search.h"
#include "index/search/kept_certificates.h"
#include "index/impl.h"

static thr_error error;
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
    free(centres);
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
    thr_index *index = NULL;
    options.lead_bits = k->lead;
    options.cells = CELLS;
    options.segment_rows = segment_rows;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, n, DIMS, &options, &error));
    if (n_more > 0) {
        const thr_matrix more = thr_matrix_f32(rows + n * DIMS, n_more, DIMS);
        thr_reader *reader = NULL;
        expect_ok(thr_reader_from_matrix(context, &more, &reader, &error));
        expect_ok(thr_index_add(context, DIR_A, reader, NULL, NULL, &error));
        thr_reader_free(reader);
    }
    expect_ok(thr_index_open(context, DIR_A, &index, &error));
    return index;
}

/* One in `step` rows passes. */
static uint64_t *make_filter(uint64_t n, uint64_t step) {
    uint64_t *filter = calloc(n / 64 + 1, sizeof *filter);
    assert_non_null(filter);
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
    thr_search_options o = *options;
    void *filter;
    expect_ok(thr_index_restrict(index, &o, &filter, &error));
    const bool rounded = thr_index_scores_are_rounded(index);
    const float accepted = thr_scan_radius_least(index->manifest.metric, DIMS, least);
    float lowered = accepted;
    if (rounded)
        expect_ok(thr_index_lowered_radius(index, &matrix, accepted, &lowered, &error));
    expect_ok(thr_scan_radius(scan, &index->corpus, &matrix, lowered, &o, all, &error));
    if (rounded)
        expect_ok(thr_index_keep_radius(index, &matrix, accepted, &o, all, &error));
    if (filter != NULL)
        thr_idle_put(&index->root->filters, filter);
    o = *options;
    for (uint64_t each = 1; each <= QUERIES; each += QUERIES - 1)
        for (uint64_t q = 0; q < QUERIES; q += each) {
            const thr_matrix some = thr_matrix_f32(queries + q * DIMS, each, DIMS);
            o.certified = certified;
            memset(certified, 7, sizeof certified);
            expect_ok(thr_index_search_radius(index, &some, least, &o, &found, &error));
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
    thr_search_options options;
    thr_search_options_init(&options);
    options.exact = true;
    expect_ok(thr_index_search(index, &one, 64, &options, ids, scores, &error));
    return scores[i];
}

static void expect_all_radii(thr_index *index, const float *queries, const char *what) {
    const float top = score_of(index, queries, 0), low = score_of(index, queries, 63);
    const float least[] = {-INFINITY, low, score_of(index, queries, 9), nextafterf(top, -INFINITY), top, INFINITY};
    uint64_t *filters[] = {NULL, make_filter(thr_index_n_rows(index), 3), make_filter(thr_index_n_rows(index), 401)};
    const bool l2 = index->manifest.metric == THR_METRIC_L2;
    thr_scan *scan = NULL;
    expect_ok(thr_scan_create(index->context, &scan, &error));
    for (size_t f = 0; f < 3; f++)
        for (size_t i = 0; i < sizeof least / sizeof *least; i++)
            for (int exact = 0; exact < 2; exact++) {
                thr_search_options options;
                thr_search_options_init(&options);
                options.exact = exact == 1;
                options.recall = 1;
                options.filter = filters[f];
                options.filter_bits = f == 0 ? 0 : thr_index_n_rows(index);
                if (!l2 || least[i] <= 0)
                    expect_radius(index, scan, queries, least[i], &options, what);
            }
    thr_scan_free(scan);
    free(filters[1]);
    free(filters[2]);
}

static void radius_searches_find_the_same_rows(void **state) {
    static const uint32_t threads[] = {1, 3};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    (void)state;
    memset(queries + DIMS, 0, DIMS * sizeof *queries);        /* one is the zero vector */
    memcpy(queries + 2 * DIMS, rows, DIMS * sizeof *queries); /* one is an item */
    for (size_t t = FIRST_THREADS; t < 2; t++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            char what[64];
            thr_context *context = test_context(threads[t], THR_ISA_BEST, NULL);
            const uint64_t n = k % 2 == 0 ? N : N - 700;
            thr_index *index = build(context, &kinds[k], rows, n, N - n, k % 3 == 0 ? 0 : 2048);
            (void)snprintf(what, sizeof what, "kind %d, %d threads", (int)k, (int)threads[t]);
            expect_all_radii(index, queries, what);
            thr_index_free(index);
            thr_context_free(context);
        }
    free(rows);
    free(queries);
}

/* The blocks that radius searches read, one query at a time. */
static uint64_t blocks_of(thr_context *context, const thr_index *index, const float *queries, float least) {
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    uint64_t n = 0;
    thr_bounded_workspace *workspace = NULL;
    thr_scan *scan = NULL;
    thr_search_options options;
    thr_search_options_init(&options);
    options.recall = 1;
    expect_ok(thr_cells_bounded_workspace_make(context, &workspace, &error));
    expect_ok(thr_scan_create(context, &scan, &error));
    assert_true(thr_cells_have_bounds(&corpus));
    for (size_t q = 0; q < QUERIES; q++) {
        const thr_matrix one = thr_matrix_f32(queries + q * DIMS, 1, DIMS);
        thr_found found = {0};
        const thr_bounded_search search = {scan, workspace, &corpus, &one, &options};
        expect_ok(thr_cells_radius(&search, least, &found, &error));
        n += thr_cells_bounded_blocks_read(workspace);
        thr_scan_found_free(context, &found);
    }
    thr_cells_bounded_workspace_free(workspace);
    thr_scan_free(scan);
    return n;
}

static void radius_searches_skip_cells(void **state) {
    static const float least[] = {[THR_METRIC_COSINE] = 0.99f, [THR_METRIC_IP] = 25, [THR_METRIC_L2] = -0.03f};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        thr_index *index = build(*state, &kinds[k], rows, N, 0, 0);
        const uint64_t n = blocks_of(*state, index, queries, least[kinds[k].metric]), all = (N + 63) / 64 * QUERIES;
        assert_case(n > 0 && n < all / 3 * 2, "kind %d: %d of %d blocks", (int)k, (int)n, (int)all);
        thr_index_free(index);
    }
    free(rows);
    free(queries);
}

/* With a recall below 1: only rows within the radius, and nearly all of them. */
static void radius_searches_keep_their_recall(void **state) {
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        thr_index *index = build(*state, &kinds[k], rows, N, 0, 0);
        thr_radius_result *found, *all;
        thr_search_options options;
        const float least = score_of(index, queries + 4 * DIMS, 40);
        thr_search_options_init(&options);
        options.recall = 1;
        expect_ok(thr_index_search_radius(index, &matrix, least, &options, &all, &error));
        options.recall = 0.9f;
        expect_ok(thr_index_search_radius(index, &matrix, least, &options, &found, &error));
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
        thr_index_free(index);
    }
    free(rows);
    free(queries);
}

/* A search that fails for want of memory does not change the answers of the next one. */
static void radius_searches_work_after_one_without_memory(void **state) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    float *rows = clustered_rows(N, 1);
    const thr_matrix matrix = thr_matrix_f32(rows, 3, DIMS);
    thr_search_options options;
    thr_radius_result *found = NULL, *again = NULL;
    (void)state;
    thr_search_options_init(&options);
    options.recall = 1;
    thr_index *index = build(context, &kinds[0], rows, N, 0, 0);
    const float least = score_of(index, rows, 40);
    thr_index_free(index);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        expect_ok(thr_index_open(context, DIR_A, &index, &error));
        test_oom_arm(&oom);
        const thr_status status = thr_index_search_radius(index, &matrix, least, &options, &found, &error);
        (void)test_oom_check(&oom, status, &error, NULL);
        expect_ok(thr_index_search_radius(index, &matrix, least, &options, &again, &error));
        assert_true(again->offsets[3] >= 40 && (status != THR_OK || found->offsets[3] == again->offsets[3]));
        thr_radius_result_free(found);
        thr_radius_result_free(again);
        thr_index_free(index);
    }
    assert_true(oom.n_failed > 10);
    thr_context_free(context);
    free(rows);
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
    uint8_t certified[QUERIES];
    void *filter;
    const thr_answers answers = {.k = k, .ids = all.ids, .scores = all.scores, .least_scores = o.least_scores};
    expect_ok(thr_index_restrict(index, &o, &filter, &error));
    expect_ok(thr_scan_search(scan, &index->corpus, &matrix, &o, &answers, &error));
    if (filter != NULL)
        thr_idle_put(&index->root->filters, filter);
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
            expect_ok(thr_index_search(index, &some, k, &o, found.ids + q * k, found.scores + q * k, &error));
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
    thr_scan *scan = NULL;
    expect_ok(thr_scan_create(index->context, &scan, &error));
    for (size_t q = 0; q < QUERIES; q++) {
        least[0][q] = q % 3 == 0 ? -INFINITY : score_of(index, queries + q * DIMS, q % 60);
        least[1][q] = nextafterf(score_of(index, queries + q * DIMS, 0), INFINITY);
    }
    for (size_t f = 0; f < 4; f++)
        for (size_t l = 0; l < 3; l++)
            for (size_t i = 0; i < 3; i++) {
                thr_search_options options;
                thr_search_options_init(&options);
                options.exact = i % 2 == 0;
                options.recall = 1; /* exact, too */
                options.filter = filters[f];
                options.filter_bits = f == 0 ? 0 : n;
                options.least_scores = l == 0 ? NULL : least[l - 1];
                thr_index_resolve_recall(index, ks[i], &options);
                assert_true(options.exact);
                expect_best(index, scan, queries, ks[i], &options, what);
            }
    thr_scan_free(scan);
    for (size_t f = 1; f < 4; f++)
        free(filters[f]);
}

static void exact_searches_have_the_same_answers(void **state) {
    static const uint32_t threads[] = {1, 3};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    (void)state;
    memset(queries + DIMS, 0, DIMS * sizeof *queries);
    memcpy(queries + 2 * DIMS, rows, DIMS * sizeof *queries);
    for (size_t d = 0; d < DIMS; d++)
        queries[3 * DIMS + d] *= -1;
    for (size_t t = FIRST_THREADS; t < 2; t++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            char what[64];
            thr_context *context = test_context(threads[t], THR_ISA_BEST, NULL);
            const uint64_t n = k % 2 == 0 ? N : N - 700;
            thr_index *index = build(context, &kinds[k], rows, n, N - n, k % 3 == 0 ? 0 : 2048);
            (void)snprintf(what, sizeof what, "kind %d, %d threads", (int)k, (int)threads[t]);
            expect_all_best(index, queries, what);
            thr_index_free(index);
            thr_context_free(context);
        }
    free(rows);
    free(queries);
}

/* Each item occurs 40 times, in cells that are single points: ties of the k-th score are decided by the row. */
static void equal_items_are_ordered_by_row(void **state) {
    enum { DISTINCT = N / 40 };
    float *rows = random_rows(N, DIMS, 3);
    for (uint64_t i = DISTINCT; i < N; i++)
        memcpy(rows + i * DIMS, rows + i % DISTINCT * DIMS, DIMS * sizeof *rows);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        thr_index *index = build(*state, &kinds[k], rows, N, 0, k % 2 == 0 ? 0 : 2048);
        expect_all_best(index, rows, "equal items");
        thr_index_free(index);
    }
    free(rows);
}

/* The share of the rows that exact searches score. */
static void exact_searches_skip_cells(void **state) {
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        thr_index *index = build(*state, &kinds[k], rows, N, 0, 0);
        uint64_t n_read[QUERIES], ids[QUERIES], n = 0;
        thr_search_options options;
        thr_search_options_init(&options);
        options.exact = true;
        for (uint64_t q = 0; q < QUERIES; q++) {
            const thr_matrix one = thr_matrix_f32(queries + q * DIMS, 1, DIMS);
            options.n_read = &n_read[q];
            expect_ok(thr_index_search(index, &one, 1, &options, &ids[q], NULL, &error));
            n += n_read[q];
        }
        assert_case(n > 0 && n < (uint64_t)N * QUERIES / 5 * 4, "kind %d: %d of %d rows", (int)k, (int)n, N * QUERIES);
        thr_index_free(index);
    }
    free(rows);
    free(queries);
}

static void a_second_exact_search_allocates_nothing(void **state) {
    test_memory count = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &count);
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    thr_index *index = build(context, &kinds[2], rows, N, 0, 0);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    uint64_t ids[QUERIES * 10];
    thr_search_options options;
    (void)state;
    thr_search_options_init(&options);
    options.exact = true;
    expect_ok(thr_index_search(index, &matrix, 10, &options, ids, NULL, &error));
    const size_t calls = atomic_load(&count.calls);
    expect_ok(thr_index_search(index, &matrix, 10, &options, ids, NULL, &error));
    assert_int_equal(atomic_load(&count.calls), calls);
    thr_index_free(index);
    thr_context_free(context);
    assert_int_equal(atomic_load(&count.live), 0);
    free(rows);
    free(queries);
}

static void exact_searches_work_after_one_without_memory(void **state) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    float *rows = clustered_rows(N, 1);
    const thr_matrix matrix = thr_matrix_f32(rows, 3, DIMS);
    uint64_t ids[30], again[30];
    thr_search_options options;
    (void)state;
    thr_search_options_init(&options);
    options.exact = true;
    thr_index *index = build(context, &kinds[2], rows, N, 0, 0);
    thr_index_free(index);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        expect_ok(thr_index_open(context, DIR_A, &index, &error));
        test_oom_arm(&oom);
        const thr_status status = thr_index_search(index, &matrix, 10, &options, ids, NULL, &error);
        (void)test_oom_check(&oom, status, &error, NULL);
        expect_ok(thr_index_search(index, &matrix, 10, &options, again, NULL, &error));
        assert_true(again[0] == 0 && (status != THR_OK || memcmp(ids, again, sizeof ids) == 0));
        thr_index_free(index);
    }
    assert_true(oom.n_failed > 10);
    thr_context_free(context);
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(radius_searches_find_the_same_rows),
        cmocka_unit_test(radius_searches_skip_cells),
        cmocka_unit_test(radius_searches_keep_their_recall),
        cmocka_unit_test(radius_searches_work_after_one_without_memory),
        cmocka_unit_test(exact_searches_have_the_same_answers),
        cmocka_unit_test(equal_items_are_ordered_by_row),
        cmocka_unit_test(exact_searches_skip_cells),
        cmocka_unit_test(a_second_exact_search_allocates_nothing),
        cmocka_unit_test(exact_searches_work_after_one_without_memory),
    };
    return test_run_in_directory(tests, 2, DIR_A);
}
