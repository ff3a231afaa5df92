/* SPDX-License-Identifier: Apache-2.0 */
/* index_explain.c - the plan of every kind of search, as thr_index_explain prints it. */
#include "index_hits_support.h"

#include <thresher/index_writer.h>

static const char DIR_A[] = "index-explain", MODEL[] = "index-explain.safetensors";
enum { N = 6000, SMALL = 300, DIMS = 24, K = 10, CELLS = 64 /* splits make 67 */, WORDS = N / 64 + 1 };

static thr_search_options options_of(float recall) {
    thr_search_options options = {0};
    options.recall = recall;
    return options;
}

/* The text of a plan for one query; k 0: within a radius. Valid until the next call. */
static const char *plan_of(thr_index *index, uint64_t k, const thr_search_options *options) {
    static char text[THR_EXPLAIN_SIZE];
    memset(text, '#', sizeof text);
    expect_ok(thr_index_explain(index, 1, k, options, text, &err));
    return text;
}

/* Whether a text has a line. */
static void expect_line(const char *text, const char *line) {
    const char *at = strstr(text, line);
    const bool whole = at != NULL && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
    assert_case(whole, "no line \"%s\" in\n%s", line, text);
}

static void expect_no_line(const char *text, const char *name) {
    assert_case(strstr(text, name) == NULL, "a line \"%s\" in\n%s", name, text);
}

static thr_index *make_index(thr_context *context, uint64_t n, const thr_index_build_options *options) {
    thr_index_build_options replacing = *options;
    float *rows = random_rows(n, DIMS, 1);
    replacing.replace = true;
    expect_ok(build_rows(context, DIR_A, rows, n, DIMS, &replacing, &err));
    return test_index_open(context, DIR_A);
}

/* The number of rows that a search for one query reads. */
static uint64_t rows_read(thr_index *index, const thr_search_options *options) {
    float *query = random_rows(1, DIMS, 2);
    const thr_matrix matrix = thr_matrix_f32(query, 1, DIMS);
    uint64_t ids[K], n_read = 0;
    thr_search_options given = *options;
    given.n_read = &n_read;
    expect_ok(thr_index_search(index, &matrix, K, &given, ids, NULL, &err));
    return n_read;
}

/* ------------------------------------------------------------------------------------------------ without cells */

TEST(codes_are_screened_and_margins_keep_the_recall) {
    thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    build.lead_bits = 1;
    thr_index *index = make_index(*state, N, &build);
    const thr_search_options options = options_of(0.9f);
    const char *text = plan_of(index, K, &options);
    expect_line(text, "source: the codes of all rows: the index has no cells");
    expect_line(text, "promise: recall 0.9, by error margins of each query");
    expect_line(text, "refine: 28 vectors, then all others that can be among the best");
    expect_line(text, "threads: 2, all for one query at a time");
    expect_no_line(text, "filter:");
    expect_no_line(text, "certificates:");
    assert_true(rows_read(index, &options) < N);
    thr_index_free(index);
}

TEST(all_vectors_are_scored_for_a_high_recall_on_request_and_in_a_tiny_index) {
    const thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    thr_search_options options = options_of(0.9995f);
    thr_index *index = make_index(*state, N, &build);
    expect_line(plan_of(index, K, &options), "source: the vectors of all rows: the recall is above 0.999");
    expect_line(plan_of(index, K, &options), "promise: all scores are exact");
    options.exact = true;
    expect_line(plan_of(index, K, &options), "source: the vectors of all rows: exact scores were requested");
    assert_int_equal(rows_read(index, &options), N);
    thr_index_free(index);
    index = make_index(*state, SMALL, &build);
    expect_line(plan_of(index, K, NULL),
                "source: the vectors of all rows: the index has too few items for a screen to pay");
    thr_index_free(index);
}

TEST(few_rows_that_pass_the_filter_are_scored_and_many_are_screened) {
    thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    build.lead_bits = 1;
    thr_index *index = make_index(*state, N, &build);
    uint64_t filter[WORDS] = {0};
    thr_search_options options = options_of(0.9f);
    options.filter = filter;
    options.filter_bits = N;
    for (uint64_t row = 0; row < N; row += 600)
        filter[row / 64] |= UINT64_C(1) << row % 64;
    const char *text = plan_of(index, K, &options);
    expect_line(
        text,
        "source: the vectors of all rows that pass the filter: they are so few that this costs less than a screen");
    expect_line(text, "filter: 10 of 6000 rows pass");
    assert_int_equal(rows_read(index, &options), 10);
    memset(filter, 0x7f, sizeof filter);
    text = plan_of(index, K, &options);
    expect_line(text, "source: the codes of all rows: the index has no cells");
    expect_line(text, "filter: 5250 of 6000 rows pass");
    thr_index_free(index);
}

TEST(without_margins_counts_decide) {
    thr_index_build_options build = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
    build.lead_bits = 3;
    thr_index *index = make_index(*state, N, &build);
    thr_search_options options = options_of(0.9f);
    expect_line(plan_of(index, K, &options), "promise: recall 0.9, for queries like those of the calibration");
    thr_index_free(index);
    build.codes_only = true;
    index = make_index(*state, N, &build);
    const char *text = plan_of(index, K, &options);
    expect_line(text, "source: the codes of all rows: the index has no cells");
    expect_line(text, "promise: recall 0.9 of the best by the codes, for queries like those of the calibration");
    expect_no_line(text, "refine:");
    options.exact = true;
    expect_error(thr_index_explain(index, 1, K, &options, (char[THR_EXPLAIN_SIZE]){0}, &err), THR_EUNSUPPORTED, NULL);
    thr_index_free(index);
}

/* ------------------------------------------------------------------------------------------------ cells */

TEST(likely_cells_are_read_unless_a_certificate_or_exact_scores_are_wanted) {
    thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    uint8_t certified;
    build.cells = CELLS;
    build.lead_bits = 1;
    thr_index *index = make_index(*state, N, &build);
    thr_search_options options = options_of(0.9f);
    const char *text = plan_of(index, K, &options);
    expect_line(text, "source: the codes of the likeliest of 67 cells, and of more until the recall is reached");
    expect_line(text,
                "promise: recall 0.9; 65 % of the misses in cells that are not read, the others by error margins");
    options.certified = &certified;
    text = plan_of(index, K, &options);
    expect_line(text, "source: the codes of all rows: a certificate needs all cells");
    expect_line(text, "certificates: by bounds of the errors of codes");
    options.exact = true;
    text = plan_of(index, K, &options);
    expect_line(text, "source: of 67 cells those that can hold an item of the answer, by bounds of scores: exact "
                      "scores were requested");
    expect_line(text, "certificates: all rows that can matter are scored exactly");
    thr_index_free(index);
}

TEST(a_radius_reads_the_cells_that_it_reaches) {
    thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    thr_search_options options = options_of(0.9f);
    build.cells = CELLS;
    thr_index *index = make_index(*state, N, &build);
    const char *text = plan_of(index, 0, &options);
    expect_line(text, "source: of 67 cells those that can hold an item of the answer, by bounds of scores");
    expect_line(
        text, "promise: an item that just reaches the score is found with probability 0.9, a better one with a higher");
    options.recall = 1;
    expect_line(plan_of(index, 0, &options), "promise: no item is missed");
    options.n_read = &(uint64_t){0};
    expect_error(thr_index_explain(index, 1, 0, &options, (char[THR_EXPLAIN_SIZE]){0}, &err), THR_EINVAL, NULL);
    thr_index_free(index);
    build.cells = 0;
    index = make_index(*state, N, &build);
    expect_line(plan_of(index, 0, NULL), "source: the codes of all rows: the index has no cells");
    thr_index_free(index);
}

/* ------------------------------------------------------------------------------------------------ the rest */

TEST(the_tail_is_scored_beside_all_cells) {
    thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    thr_index_writer_options options = {0};
    thr_index_writer *writer = NULL;
    float *rows = random_rows(5, DIMS, 3);
    const thr_matrix five = thr_matrix_f32(rows, 5, DIMS);
    build.cells = CELLS;
    build.lead_bits = 1;
    thr_index_free(make_index(*state, N, &build));
    expect_ok(thr_index_writer_open(*state, DIR_A, &options, &writer, &err));
    expect_ok(thr_index_writer_add(writer, &five, NULL, NULL, NULL, &err));
    thr_index_writer_free(writer);
    thr_index *index = test_index_open(*state, DIR_A);
    const thr_search_options search = options_of(0.9f);
    const char *text = plan_of(index, K, &search);
    expect_line(text, "source: the codes of all rows: the journal has changes, so no cell is skipped");
    expect_line(text, "tail: 5 rows of the journal are scored exactly");
    text = plan_of(index, 0, &search);
    expect_line(text, "source: the codes of all rows: the journal has changes, so no cell is skipped");
    thr_index_free(index);
}

TEST(an_empty_index_has_nothing_to_read) {
    thr_index_create_options options = {0};
    options.n_dims = DIMS;
    test_remove_directory(DIR_A);
    expect_ok(thr_index_create(*state, DIR_A, &options, &err));
    thr_index *index = test_index_open(*state, DIR_A);
    expect_line(plan_of(index, K, NULL), "source: nothing, there are no segments");
    expect_line(plan_of(index, 0, NULL), "source: nothing, there are no segments");
    thr_index_free(index);
}

TEST(features_are_added_to_the_scores_of_all_rows) {
    thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    catalogue items = draw_items(N, 5);
    char text[THR_EXPLAIN_SIZE];
    asked a;
    ask(&a, 6);
    build.lead_bits = 1;
    build.features = &items.items;
    thr_index *index = make_index(*state, N, &build);
    thr_search_options options = options_of(0.9f);
    options.features = &a.queries;
    expect_ok(thr_index_explain(index, N_QUERIES, K, &options, text, &err));
    expect_line(text, "source: the codes of all rows: the index has no cells");
    expect_line(text, "features: sums of posting lists are added to the scores of all rows");
    expect_line(text, "promise: recall 0.9, for queries like those of the calibration");
    expect_line(text, "threads: 2, each for groups of 3 queries");
    expect_error(thr_index_explain(index, 2, K, &options, text, &err), THR_EDIM, NULL);
    thr_index_free(index);
}

TEST(a_model_encodes_queries_and_candidates_are_scored_by_their_vectors) {
    thr_tower_train_options train;
    thr_index_build_options build = {0};
    thr_reader *reader = NULL;
    float *rows = random_rows(N, DIMS, 3);
    const thr_matrix view = thr_matrix_f32(rows, N, DIMS);
    thr_tower_train_options_init_vectors(&train, true);
    train.config.n_dims = 16;
    train.run.n_epochs = 1;
    train.run.batch = 500;
    expect_ok(thr_reader_from_matrix(*state, &view, &reader, &err));
    expect_ok(thr_tower_train_vectors(*state, NULL, reader, MODEL, &train, NULL, &err));
    thr_reader_free(reader);
    build.model = MODEL;
    build.metric = THR_METRIC_L2;
    thr_index *index = make_index(*state, N, &build);
    thr_search_options options = options_of(0.5f);
    options.n_candidates = 77;
    const char *text = plan_of(index, K, &options);
    expect_line(text, "source: the codes of all rows: the codes are a model's, without cells");
    expect_line(text, "queries: the index's model encodes them");
    expect_line(text, "promise: none, the numbers of survivors and candidates are given");
    expect_line(text, "refine: 77 vectors");
    options.exact = true;
    expect_line(plan_of(index, K, &options), "source: the vectors of all rows: exact scores were requested");
    options = options_of(0.9f);
    text = plan_of(index, 0, &options);
    expect_line(text, "source: the vectors of all rows: the model's codes bound no score of a vector");
    expect_no_line(text, "queries:");
    thr_index_free(index);
}

TEST(wrong_arguments_are_refused) {
    const thr_index_build_options build = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    char text[THR_EXPLAIN_SIZE];
    thr_index *index = make_index(*state, SMALL, &build);
    const thr_search_options options = options_of(2);
    expect_error(thr_index_explain(NULL, 1, K, NULL, text, &err), THR_EINVAL, NULL);
    expect_error(thr_index_explain(index, 1, K, NULL, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_index_explain(index, 0, K, NULL, text, &err), THR_EINVAL, NULL);
    expect_error(thr_index_explain(index, 1, K, &options, text, &err), THR_EINVAL, NULL);
    expect_error(thr_index_explain(index, 1, 0, &options, text, &err), THR_EINVAL, NULL);
    thr_index_free(index);
}

TEST_IN_CONTEXT(2, DIR_A)
