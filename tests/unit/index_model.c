/* SPDX-License-Identifier: Apache-2.0 */
/* index_model.c - indexes of a model's vectors: what their scores are, and what becomes of the model beside them. */
#include "model_support.h"

#include "emulator.h"

static const char DIR_M[] = "index-model", MODEL[] = "index-model.safetensors", OTHER[] = "index-model-2.safetensors",
                  TEXTS[] = "index-model.txt";
enum { N = 1300, QUERIES = 9, K = 20 };

static thr_index_build_options options_for(const char *model) {
    thr_index_build_options options = {.model = model, .replace = true};
    return options;
}

/* From the lines of a text, as the program does it. */
static thr_status build_texts(thr_context *context, const char *model, const thr_index_build_options *options) {
    thr_tower *tower = NULL;
    thr_reader *texts = NULL, *rows = NULL;
    expect_ok(thr_tower_open(context, model, &tower, &err));
    expect_ok(thr_reader_open(context, TEXTS, &texts, &err));
    expect_ok(thr_tower_reader(tower, THR_SIDE_ITEM, texts, &rows, &err));
    const thr_status status = thr_index_build(context, DIR_M, rows, options, &err);
    thr_reader_free(rows);
    thr_reader_free(texts);
    thr_tower_free(tower);
    return status;
}

static thr_index *make_index(thr_context *context, uint32_t query_bits, uint32_t item_bits) {
    const thr_index_build_options options = options_for(MODEL);
    make_model(context, MODEL, query_bits, item_bits, 1);
    expect_ok(build_texts(context, MODEL, &options));
    return test_index_open(context, DIR_M);
}

typedef struct answer {
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K];
} answer;

static answer ask(thr_index *index, const float *queries, const thr_search_options *options) {
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, MODEL_DIMS);
    answer out;
    expect_ok(thr_index_search(index, &matrix, K, options, out.ids, out.scores, &err));
    return out;
}

/* ------------------------------------------------------------------------------------------------ scores */

/* Scores are cosines of the model's vectors within `most`, and no item better by more than that is left out. */
static void expect_cosines(const answer *got, const float *queries, const float *items, double most) {
    for (size_t q = 0; q < QUERIES; q++)
        for (uint64_t i = 0, place; i < N; i++) {
            const double score =
                naive_score(THR_METRIC_COSINE, queries + q * MODEL_DIMS, items + i * MODEL_DIMS, MODEL_DIMS);
            for (place = 0; place < K && got->ids[q * K + place] != i; place++)
                ;
            if (place < K)
                assert_true(fabs((double)got->scores[q * K + place] - score) <= most);
            else
                assert_true(score <= (double)got->scores[q * K + K - 1] + most);
        }
}

TEST(codes_of_queries_and_items_score_their_true_cosines) {
    static const uint32_t bits[][2] = {{1, 1}, {3, 2}, {2, 3}, {1, 8}, {8, 1}, {5, 4}};
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        OWNED(thr_index, index) = make_index(*state, bits[i][0], bits[i][1]);
        float *queries = encode_texts(*state, MODEL, THR_SIDE_QUERY, 700, QUERIES);
        float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N);
        answer got = ask(index, queries, NULL);
        expect_cosines(&got, queries, items, 1e-6);
        thr_search_options options = {0};
        options.query_bits = 8; /* holds any of these codes, too */
        const answer wider = ask(index, queries, &options);
        expect_cosines(&wider, queries, items, 1e-6);
        /* Scaled vectors are no codes: they are coded anew, and nearly as good. */
        for (size_t d = 0; d < (size_t)QUERIES * MODEL_DIMS; d++)
            queries[d] *= 0.3f;
        got = ask(index, queries, &options);
        expect_cosines(&got, queries, items, 0.02);
    }
}

TEST(float_queries_meet_codes_with_eight_bits) {
    OWNED(thr_index, index) = make_index(*state, THR_FLOAT_BITS, 2);
    float *queries = encode_texts(*state, MODEL, THR_SIDE_QUERY, 700, QUERIES);
    float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N);
    answer got = ask(index, queries, NULL);
    expect_cosines(&got, queries, items, 0.01);
    memset(queries, 0, MODEL_DIMS * sizeof *queries); /* no direction: cosine 0 with everything */
    queries[MODEL_DIMS] = NAN;
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, MODEL_DIMS);
    expect_error(thr_index_search(index, &matrix, K, NULL, got.ids, got.scores, &err), THR_ERANGE, NULL);
    queries[MODEL_DIMS] = 0;
    got = ask(index, queries, NULL);
    for (size_t i = 0; i < K; i++)
        assert_true(got.ids[i] == i && got.scores[i] == 0);
}

TEST(vectors_of_a_float_side_are_built_as_any) {
    static const uint32_t query_bits[] = {THR_FLOAT_BITS, 2};
    for (size_t i = 0; i < 2; i++) {
        thr_index *index = make_index(*state, query_bits[i], THR_FLOAT_BITS);
        const thr_index_info info = thr_index_get_info(index);
        assert_int_equal(info.item_bits, 3);
        assert_int_equal(info.keep, THR_DTYPE_F32);
        assert_non_null(thr_tower_of_index(index));
        expect_ok(thr_index_tune(index, NULL, &err));
        float *queries = encode_texts(*state, MODEL, THR_SIDE_QUERY, 700, QUERIES);
        float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N);
        thr_search_options options = {.exact = true};
        const answer got = ask(index, queries, &options);
        expect_cosines(&got, queries, items, 1e-6);
        thr_index_free(index);
        index = test_index_open(*state, DIR_M); /* a calibration leaves the model where it is */
        assert_int_equal(count_files(DIR_M, ".safetensors", NULL), 1);
        expect_ok(thr_index_verify(index, &err));
        thr_index_free(index);
    }
}

/* ------------------------------------------------------------------------------------------------ searches */

static double share_found(const answer *got, const answer *truth) {
    size_t n = 0;
    for (size_t i = 0; i < (size_t)QUERIES * K; i++)
        n += got->scores[i] >= truth->scores[i / K * K + K - 1];
    return (double)n / (QUERIES * K);
}

/* Cells of a float side's vectors are as of any; codes that are the vectors have none. */
TEST(texts_are_found_in_cells) {
    thr_index *index = make_index(*state, THR_FLOAT_BITS, THR_FLOAT_BITS);
    float *queries = encode_texts(*state, MODEL, THR_SIDE_QUERY, 700, QUERIES);
    const uint64_t gone[] = {3, 701, 1299};
    thr_index_build_options options = options_for(MODEL);
    thr_search_options exact = {0}, some = {0};
    exact.exact = true;
    some.recall = 0.9f;
    const answer truth = ask(index, queries, &exact);
    thr_index_free(index);
    options.cells = 30;
    expect_ok(build_texts(*state, MODEL, &options));
    index = test_index_open(*state, DIR_M);
    assert_true(thr_index_get_cells(index).n_cells >= 15 && thr_tower_of_index(index) != NULL);
    const answer all = ask(index, queries, &exact), got = ask(index, queries, &some);
    assert_memory_equal(&all, &truth, sizeof all);
    assert_true(share_found(&got, &truth) >= 0.89);
    expect_ok(thr_index_tune(index, NULL, &err));
    thr_index_free(index);
    expect_ok(thr_index_remove(*state, DIR_M, gone, 3, NULL, &err));
    expect_ok(thr_index_rewrite(*state, DIR_M, NULL, &err));
    index = test_index_open(*state, DIR_M);
    expect_ok(thr_index_verify(index, &err));
    const answer left = ask(index, queries, &exact), again = ask(index, queries, &some);
    assert_true(thr_index_get_cells(index).n_items == N - 3 && share_found(&again, &left) >= 0.89);
    for (size_t i = 0; i < (size_t)QUERIES * K; i++)
        assert_true(left.ids[i] != gone[0] && left.ids[i] != gone[1] && left.ids[i] != gone[2]);
    thr_index_free(index);
    make_model(*state, MODEL, 3, 2, 1);
    expect_error(build_texts(*state, MODEL, &options), THR_EUNSUPPORTED, "cells need kept vectors");
    options.cells = THR_CELLS_AUTO;
    expect_ok(build_texts(*state, MODEL, &options));
    index = test_index_open(*state, DIR_M);
    assert_int_equal(thr_index_get_cells(index).n_cells, 0);
    thr_index_free(index);
}

TEST(filters_radii_and_certificates_are_as_of_any_codes) {
    OWNED(thr_index, index) = make_index(*state, 3, 2);
    float *queries = encode_texts(*state, MODEL, THR_SIDE_QUERY, 700, QUERIES);
    float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N);
    const thr_matrix matrix = thr_matrix_f32(queries, QUERIES, MODEL_DIMS);
    uint64_t filter[(N + 63) / 64];
    uint8_t certified[QUERIES];
    thr_radius_result *found = NULL;
    thr_search_options options = {0};
    memset(filter, 0x11, sizeof filter);
    options.filter = filter;
    options.filter_bits = N;
    options.certified = certified;
    memset(certified, 1, sizeof certified);
    const answer got = ask(index, queries, &options);
    for (size_t i = 0; i < (size_t)QUERIES * K; i++)
        assert_int_equal(got.ids[i] % 4, 0);
    for (size_t q = 0; q < QUERIES; q++)
        assert_int_equal(certified[q], 0);
    const float least = got.scores[3];
    expect_ok(thr_index_search_radius(index, &matrix, least, NULL, &found, &err));
    for (size_t q = 0; q < QUERIES; q++) {
        size_t n = 0;
        for (uint64_t i = 0; i < N; i++)
            n += naive_score(THR_METRIC_COSINE, queries + q * MODEL_DIMS, items + i * MODEL_DIMS, MODEL_DIMS) >=
                 (double)least - 1e-6;
        assert_int_equal(found->offsets[q + 1] - found->offsets[q], n);
    }
    thr_radius_result_free(found);
    options = (thr_search_options){0};
    options.exact = true;
    answer out;
    expect_error(thr_index_search(index, &matrix, K, &options, out.ids, out.scores, &err), THR_EUNSUPPORTED, NULL);
    expect_error(thr_index_tune(index, NULL, &err), THR_EUNSUPPORTED, "nothing to calibrate");
}

TEST(gpus_answer_as_the_cpu) {
    test_emulator emulator;
    if (!test_emulator_take(&emulator, 2))
        skip();
    static const uint32_t bits[][2] = {{3, 2}, {THR_FLOAT_BITS, 1}};
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        thr_index *index = make_index(*state, bits[i][0], bits[i][1]);
        float *queries = encode_texts(*state, MODEL, THR_SIDE_QUERY, 700, QUERIES);
        const answer wanted = ask(index, queries, NULL);
        thr_context_options options = {0};
        OWNED(thr_context, context) = NULL;
        options.device = "cuda";
        expect_ok(thr_context_create(&options, &context, &err));
        thr_index_free(index);
        index = test_index_open(context, DIR_M);
        const uint64_t before = emulator.launches();
        const answer got = ask(index, queries, NULL);
        assert_true(emulator.launches() > before);
        assert_memory_equal(got.ids, wanted.ids, sizeof got.ids);
        assert_memory_equal(got.scores, wanted.scores, sizeof got.scores);
        thr_index_free(index);
    }
}

/* ------------------------------------------------------------------------------------------------ builds */

TEST(a_models_codes_are_kept_as_they_are) {
    thr_index_build_options options = options_for(MODEL);
    options.item_bits = 7;
    options.lead_bits = 1;
    options.rotate = THR_ROTATE_ON;
    options.keep = THR_DTYPE_F16;
    options.segment_rows = 256;
    make_model(*state, MODEL, 3, 2, 1);
    expect_ok(build_texts(*state, MODEL, &options));
    OWNED(thr_index, index) = test_index_open(*state, DIR_M);
    const thr_index_info info = thr_index_get_info(index);
    assert_int_equal(info.n_items, N);
    assert_int_equal(info.n_dims, MODEL_DIMS);
    assert_int_equal(info.item_bits, 2);
    assert_int_equal(info.lead_bits, 2);
    assert_int_equal(info.keep, THR_DTYPE_NONE);
    assert_int_equal(info.tuned_queries, 0);
    assert_false(info.rotated || info.centred);
    const thr_tower_info tower = thr_tower_get_info(thr_tower_of_index(index));
    assert_int_equal(tower.config.query_bits, 3);
    assert_int_equal(tower.config.item_bits, 2);
    expect_ok(thr_index_verify(index, &err));
    float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N), vector[MODEL_DIMS];
    for (uint64_t i = 0; i < N; i += 13) {
        expect_ok(thr_index_vector(index, i, vector, &err));
        assert_memory_equal(vector, items + i * MODEL_DIMS, sizeof vector);
    }
    expect_error(thr_index_vector(index, N, vector, &err), THR_ENOTFOUND, NULL);
}

TEST(indexes_of_other_vectors_carry_no_model) {
    float *rows = random_rows(100, 5, 1);
    test_remove_directory(DIR_M);
    expect_ok(build_rows(*state, DIR_M, rows, 100, 5, NULL, &err));
    OWNED(thr_index, index) = test_index_open(*state, DIR_M);
    assert_null(thr_tower_of_index(index));
}

TEST(what_the_model_did_not_make_is_refused) {
    test_remove_directory(DIR_M);
    make_model(*state, MODEL, 3, 2, 1);
    thr_index_build_options options = options_for(MODEL);
    float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N);
    items[777 * MODEL_DIMS + 3] = 0.25f;
    expect_error(build_rows(*state, DIR_M, items, N, MODEL_DIMS, &options, &err), THR_EMISMATCH,
                 "vectors: row 777, dimension 3 is 0.25");
    expect_error(build_rows(*state, DIR_M, items, N, MODEL_DIMS - 1, &options, &err), THR_EDIM, MODEL);
    options.metric = THR_METRIC_IP;
    expect_error(build_rows(*state, DIR_M, items, N, MODEL_DIMS, &options, &err), THR_EINVAL, NULL);
    options = options_for("no-such-model.safetensors");
    expect_error(build_rows(*state, DIR_M, items, N, MODEL_DIMS, &options, &err), THR_ENOTFOUND, NULL);
    options = options_for(TEXTS);
    expect_error(build_rows(*state, DIR_M, items, N, MODEL_DIMS, &options, &err), THR_EFORMAT, NULL);
    assert_int_equal(access(DIR_M, F_OK), -1);
}

/* The old model goes when the new index is complete, and not before. */
TEST(a_new_index_brings_its_own_model) {
    char old[PATH_ROOM], new[PATH_ROOM], left[PATH_ROOM];
    thr_index *index = make_index(*state, 3, 2);
    const uint64_t fingerprint = thr_tower_get_info(thr_tower_of_index(index)).fingerprint;
    thr_index_free(index);
    assert_int_equal(count_files(DIR_M, ".safetensors", old), 1);
    join_path(left, DIR_M, ".model-01234567.safetensors.0123456789abcdef.tmp");
    test_write_text(left, "of a build that was killed");
    make_model(*state, OTHER, 3, 2, 2);
    const thr_index_build_options options = options_for(OTHER);
    float *items = encode_texts(*state, OTHER, THR_SIDE_ITEM, 0, N);
    items[5] = 0;
    expect_error(build_rows(*state, DIR_M, items, N, MODEL_DIMS, &options, &err), THR_EMISMATCH, NULL);
    assert_int_equal(count_files(DIR_M, ".safetensors", NULL), 1);
    assert_int_equal(access(old, F_OK), 0);
    expect_ok(build_texts(*state, OTHER, &options));
    assert_int_equal(count_files(DIR_M, ".safetensors", new), 1);
    assert_string_not_equal(old, new);
    assert_int_equal(access(left, F_OK), -1);
    index = test_index_open(*state, DIR_M);
    assert_true(thr_tower_get_info(thr_tower_of_index(index)).fingerprint != fingerprint);
    thr_index_free(index);
    const thr_index_build_options plain = options_for(NULL);
    expect_ok(build_rows(*state, DIR_M, items, N, MODEL_DIMS, &plain, &err));
    assert_int_equal(count_files(DIR_M, ".safetensors", NULL), 0);
}

/* ------------------------------------------------------------------------------------------------ damage */

static thr_status try_to_open(thr_context *context) {
    OWNED(thr_index, index) = NULL;
    thr_status status = thr_index_open(context, DIR_M, &index, &err);
    if (status == THR_OK)
        status = thr_index_verify(index, &err);
    return status;
}

TEST(a_damaged_or_missing_model_is_refused) {
    char path[PATH_ROOM];
    size_t size = 0;
    thr_index_free(make_index(*state, 3, 2));
    assert_int_equal(count_files(DIR_M, ".safetensors", path), 1);
    uint8_t *bytes = test_bytes_of(path, &size);
    for (size_t at = 0; at < size; at += 1 + size / 60) {
        bytes[at] ^= 0x40;
        test_write_file(path, bytes, size);
        expect_error(try_to_open(*state), THR_ECORRUPT, path);
        bytes[at] ^= 0x40;
    }
    test_write_file(path, bytes, size - 1);
    expect_error(try_to_open(*state), THR_ECORRUPT, path);
    test_write_file(path, bytes, 0);
    expect_error(try_to_open(*state), THR_ECORRUPT, NULL);
    (void)unlink(path);
    expect_error(try_to_open(*state), THR_ECORRUPT, "the MANIFEST names it");
    test_write_file(path, bytes, size);
    expect_ok(try_to_open(*state));
}

TEST(another_model_in_its_place_is_refused) {
    char path[PATH_ROOM];
    size_t size = 0, own_size = 0;
    thr_index_free(make_index(*state, 3, 2));
    assert_int_equal(count_files(DIR_M, ".safetensors", path), 1);
    make_model(*state, OTHER, 3, 2, 2);
    const uint8_t *bytes = test_bytes_of(OTHER, &size);
    (void)test_bytes_of(path, &own_size);
    assert_int_equal(size, own_size);
    test_write_file(path, bytes, size);
    expect_error(try_to_open(*state), THR_EMISMATCH, "fingerprint");
}

/* ------------------------------------------------------------------------------------------------ memory */

typedef struct counted {
    thr_context *context;
    const float *items;
} counted;

static thr_status build_open_search(const counted *c) {
    const thr_index_build_options options = options_for(MODEL);
    const thr_matrix queries = thr_matrix_f32(c->items, QUERIES, MODEL_DIMS);
    OWNED(thr_index, index) = NULL;
    answer out;
    thr_status status = build_rows(c->context, DIR_M, c->items, N, MODEL_DIMS, &options, &err);
    if (status == THR_OK)
        status = thr_index_open(c->context, DIR_M, &index, &err);
    if (status == THR_OK)
        status = thr_index_search(index, &queries, K, NULL, out.ids, out.scores, &err);
    if (status == THR_OK)
        status = thr_index_verify(index, &err);
    return status;
}

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    make_model(*state, MODEL, 3, 2, 1);
    float *items = encode_texts(*state, MODEL, THR_SIDE_ITEM, 0, N);
    const counted c = {test_context(1, THR_ISA_BEST, &memory), items};
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
    thr_context *context = test_context(2, THR_ISA_BEST, NULL);
    write_texts(TEXTS, N);
    *state = context;
    return 0;
}

static int tear_down(void **state) {
    thr_context_free(*state);
    test_remove_directory(DIR_M);
    (void)unlink(TEXTS);
    (void)unlink(MODEL);
    (void)unlink(OTHER);
    return 0;
}

TEST_GROUP(set_up, tear_down)
