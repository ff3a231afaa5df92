/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cells.c - indexes with cells: whole searches answer as without cells, others keep their recall, for the same
 * bits anywhere; and what builds refuse.
 */
#include "index_hits_support.h"

#include "cells/cell_search.h"
#include "index/build/choose_cells.h"
#include "index/impl.h"

#include <pthread.h>

static const char DIR_A[] = "index-cells", DIR_B[] = "index-no-cells";

enum { N = 12000, DIMS = 24, K = 10, QUERIES = 60, CELLS = 60 };

/* Rows about 50 centres, with some that are far from all. */
static float *clustered_rows(uint64_t n, uint64_t seed) {
    float *centres = random_rows(50, DIMS, 77), *rows = random_rows(n, DIMS, seed);
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < DIMS; d++)
            rows[i * DIMS + d] = (i % 20 == 0 ? 0 : centres[i % 50 * DIMS + d]) + 0.2f * rows[i * DIMS + d];
    return rows;
}

static thr_index *build(thr_context *context, const char *dir, const float *rows, uint64_t n,
                        thr_index_build_options options, uint32_t cells) {
    test_remove_directory(dir);
    options.cells = cells;
    expect_ok(build_rows(context, dir, rows, n, DIMS, &options, &err));
    thr_index *index = test_index_open(context, dir);
    expect_ok(thr_index_verify(index, &err));
    return index;
}

typedef struct answer {
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K];
} answer;

static void search(thr_index *index, const float *queries, const thr_search_options *options, answer *out) {
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    expect_ok(thr_index_search(index, &matrix, K, options, out->ids, out->scores, &err));
}

/* Exact, with all items as survivors, and with recall 1: the same answers, and the same items within a radius. */
static void expect_same_answers(thr_index *a, thr_index *b, const float *queries, answer *with, answer *without) {
    thr_search_options options;
    for (int way = 0; way < 3; way++) {
        options = (thr_search_options){.exact = way == 0, .recall = way == 2 ? 1 : 0};
        options.n_survivors = options.n_candidates = way == 1 ? 3000 : 0;
        search(a, queries, &options, with);
        search(b, queries, &options, without);
        assert_memory_equal(with, without, sizeof *with);
    }
    thr_radius_result *x = NULL, *y = NULL;
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    options = (thr_search_options){.recall = 1};
    expect_ok(thr_index_search_radius(a, &matrix, with->scores[K - 1], &options, &x, &err));
    expect_ok(thr_index_search_radius(b, &matrix, with->scores[K - 1], &options, &y, &err));
    assert_memory_equal(x->offsets, y->offsets, (QUERIES + 1) * sizeof *x->offsets);
    assert_memory_equal(x->scores, y->scores, (size_t)x->offsets[QUERIES] * sizeof *x->scores);
    thr_radius_result_free(x);
    thr_radius_result_free(y);
}

TEST(whole_searches_answer_as_without_cells) {
    static const struct {
        thr_metric metric;
        thr_dtype keep;
        uint32_t bits, lead;
    } kinds[] = {{THR_METRIC_COSINE, THR_DTYPE_F32, 3, 1}, {THR_METRIC_IP, THR_DTYPE_F16, 4, 2},
                 {THR_METRIC_L2, THR_DTYPE_I8, 3, 1},      {THR_METRIC_COSINE, THR_DTYPE_I8, 2, 2},
                 {THR_METRIC_IP, THR_DTYPE_F32, 1, 1},     {THR_METRIC_L2, THR_DTYPE_F32, 6, 6}};
    float *rows = clustered_rows(3000, 1), *queries = clustered_rows(QUERIES, 2);
    answer *with = test_new(2, sizeof *with), *without = with + 1;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        thr_index_build_options options = build_options(kinds[i].metric, kinds[i].keep, kinds[i].bits);
        options.lead_bits = kinds[i].lead;
        options.segment_rows = i % 2 == 0 ? 0 : 1024;
        thr_index *a = build(*state, DIR_A, rows, 3000, options, 40), *b = build(*state, DIR_B, rows, 3000, options, 1);
        assert_true(thr_index_get_cells(a).n_cells >= 20 && thr_index_get_cells(b).n_cells == 0);
        assert_true(thr_index_get_cells(a).n_items == 3000);
        expect_same_answers(a, b, queries, with, without);
        for (uint64_t id = 0; id < 3000; id += 131) {
            float vector[DIMS], other[DIMS];
            expect_ok(thr_index_vector(a, id, vector, &err));
            expect_ok(thr_index_vector(b, id, other, &err));
            assert_memory_equal(vector, other, sizeof vector);
        }
        thr_index_free(a);
        thr_index_free(b);
    }
}

/* Blocks that a search reads, of all queries. */
static uint64_t blocks_of(thr_context *context, const thr_index *index, const float *queries, float recall) {
    const thr_cells_corpus corpus = {&index->corpus, index->cells, index->n_segments};
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    uint64_t ids[QUERIES * K];
    const thr_answers answers = {.k = K, .ids = ids};
    thr_cells_workspace *workspace = NULL;
    thr_search_options options = {.recall = recall};
    thr_index_resolve_recall(index, K, &options);
    expect_ok(thr_cells_workspace_make(context, &workspace, &err));
    OWNED(thr_scan, scan) = test_scan_create(context);
    assert_true(thr_cells_may_be_skipped(&corpus, &options, &answers));
    expect_ok(thr_cells_search(scan, workspace, &corpus, &matrix, &options, &answers, &err));
    const uint64_t n = thr_cells_blocks_visited(workspace);
    thr_cells_workspace_free(workspace);
    return n;
}

static double recall_of(thr_index *index, const float *queries, float recall, const uint64_t *filter, answer *found,
                        answer *truth) {
    thr_search_options options = {.recall = 0.99f};
    size_t n = 0;
    options.filter = filter;
    options.filter_bits = filter == NULL ? 0 : thr_index_n_rows(index);
    options.exact = true;
    search(index, queries, &options, truth);
    options.exact = false;
    options.recall = recall;
    search(index, queries, &options, found);
    for (size_t i = 0; i < (size_t)QUERIES * K; i++)
        n += found->scores[i] >= truth->scores[i / K * K + K - 1];
    return (double)n / (QUERIES * K);
}

/* The mean recall of BATCHES x QUERIES queries. found and truth are those of the last QUERIES. */
enum { BATCHES = 4 };
static double mean_recall(thr_index *index, const float *queries, float recall, const uint64_t *filter, answer *found,
                          answer *truth) {
    double sum = 0;
    for (size_t b = 0; b < BATCHES; b++)
        sum += recall_of(index, queries + b * QUERIES * DIMS, recall, filter, found, truth);
    return sum / BATCHES;
}

/*
 * Near items, negated items, unrelated directions; by all metrics, with and without a filter. The standard error of a
 * mean over 240 queries is about .007, and the recall may be short by three of them.
 */
TEST(every_kind_of_query_gets_its_recall) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    enum { ALL = BATCHES * QUERIES };
    float *rows = clustered_rows(N, 1),
          *queries[3] = {clustered_rows(ALL, 2), clustered_rows(ALL, 3), random_rows(ALL, DIMS, 4)};
    answer *found = test_new(2, sizeof *found);
    for (size_t i = 0; i < (size_t)ALL * DIMS; i++)
        queries[1][i] = -queries[1][i];
    for (size_t m = 0; m < 3; m++) {
        OWNED(thr_index, index) = build(*state, DIR_A, rows, N, build_options(metrics[m], THR_DTYPE_F32, 3), CELLS);
        uint64_t *filter = test_new(N / 64 + 1, sizeof *filter), seed = 5;
        for (uint64_t i = 0; i < N; i++)
            filter[i / 64] |= (uint64_t)(thr_rng_below(&seed, 4) == 0) << i % 64;
        for (size_t q = 0; q < 3; q++) {
            assert_true(mean_recall(index, queries[q], 0.9f, NULL, found, found + 1) >= 0.88);
            assert_true(mean_recall(index, queries[q], 0.99f, NULL, found, found + 1) >= 0.98);
            assert_true(mean_recall(index, queries[q], 0.9f, filter, found, found + 1) >= 0.89);
            for (size_t i = 0; i < (size_t)QUERIES * K; i++) {
                uint64_t row;
                assert_true(thr_index_row(index, found->ids[i], &row) && (filter[row / 64] >> row % 64 & 1) != 0);
            }
        }
        const uint64_t all = (N + 63) / 64 * QUERIES;
        assert_true(blocks_of(*state, index, queries[0], 0.9f) < all / 4 * 3);
        assert_true(blocks_of(*state, index, queries[0], 0.9f) <= blocks_of(*state, index, queries[0], 0.99f));
    }
}

/*
 * By inner product the shortest words are the best for many negated words, and are far from their centroids, in the
 * centroids' direction.
 */
TEST(negated_words_get_their_recall_by_inner_product) {
    enum { WORDS = 30000, WORD_DIMS = 100, NEGATED = 300, NPY_HEADER = 128, TOP = 10 };
    static float queries[NEGATED * WORD_DIMS], truth[NEGATED * TOP], found[NEGATED * TOP];
    static uint64_t ids[NEGATED * TOP];
    thr_index_build_options build_with = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    thr_search_options exact = {.recall = 0.99f}, options = {0};
    size_t size;
    uint8_t *bytes = test_bytes_of(THR_SOURCE_DIR "/data/words/words.npy", &size);
    assert_int_equal(size, NPY_HEADER + WORDS * WORD_DIMS * sizeof(uint16_t));
    const thr_matrix words = {bytes + NPY_HEADER, WORDS, WORD_DIMS, THR_DTYPE_F16, WORD_DIMS * sizeof(uint16_t)};
    for (uint64_t i = 0; i < NEGATED; i++)
        assert_int_equal(thr_matrix_to_f32(&words, i * (WORDS / NEGATED), 1, queries + i * WORD_DIMS), THR_OK);
    for (size_t i = 0; i < (size_t)NEGATED * WORD_DIMS; i++)
        queries[i] = -queries[i];
    const thr_matrix matrix = thr_matrix_f32(queries, NEGATED, WORD_DIMS);
    build_with.cells = 256;
    test_remove_directory(DIR_A);
    expect_ok(build_matrix(*state, DIR_A, &words, &build_with, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_A);
    exact.exact = true;
    options.recall = 0.9f;
    for (uint64_t k = 1; k <= TOP; k *= TOP) {
        size_t n = 0;
        expect_ok(thr_index_search(index, &matrix, k, &exact, ids, truth, &err));
        expect_ok(thr_index_search(index, &matrix, k, &options, ids, found, &err));
        for (size_t i = 0; i < NEGATED * k; i++)
            n += found[i] >= truth[i / k * k + k - 1];
        assert_true((double)n >= 0.895 * (double)NEGATED * (double)k);
    }
}

TEST(answers_and_files_have_the_same_bits_everywhere) {
    static const thr_isa levels[] = {THR_ISA_BEST, THR_ISA_SCALAR, THR_ISA_BEST};
    static const uint32_t threads[] = {1, 2, 3};
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    answer *first = test_new(3, sizeof *first), *other = first + 1, *single = first + 2;
    uint8_t *bytes = NULL;
    size_t size = 0;
    memset(queries, 0, DIMS * sizeof *queries); /* the first is the zero vector */
    for (size_t i = 0; i < 3; i++) {
        OWNED(thr_context, context) = test_context(threads[i], levels[i], NULL);
        thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3);
        OWNED(thr_index, index) = build(context, DIR_A, rows, N, options, CELLS);
        size_t now;
        uint8_t *file = test_bytes_of(index->mapped[0].path, &now);
        memset(file + offsetof(thr_segment_header, build), 0, sizeof(uint32_t)); /* a random number */
        memset(file + offsetof(thr_segment_header, checksum), 0, sizeof(uint64_t));
        search(index, queries, NULL, i == 0 ? first : other);
        if (i > 0) {
            assert_memory_equal(first, other, sizeof *first);
            assert_true(size == now && memcmp(bytes, file, size) == 0);
        }
        for (uint64_t q = 0; q < QUERIES; q++) {
            const thr_matrix one = thr_matrix_f32(queries + q * DIMS, 1, DIMS);
            expect_ok(thr_index_search(index, &one, K, NULL, single->ids + q * K, single->scores + q * K, &err));
        }
        assert_memory_equal(first, single, sizeof *first);
        bytes = file;
        size = now;
    }
}

TEST(a_second_search_allocates_nothing) {
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    answer *found = test_new(1, sizeof *found);
    test_memory count = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &count);
    thr_index *index = build(context, DIR_A, rows, N, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3), CELLS);
    search(index, queries, NULL, found);
    const size_t calls = atomic_load(&count.calls);
    search(index, queries, NULL, found);
    assert_int_equal(atomic_load(&count.calls), calls);
    thr_index_free(index);
    thr_context_free(context);
    assert_int_equal(atomic_load(&count.live), 0);
}

/* Fewer items than k pass; some cells have none of them; none pass at all. */
/* A search whose memory was not enough leaves nothing that misleads the next one. */
TEST(a_search_works_after_one_without_memory) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    float *rows = clustered_rows(N, 1);
    thr_search_options options = {.recall = 0.9f};
    answer *found = test_new(2, sizeof *found);
    thr_index *index = build(context, DIR_A, rows, N, build_options(THR_METRIC_L2, THR_DTYPE_F32, 3), CELLS);
    search(index, rows, &options, &found[1]);
    thr_index_free(index);
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        const thr_matrix matrix = thr_matrix_f32(rows, QUERIES, DIMS);
        expect_ok(thr_index_open(context, DIR_A, &index, &err));
        test_oom_arm(&oom);
        const thr_status status = thr_index_search(index, &matrix, K, &options, found->ids, found->scores, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        search(index, rows, &options, found);
        assert_memory_equal(found, &found[1], sizeof *found);
        thr_index_free(index);
    }
    assert_true(oom.n_failed > 20);
}

TEST(few_items_may_be_allowed) {
    float *rows = clustered_rows(N, 1), *queries = clustered_rows(QUERIES, 2);
    OWNED(thr_index, index) = build(*state, DIR_A, rows, N, build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 3), CELLS);
    uint64_t *filter = test_new(N / 64 + 1, sizeof *filter), ids[] = {5, 6, 700};
    answer *found = test_new(1, sizeof *found);
    thr_search_options options = {.recall = 0.99f, .filter = filter, .filter_bits = N};
    for (size_t n = 0; n <= 3; n += 3) {
        expect_ok(thr_bitmap_from_ids(index, ids, n, filter, &err));
        search(index, queries, &options, found);
        for (size_t q = 0; q < QUERIES; q++)
            for (size_t i = 0; i < K; i++) {
                const uint64_t id = found->ids[q * K + i];
                assert_true(i < n ? id == ids[0] || id == ids[1] || id == ids[2] : id == THR_NO_ID);
            }
    }
}

static thr_status build_status(thr_context *context, const float *rows, uint64_t n, uint32_t n_dims,
                               const thr_index_build_options *options) {
    test_remove_directory(DIR_A);
    return build_rows(context, DIR_A, rows, n, n_dims, options, &err);
}

TEST(what_cannot_be_built_is_refused) {
    float *rows = random_rows(200, DIMS, 1);
    thr_index_build_options options = build_options(THR_METRIC_IP, THR_DTYPE_F32, 3);
    options.cells = 201;
    expect_error(build_status(*state, rows, 200, DIMS, &options), THR_EINVAL, NULL);
    options.cells = 65537;
    expect_error(build_status(*state, rows, 200, DIMS, &options), THR_EINVAL, NULL);
    options.cells = 10;
    options.codes_only = true;
    expect_error(build_status(*state, rows, 200, DIMS, &options), THR_EUNSUPPORTED, NULL);
    options.codes_only = false;
    for (uint64_t n = 199; n <= 201; n += 2) {
        catalogue c = draw_items(n, 1);
        options.features = &c.items;
        expect_error(build_status(*state, rows, 200, DIMS, &options), THR_EDIM, NULL);
    }
    options.features = NULL;
    rows[777] = NAN;
    expect_error(build_status(*state, rows, 200, DIMS, &options), THR_ERANGE, NULL);
}

static void expect_choice(thr_cells_choice measured, thr_cells_choice expected) {
    assert_int_equal(measured.n_cells, expected.n_cells);
    assert_int_equal(measured.kept, expected.kept);
    assert_true(measured.read == expected.read && measured.speed == expected.speed);
}

/*
 * An index of clustered rows gets cells that its searches need few of; one of isotropic rows has none, since searches
 * would read nearly all of them, and one of few rows tries none. The choice does not depend on the threads.
 */
TEST(auto_chooses_cells_where_they_are_faster) {
    enum { MANY = 100000, FEW = 4000 };
    OWNED(thr_context, single) = test_context(1, THR_ISA_BEST, NULL);
    float *clustered = clustered_rows(MANY, 1), *isotropic = random_rows(MANY, DIMS, 2);
    const struct {
        thr_context *context;
        const float *rows;
        uint64_t n;
        bool tries, kept;
    } cases[] = {{*state, clustered, MANY, true, true},
                 {single, clustered, MANY, true, true},
                 {*state, isotropic, MANY, true, false},
                 {*state, clustered, FEW, false, false}};
    thr_cells_choice choices[4], measured;
    for (size_t i = 0; i < 4; i++) {
        thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 8);
        options.lead_bits = 8;
        options.cells_choice = &choices[i];
        OWNED(thr_index, index) = build(cases[i].context, DIR_A, cases[i].rows, cases[i].n, options, THR_CELLS_AUTO);
        assert_int_equal(choices[i].n_cells > 0, cases[i].tries);
        assert_int_equal(choices[i].kept, cases[i].kept);
        assert_int_equal(thr_index_get_cells(index).n_cells, cases[i].kept ? choices[i].n_cells : 0);
        assert_int_equal(count_files(DIR_A, ".seg", NULL), 1);
        expect_ok(thr_index_measure_cells(index, &measured, &err));
        expect_choice(measured, cases[i].kept ? choices[i] : (thr_cells_choice){0});
    }
    assert_true(choices[0].read < 0.2f && choices[0].speed > 1);
    assert_true(choices[2].read > 0.4f && choices[2].speed < 1);
    expect_choice(choices[1], choices[0]);
}

/* However fast they are, auto keeps no cells with which searches find clearly less than they promise. */
TEST(auto_refuses_cells_that_miss_the_promise) {
    thr_cells_choice measured = {.n_cells = 64, .speed = 3};
    assert_true(thr_index_cells_are_worth(&measured));
    measured.short_by = 0.0049f;
    assert_true(thr_index_cells_are_worth(&measured));
    measured.short_by = 0.0051f;
    assert_false(thr_index_cells_are_worth(&measured));
    measured = (thr_cells_choice){.n_cells = 64, .speed = 1.1f};
    assert_false(thr_index_cells_are_worth(&measured));
}

/* Without vectors cells are impossible, with features they are for some searches only: auto makes none. */
TEST(auto_accepts_what_has_no_cells) {
    enum { MANY = 100000 };
    float *rows = clustered_rows(MANY, 1);
    catalogue c = draw_items(MANY, 1);
    for (int features = 0; features < 2; features++) {
        thr_cells_choice choice = {.kept = true};
        thr_index_build_options options =
            build_options(THR_METRIC_L2, features == 1 ? THR_DTYPE_F32 : THR_DTYPE_NONE, 8);
        options.lead_bits = 8; /* with which these rows get cells */
        options.calibration_queries = THR_NO_CALIBRATION;
        options.features = features == 1 ? &c.items : NULL;
        options.cells_choice = &choice;
        OWNED(thr_index, index) = build(*state, DIR_A, rows, MANY, options, THR_CELLS_AUTO);
        assert_true(thr_index_get_cells(index).n_cells == 0 && choice.n_cells == 0 && !choice.kept);
    }
}

/* ------------------------------------------------------------------------------------------------ features */

/* Items with features, bids and offsets, and an index of them with cells and one without. */
typedef struct ads {
    uint64_t n;
    float *rows, *queries, *bids, *offsets;
    catalogue items;
    asked a;
    thr_index *with, *without;
} ads;

static void make_ads(thr_context *context, uint64_t n, thr_index_build_options options, uint32_t n_cells, ads *made) {
    *made = (ads){.n = n,
                  .rows = clustered_rows(n, 1),
                  .queries = clustered_rows(QUERIES, 2),
                  .bids = random_rows(1, (uint32_t)n, 3),
                  .offsets = random_rows(1, (uint32_t)n, 4),
                  .items = draw_items(n, 5)};
    ask(&made->a, 6);
    options.features = &made->items.items;
    options.multipliers = made->bids;
    options.offsets = made->offsets;
    options.n_values = n;
    made->with = build(context, DIR_A, made->rows, n, options, n_cells);
    made->without = build(context, DIR_B, made->rows, n, options, 1);
    assert_true(thr_index_get_cells(made->with).n_cells >= n_cells / 2);
}

static void free_ads(ads *made) {
    thr_index_free(made->with);
    thr_index_free(made->without);
}

/* An item's value for query q. */
static double naive_value(const ads *made, thr_metric metric, uint64_t q, uint64_t id, bool sigmoid) {
    double s = naive_score(metric, made->queries + q * DIMS, made->rows + id * DIMS, DIMS);
    for (uint64_t e = made->a.offsets[q]; e < made->a.offsets[q + 1]; e++)
        for (uint64_t f = made->items.offsets[id]; f < made->items.offsets[id + 1]; f++)
            s += made->items.features[f] == made->a.features[e] ? (double)made->a.weights[e] : 0;
    return (double)made->bids[id] * (sigmoid ? 1 / (1 + exp(-s)) : s) + (double)made->offsets[id];
}

/*
 * Answers of the index have the values of their items, and over all queries at most `missed` of the best K items are
 * missing in answers whose last item has a clearly smaller value.
 */
static void expect_best_values(const ads *made, thr_metric metric, bool sigmoid, size_t missed, const uint64_t *ids,
                               const float *values) {
    size_t n_missed = 0;
    for (uint64_t q = 0; q < N_QUERIES; q++) {
        size_t n_better = 0, n_found = 0;
        const double last = (double)values[q * K + K - 1] + 1e-4;
        for (uint64_t i = q * K; i < (q + 1) * K; i++) {
            const double value = naive_value(made, metric, q, ids[i], sigmoid);
            assert_true(fabs((double)values[i] - value) <= 1e-4);
            n_found += value > last;
        }
        for (uint64_t id = 0; id < made->n; id++)
            n_better += naive_value(made, metric, q, id, sigmoid) > last;
        n_missed += (n_better < K ? n_better : K) - n_found;
    }
    assert_true(n_missed <= missed);
}

/* With words and without (query 0), by all ways to search, sums and sigmoids. */
static void expect_right_values(const ads *made, thr_metric metric) {
    const thr_matrix queries = thr_matrix_f32(made->queries, N_QUERIES, DIMS);
    for (int way = 0; way < 8; way++) {
        uint64_t ids[2][N_QUERIES * K];
        float values[2][N_QUERIES * K];
        thr_search_options options = {.recall = 0.99f,
                                      .features = &made->a.queries,
                                      .value = way % 2 == 0 ? THR_HITS_VALUE_SUM : THR_HITS_VALUE_SIGMOID,
                                      .exact = way / 2 == 0};
        options.n_survivors = options.n_candidates = way / 2 == 1 ? 2000 : 0;
        options.recall = way / 2 == 2 ? 0.9f : options.recall;
        expect_ok(thr_index_search(made->with, &queries, K, &options, ids[0], values[0], &err));
        expect_ok(thr_index_search(made->without, &queries, K, &options, ids[1], values[1], &err));
        /* codes differ, so other searches have other candidates */
        for (int i = 0; i < 2; i++)
            expect_best_values(made, metric, way % 2 == 1, options.exact ? 0 : N_QUERIES * K / 10, ids[i], values[i]);
        if (!options.exact)
            continue;
        assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
        assert_memory_equal(values[0], values[1], sizeof values[0]);
    }
}

TEST(searches_with_features_find_the_best_values) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    for (size_t i = 0; i < 3; i++) {
        thr_index_build_options options = build_options(metrics[i], THR_DTYPE_F32, 3);
        options.segment_rows = i == 1 ? 1024 : 0;
        options.lead_bits = i == 2 ? 3 : 1;
        ads made;
        make_ads(*state, 5000, options, 40, &made);
        expect_right_values(&made, metrics[i]);
        for (uint32_t f = 0; f < N_FEATURES; f++)
            assert_int_equal(thr_hits_feature_items(thr_index_hits(made.with), f),
                             thr_hits_feature_items(thr_index_hits(made.without), f));
        for (uint64_t id = 0; id < made.n; id += 37) {
            static const uint64_t ends[] = {0, 3};
            static const uint32_t three[] = {1, 2, 5};
            const thr_hits_queries some = {1, ends, three, NULL};
            float shares[3];
            uint8_t here[3], there[3];
            expect_ok(thr_hits_explain(thr_index_hits(made.with), id, &some, 0, shares, here, &err));
            expect_ok(thr_hits_explain(thr_index_hits(made.without), id, &some, 0, shares, there, &err));
            assert_memory_equal(here, there, sizeof here);
        }
        free_ads(&made);
    }
}

/* Without words bids and offsets do not count, so cells are skipped, with a target and without. */
TEST(searches_without_features_skip_cells) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    answer *found = test_new(2, sizeof *found);
    for (size_t m = 0; m < 3; m++) {
        ads made;
        make_ads(*state, N, build_options(metrics[m], THR_DTYPE_F32, 3), CELLS, &made);
        thr_hits_target *targets[2] = {NULL, NULL};
        thr_search_options options = {.recall = 0.99f};
        expect_ok(thr_hits_target_create(thr_index_hits(made.with), "2 AND NOT 4", &targets[0], &err));
        expect_ok(thr_hits_target_create(thr_index_hits(made.without), "2 AND NOT 4", &targets[1], &err));
        for (int target = 0; target < 2; target++) {
            size_t n = 0;
            options.exact = true;
            options.target = target == 0 ? NULL : targets[1];
            search(made.without, made.queries, &options, found + 1);
            options.target = target == 0 ? NULL : targets[0];
            search(made.with, made.queries, &options, found);
            assert_memory_equal(found, found + 1, sizeof *found);
            options.exact = false;
            options.recall = 0.9f;
            search(made.with, made.queries, &options, found);
            for (size_t i = 0; i < (size_t)QUERIES * K; i++)
                n += found[0].scores[i] >= found[1].scores[i / K * K + K - 1];
            assert_true((double)n >= 0.89 * QUERIES * K);
        }
        options.exact = true;
        options.target = NULL;
        search(made.with, made.queries, &options, found);
        for (uint64_t q = 0; q < QUERIES; q += 7) {
            double best = -INFINITY;
            for (uint64_t id = 0; id < N; id++)
                best = fmax(best, naive_score(metrics[m], made.queries + q * DIMS, made.rows + id * DIMS, DIMS));
            assert_true(fabs((double)found->scores[q * K] - best) <= 1e-4);
        }
        assert_true(blocks_of(*state, made.with, made.queries, 0.9f) < (N + 63) / 64 * QUERIES / 4 * 3);
        thr_hits_target_free(targets[0]);
        thr_hits_target_free(targets[1]);
        free_ads(&made);
    }
}

/* Item i of the table below: found by its name, with its features, vector and id (NULL: none was given). */
static void expect_item(thr_index *index, uint64_t i, const float *row, const uint64_t *given) {
    const thr_hits *hits = thr_index_hits(index);
    const uint64_t ends[] = {0, 1};
    char name[32], word[32];
    uint64_t id;
    uint32_t feature;
    uint8_t matched;
    float vector[DIMS], share;
    const thr_hits_queries one = {1, ends, &feature, NULL};
    (void)snprintf(name, sizeof name, "item %d", (int)i);
    (void)snprintf(word, sizeof word, "colour=%d", (int)i % 7);
    assert_true(thr_hits_find(hits, name, &id) && thr_hits_feature(hits, word, &feature));
    assert_string_equal(thr_hits_name(hits, id), name);
    assert_true(given == NULL || id == *given);
    expect_ok(thr_hits_explain(hits, id, &one, 0, &share, &matched, &err));
    assert_int_equal(matched, 1);
    expect_ok(thr_index_vector(index, id, vector, &err));
    for (uint32_t d = 0; d < DIMS; d++)
        assert_true(fabsf(vector[d] - row[d]) <= 1e-3f * (1 + fabsf(vector[d])));
}

/* Names of a table become those of the items; beside given ids they stay with the posting lists. */
TEST(names_and_words_of_a_table_stay_with_their_items) {
    enum { FEW = 700 };
    static const char table[] = "index-cells.tsv";
    float *rows = clustered_rows(FEW, 1);
    uint64_t ids[FEW];
    FILE *file = fopen(table, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < FEW; i++) {
        ids[i] = 5000 - 3 * i;
        (void)fprintf(file, "item %d\tcolour=%d size=%d\n", (int)i, (int)i % 7, (int)i % 3);
    }
    assert_int_equal(fclose(file), 0);
    for (int given = 0; given < 2; given++) {
        thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F16, 3);
        options.features_path = table;
        options.ids = given == 1 ? ids : NULL;
        options.n_ids = given == 1 ? FEW : 0;
        options.segment_rows = 256;
        OWNED(thr_index, index) = build(*state, DIR_A, rows, FEW, options, 20);
        assert_true(thr_index_get_cells(index).n_cells > 0 && thr_index_get_info(index).has_names == (given == 0));
        for (uint64_t i = 0; i < FEW; i++)
            expect_item(index, i, rows + i * DIMS, given == 1 ? &ids[i] : NULL);
    }
    (void)unlink(table);
}

/* ------------------------------------------------------------------------------------------------ odd and wrong */

/* As many cells as items, equal items, zeros, 1 and 2,000 dimensions: sound indexes with right answers. */
TEST(odd_items_have_right_answers) {
    static const uint32_t dims[] = {1, 9, 2000};
    for (size_t d = 0; d < 3; d++)
        for (int kind = 0; kind < 3; kind++)
            for (int metric = 0; metric < 3; metric++) {
                const uint64_t few = dims[d] > 1000 ? 130 : 600;
                float *rows = random_rows(few, dims[d], 3);
                thr_index_build_options options = build_options((thr_metric)metric, THR_DTYPE_F32, 3);
                uint64_t ids[K];
                float scores[K];
                options.cells = kind == 0 ? (uint32_t)few : 7;
                for (uint64_t i = 1; kind == 1 && i < few; i++)
                    memcpy(rows + i * dims[d], rows, dims[d] * sizeof *rows);
                if (kind == 2)
                    memset(rows, 0, (size_t)(few - 1) * dims[d] * sizeof *rows);
                expect_ok(build_status(*state, rows, few, dims[d], &options));
                OWNED(thr_index, index) = test_index_open(*state, DIR_A);
                expect_ok(thr_index_verify(index, &err));
                const thr_matrix query = thr_matrix_f32(rows + (uint64_t)(few - 1) * dims[d], 1, dims[d]);
                expect_ok(thr_index_search(index, &query, K, NULL, ids, scores, &err));
                double best = -INFINITY;
                for (uint64_t i = 0; i < few; i++)
                    best = fmax(best, naive_score((thr_metric)metric, query.data, rows + i * dims[d], dims[d]));
                assert_true(fabs((double)scores[0] - best) <= 1e-4 * (1 + fabs(best)));
            }
}

/* Damage with right checksums: a cell table that is cut or overlaps does not open, a wrong number is found. */
TEST(wrong_cells_are_found) {
    for (int kind = 0; kind < 10; kind++) {
        float *rows = clustered_rows(500, 1);
        thr_index *index = build(*state, DIR_A, rows, 500, build_options(THR_METRIC_L2, THR_DTYPE_F32, 3), 5);
        const thr_segment_view *view = &index->mapped[0].view;
        const size_t cells = (size_t)thr_section_file_offset(&view->file, view->cells.cells);
        const size_t centroids = (size_t)thr_section_file_offset(&view->file, view->cells.centroids);
        const size_t ends = (size_t)thr_section_file_offset(&view->file, view->cells.ends);
        char path[PATH_ROOM];
        size_t size;
        assert_int_equal(count_files(DIR_A, ".seg", path), 1);
        thr_index_free(index);
        uint8_t *bytes = test_bytes_of(path, &size);
        thr_cell *second = (thr_cell *)(void *)(bytes + cells) + 1;
        if (kind == 0)
            second->first = 0;
        else if (kind == 1)
            second->first = 500;
        else if (kind == 2)
            second->radius *= 0.9f;
        else if (kind == 3)
            *(float *)(void *)(bytes + centroids) += 1;
        else if (kind == 4)
            ((thr_cell_ends *)(void *)(bytes + ends))->low.along -= 1;
        else if (kind > 6)
            ((float *)(void *)(bytes + centroids))[kind] = kind == 7 ? NAN : kind == 8 ? -INFINITY : 0x1p125f;
        else if (kind == 5)
            ((thr_cell_ends *)(void *)(bytes + ends))->high.across = NAN;
        else
            second->radius = INFINITY;
        test_write_file(path, bytes, size);
        reseal_index(*state, DIR_A);
        const thr_status status = thr_index_open(*state, DIR_A, &index, &err);
        assert_int_equal(status, kind >= 2 && kind <= 4 ? THR_OK : THR_ECORRUPT);
        if (status == THR_OK)
            expect_error(thr_index_verify(index, &err), THR_ECORRUPT, NULL);
        if (status == THR_OK)
            thr_index_free(index);
    }
}

/* Threads of callers may have little. Sanitizers make frames several times as large. */
#ifdef THR_SANITIZED
enum { SMALL_STACK = 1 << 20 };
#else
enum { SMALL_STACK = 64 << 10 };
#endif

static void *build_with_cells(void *rows) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index_free(build(context, DIR_A, rows, N, build_options(THR_METRIC_L2, THR_DTYPE_F32, 3), CELLS));
    return NULL;
}

TEST(a_build_with_cells_needs_little_stack) {
    float *rows = clustered_rows(N, 1);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, build_with_cells, rows), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

TEST_IN_CONTEXT(2, NULL)
