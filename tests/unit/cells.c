/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - centroids, the order of items, the numbers of cells, and the models of scores, against naive models. */
#include "owned.h"

#include "cells/cell_order.h"
#include "cells/centroids.h"
#include "cells/kmeans.h"
#include "cells/choice/score_model.h"

enum { ROWS = 3000, DIMS = 12, GROUPS = 10, TRIALS = 8 };

/* Rows about GROUPS far centres; *group gets each row's. */
static float *grouped_rows(uint64_t *rng, uint32_t *group) {
    float centres[GROUPS * DIMS], *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    test_gaussian(rng, centres, (size_t)GROUPS * DIMS);
    test_gaussian(rng, rows, (size_t)ROWS * DIMS);
    for (uint32_t i = 0; i < ROWS; i++) {
        group[i] = (uint32_t)thr_rng_below(rng, GROUPS);
        for (uint32_t d = 0; d < DIMS; d++)
            rows[i * DIMS + d] = 100 * centres[group[i] * DIMS + d] + rows[i * DIMS + d];
    }
    return rows;
}

/* Find n centroids of rows, which the caller frees, and the nearest one of each row. */
static float *train(thr_context *context, const float *rows, uint32_t n_rows, uint32_t n, uint32_t *nearest) {
    const thr_kmeans_sample sample = {rows, n_rows, DIMS};
    float *found = test_new((size_t)n * DIMS, sizeof *found);
    thr_centroids centroids;
    expect_ok(thr_cells_kmeans(context, &sample, n, found, &err));
    expect_ok(thr_cells_centroids_make(context, found, n, DIMS, &centroids, &err));
    expect_ok(thr_cells_centroids_nearest(&centroids, rows, n_rows, nearest, &err));
    thr_cells_centroids_free(&centroids);
    return found;
}

static double squared_distance(const float *a, const float *b) {
    double sum = 0;
    for (uint32_t d = 0; d < DIMS; d++)
        sum += pow((double)a[d] - (double)b[d], 2);
    return sum;
}

/* The squared distance of a row from the nearest of n centroids. */
static double least_distance(const float *row, const float *centroids, uint32_t n) {
    double least = INFINITY;
    for (uint32_t c = 0; c < n; c++)
        least = fmin(least, squared_distance(row, centroids + (size_t)c * DIMS));
    return least;
}

TEST(rows_belong_to_the_nearest_centroid) {
    uint64_t rng = test_seed();
    uint32_t group[ROWS], nearest[ROWS];
    float *rows = grouped_rows(&rng, group);
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *centroids = train(context, rows, ROWS, 4 * GROUPS, nearest);
    for (uint32_t i = 0; i < ROWS; i++) {
        const double distance = squared_distance(rows + (size_t)i * DIMS, centroids + (size_t)nearest[i] * DIMS);
        const double least = least_distance(rows + (size_t)i * DIMS, centroids, 4 * GROUPS);
        assert_true(distance <= least + 0.1); /* of squares of some 100,000 */
    }
}

/*
 * Random rows leave some clusters without a centroid, and Lloyd's algorithm would not move one there. With other seeds
 * one trial in some hundred ends with two clusters that share a centroid.
 */
TEST(each_cluster_gets_a_centroid) {
    uint64_t rng = 5;
    uint32_t group[ROWS], nearest[ROWS];
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        float *rows = grouped_rows(&rng, group);
        float *centroids = train(context, rows, ROWS, GROUPS, nearest);
        for (uint32_t i = 0; i < ROWS; i++)
            assert_true(least_distance(rows + (size_t)i * DIMS, centroids, GROUPS) < 100); /* the mean is DIMS */
    }
}

/* Most rows belong to the nearest of many centroids, the others to one that is hardly farther. */
TEST(many_centroids_are_searched_in_groups) {
    enum { MANY = THR_CENTROIDS_GROUPED + 88 };
    uint64_t rng = test_seed();
    uint32_t nearest[ROWS], n_nearest = 0;
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    double sum = 0, least_sum = 0;
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    float *centroids = train(context, rows, ROWS, MANY, nearest);
    for (uint32_t i = 0; i < ROWS; i++) {
        const double distance = squared_distance(rows + (size_t)i * DIMS, centroids + (size_t)nearest[i] * DIMS);
        const double least = least_distance(rows + (size_t)i * DIMS, centroids, MANY);
        sum += distance;
        least_sum += least;
        n_nearest += distance <= least * (1 + 1e-5);
    }
    assert_true(n_nearest > ROWS * 0.9);
    assert_true(sum < least_sum * 1.02);
}

/* Equal centroids are one group, and the other groups are empty: each row belongs to the first one. */
TEST(equal_centroids_are_as_near) {
    uint64_t rng = test_seed();
    uint32_t nearest[100];
    float *rows = test_new((size_t)100 * DIMS, sizeof *rows);
    float *equal = test_new((size_t)THR_CENTROIDS_GROUPED * DIMS, sizeof *equal);
    thr_centroids centroids;
    test_gaussian(&rng, rows, (size_t)100 * DIMS);
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    expect_ok(thr_cells_centroids_make(context, equal, THR_CENTROIDS_GROUPED, DIMS, &centroids, &err));
    assert_true(centroids.n_groups > 1);
    memset(nearest, 0xff, sizeof nearest);
    expect_ok(thr_cells_centroids_nearest(&centroids, rows, 100, nearest, &err));
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(nearest[i], 0);
    thr_cells_centroids_free(&centroids);
}

/* With few centroids, and with groups of them. */
TEST(centroids_have_the_same_bits_everywhere) {
    static const thr_isa levels[] = {THR_ISA_SCALAR, THR_ISA_BEST};
    static const uint32_t sizes[] = {30, THR_CENTROIDS_GROUPED};
    uint64_t rng = test_seed();
    uint32_t group[ROWS], nearest[ROWS], first_nearest[ROWS];
    float *rows = grouped_rows(&rng, group);
    for (uint32_t s = 0; s < 2; s++) {
        float *first = NULL;
        for (uint32_t i = 0; i < 4; i++) {
            OWNED(thr_context, context) = test_context(1 + i / 2 * 2, levels[i % 2], NULL);
            float *centroids = train(context, rows, ROWS, sizes[s], i == 0 ? first_nearest : nearest);
            first = i == 0 ? centroids : first;
            assert_memory_equal(first, centroids, sizes[s] * DIMS * sizeof *first);
            if (i > 0) {
                assert_memory_equal(first_nearest, nearest, sizeof nearest);
            }
        }
    }
}

static void read_row(const void *object, uint32_t item, float *vector) {
    memcpy(vector, (const float *)object + (size_t)item * DIMS, DIMS * sizeof *vector);
}

/* An item is between the ends of its cell. */
static void check_ends(const float *row, const float *centroid, const thr_cell_ends *ends) {
    double product = 0, length = 0, square = 0;
    for (uint32_t d = 0; d < DIMS; d++) {
        product += (double)row[d] * (double)centroid[d];
        length += (double)centroid[d] * (double)centroid[d];
        square += (double)row[d] * (double)row[d];
    }
    const double along = length > 0 ? product / sqrt(length) : 0, slack = 1e-6 * (sqrt(square) + sqrt(length));
    assert_true(fabs(sqrt(length) - (double)ends->length) <= slack);
    assert_true((double)ends->low.along <= along + slack && (double)ends->high.along >= along - slack);
}

/* Every item has one place, no cell is empty or above 8 means, and no item is outside its cell's radius. */
static void check_order(const float *rows, uint32_t n, const thr_cell_order *order) {
    bool *seen = test_new(n, sizeof *seen);
    uint32_t wrong;
    assert_true(thr_cells_are_valid(&order->table, &wrong));
    for (uint32_t c = 0; c < order->table.n; c++) {
        const thr_cell *cell = &order->cells[c];
        const uint32_t end = thr_cell_end(&order->table, c);
        assert_true(end > cell->first && (uint64_t)(end - cell->first) * order->table.n <= 8 * (uint64_t)n);
        double mean = 0;
        for (uint32_t i = cell->first; i < end; i++) {
            double square = 0;
            assert_false(seen[order->items[i]]);
            seen[order->items[i]] = true;
            for (uint32_t d = 0; d < DIMS; d++)
                square += pow((double)rows[order->items[i] * DIMS + d] - (double)order->centroids[c * DIMS + d], 2);
            assert_true(sqrt(square) <= (double)cell->radius);
            check_ends(rows + (size_t)order->items[i] * DIMS, order->centroids + (size_t)c * DIMS, &order->ends[c]);
            mean += square / (end - cell->first);
        }
        assert_true(fabs(mean - (double)cell->mean_square) <= 1e-5 * mean);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_true(seen[i]);
}

static void make_order(thr_context *context, const float *rows, uint32_t n, uint32_t n_cells) {
    const thr_cell_items items = {rows, read_row, n, DIMS};
    uint32_t *numbers = test_new(n, sizeof *numbers);
    thr_cell_order order;
    expect_ok(thr_cells_order_make(context, &items, numbers, n_cells, &order, &err));
    check_order(rows, n, &order);
    thr_cells_order_free(&order);
}

TEST(every_item_has_a_place_in_a_cell_of_bounded_size) {
    uint64_t rng = test_seed();
    uint32_t group[ROWS];
    float *rows = grouped_rows(&rng, group);
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    make_order(context, rows, ROWS, 25);
    make_order(context, rows, ROWS, 1);
    make_order(context, rows, 40, 40);
    for (uint32_t i = 0; i < ROWS - 100; i++) /* one item many times, and some others */
        memcpy(rows + (size_t)i * DIMS, rows, DIMS * sizeof *rows);
    make_order(context, rows, ROWS, 25);
    memset(rows, 0, (size_t)ROWS * DIMS * sizeof *rows); /* all items equal */
    make_order(context, rows, ROWS, 25);
}

TEST(impossible_cells_are_refused) {
    const thr_cell good[3] = {{0, 1, 1, 0}, {5, 0, 0, 0}, {6, 1, 1, 0}};
    thr_cell cells[3];
    thr_cell_ends ends[3] = {{0, {0, 0}, {0, 0}}, {1, {-1, 0}, {2, 1}}, {1, {1, 1}, {1, 1}}};
    const thr_cell_table table = {3, 10, DIMS, cells, NULL, ends};
    uint32_t wrong;
    memcpy(cells, good, sizeof cells);
    assert_true(thr_cells_are_valid(&table, &wrong));
    cells[0].first = 1;
    assert_false(thr_cells_are_valid(&table, &wrong));
    assert_int_equal(wrong, 0);
    memcpy(cells, good, sizeof cells);
    cells[2].first = 5; /* empty, or overlapping */
    assert_false(thr_cells_are_valid(&table, &wrong));
    assert_int_equal(wrong, 2);
    cells[2].first = 10;
    assert_false(thr_cells_are_valid(&table, &wrong));
    memcpy(cells, good, sizeof cells);
    cells[1].radius = NAN;
    assert_false(thr_cells_are_valid(&table, &wrong));
    cells[1].radius = -1;
    assert_false(thr_cells_are_valid(&table, &wrong));
    assert_int_equal(wrong, 1);
    memcpy(cells, good, sizeof cells);
    ends[2].low.along = 2; /* above the high end */
    assert_false(thr_cells_are_valid(&table, &wrong));
    assert_int_equal(wrong, 2);
    ends[1].high.across = NAN;
    assert_false(thr_cells_are_valid(&table, &wrong));
    assert_int_equal(wrong, 1);
}

TEST(shares_are_those_of_a_normal_distribution) {
    const thr_cell_score_model models = {
        .n = 1000, .mean = 2, .slope = 3, .deviation = 4}; /* with spread 1 a standard deviation of 5 */
    for (double z = -6; z < 6; z += 0.25) {
        const double share = thr_cells_share_above(&models, 1, 2 + 5 * z), exact = erfc(z * sqrt(0.5)) / 2;
        assert_true(fabs(share / exact - 1) < 0.003);
    }
    const thr_cell_score_model point = {.n = 1, .mean = 2};
    assert_true(thr_cells_share_above(&point, 1, 1) == 1 && thr_cells_share_above(&point, 1, 3) == 0);
}

TEST(an_infinite_mean_gives_nan) {
    const thr_cell_score_model infinite = {.n = 1, .mean = -INFINITY, .slope = 1};
    assert_true(isnan(thr_cells_expected_above(&infinite, 1, 1)));
}

/* A cell far below the score whose end reaches it: one item is expected, as much of it as may be found. */
TEST(the_item_at_the_end_is_expected) {
    thr_cell_score_model model = {.n = 1000, .mean = -9, .slope = 1, .end = {.n = 1, .mean = 0, .slope = 0.1}};
    assert_true(thr_cells_expected_above(&model, 1, -1) > 0.999 && thr_cells_expected_above(&model, 1, -1) <= 1);
    assert_true(fabs(thr_cells_expected_above(&model, 1, 0) - 0.5) < 0.03);
    assert_true(thr_cells_expected_above(&model, 1, 1) == 0);
    model.end.n = 0.25;
    assert_true(fabs(thr_cells_expected_above(&model, 1, -1) - 0.25) < 1e-3);
}

static const thr_cell_visited visited[] = {{{.n = 500, .mean = 0.5, .slope = 1}, 10},
                                           {{.n = 700, .mean = 0.2, .slope = 0.8}, 0},
                                           {{.n = 900, .mean = -0.1, .slope = 1, .deviation = 0.01}, 0}};

static double spread_of(double near, double far, double score) {
    thr_cell_visited cells[3];
    memcpy(cells, visited, sizeof cells);
    cells[0].found = near;
    cells[2].found = far;
    return thr_cells_fit_spread(cells, 3, score, 64);
}

TEST(the_spread_is_the_one_that_expects_what_was_found) {
    for (double found = 1; found <= 100; found *= 3) {
        const double spread = spread_of(found, 0, 1);
        double expected = 0;
        for (size_t c = 0; c < 3; c++)
            expected += visited[c].model.n * thr_cells_share_above(&visited[c].model, spread, 1);
        assert_true(expected >= found && expected < 1.1 * found + 0.1);
    }
    assert_true(spread_of(10, 0, 9) == 1); /* no spread explains it: the largest */
}

/* Ten rows, five of them in a far cell, which widen the largest spread only. */
TEST(the_mean_spread_expects_what_was_found_in_all_cells) {
    thr_cell_visited cells[3];
    memcpy(cells, visited, sizeof cells);
    cells[0].found = 5;
    cells[2].found = 5;
    const double mean = thr_cells_fit_mean_spread(cells, 3, 1, 64), largest = thr_cells_fit_spread(cells, 3, 1, 64);
    double expected = 0;
    for (size_t c = 0; c < 3; c++)
        expected += thr_cells_expected_above(&visited[c].model, mean, 1);
    assert_true(expected >= 10 && expected < 11.1 && mean < largest);
    for (size_t c = 0; c < 3; c++)
        cells[c].found = 0;
    assert_true(fabs(thr_cells_fit_mean_spread(cells, 3, 1, 64) - 0.2 / 8) < 1e-12);
}

TEST(more_found_far_away_than_expected_widens_the_spread) {
    const double near = spread_of(10, 0, 1), far = spread_of(8, 2, 1);
    assert_true(far > 1.2 * near);
    double expected = 0; /* in the two cells with low means, where 2 were found */
    for (size_t c = 1; c < 3; c++)
        expected += visited[c].model.n * thr_cells_share_above(&visited[c].model, far, 1);
    assert_true(expected >= 2 && expected < 2.2);
    assert_true(spread_of(10, 0.01, 1) < 1.01 * near);
}

static int prepare(void **state) {
    (void)state;
    thr_normal_prepare();
    return 0;
}
TEST_GROUP(prepare, NULL)
