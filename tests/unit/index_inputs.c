/* SPDX-License-Identifier: Apache-2.0 */
/* index_inputs.c - indexes of a model's codes beside the vectors that it encoded: codes screen, vectors refine. */
#include "index_support.h"

#include "emulator.h"

#include <thresher/index_change.h>
#include <thresher/index_writer.h>

static const char DIR_I[] = "index-inputs", MODEL[] = "index-inputs.safetensors";
enum { N = 1500, DIMS = 24, CODE_DIMS = 16, QUERIES = 7, K = 10, FEW = 576 };

static void make_model(thr_context *context, uint32_t item_bits) {
    float *rows = random_rows(N, DIMS, 3);
    const thr_matrix view = thr_matrix_f32(rows, N, DIMS);
    thr_tower_train_options options;
    OWNED(thr_reader, reader) = NULL;
    thr_tower_train_options_init_vectors(&options, true);
    options.config.n_dims = CODE_DIMS;
    options.config.item_bits = item_bits;
    options.run.n_epochs = 2;
    options.run.batch = 100;
    expect_ok(thr_reader_from_matrix(context, &view, &reader, &err));
    expect_ok(thr_tower_train_vectors(context, NULL, reader, MODEL, &options, NULL, &err));
}

static thr_index_build_options options_for(thr_metric metric, thr_dtype keep) {
    thr_index_build_options options = {.model = MODEL,
                                       .metric = metric,
                                       .keep = keep,
                                       .codes_only = keep == THR_DTYPE_NONE,
                                       .replace = true,
                                       .segment_rows = 640};
    return options;
}

static thr_index *make_index(thr_context *context, const float *rows, thr_metric metric, thr_dtype keep) {
    const thr_index_build_options options = options_for(metric, keep);
    expect_ok(build_rows(context, DIR_I, rows, N, DIMS, &options, &err));
    return test_index_open(context, DIR_I);
}

typedef struct answer {
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K];
} answer;

static answer ask(thr_index *index, const float *queries, const thr_search_options *options) {
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    answer out;
    expect_ok(thr_index_search(index, &matrix, K, options, out.ids, out.scores, &err));
    return out;
}

static thr_search_options candidates(uint64_t n) {
    thr_search_options options = {.n_candidates = n};
    return options;
}

static void expect_same(const answer *a, const answer *b) {
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
    assert_memory_equal(a->scores, b->scores, sizeof a->scores);
}

/* ------------------------------------------------------------------------------------------------ searches */

TEST(all_candidates_are_the_exact_answer) {
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(QUERIES, DIMS, 2);
    static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8};
    for (thr_metric metric = THR_METRIC_COSINE; metric <= THR_METRIC_L2; metric++)
        for (size_t i = 0; i < 3; i++) {
            OWNED(thr_index, index) = make_index(*state, rows, metric, keeps[i]);
            const thr_search_options all = candidates(N);
            thr_search_options exact = {.exact = true};
            const answer screened = ask(index, queries, &all), scanned = ask(index, queries, &exact);
            expect_same(&screened, &scanned);
            for (size_t q = 0; q < QUERIES && keeps[i] == THR_DTYPE_F32; q++)
                for (size_t j = 0; j < K; j++)
                    assert_true(fabs((double)scanned.scores[q * K + j] -
                                     naive_score(metric, queries + q * DIMS, rows + scanned.ids[q * K + j] * DIMS,
                                                 DIMS)) < 1e-4);
            expect_ok(thr_index_verify(index, &err));
        }
}

/* The best K by inner product of the n best by cosines of codes, by sorting everything. */
static void naive(thr_context *context, const float *rows, const float *query, size_t n, uint64_t ids[K]) {
    thr_tower *tower = NULL;
    const thr_matrix items = thr_matrix_f32(rows, N, DIMS), one = thr_matrix_f32(query, 1, DIMS);
    float *codes = test_new((size_t)N * CODE_DIMS, sizeof *codes), coded[CODE_DIMS];
    bool *taken = test_new(N, sizeof *taken), *won = test_new(N, sizeof *won);
    expect_ok(thr_tower_open(context, MODEL, &tower, &err));
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_ITEM, &items, codes, &err));
    expect_ok(thr_tower_encode_vectors(tower, THR_SIDE_QUERY, &one, coded, &err));
    for (size_t turn = 0; turn < n + K; turn++) {
        size_t best = N;
        double most = -INFINITY;
        for (size_t i = 0; i < N; i++) {
            const bool screening = turn < n;
            if (screening ? taken[i] : !taken[i] || won[i])
                continue;
            const double score = screening ? naive_score(THR_METRIC_COSINE, coded, codes + i * CODE_DIMS, CODE_DIMS)
                                           : naive_score(THR_METRIC_IP, query, rows + i * DIMS, DIMS);
            if (score > most) {
                most = score;
                best = i;
            }
        }
        *(turn < n ? &taken[best] : &won[best]) = true;
        if (turn >= n)
            ids[turn - n] = best;
    }
    thr_tower_free(tower);
}

/* Queries are coded with 8 bits, so a row at the edge of the candidates may differ from the floats' order. */
TEST(codes_choose_the_candidates) {
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(QUERIES, DIMS, 2);
    OWNED(thr_index, index) = make_index(*state, rows, THR_METRIC_IP, THR_DTYPE_F32);
    const thr_search_options options = candidates(100);
    const answer got = ask(index, queries, &options);
    size_t n_same = 0;
    for (size_t q = 0; q < QUERIES; q++) {
        uint64_t want[K];
        naive(*state, rows, queries + q * DIMS, 100, want);
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++)
                n_same += want[i] == got.ids[q * K + j];
    }
    assert_true(n_same >= QUERIES * K - 3);
}

TEST(the_calibration_reaches_its_recall) {
    float *rows = random_rows(N, DIMS, 1);
    OWNED(thr_index, index) = make_index(*state, rows, THR_METRIC_L2, THR_DTYPE_F32);
    assert_true(thr_index_get_info(index).tuned_queries > 0);
    assert_int_equal(thr_index_get_info(index).n_dims, DIMS);
    thr_search_options options = {.recall = 0.9f};
    thr_search_options exact = options;
    exact.exact = true;
    size_t n_found = 0, n = 0;
    for (size_t first = 0; first + QUERIES <= N; first += 50 * QUERIES, n += QUERIES * K) {
        const answer got = ask(index, rows + first * DIMS, &options), want = ask(index, rows + first * DIMS, &exact);
        for (size_t i = 0; i < QUERIES * K; i++)
            for (size_t j = 0; j < K; j++)
                n_found += got.ids[i] == want.ids[i / K * K + j];
    }
    assert_true((double)n_found >= 0.85 * (double)n);
    expect_ok(thr_index_tune(index, NULL, &err));
}

TEST(filters_radii_and_vectors_are_of_the_inputs) {
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(QUERIES, DIMS, 2), vector[DIMS];
    OWNED(thr_index, index) = make_index(*state, rows, THR_METRIC_L2, THR_DTYPE_F32);
    uint64_t filter[(N + 63) / 64 + 1];
    uint8_t certified[QUERIES];
    thr_radius_result *found = NULL;
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, DIMS);
    memset(filter, 0x11, sizeof filter);
    memset(certified, 9, sizeof certified);
    thr_search_options options = candidates(50);
    options.filter = filter;
    options.filter_bits = thr_index_n_rows(index);
    options.certified = certified;
    uint64_t n_read[QUERIES];
    float least_scores[QUERIES];
    options.n_read = n_read;
    const answer got = ask(index, queries, &options);
    for (size_t i = 0; i < (size_t)QUERIES * K; i++)
        assert_int_equal(got.ids[i] % 4, 0);
    for (size_t q = 0; q < QUERIES; q++)
        assert_true(certified[q] == 0 && n_read[q] == 50);
    for (size_t q = 0; q < QUERIES; q++)
        least_scores[q] = got.scores[q * K + 4];
    options.least_scores = least_scores;
    const answer few = ask(index, queries, &options);
    for (size_t q = 0; q < QUERIES; q++)
        assert_true(few.ids[q * K + 4] == got.ids[q * K + 4] && few.ids[q * K + 5] == THR_NO_ID);
    const float least = got.scores[3];
    expect_ok(thr_index_search_radius(index, &matrix, least, NULL, &found, &err));
    for (size_t q = 0; q < QUERIES; q++) {
        size_t n = 0;
        for (uint64_t i = 0; i < N; i++)
            n += naive_score(THR_METRIC_L2, queries + q * DIMS, rows + i * DIMS, DIMS) >= (double)least - 1e-5;
        assert_int_equal(found->offsets[q + 1] - found->offsets[q], n);
    }
    thr_radius_result_free(found);
    expect_ok(thr_index_vector(index, 777, vector, &err));
    assert_memory_equal(vector, rows + 777 * DIMS, sizeof vector);
}

TEST(codes_alone_take_the_same_queries) {
    float *rows = random_rows(N, DIMS, 1);
    OWNED(thr_index, index) = make_index(*state, rows, THR_METRIC_COSINE, THR_DTYPE_NONE);
    thr_search_options options = {0};
    float vector[DIMS];
    const answer got = ask(index, rows, NULL);
    for (size_t q = 0; q < QUERIES; q++)
        assert_true(got.scores[q * K] > 0.7f && got.scores[q * K] <= 1); /* cosines of codes */
    const thr_matrix matrix = thr_matrix_f32(rows, QUERIES, DIMS);
    thr_radius_result *found = NULL;
    answer out;
    expect_ok(thr_index_search_radius(index, &matrix, 0.7f, NULL, &found, &err));
    assert_true(found->offsets[QUERIES] >= QUERIES);
    thr_radius_result_free(found);
    options.exact = true;
    expect_error(thr_index_search(index, &matrix, K, &options, out.ids, out.scores, &err), THR_EUNSUPPORTED, NULL);
    expect_error(thr_index_vector(index, 0, vector, &err), THR_EUNSUPPORTED, NULL);
    expect_error(thr_index_tune(index, NULL, &err), THR_EUNSUPPORTED, NULL);
    expect_ok(thr_index_verify(index, &err));
}

TEST(gpus_screen_for_the_same_answers) {
    test_emulator emulator;
    if (!test_emulator_take(&emulator, 2))
        skip();
    float *rows = random_rows(N, DIMS, 1), *queries = random_rows(QUERIES, DIMS, 2);
    thr_index *index = make_index(*state, rows, THR_METRIC_IP, THR_DTYPE_F32);
    const thr_search_options options = candidates(60);
    const answer want = ask(index, queries, &options);
    thr_context_options with = {0};
    OWNED(thr_context, context) = NULL;
    with.device = "cuda";
    expect_ok(thr_context_create(&with, &context, &err));
    thr_index_free(index);
    expect_ok(thr_index_open(context, DIR_I, &index, &err));
    const uint64_t before = emulator.launches();
    const answer got = ask(index, queries, &options);
    assert_true(emulator.launches() > before);
    expect_same(&got, &want);
    thr_index_free(index);
}

/* ------------------------------------------------------------------------------------------------ changes */

TEST(items_come_and_go) {
    float *rows = random_rows(N, DIMS, 1), *more = random_rows(QUERIES, DIMS, 2);
    thr_index *index = make_index(*state, rows, THR_METRIC_L2, THR_DTYPE_F16);
    const thr_matrix added = thr_matrix_f32(more, QUERIES, DIMS);
    const uint64_t gone[] = {0, 700, N + 1};
    thr_index_free(index);
    expect_ok(add_matrix(*state, DIR_I, &added, NULL, NULL, &err));
    expect_ok(thr_index_remove(*state, DIR_I, gone, 3, NULL, &err));
    for (int compacted = 0; compacted < 2; compacted++) {
        expect_ok(thr_index_open(*state, DIR_I, &index, &err));
        const thr_search_options options = candidates(200);
        const answer got = ask(index, more, &options);
        for (size_t q = 0; q < QUERIES; q++)
            assert_true(q == 1 ? got.ids[q * K] != N + 1 : got.ids[q * K] == N + q);
        expect_ok(thr_index_verify(index, &err));
        thr_index_free(index);
        expect_ok(thr_index_compact(*state, DIR_I, NULL, &err));
    }
    expect_error(thr_index_recode(*state, DIR_I, NULL, &err), THR_EUNSUPPORTED, NULL);
}

/* A journal has no codes of a model: each call is a commit. */
TEST(a_writers_changes_can_be_opened) {
    static const thr_dtype keeps[] = {THR_DTYPE_NONE, THR_DTYPE_F32, THR_DTYPE_I8};
    float *rows = random_rows(N, DIMS, 1), *more = random_rows(QUERIES, DIMS, 2);
    const thr_matrix added = thr_matrix_f32(more, QUERIES, DIMS);
    const uint64_t gone = 700;
    for (size_t i = 0; i < 3; i++) {
        thr_index *index = make_index(*state, rows, THR_METRIC_COSINE, keeps[i]);
        thr_index_writer *writer = NULL;
        thr_index_free(index);
        expect_ok(thr_index_writer_open(*state, DIR_I, NULL, &writer, &err));
        expect_ok(thr_index_writer_add(writer, &added, NULL, NULL, NULL, &err));
        expect_ok(thr_index_writer_remove(writer, &gone, 1, NULL, &err));
        expect_ok(thr_index_writer_flush(writer, &err));
        thr_index_writer_free(writer);
        expect_ok(thr_index_open(*state, DIR_I, &index, &err));
        assert_int_equal(thr_index_get_info(index).n_items, N + QUERIES - 1);
        expect_ok(thr_index_verify(index, &err));
        const answer got = ask(index, more, NULL);
        for (size_t q = 0; q < QUERIES && keeps[i] != THR_DTYPE_NONE; q++)
            assert_int_equal(got.ids[q * K], N + q);
        thr_index_free(index);
    }
}

TEST(what_does_not_fit_is_refused) {
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options options = options_for(THR_METRIC_COSINE, THR_DTYPE_F32);
    test_remove_directory(DIR_I);
    expect_error(build_rows(*state, DIR_I, rows, N, CODE_DIMS, &options, &err), THR_EDIM, "encodes those of 24");
    options.cells = 4;
    expect_error(build_rows(*state, DIR_I, rows, N, DIMS, &options, &err), THR_EUNSUPPORTED, NULL);
    options.cells = 0;
    options.features_path = "features.tsv";
    expect_error(build_rows(*state, DIR_I, rows, N, DIMS, &options, &err), THR_EUNSUPPORTED, NULL);
    options.features_path = NULL;
    rows[9 * DIMS + 5] = NAN;
    expect_error(build_rows(*state, DIR_I, rows, N, DIMS, &options, &err), THR_ERANGE, NULL);
    options.metric = THR_METRIC_IP;
    rows[9 * DIMS + 5] = 0x1p61f;
    expect_error(build_rows(*state, DIR_I, rows, N, DIMS, &options, &err), THR_ERANGE, "row 9");
    rows[9 * DIMS + 5] = 1;
    OWNED(thr_index, index) = make_index(*state, rows, THR_METRIC_L2, THR_DTYPE_F32);
    const thr_matrix narrow = thr_matrix_f32(rows, QUERIES, CODE_DIMS), wide = thr_matrix_f32(rows, QUERIES, DIMS);
    thr_search_options search = candidates(20);
    answer out;
    expect_error(thr_index_search(index, &narrow, K, &search, out.ids, out.scores, &err), THR_EDIM, NULL);
    rows[3] = INFINITY;
    expect_error(thr_index_search(index, &wide, K, NULL, out.ids, out.scores, &err), THR_ERANGE, NULL);
}

typedef struct counted {
    thr_context *context;
    const float *rows;
} counted;

static thr_status build_open_search(const counted *c) {
    thr_index_build_options options = options_for(THR_METRIC_IP, THR_DTYPE_F16);
    const thr_matrix queries = thr_matrix_f32(c->rows, QUERIES, DIMS);
    const thr_search_options search = candidates(30);
    OWNED(thr_index, index) = NULL;
    answer out;
    options.calibration_queries = 30;
    thr_status status = build_rows(c->context, DIR_I, c->rows, FEW, DIMS, &options, &err);
    if (status == THR_OK)
        status = thr_index_open(c->context, DIR_I, &index, &err);
    if (status == THR_OK)
        status = thr_index_search(index, &queries, K, &search, out.ids, out.scores, &err);
    return status;
}

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    float *rows = random_rows(N, DIMS, 1);
    const counted c = {test_context(1, THR_ISA_BEST, &memory), rows};
    test_oom oom = test_oom_start(&memory);
    oom.tolerant = true; /* the choice of a kernel does without memory */
    while (test_oom_next(&oom)) {
        test_oom_arm(&oom);
        const thr_status status = build_open_search(&c);
        (void)test_oom_check(&oom, status, &err, NULL);
    }
    thr_context_free(c.context);
}

static int set_up(void **state) {
    *state = test_context(2, THR_ISA_BEST, NULL);
    make_model(*state, 4);
    return 0;
}

static int tear_down(void **state) {
    thr_context_free(*state);
    test_remove_directory(DIR_I);
    (void)unlink(MODEL);
    return 0;
}

TEST_GROUP(set_up, tear_down)
