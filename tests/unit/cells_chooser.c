/* SPDX-License-Identifier: Apache-2.0 */
/* cells_chooser.c - the order of cells, and when a query may leave out the others. */
#include "test.h"

#include "cells/choice/chooser.h"
#include "cells/choice/order_model.h"
#include "select/bitmap.h"

enum { CELLS = 40, VISITED = 16, DIMS = 64, K = 10, FOUND = 20, ROWS = 100 /* of a cell */ };

/* An index of cells whose centroids are multiples of the first axis, which is also the query. */
typedef struct fixture {
    thr_context *context;
    thr_quantiser quantiser;
    thr_scan_corpus scan;
    thr_cell cells[CELLS];
    thr_cell_rows cell_rows[CELLS];
    thr_cells_columns columns;
    float centroids[CELLS * DIMS], query[DIMS];
    thr_cell_table table;
    thr_cells_corpus corpus;
    thr_cells_plan plan;
    thr_cells_chooser chooser;
    thr_candidate items[FOUND];
    thr_found found;
    double n_allowed[CELLS];
} fixture;

/* Set the rows of a cell, and its columns. */
static void set_rows(fixture *f, size_t c, uint64_t first_row, uint64_t end_row) {
    f->cell_rows[c] = (thr_cell_rows){.first_row = first_row, .end_row = end_row};
    thr_cells_columns_set(&f->columns, c, f->scan.metric, end_row - first_row, &f->cells[c], &(thr_cell_ends){0});
}

/* The VISITED first cells have ROWS rows each, the others n_rows. All centroids but the first are 0. */
static void begin(fixture *f, thr_metric metric, uint32_t n_rows) {
    memset(f, 0, sizeof *f);
    f->context = test_context(1, THR_ISA_SCALAR, NULL);
    f->quantiser.n_dims = DIMS;
    f->scan = (thr_scan_corpus){.metric = metric, .quantiser = &f->quantiser};
    expect_ok(thr_cells_columns_reserve(f->context, CELLS, &f->columns, &err));
    for (uint32_t c = 0, row = 0; c < CELLS; c++) {
        f->cells[c] = (thr_cell){.first = row, .radius = 1, .mean_square = 1};
        const uint32_t first = row;
        row += c < VISITED ? ROWS : n_rows;
        set_rows(f, c, first, row);
    }
    f->table = (thr_cell_table){.n = CELLS, .n_dims = DIMS, .cells = f->cells, .centroids = f->centroids};
    f->corpus = (thr_cells_corpus){&f->scan, &f->table, 1};
    f->plan = (thr_cells_plan){.context = f->context,
                               .corpus = &f->corpus,
                               .cell_rows = f->cell_rows,
                               .columns = &f->columns,
                               .n_cells = CELLS,
                               .k = K,
                               .wanted = FOUND,
                               .allowed_misses = 0.5,
                               .order_share = 0.05};
    f->centroids[0] = f->query[0] = 1;
    expect_ok(thr_cells_chooser_reserve(f->context, DIMS, CELLS, &f->chooser, &err));
}

static void end(fixture *f) {
    thr_cells_chooser_free(f->context, &f->chooser);
    thr_cells_columns_free(f->context, &f->columns);
    thr_context_free(f->context);
}

static void begin_query(fixture *f) {
    const uint64_t *filter = f->plan.options.filter;
    f->plan.n_allowed = filter == NULL ? f->columns.n_rows : f->n_allowed;
    f->plan.n_rows = 0;
    for (size_t c = 0; c < CELLS; c++) {
        if (filter != NULL)
            f->n_allowed[c] =
                (double)thr_select_bitmap_count_range(filter, f->cell_rows[c].first_row, f->cell_rows[c].end_row);
        f->plan.n_rows += f->plan.n_allowed[c];
    }
    const thr_matrix query = thr_matrix_f32(f->query, 1, DIMS);
    assert_true(thr_cells_chooser_begin(&f->plan, &query, &f->chooser));
}

/* Visit the first cells, and find FOUND rows, the last n of them in the last cell. Whether more cells are chosen. */
static bool chooses_more(fixture *f, size_t n) {
    begin_query(f);
    thr_cells_chooser_start(VISITED * ROWS, &f->chooser);
    assert_int_equal(f->chooser.n_chosen, VISITED);
    for (size_t i = 0; i < FOUND; i++)
        f->items[i] = (thr_candidate){.row = i < FOUND - n ? i : f->cell_rows[VISITED - 1].first_row + i,
                                      .score = 1.5F - 0.01F * (float)i};
    f->found = (thr_found){.items = f->items, .n = FOUND};
    return thr_cells_chooser_next(&f->plan, &f->found, (double)f->found.items[K - 1].score, &f->chooser);
}

TEST(near_centroids_with_large_residuals_are_visited_first) {
    static const struct {
        thr_metric metric;
        float centroids[2], mean_squares[2];
    } cases[] = {{THR_METRIC_L2, {0, -0.4F}, {4, 0.1F}}, {THR_METRIC_COSINE, {0.4F, 0.6F}, {0.8F, 0.2F}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fixture f;
        begin(&f, cases[i].metric, ROWS);
        for (size_t c = 0; c < CELLS; c++) {
            f.centroids[c * DIMS] = c < 2 ? cases[i].centroids[c] : -3;
            f.cells[c].mean_square = c < 2 ? cases[i].mean_squares[c] : 0.1F;
            set_rows(&f, c, f.cell_rows[c].first_row, f.cell_rows[c].end_row);
        }
        begin_query(&f);
        thr_cells_chooser_start(2 * ROWS, &f.chooser);
        assert_true(f.chooser.n_chosen == 2 && f.chooser.chosen[0] == 0 && f.chooser.chosen[1] == 1);
        end(&f);
    }
}

/* Whether a search goes on after VISITED cells with all its best rows in the first, if the others have n_rows each. */
static bool goes_on(thr_metric metric, uint32_t n_rows, double allowed) {
    fixture f;
    begin(&f, metric, n_rows);
    f.plan.allowed_misses = allowed;
    const bool more = chooses_more(&f, 0);
    end(&f);
    return more;
}

/* The order ends it: the model by scores, whose spread grows, still expects one of the best rows elsewhere. */
TEST(a_search_ends_when_the_last_cells_had_no_rows) {
    assert_false(goes_on(THR_METRIC_COSINE, ROWS, 0.5));
}

TEST(by_inner_product_the_order_ends_no_search) {
    assert_true(goes_on(THR_METRIC_IP, ROWS, 0.5));
}

/* The model by scores expects some of the best rows in cells of a million, though the last cells visited had none. */
TEST(a_search_goes_on_when_scores_contradict_the_order) {
    assert_true(goes_on(THR_METRIC_COSINE, 1000 * 1000, 0.5));
}

TEST(a_search_reads_one_row_in_20_before_the_order_ends_it) {
    assert_false(goes_on(THR_METRIC_COSINE, 1000, 1)); /* 1,600 of 25,600 */
    fixture f;
    begin(&f, THR_METRIC_COSINE, 2000);
    f.plan.allowed_misses = 1;
    assert_true(chooses_more(&f, 0)); /* 1,600 of 49,600 */
    assert_true(f.chooser.front >= 49600.0 / 20);
    end(&f);
}

TEST(a_search_goes_on_in_the_order_when_the_last_cells_had_rows) {
    fixture f;
    begin(&f, THR_METRIC_COSINE, ROWS);
    assert_true(chooses_more(&f, 3));
    assert_true(f.chooser.n_chosen > VISITED && f.chooser.n_chosen < CELLS);
    for (uint32_t c = 0; c < f.chooser.n_chosen; c++)
        assert_int_equal(f.chooser.chosen[c], c);
    end(&f);
}

TEST(a_pass_for_the_best_rows_has_as_many_as_asked_for) {
    fixture f;
    begin(&f, THR_METRIC_COSINE, ROWS);
    begin_query(&f);
    thr_cells_chooser_start(1, &f.chooser);
    assert_int_equal(f.chooser.n_chosen, 1);
    thr_cells_chooser_start(ROWS + 1, &f.chooser);
    assert_int_equal(f.chooser.n_chosen, 3);
    thr_cells_chooser_start(CELLS * ROWS, &f.chooser);
    assert_int_equal(f.chooser.n_chosen, CELLS);
    end(&f);
}

/* The fewest misses, within 10 %, that must be allowed so that a search ends after the first cells. */
static double least_allowed(uint32_t n_rows) {
    double allowed = 1e-3;
    while (goes_on(THR_METRIC_IP, n_rows, allowed))
        allowed *= 1.1;
    return allowed;
}

/* The first 16 cells have 1,600 of 25,600 rows, or of 289,600: then .35 of the usual 1/64, so .35^2 are allowed. */
TEST(a_search_of_few_rows_needs_more_proof) {
    const double times = least_allowed(12000) / least_allowed(1000);
    assert_true(times > 8); /* without more proof it would be 4: 12 times the rows, and a smaller spread */
}

/* Cells leave a queue by descending key, equal ones by number. */
static void assert_sorted(thr_cells_queue *queue, uint32_t n) {
    assert_int_equal(queue->n, n);
    for (uint32_t i = 0, last = 0; i < n; i++) {
        const double *keys = queue->keys;
        const uint32_t first = thr_cells_queue_first(queue), cell = thr_cells_queue_pop(queue);
        assert_int_equal(first, cell);
        assert_true(i == 0 || keys[cell] < keys[last] || (keys[cell] == keys[last] && cell > last));
        last = cell;
    }
    assert_int_equal(queue->n, 0);
}

TEST(a_queue_sorts_cells_with_any_bound) {
    enum { N = 300, LEFT_OUT = 3 };
    static const double bounds[] = {-INFINITY, -1, 0.25, 0.5, 0.9, 2, INFINITY, NAN};
    for (size_t b = 0; b < COUNT_OF(bounds); b++) {
        uint32_t cells[N];
        double keys[N];
        uint64_t seed = 3;
        for (uint32_t i = 0; i < N; i++)
            keys[i] = (double)thr_rng_below(&seed, 100) / 100;
        thr_cells_queue queue = thr_cells_queue_make(cells, N, keys, bounds[b]);
        assert_sorted(&queue, N);
        for (uint32_t i = 0; i < LEFT_OUT; i++)
            keys[N / 2 + i] = -INFINITY;
        queue = thr_cells_queue_make(cells, N, keys, bounds[b]);
        assert_sorted(&queue, N - LEFT_OUT);
    }
}

TEST(a_queue_sorts_listed_cells) {
    enum { N = 300 };
    uint32_t heap[N], cells[N];
    double keys[2 * N];
    uint64_t seed = 4;
    for (uint32_t i = 0; i < N; i++) {
        cells[i] = 2 * (N - 1 - i);
        keys[cells[i]] = (double)thr_rng_below(&seed, 100) / 100;
    }
    thr_cells_queue queue = thr_cells_queue_of(heap, cells, N, keys);
    assert_sorted(&queue, N);
}

/* Damaged centroids: NaN is neither below nor above any number, and all cells are visited. */
TEST(a_search_ends_where_scores_of_centroids_are_not_numbers) {
    fixture f;
    begin(&f, THR_METRIC_COSINE, ROWS);
    for (size_t i = 1; i < CELLS; i++)
        f.centroids[i * DIMS] = NAN;
    size_t passes = 0;
    for (bool more = chooses_more(&f, 0); more && passes <= CELLS; passes++)
        more = thr_cells_chooser_next(&f.plan, &f.found, 1, &f.chooser);
    assert_true(passes <= CELLS);
    end(&f);
}

/* Cells with various ends and deviations, and a query; a filter leaves out every row of some cells. */
static void begin_various(fixture *f, thr_metric metric, uint64_t *filter) {
    uint64_t seed = 5;
    begin(f, metric, ROWS);
    for (size_t c = 0; c < CELLS; c++) {
        const thr_cell_ends ends = {.length = (float)c / CELLS,
                                    .low = {(float)c / CELLS - 0.3F, 0.2F},
                                    .high = {(float)c / CELLS + 0.3F, 0.1F}};
        f->cells[c].square_deviation = (float)thr_rng_below(&seed, 10) / 10;
        thr_cells_columns_set(&f->columns, c, metric, ROWS, &f->cells[c], &ends);
        f->centroids[c * DIMS] = (float)c / CELLS;
        for (size_t row = c * ROWS; c % 4 != 0 && row < (c + 1) * ROWS; row += c)
            thr_bitmap_set(filter, row);
    }
    f->plan.options.filter = filter;
    f->plan.options.filter_bits = (uint64_t)ROWS * CELLS;
    begin_query(f);
}

TEST(likely_cells_are_all_cells_with_expected_rows) {
    static const thr_metric metrics[] = {THR_METRIC_IP, THR_METRIC_L2, THR_METRIC_COSINE};
    for (size_t m = 0; m < COUNT_OF(metrics); m++) {
        fixture f;
        uint64_t filter[ROWS * CELLS / 64 + 1] = {0};
        begin_various(&f, metrics[m], filter);
        for (double score = -2; score < 2; score += 0.125) {
            const thr_likely_cells *likely = &f.chooser.likely;
            double sum = 0;
            thr_cells_likely_list(&f.chooser.models, 0.1, score, f.chooser.may_be_chosen, &f.chooser.likely);
            for (uint32_t c = 0, i = 0; c < CELLS; c++) {
                const thr_cell_score_model model = thr_cells_models_get(&f.chooser.models, c);
                const bool is_listed = i < likely->n && likely->cells[i] == c;
                i += is_listed;
                assert_true(is_listed || !(thr_cells_expected_above(&model, 0.1, score) > 0));
                assert_true(!is_listed || model.n == (ROWS + c - 1) / c);
                sum += is_listed ? thr_cells_expected_above(&model, 0.1, score) : 0;
            }
            assert_true(likely->sum == sum);
        }
        end(&f);
    }
}

/* Where the likeliest cells are proven to have too many rows, choosing them fails; most failures are proven. */
TEST(choosing_fails_where_likely_cells_are_too_large) {
    fixture f;
    uint64_t filter[ROWS * CELLS / 64 + 1] = {0};
    size_t n_failed = 0, n_proven = 0;
    begin_various(&f, THR_METRIC_COSINE, filter);
    const thr_cells_models *models = &f.chooser.models;
    for (double score = -1; score < 1; score += 0.125)
        for (double share = 0.1; share < 1; share += 0.1)
            for (double n_rows = 1; n_rows < f.plan.n_rows; n_rows *= 1.3) {
                uint32_t chosen[CELLS];
                thr_cells_likely_list(models, 0.1, score, f.chooser.may_be_chosen, &f.chooser.likely);
                const double allowed = share * f.chooser.likely.sum;
                const bool is_proven = thr_cells_likely_are_too_large(models, allowed, n_rows, &f.chooser.likely);
                const size_t n = thr_cells_likely_choose(models, allowed, n_rows, &f.chooser.likely, chosen);
                assert_true(n == 0 || !is_proven);
                n_failed += n == 0;
                n_proven += is_proven;
            }
    assert_true(n_proven > n_failed / 2);
    end(&f);
}

/* Rows at 1000 / 1, 1000 / 2, ... of the order: 1000 / u of them are behind u. */
TEST(rows_behind_are_expected_by_the_law_of_the_order) {
    for (double read = 2; read < 500; read *= 1.5)
        for (size_t i = 0; i < THR_CELLS_INTERVALS; i++) {
            const double width = thr_cells_widths[i];
            double found = 0;
            for (int row = 1; row <= 1000; row++)
                found += 1000.0 / row > read / width && 1000.0 / row <= read;
            const double expected = thr_cells_expected_behind(found, width);
            if (read / width >= 1)
                assert_true(fabs(expected - 1000 / read) <= 1.5 / (width - 1));
        }
    assert_true(thr_cells_expected_behind(0, 4) > thr_cells_expected_behind(0, 16)); /* more was read without a row */
}
