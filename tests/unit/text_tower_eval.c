/* SPDX-License-Identifier: Apache-2.0 */
/* text_tower_eval.c - evaluations against AUC by counting pairs of pairs, and log loss by the book. */
#define TOWER_TEST "eval"
#include "text_tower_support.h"

static const char model[] = NAME("model"), pairs[] = NAME("judged.tsv");
enum { DIMS = 9, SAMPLED = 10 };

typedef struct judged {
    size_t n;
    float *queries, *items; /* n x DIMS */
    bool *good;
} judged;

/* Pairs with labels 0, 1 or 2 of an item that fits or does not, and what the model makes of them. */
static judged write_judged(const thr_tower *tower, size_t n) {
    judged j = {n, test_new(n * DIMS, sizeof(float)), test_new(n * DIMS, sizeof(float)), test_new(n, sizeof(bool))};
    uint64_t rng = test_seed();
    FILE *file = fopen(pairs, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++) {
        char query[TOWER_TEXT_ROOM], item[TOWER_TEXT_ROOM];
        const char *const q = query, *const x = item;
        const uint64_t label = thr_rng_below(&rng, 3);
        tower_text(i, query);
        tower_text(label == 0 ? thr_rng_below(&rng, 1000) : i + 6, item);
        j.good[i] = label >= 1;
        (void)fprintf(file, "%zu\t%s\t%s\t%d\n", i, item, query, (int)label);
        expect_ok(thr_tower_encode(tower, THR_SIDE_QUERY, &q, NULL, 1, j.queries + i * DIMS, &err));
        expect_ok(thr_tower_encode(tower, THR_SIDE_ITEM, &x, NULL, 1, j.items + i * DIMS, &err));
    }
    assert_int_equal(fclose(file), 0);
    return j;
}

static double cosine(const judged *j, size_t query, size_t item) {
    double product = 0, a = 0, b = 0;
    for (size_t d = 0; d < DIMS; d++) {
        const double q = (double)j->queries[query * DIMS + d], x = (double)j->items[item * DIMS + d];
        product += q * x;
        a += q * q;
        b += x * x;
    }
    return product / sqrt(a * b);
}

/* The share of good and bad scores in the right order, equal ones counted half. */
static double naive_auc(const double *scores, const bool *good, size_t n) {
    double right = 0, all = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; good[i] && k < n; k++)
            if (!good[k]) {
                const float a = (float)scores[i], b = (float)scores[k];
                right += a > b ? 1 : a == b ? 0.5 : 0;
                all++;
            }
    return right / all;
}

static const thr_pairs_format format = {.query_column = 3, .item_column = 2},
                              labelled = {.query_column = 3, .item_column = 2, .label_column = 4, .least_label = 1};

TEST(labels_separate_good_pairs_from_bad_ones) {
    thr_tower_quality quality;
    tower_make(model, 3, 2);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    judged j = write_judged(tower, 2500); /* more than are encoded at once */
    double *scores = test_new(j.n, sizeof *scores);
    uint64_t n_good = 0;
    for (size_t i = 0; i < j.n; i++) {
        scores[i] = cosine(&j, i, i);
        n_good += j.good[i];
    }
    expect_ok(thr_tower_eval(tower, pairs, &labelled, &quality, &err));
    assert_true(quality.n_good == n_good && quality.n_bad == j.n - n_good && quality.n_refused == 0);
    assert_true(isnan(quality.loss));
    assert_case(fabs(quality.auc - naive_auc(scores, j.good, j.n)) < 1e-4, "AUC %.9g, not %.9g", quality.auc,
                naive_auc(scores, j.good, j.n));
}

TEST(without_labels_items_of_other_pairs_are_bad) {
    static const size_t sizes[] = {2, 3, 10, 11, 12, 200};
    tower_make(model, 2, THR_FLOAT_BITS);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        thr_tower_quality quality;
        judged j = write_judged(tower, sizes[s]);
        const size_t n = j.n, n_bad = n - 1 < SAMPLED ? n - 1 : SAMPLED, all = n * (1 + n_bad);
        double *scores = test_new(all, sizeof *scores), loss = 0;
        bool *good = test_new(all, sizeof *good);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t b = 0; b <= n_bad; b++) {
                const size_t other = (i + b * (n / (n_bad + 1))) % n;
                assert_true(b == 0 || other != i);
                scores[i * (1 + n_bad) + b] = cosine(&j, i, other);
                good[i * (1 + n_bad) + b] = b == 0;
                sum += exp(10 * (cosine(&j, i, (i + b) % n) - cosine(&j, i, i))); /* of the loss: the next ones */
            }
            loss += log(sum) / (double)n;
        }
        expect_ok(thr_tower_eval(tower, pairs, &format, &quality, &err));
        assert_true(quality.n_good == n && quality.n_bad == n * n_bad);
        assert_case(fabs(quality.auc - naive_auc(scores, good, all)) < 1e-3, "%zu pairs: AUC %.9g, not %.9g", n,
                    quality.auc, naive_auc(scores, good, all));
        assert_case(fabs(quality.loss - loss) < 1e-4, "%zu pairs: loss %.9g, not %.9g", n, quality.loss, loss);
    }
}

TEST(validation_is_an_evaluation) {
    thr_tower_train_options options;
    thr_tower_quality quality;
    tower_small(&options);
    options.n_negatives = 10;
    options.run.batch = 1024; /* one block for the loss, as in an evaluation */
    options.config.n_dims = DIMS;
    options.run.valid_path = pairs;
    tower_write_pairs(NAME("pairs.tsv"), 0, 2100);
    tower_write_pairs(pairs, 5000, 90);
    const thr_tower_report report = tower_train(*state, NAME("pairs.tsv"), model, &options);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    expect_ok(thr_tower_eval(tower, pairs, NULL, &quality, &err));
    assert_true(quality.auc == report.valid_quality);
    assert_true(quality.loss == report.valid_loss);
}

TEST(what_cannot_be_judged_is_refused) {
    thr_tower_quality quality;
    tower_make(model, 3, 2);
    OWNED(thr_tower, tower) = tower_open(*state, model);
    expect_error(thr_tower_eval(tower, NAME("none.tsv"), NULL, &quality, &err), THR_ENOTFOUND, "none.tsv");
    expect_error(thr_tower_eval(tower, model, NULL, &quality, &err), THR_EINVAL, model);
    test_write_text(pairs, "edit\tedit pdf\n");
    expect_error(thr_tower_eval(tower, pairs, NULL, &quality, &err), THR_EINVAL, NULL);
    test_write_text(pairs, "edit\tedit pdf\t1\nplay\tchess\t1\n");
    const thr_pairs_format all_good = {1, 2, 3, 1, false}, none = {0, 2, 0, 0, false}, headed = {1, 2, 0, 0, true};
    expect_error(thr_tower_eval(tower, pairs, &all_good, &quality, &err), THR_EINVAL, NULL);
    expect_error(thr_tower_eval(tower, pairs, &none, &quality, &err), THR_EINVAL, "from 1");
    expect_error(thr_tower_eval(tower, pairs, &headed, &quality, &err), THR_EINVAL, NULL);
    test_write_text(pairs, "edit\t\n.\tchess\nedit\tpdf\nplay\tchess\n");
    expect_error(thr_tower_eval(tower, pairs, NULL, &quality, &err), THR_EFORMAT, "2 of 4");
    assert_int_equal(quality.n_refused, 2);
}
