/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_ranking.c - rows of queries in any order against a naive grouping, from files, caches and arrays, dense and
 * sparse; arrays that are refused; every allocation failing.
 */
#include "test.h"

#include <thresher/ranking.h>

TEST_OWNABLE(thr_ranking)

enum { MAX_ROWS = 60, WIDTH = 12 };

/* Rows as they were given. */
typedef struct given {
    size_t n;
    double labels[MAX_ROWS];
    uint64_t queries[MAX_ROWS];
    float dense[MAX_ROWS * WIDTH];
    uint64_t starts[MAX_ROWS + 1];
    uint32_t columns[MAX_ROWS * WIDTH];
    float values[MAX_ROWS * WIDTH];
} given;

static void make_given(given *g, uint64_t *rng, unsigned density, size_t n_queries, bool in_order) {
    *g = (given){.n = 1 + (size_t)thr_rng_below(rng, MAX_ROWS)};
    for (size_t r = 0; r < g->n; r++) {
        const uint64_t query = in_order ? r * n_queries / g->n : thr_rng_below(rng, n_queries);
        g->labels[r] = (double)thr_rng_below(rng, 5) - 1.5;
        g->queries[r] = (n_queries - query) * 0x123456789abcdu;
        g->starts[r + 1] = g->starts[r];
        for (uint32_t c = 0; c < WIDTH; c++) {
            if (thr_rng_below(rng, 100) >= density && (r != 0 || c != WIDTH - 1))
                continue;
            const float value = (float)thr_rng_below(rng, 1000) / 8 + 0.125f;
            g->dense[r * WIDTH + c] = value;
            g->columns[g->starts[r + 1]] = c;
            g->values[g->starts[r + 1]++] = value;
        }
    }
}

/* Where every row belongs: of all rows, by the first row of its query, then by itself. */
/* Row r as it was given is at this place of the view. */
static void check_row(const thr_ranking *ranking, const given *g, size_t r, size_t place) {
    const thr_ranking_view v = thr_ranking_get_view(ranking);
    assert_int_equal(v.rows != NULL ? v.rows[place] : place, r);
    assert_true(v.labels[place] == g->labels[r]);
    if (v.dense != NULL)
        assert_memory_equal(v.dense + place * WIDTH, g->dense + r * WIDTH, WIDTH * sizeof(float));
    else {
        const uint64_t n = g->starts[r + 1] - g->starts[r], at = v.sparse.starts[place];
        assert_int_equal(v.sparse.starts[place + 1] - at, n);
        assert_memory_equal(v.sparse.columns + at, g->columns + g->starts[r], n * sizeof(uint32_t));
        assert_memory_equal(v.sparse.values + at, g->values + g->starts[r], n * sizeof(float));
    }
    size_t length = 0;
    const char *comment = thr_ranking_comment(ranking, place, &length);
    if (comment != NULL) {
        char expected[32];
        (void)snprintf(expected, sizeof expected, "row %zu", r);
        assert_int_equal(length, strlen(expected));
        assert_memory_equal(comment, expected, length);
    }
}

static void check_view(const thr_ranking *ranking, const given *g, bool queries) {
    const thr_ranking_view v = thr_ranking_get_view(ranking);
    assert_int_equal(v.n_rows, g->n);
    assert_int_equal(v.n_features, WIDTH);
    assert_true(v.has_queries == queries);
    assert_true((v.dense == NULL) == (v.sparse.values != NULL));
    bool in_order = true;
    size_t place = 0, n_queries = 0;
    for (size_t first = 0; first < g->n; first++) {
        bool seen = queries ? false : first != 0;
        for (size_t r = 0; r < first && queries; r++)
            seen |= g->queries[r] == g->queries[first];
        if (seen)
            continue;
        assert_int_equal(v.offsets[n_queries], place);
        assert_int_equal(v.queries[n_queries], queries ? g->queries[first] : 0);
        n_queries++;
        for (size_t r = first; r < g->n; r++) {
            if (queries && g->queries[r] != g->queries[first])
                continue;
            in_order &= r == place;
            check_row(ranking, g, r, place++);
        }
    }
    assert_int_equal(v.n_queries, n_queries);
    assert_int_equal(v.offsets[n_queries], g->n);
    assert_true((v.rows == NULL) == in_order);
}

static void write_given(const char *path, const given *g, bool queries) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t r = 0; r < g->n; r++) {
        (void)fprintf(file, "%g", g->labels[r]);
        if (queries)
            (void)fprintf(file, " qid:%llu", (unsigned long long)g->queries[r]);
        for (uint64_t v = g->starts[r]; v < g->starts[r + 1]; v++)
            (void)fprintf(file, " %u:%.9g", g->columns[v] + 1, (double)g->values[v]);
        (void)fprintf(file, " # row %zu\n", r);
    }
    assert_int_equal(fclose(file), 0);
}

static int make_directory(void **state) {
    (void)state;
    return test_directory_make("rank_ranking");
}

RANDOM_TEST(rows_of_files_are_grouped_by_query) {
    const char *path = test_path_of("a.svm"), *cache = test_path_of("a.svm.thr-cache");
    thr_context *context = test_new_context(2);
    for (size_t i = 0; i < 60; i++) {
        static const unsigned densities[] = {100, 10, 60};
        given g;
        make_given(&g, &rng, densities[i % 3], 1 + i % 7, i % 4 == 0);
        write_given(path, &g, i % 5 != 0);
        (void)unlink(cache);
        for (int again = 0; again < 3; again++) { /* without a cache, making one, using it */
            thr_ranking_options options = {0};
            options.without_queries = true;
            options.cache = again > 0;
            OWNED(thr_ranking, ranking) = NULL;
            expect_ok(thr_ranking_open(context, path, &options, &ranking, &err));
            check_view(ranking, &g, i % 5 != 0);
            size_t length;
            assert_null(thr_ranking_comment(ranking, g.n, &length));
        }
    }
    (void)unlink(cache);
    (void)unlink(path);
}

static thr_status from_csr(thr_context *context, const given *g, const uint64_t *queries, thr_ranking **ranking,
                           thr_error *error) {
    const thr_csr csr = {
        .starts = g->starts, .columns = g->columns, .values = g->values, .n_rows = g->n, .n_columns = WIDTH};
    return thr_ranking_from_csr(context, &csr, g->labels, queries, ranking, error);
}

RANDOM_TEST(rows_of_arrays_are_grouped_by_query) {
    rng += 1;
    thr_context *context = test_new_context(1);
    for (size_t i = 0; i < 100; i++) {
        given g;
        make_given(&g, &rng, 30, 1 + i % 9, i % 4 == 0);
        const uint64_t *queries = g.queries;
        OWNED(thr_ranking, ranking) = NULL;
        if (i % 2 != 0)
            expect_ok(from_csr(context, &g, queries, &ranking, &err));
        else
            expect_ok(thr_ranking_from_matrix(context, ROWS(g.dense, g.n, WIDTH), g.labels, queries, &ranking, &err));
        check_view(ranking, &g, true);
    }
    thr_ranking_free(NULL);
}

/* Three rows with one change to g, their copy: they are refused, and the error has this part. */
#define refuse_rows(change, status, part)                                                                              \
    do {                                                                                                               \
        given g = right;                                                                                               \
        thr_ranking *ranking = NULL;                                                                                   \
        (change);                                                                                                      \
        expect_error(from_csr(context, &g, g.queries, &ranking, &err), (status), (part));                              \
        assert_null(ranking);                                                                                          \
    } while (0)

RANDOM_TEST(sparse_rows_that_make_no_sense_are_refused) {
    rng += 2;
    thr_context *context = test_new_context(1);
    given right;
    make_given(&right, &rng, 100, 2, false);
    right.n = 3;
    refuse_rows(g.labels[1] = (double)NAN, THR_ERANGE, "row 1: the label is nan");
    refuse_rows(g.values[g.starts[2] + 4] = INFINITY, THR_ERANGE, "row 2: value 4 is inf");
    refuse_rows(g.columns[g.starts[1] + 3] = 2, THR_EINVAL, "row 1: column 2 comes after 2");
    refuse_rows(g.columns[g.starts[1] - 1] = WIDTH, THR_EINVAL, "row 0: column 12 of 12");
    refuse_rows(g.starts[0] = 1, THR_EINVAL, "row 0 starts at value 1, not at 0");
    refuse_rows(g.starts[2] = 1, THR_EINVAL, "row 1 ends at value 1, before its start, 12");
    refuse_rows(g.n = 0, THR_EDIM, "0 rows: a ranking has 1 to 4294967294");
}

RANDOM_TEST(dense_rows_and_options_that_make_no_sense_are_refused) {
    rng += 2;
    thr_context *context = test_new_context(1);
    given g;
    make_given(&g, &rng, 100, 2, false);
    thr_ranking *ranking = NULL;
    g.dense[2 * WIDTH + 5] = NAN;
    thr_matrix matrix = thr_matrix_f32(g.dense, 3, WIDTH);
    expect_error(thr_ranking_from_matrix(context, &matrix, g.labels, g.queries, &ranking, &err), THR_ERANGE,
                 "row 2: value 5 is nan, not a finite float32");
    matrix.n_dims = 0;
    expect_error(thr_ranking_from_matrix(context, &matrix, g.labels, g.queries, &ranking, &err), THR_EDIM,
                 "0 features: a ranking has 1 to 2147483647");
    matrix = (thr_matrix){.data = g.dense, .n_rows = 1, .n_dims = 1, .dtype = THR_DTYPE_NONE, .stride = 4};
    expect_error(thr_ranking_from_matrix(context, &matrix, g.labels, g.queries, &ranking, &err), THR_EINVAL,
                 "features of dtype none");
    expect_error(thr_ranking_from_matrix(context, NULL, g.labels, g.queries, &ranking, &err), THR_EINVAL,
                 "the features of a ranking are NULL");
    matrix = thr_matrix_f32(g.dense, 2, WIDTH);
    expect_error(
        thr_ranking_from_matrix(context, &matrix, g.labels, NULL, &ranking, &err), THR_EINVAL,
        "the queries of a ranking are NULL: pairs are of rows of one query, so give the query of each row, or the "
        "same number for all rows");
    assert_null(ranking);
}

RANDOM_TEST(every_allocation_may_fail) {
    rng += 3;
    for (int dense = 0; dense < 2; dense++) {
        test_memory memory = {0};
        thr_context *context = test_context(1, THR_ISA_BEST, &memory);
        given g;
        make_given(&g, &rng, 50, 4, false);
        test_oom oom = test_oom_start(&memory);
        while (test_oom_next(&oom)) {
            thr_ranking *ranking = NULL;
            test_oom_arm(&oom);
            const thr_status status = dense != 0 ? thr_ranking_from_matrix(context, ROWS(g.dense, g.n, WIDTH), g.labels,
                                                                           g.queries, &ranking, &err)
                                                 : from_csr(context, &g, g.queries, &ranking, &err);
            assert_int_equal(test_oom_check(&oom, status, &err, NULL), ranking != NULL);
            thr_ranking_free(ranking);
        }
        assert_true(oom.n_failed > 9);
        thr_context_free(context);
    }
}

TEST_GROUP(make_directory, test_directory_remove)
