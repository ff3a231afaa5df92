/* SPDX-License-Identifier: Apache-2.0 */
/* rank_model.c - models to files and back, LIBLINEAR's texts by hand, damage, and scores. */
#include "test.h"

#include <thresher/rank.h>

TEST_OWNABLE(thr_ranking)
TEST_OWNABLE(thr_rank_model)

static const double numbers[] = {0.1, -3, 1.0 / 3, 1e-300, -0x1.fffffffffffffp1023, 0};

static thr_rank_model *model_of(thr_context *context) {
    thr_rank_model *model = NULL;
    expect_ok(thr_rank_model_from_weights(context, numbers, COUNT_OF(numbers), &model, &err));
    return model;
}

TEST(files_keep_every_bit) {
    thr_context *context = test_new_context(1);
    static const char *const paths[] = {"m.safetensors", "m.txt"};
    for (size_t i = 0; i < 2; i++) {
        thr_rank_model *model = model_of(context), *back = NULL;
        expect_ok(thr_rank_model_save(model, paths[i], &err));
        expect_ok(thr_rank_model_open(context, paths[i], &back, &err));
        assert_int_equal(thr_rank_model_n_features(back), COUNT_OF(numbers));
        assert_memory_equal(thr_rank_model_weights(back), numbers, sizeof numbers);
        thr_rank_model_free(model);
        thr_rank_model_free(back);
    }
    size_t size;
    uint8_t *text = test_bytes_of("m.txt", &size);
    static const char start[] = "solver_type L2R_L2LOSS_RANKSVM\nnr_class 2\nnr_feature 6\nbias -1\nw\n"
                                "0.10000000000000001\n-3\n";
    assert_true(size > sizeof start);
    assert_memory_equal(text, start, sizeof start - 1);
}

static const struct {
    const char *text;
    thr_status status;
    const char *part; /* NULL: weights 1 and -2 */
} texts[] = {
    {"solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 2\nbias -1\nw\n1 \n-2 \n", THR_OK, NULL},
    {"solver_type L2R_L2LOSS_RANKSVM\r\nnr_class 2\r\nnr_feature 2\r\nbias -1\r\nw\r\n1\r\n-2", THR_OK, NULL},
    {"", THR_EFORMAT, "is empty"},
    {"hello\n", THR_EFORMAT, "line 1 is 'hello', not the first line"},
    {"w\n1\n", THR_EFORMAT, "line 1 is 'w'"},
    {"solver_type A\nnr_feature 2\nbananas 3\nw\n1\n2\n", THR_EFORMAT, "line 3 is 'bananas 3'"},
    {"solver_type A\nnr_feature two\nw\n1\n2\n", THR_EFORMAT, "line 2 is 'nr_feature two'"},
    {"solver_type A\nnr_feature 2\n", THR_EFORMAT, "before the line 'w'"},
    {"solver_type A\nnr_feature 0\nw\n", THR_EFORMAT, "a model of 0 features"},
    {"solver_type A\nnr_feature 2.5\nw\n1\n2\n3\n", THR_EFORMAT, "a model of 2.5 features"},
    {"solver_type A\nnr_feature 1e300\nw\n1\n", THR_EFORMAT, "a model of 1e+300 features"},
    {"solver_type A\nnr_feature 2000000000\nw\n1\n", THR_ECORRUPT, "cut short"},
    {"solver_type A\nnr_feature 3\nw\n1\n2\n", THR_ECORRUPT, "it ends after 2 of 3 weights"},
    {"solver_type A\nnr_feature 2\nw\n1\n2\n3\n", THR_EFORMAT, "line 6 is '3', not the end"},
    {"solver_type A\nnr_feature 2\nw\n1\nx\n", THR_EFORMAT, "line 5 is 'x', not a weight"},
    {"solver_type A\nnr_feature 2\nw\n1 2\n3\n", THR_EFORMAT, "line 4 is '1 2', not a weight"},
    {"solver_type A\nnr_feature 2\nw\n1\n1e999\n", THR_ERANGE, "the weight of feature 2 is inf"},
    {"solver_type A\nnr_class 3\nnr_feature 2\nw\n1\n1\n", THR_EUNSUPPORTED, "a model of 3 classes"},
    {"solver_type A\nlabel 1 -1\nnr_feature 2\nw\n1\n1\n", THR_EUNSUPPORTED, "line 2 has labels"},
    {"solver_type A\nnr_feature 2\nbias 1\nw\n1\n1\n1\n", THR_EUNSUPPORTED, "a bias of 1"},
};

TEST(texts_are_models_or_refused_with_a_reason) {
    thr_context *context = test_new_context(1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        OWNED(thr_rank_model, model) = NULL;
        test_write_text("model.txt", texts[i].text);
        const thr_status status = thr_rank_model_open(context, "model.txt", &model, &err);
        if (texts[i].part != NULL) {
            expect_error(status, texts[i].status, texts[i].part);
            assert_null(model);
            continue;
        }
        expect_ok(status);
        assert_true(thr_rank_model_n_features(model) == 2 && thr_rank_model_weights(model)[0] == 1 &&
                    thr_rank_model_weights(model)[1] == -2);
    }
    thr_rank_model *model = NULL;
    expect_error(thr_rank_model_open(context, "missing.txt", &model, &err), THR_ENOTFOUND, "missing.txt");
}

/* Every byte changed, every length: never the same model by other bytes of weights, never a crash. */
TEST(damaged_tensors_are_refused) {
    thr_context *context = test_new_context(1);
    thr_rank_model *model = model_of(context);
    size_t size;
    expect_ok(thr_rank_model_save(model, "whole.safetensors", &err));
    thr_rank_model_free(model);
    uint8_t *whole = test_bytes_of("whole.safetensors", &size);
    uint8_t *damaged = test_new(size, 1);
    for (size_t i = 0; i < 2 * size; i++) {
        OWNED(thr_rank_model, back) = NULL;
        memcpy(damaged, whole, size);
        if (i < size)
            damaged[i] ^= 4;
        test_write_file("damaged.safetensors", damaged, i < size ? size : i - size);
        if (thr_rank_model_open(context, "damaged.safetensors", &back, &err) != THR_OK) {
            assert_null(back);
            continue;
        }
        assert_true(i < size - sizeof numbers); /* a blank of the header that became another */
        assert_memory_equal(thr_rank_model_weights(back), numbers, sizeof numbers);
    }
}

TEST(a_model_of_a_newer_version_is_refused_as_that) {
    static const char key[] = "\"thresher.rank\":\"";
    (void)state;
    thr_context *context = test_new_context(1);
    thr_rank_model *model = model_of(context), *back = NULL;
    size_t at = 0, size;
    expect_ok(thr_rank_model_save(model, "newer.safetensors", &err));
    uint8_t *text = test_bytes_of("newer.safetensors", &size);
    while (at + sizeof key < size && memcmp(text + at, key, sizeof key - 1) != 0)
        at++;
    text[at + sizeof key - 1] = '2';
    test_write_file("newer.safetensors", text, size);
    expect_error(thr_rank_model_open(context, "newer.safetensors", &back, &err), THR_EVERSION,
                 "a ranking model of version 2: this program reads version 1");
    thr_rank_model_free(model);
}

RANDOM_TEST(scores_are_sums_of_features) {
    thr_context *context = test_new_context(3);
    enum { ROWS = 3000, DIMS = 11 };
    float *rows = test_new((size_t)ROWS * DIMS, sizeof *rows);
    double *labels = test_new(ROWS, sizeof *labels), *scores = test_new(ROWS, sizeof *scores), weights[DIMS + 1];
    uint64_t *queries = test_new(ROWS, sizeof *queries);
    test_gaussian(&rng, rows, (size_t)ROWS * DIMS);
    for (size_t d = 0; d <= DIMS; d++)
        weights[d] = (double)d - 3.5;
    for (size_t r = 0; r < ROWS; r++)
        queries[r] = r % 7; /* the rows of a query are not neighbours */
    OWNED(thr_ranking, ranking) = NULL;
    thr_rank_model *model = NULL, *narrow = NULL;
    expect_ok(thr_ranking_from_matrix(context, ROWS(rows, ROWS, DIMS), labels, queries, &ranking, &err));
    expect_ok(thr_rank_model_from_weights(context, weights, DIMS + 1, &model, &err));
    expect_ok(thr_rank_model_predict(model, ranking, scores, &err));
    const thr_ranking_view view = thr_ranking_get_view(ranking);
    for (size_t r = 0; r < ROWS; r++) {
        const float *x = rows + (view.rows != NULL ? view.rows[r] : r) * DIMS;
        double sum = 0;
        for (size_t d = 0; d < DIMS; d++)
            sum += weights[d] * (double)x[d];
        assert_case(fabs(sum - scores[r]) < 1e-12, "row %zu: %.17g is not %.17g", r, scores[r], sum);
    }
    expect_ok(thr_rank_model_from_weights(context, weights, DIMS - 1, &narrow, &err));
    expect_error(thr_rank_model_predict(narrow, ranking, scores, &err), THR_EDIM,
                 "rows of 11 features for a model of 10");
    thr_rank_model_free(model);
    thr_rank_model_free(narrow);
}

TEST(every_allocation_may_fail) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    static const char *const paths[] = {"f.safetensors", "f.txt"};
    for (unsigned job = 0; job < 4; job++) {
        thr_rank_model *model = model_of(context);
        test_oom oom = test_oom_start(&memory);
        while (test_oom_next(&oom)) {
            thr_rank_model *back = NULL;
            test_oom_arm(&oom);
            const thr_status status = job < 2 ? thr_rank_model_save(model, paths[job], &err)
                                              : thr_rank_model_open(context, paths[job - 2], &back, &err);
            (void)test_oom_check(&oom, status, &err, NULL);
            thr_rank_model_free(back);
        }
        thr_rank_model_free(model);
    }
    thr_context_free(context);
}

/* The best left, over and over. */
static void naive_order(const uint64_t *ids, const double *scores, size_t n, size_t *order) {
    bool *taken = test_new(n + 1, sizeof *taken);
    for (size_t place = 0; place < n; place++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!taken[i] &&
                (best == n || scores[i] > scores[best] || (scores[i] == scores[best] && ids[i] < ids[best])))
                best = i;
        taken[best] = true;
        order[place] = best;
    }
}

enum { MOST_CANDIDATES = 70, FEATURES = 11 };

/* The scores of n rows, by a prediction. */
static void predict(const thr_rank_model *model, thr_context *context, const float *features, size_t n,
                    double *scores) {
    double labels[MOST_CANDIDATES + 1] = {0};
    uint64_t queries[MOST_CANDIDATES + 1] = {0};
    OWNED(thr_ranking, ranking) = NULL;
    if (n == 0)
        return;
    expect_ok(thr_ranking_from_matrix(context, ROWS(features, n, FEATURES), labels, queries, &ranking, &err));
    expect_ok(thr_rank_model_predict(model, ranking, scores, &err));
}

RANDOM_TEST(candidates_come_in_the_order_of_scores_and_ids) {
    thr_context *context = test_new_context(1);
    for (size_t n = 0; n <= MOST_CANDIDATES; n++) {
        double weights[FEATURES], scores[MOST_CANDIDATES + 1], found[MOST_CANDIDATES + 1];
        float features[(MOST_CANDIDATES + 1) * FEATURES] = {0};
        uint64_t ids[MOST_CANDIDATES + 1], before[MOST_CANDIDATES + 1];
        size_t order[MOST_CANDIDATES + 1], places[MOST_CANDIDATES + 1];
        const uint64_t n_values = n % 3 == 0 ? 1 : 3; /* many equal scores */
        OWNED(thr_rank_model, model) = NULL;
        for (size_t f = 0; f < FEATURES; f++)
            weights[f] = (double)thr_rng_below(&rng, 1000) / 300 - 1.5;
        for (size_t i = 0; i < n; i++) {
            before[i] = ids[i] = (i * 31 + 7) % 71 + (i % 2 == 0 ? UINT64_C(1) << 60 : 0);
            for (size_t f = 0; f < 2; f++)
                features[i * FEATURES + f] = (float)thr_rng_below(&rng, n_values);
        }
        expect_ok(thr_rank_model_from_weights(context, weights, FEATURES, &model, &err));
        predict(model, context, features, n, scores);
        naive_order(before, scores, n, order);
        expect_ok(thr_rank_model_rerank(model,
                                        &(thr_matrix){features, n, FEATURES, THR_DTYPE_F32, (FEATURES) * sizeof(float)},
                                        ids, found, n % 2 == 0 ? places : NULL, &err));
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(ids[i], before[order[i]]);
            assert_true(found[i] == scores[order[i]]);
            if (n % 2 == 0)
                assert_int_equal(places[i], order[i]);
        }
    }
}

TEST(candidates_that_cannot_be_ordered_are_refused) {
    thr_context *context = test_new_context(1);
    OWNED(thr_rank_model, model) = model_of(context);
    float features[2 * COUNT_OF(numbers)] = {0};
    uint64_t ids[2] = {9, 4};
    double scores[2];
    assert_int_equal(thr_rank_model_rerank(model,
                                           &(thr_matrix){features, 2, COUNT_OF(numbers) - 1, THR_DTYPE_F32,
                                                         (COUNT_OF(numbers) - 1) * sizeof(float)},
                                           ids, scores, NULL, &err),
                     THR_EDIM);
    assert_string_equal(err.text, "candidates of 5 features for a model of 6");
    features[COUNT_OF(numbers)] = NAN;
    assert_int_equal(thr_rank_model_rerank(model,
                                           &(thr_matrix){features, 2, COUNT_OF(numbers), THR_DTYPE_F32,
                                                         (COUNT_OF(numbers)) * sizeof(float)},
                                           ids, scores, NULL, &err),
                     THR_ERANGE);
    assert_string_equal(err.text, "feature 1 of item 4 is nan: give finite numbers");
    features[COUNT_OF(numbers)] = 0;
    features[4] = 10; /* times the greatest double */
    assert_int_equal(thr_rank_model_rerank(model,
                                           &(thr_matrix){features, 2, COUNT_OF(numbers), THR_DTYPE_F32,
                                                         (COUNT_OF(numbers)) * sizeof(float)},
                                           ids, scores, NULL, &err),
                     THR_ERANGE);
    assert_string_equal(err.text, "item 9 has a score of -inf: scale features down");
    thr_matrix rows = {features, 2, COUNT_OF(numbers), THR_DTYPE_F16, COUNT_OF(numbers) * sizeof(float)};
    assert_int_equal(thr_rank_model_rerank(model, &rows, ids, scores, NULL, &err), THR_EINVAL);
    rows = (thr_matrix){features, 1, COUNT_OF(numbers), THR_DTYPE_F32, 2 * COUNT_OF(numbers) * sizeof(float)};
    assert_int_equal(thr_rank_model_rerank(model, &rows, ids, scores, NULL, &err), THR_EINVAL);
    assert_string_equal(err.text, "features of candidates are dense rows of float32: convert them");
    assert_true(ids[0] == 9 && ids[1] == 4);
}

TEST(weights_that_are_no_model_are_refused) {
    thr_context *context = test_new_context(1);
    const double weights[] = {1, 2, 3, 4, (double)NAN, 6};
    thr_rank_model *none = NULL;
    expect_error(thr_rank_model_from_weights(context, weights, 6, &none, &err), THR_ERANGE, "feature 5 is nan");
    expect_error(thr_rank_model_from_weights(context, weights, 0, &none, &err), THR_EDIM, "0 features");
    assert_null(none);
}

TEST(scores_that_overflow_are_refused_with_their_row) {
    thr_context *context = test_new_context(1);
    enum { ROWS = 5 };
    static const float sparse_values[ROWS] = {1, 1, 1, 3e38f, 1};
    static const uint64_t starts[ROWS + 1] = {0, 1, 2, 3, 4, 5}, queries[ROWS] = {1, 2, 1, 2, 1};
    static const uint32_t columns[ROWS] = {0};
    static const double labels[ROWS] = {0}, weights[] = {1e300};
    const thr_csr csr = {starts, columns, sparse_values, ROWS, 1};
    thr_ranking *rankings[2] = {NULL, NULL};
    OWNED(thr_rank_model, model) = NULL;
    double scores[ROWS];
    expect_ok(thr_rank_model_from_weights(context, weights, 1, &model, &err));
    expect_ok(thr_ranking_from_matrix(context, ROWS(sparse_values, ROWS, 1), labels, queries, &rankings[0], &err));
    expect_ok(thr_ranking_from_csr(context, &csr, labels, queries, &rankings[1], &err));
    for (size_t i = 0; i < 2; i++) {
        expect_error(thr_rank_model_predict(model, rankings[i], scores, &err), THR_ERANGE,
                     "row 3 (from 0) has a score of inf");
        thr_ranking_free(rankings[i]);
    }
}
