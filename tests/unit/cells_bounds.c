/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells_bounds.c - no row scores more than the bound of its cell, as searches compute scores: ordinary and odd rows, by
 * all metrics and kinds of kept vectors. Where cells are points, bounds are tight.
 */
#include "index_support.h"

#include "cells/bounded/bounds.h"
#include "index/impl.h"

static const char DIR_A[] = "cells-bounds";

enum { N = 400, QUERIES = 24, MOST_DIMS = 300 };

typedef enum shape { CLUSTERS, LONG, SHORT, ALL_LENGTHS, EQUAL, ZEROS, ONE_LINE, N_SHAPES } shape;

static const char *const shape_names[N_SHAPES] = {"clusters", "long", "short", "all lengths", "equal", "zeros", "line"};

/* The factor of row i's length. float16 has a smaller range. */
static float length_of(shape of, thr_metric metric, thr_dtype keep, uint64_t i) {
    const int largest = keep == THR_DTYPE_F16 ? 10 : metric == THR_METRIC_COSINE ? 100 : 52;
    const int smallest = keep == THR_DTYPE_F16 ? -10 : -90;
    switch (of) {
    case LONG:
        return ldexpf(1, largest);
    case SHORT:
        return ldexpf(1, smallest);
    case ALL_LENGTHS:
        return ldexpf(1, smallest + (int)(i * 7919 % (uint64_t)(largest - smallest)));
    default:
        return 1;
    }
}

static float *make_rows(shape of, thr_metric metric, thr_dtype keep, uint32_t n_dims) {
    float *rows = random_rows(N, n_dims, 5), *centres = random_rows(8, n_dims, 6);
    for (uint64_t i = 0; i < N; i++)
        for (uint32_t d = 0; d < n_dims; d++) {
            float *x = &rows[i * n_dims + d];
            *x = centres[i % 8 * n_dims + d] + 0.2f * *x;
            if (of == EQUAL)
                *x = centres[i % 8 * n_dims + d];
            if (of == ZEROS && i % 3 == 0)
                *x = 0;
            if (of == ONE_LINE)
                *x = centres[d] * (float)(i + 1);
            *x *= length_of(of, metric, keep, i);
        }
    return rows;
}

/* Rows, negated rows, sums of two rows, other directions; short and long ones. */
static float *make_queries(const float *rows, uint32_t n_dims) {
    float *queries = random_rows(QUERIES, n_dims, 7);
    for (uint64_t q = 0; q < QUERIES; q++) {
        const float *row = rows + q * 13 % N * n_dims, *other = rows + (q * 17 + 1) % N * n_dims;
        for (uint32_t d = 0; d < n_dims; d++) {
            float *x = &queries[q * n_dims + d];
            *x = q % 6 == 0 ? row[d] : q % 6 == 1 ? -row[d] : q % 6 == 2 ? row[d] / 2 + other[d] / 2 : *x;
            *x *= q % 6 == 4 ? 0x1p-80f : q % 6 == 5 ? 0x1p50f : 1;
        }
    }
    return queries;
}

/* The scores of all rows, by row, for one query. */
static void score_rows(thr_index *index, const thr_matrix *query, float *scores) {
    uint64_t ids[N];
    float found[N];
    thr_search_options options = {.recall = 0.99f, .exact = true};
    expect_ok(thr_index_search(index, query, N, &options, ids, found, &err));
    for (uint64_t i = 0; i < N; i++) {
        uint64_t row;
        assert_true(thr_index_row(index, ids[i], &row));
        scores[row] = found[i];
    }
}

/*
 * Check that no row scores more than its cell's bound. Returns the largest difference between a bound and the best
 * score of its cell, relative to the scale of the scores.
 */
static double expect_bounds(thr_context *context, thr_index *index, const float *queries, uint32_t n_dims,
                            const char *what) {
    const thr_kernels *kernels = context->kernels;
    const thr_metric metric = index->manifest.metric;
    const thr_cell_table *table = &index->cells[0];
    float scores[N], vector[MOST_DIMS];
    double widest = 0;
    for (uint64_t q = 0; q < QUERIES; q++) {
        const thr_matrix one = thr_matrix_f32(queries + q * n_dims, 1, n_dims);
        const thr_cell_query query = thr_cells_query_read(kernels, metric, &one, vector);
        score_rows(index, &one, scores);
        for (uint32_t c = 0; c < table->n && (query.length > 0 || metric == THR_METRIC_L2); c++) {
            const float *centre = index->vectors.kept_centre;
            const thr_cell_rows_kept kept = {(double)thr_scan_kept_errors(&index->vectors).unit_error,
                                             centre == NULL ? 0 : sqrt(kernels->sum_squares(centre, n_dims))};
            const thr_cell_ball ball = thr_cells_ball(kernels, &kept, table, c);
            float centroid_score;
            double best = -INFINITY;
            (metric == THR_METRIC_L2 ? kernels->l2_f32 : kernels->dot_f32)(
                &centroid_score, vector, table->centroids + (size_t)c * n_dims, 0, 1, n_dims);
            const double bound = thr_cells_bound(&query, &ball, centroid_score);
            for (uint32_t i = table->cells[c].first; i < thr_cell_end(table, c); i++)
                best = fmax(best, (double)scores[i]);
            if (!(best <= bound))
                fail_msg("%s: query %d, cell %d: a row scores %.9g, the bound is %.9g", what, (int)q, (int)c, best,
                         bound);
            const double size = metric == THR_METRIC_COSINE ? 1
                                : metric == THR_METRIC_L2   ? pow(query.length + ball.length, 2)
                                                            : query.length * ball.length;
            if (size > 1e-20)
                widest = fmax(widest, (bound - best) / size);
        }
    }
    return widest;
}

static double check(thr_context *context, shape of, thr_metric metric, thr_dtype keep, uint32_t n_dims, uint32_t cells,
                    thr_index_build_options options) {
    char what[128];
    float *rows = make_rows(of, metric, keep, n_dims), *queries = make_queries(rows, n_dims);
    (void)snprintf(what, sizeof what, "%s, metric %d, keep %d, %d dimensions, %d cells", shape_names[of], (int)metric,
                   (int)keep, (int)n_dims, (int)cells);
    options.cells = cells;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, n_dims, &options, &err));
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    assert_int_equal(index->n_segments, 1);
    const double widest = expect_bounds(context, index, queries, n_dims, what);
    return widest;
}

static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype kinds[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};

TEST(no_row_scores_more_than_its_cells_bound) {
    static const uint32_t dims[] = {24, 1, 3, MOST_DIMS};
    for (size_t d = 0; d < COUNT_OF(dims); d++)
        for (size_t i = 0; i < (size_t)N_SHAPES * 9; i++) {
            const thr_metric metric = metrics[i % 3];
            const thr_dtype keep = kinds[i / 3 % 3];
            thr_index_build_options options = build_options(metric, keep, 2);
            options.calibration_queries = THR_NO_CALIBRATION;
            if (d == 0 || i % 4 == d) /* all combinations in one number of dimensions, a quarter in the others */
                (void)check(*state, (shape)(i / 9), metric, keep, dims[d], 9, options);
        }
}

/* If each cell has one item, the bound is its score up to rounding. */
TEST(bounds_of_single_items_are_tight) {
    for (size_t m = 0; m < 3; m++)
        for (size_t k = 0; k < 3; k++) {
            thr_index_build_options options = build_options(metrics[m], kinds[k], 2);
            options.calibration_queries = THR_NO_CALIBRATION;
            const double widest = check(*state, CLUSTERS, metrics[m], kinds[k], 24, N, options);
            /* by cosine an error e of the length moves the angle by its root */
            const double most = kinds[k] == THR_DTYPE_F32 ? 4e-3 : 1e-2;
            assert_case(widest < (metrics[m] == THR_METRIC_COSINE ? most : 4e-5), "metric %d, keep %d: off by %g",
                        (int)metrics[m], (int)kinds[k], widest);
        }
}

/* Centroids of NaN, and centroids without direction, give no useful bound, but no NaN either. */
TEST(bounds_are_never_nan) {
    const thr_kernels *kernels = ((thr_context *)*state)->kernels;
    const float zeros[3] = {0}, wrong[3] = {NAN, 1, 2};
    const float *const centroids[] = {zeros, wrong};
    float vector[3];
    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < 2; i++) {
            const thr_cell cell = {.first = 0, .radius = 1};
            const thr_cell_rows_kept kept = {0};
            const thr_cell_table table = {.n = 1, .n_items = 1, .n_dims = 3, .cells = &cell, .centroids = centroids[i]};
            const thr_cell_ball ball = thr_cells_ball(kernels, &kept, &table, 0);
            const thr_matrix one = thr_matrix_f32((const float[]){1, 2, 3}, 1, 3);
            const thr_cell_query query = thr_cells_query_read(kernels, metrics[m], &one, vector);
            const double bound = thr_cells_bound(&query, &ball, i == 0 ? 0 : NAN);
            assert_true(!isnan(bound));
            assert_true(i == 0 || bound >= (metrics[m] == THR_METRIC_L2 ? 0 : 1));
        }
}

TEST_IN_CONTEXT(2, DIR_A)
