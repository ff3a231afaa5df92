/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_rank.c - rankings judged by hand, by naive models, and as LightGBM, XGBoost, scikit-learn and LETOR's script
 * judge them.
 */
#include "test.h"

#include "support/support.h"

#include <thresher/metric.h>

enum { N_QUERIES = 10, N_ROWS = 93 };

/* Ten queries with many equal scores; three have nothing relevant, one equal labels only. */
typedef struct sample {
    uint64_t offsets[N_QUERIES + 1];
    double scores[N_ROWS], labels[N_ROWS];
} sample;

static thr_judged make_sample(sample *s, double largest) {
    static const uint64_t sizes[N_QUERIES] = {1, 2, 3, 5, 9, 12, 17, 30, 4, 10};
    uint64_t row = 0;
    for (size_t q = 0; q < N_QUERIES; q++) {
        s->offsets[q] = row;
        for (uint64_t i = 0; i < sizes[q]; i++, row++) {
            double label = (double)((row * row * 31 + row * 17) % 1009 % 5);
            label = q == 2 || q == 8 ? 0 : q == 4 ? 2 : label;
            s->labels[row] = label < largest ? label : largest;
            s->scores[row] = (double)((row * 7919 + 13) % 97 % 41);
        }
    }
    s->offsets[N_QUERIES] = row;
    assert_int_equal(row, N_ROWS);
    return (thr_judged){.n_queries = N_QUERIES, .offsets = s->offsets, .scores = s->scores, .labels = s->labels};
}

static void assert_near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12))
        fail_msg("%.17g, not %.17g", got, wanted);
}

static thr_quality quality_of(const thr_judged *judged, thr_convention convention, size_t k) {
    const thr_quality_options options = {.k = k, .convention = convention};
    thr_quality quality;
    expect_ok(thr_rank_quality(judged, &options, &quality, &err));
    return quality;
}

static double ndcg_of(const thr_judged *judged, thr_convention convention, size_t k) {
    return quality_of(judged, convention, k).ndcg;
}

/* Printed by lightgbm 4.7.0: Booster.eval_train() without trees, over a Dataset whose init_score is ours. */
TEST(lightgbm_prints_the_same) {
    static const struct {
        size_t k;
        double ndcg;
    } printed[] = {
        {1, 0.6}, {3, 0.6983857454726478}, {5, 0.7327818869217173}, {10, 0.7965603512044532}, {30, 0.8533467344476927}};
    sample s;
    const thr_judged judged = make_sample(&s, 4);
    for (size_t i = 0; i < COUNT_OF(printed); i++)
        assert_near(ndcg_of(&judged, THR_CONVENTION_LIGHTGBM, printed[i].k), printed[i].ndcg);
    assert_near(quality_of(&judged, THR_CONVENTION_LIGHTGBM, 10).map, 0.9383486047315662); /* map@1000 */
    thr_quality quality;
    expect_ok(thr_rank_quality(&judged, NULL, &quality, &err)); /* the default: all ranks */
    assert_near(quality.ndcg, 0.8533467344476927);
}

/* Printed by xgboost 3.2.0: Booster.eval() without trees, over a DMatrix whose base_margin is ours. */
TEST(xgboost_prints_the_same) {
    sample s;
    const thr_judged judged = make_sample(&s, 4);
    assert_near(ndcg_of(&judged, THR_CONVENTION_XGBOOST, 5), 0.73278188692171731);        /* ndcg@5 */
    assert_near(ndcg_of(&judged, THR_CONVENTION_XGBOOST, 10), 0.79656035120445323);       /* ndcg@10 */
    assert_near(ndcg_of(&judged, THR_CONVENTION_XGBOOST, 0), 0.85334673444769271);        /* ndcg */
    assert_near(ndcg_of(&judged, THR_CONVENTION_XGBOOST_MINUS, 5), 0.43278188692171737);  /* ndcg@5- */
    assert_near(ndcg_of(&judged, THR_CONVENTION_XGBOOST_MINUS, 10), 0.49656035120445319); /* ndcg@10- */
    assert_near(ndcg_of(&judged, THR_CONVENTION_XGBOOST_MINUS, 0), 0.55334673444769267);  /* ndcg- */
    /* Of labels 1 for all that are relevant. */
    const thr_judged binary = make_sample(&s, 1);
    assert_near(quality_of(&binary, THR_CONVENTION_XGBOOST, 5).map, 0.93834860473156623);       /* map */
    assert_near(quality_of(&binary, THR_CONVENTION_XGBOOST_MINUS, 5).map, 0.63834860473156607); /* map- */
}

/* By the subroutines of Eval-Score-4.0.pl (March 3, 2009), of labels up to 2; Perl 5. */
TEST(letor_prints_the_same) {
    static const double ndcg[10] = {0.566666666666667, 0.5,
                                    0.423981246656813, 0.44144444373937,
                                    0.436432898717513, 0.352458490067768,
                                    0.353634203644727, 0.359362185237834,
                                    0.363884428498946, 0.276080680719466};
    static const double precision[10] = {
        0.7, 0.6, 0.566666666666667, 0.575, 0.54, 0.533333333333333, 0.528571428571429, 0.525, 0.511111111111111, 0.49};
    sample s;
    const thr_judged judged = make_sample(&s, 2);
    for (size_t k = 1; k <= 10; k++) {
        const thr_quality quality = quality_of(&judged, THR_CONVENTION_LETOR, k);
        assert_true(fabs(quality.ndcg - ndcg[k - 1]) < 1e-14 && fabs(quality.precision - precision[k - 1]) < 1e-14);
        assert_near(quality.map, 0.638348604731566);
    }
}

/* scikit-learn 1.9.1: means of ndcg_score(k=10) and average_precision_score over the queries that have a gain. */
TEST(scikit_learn_returns_the_same) {
    sample s;
    const thr_judged judged = make_sample(&s, 4);
    const thr_quality_options options = {.k = 10, .convention = THR_CONVENTION_XGBOOST_MINUS, .gain = THR_GAIN_LINEAR};
    const double gained = (double)(N_QUERIES - 3) / N_QUERIES;
    thr_quality quality;
    expect_ok(thr_rank_quality(&judged, &options, &quality, &err));
    assert_near(quality.ndcg, 0.7809995073269602 * gained);
    assert_near(quality.map, 0.9119265781879516 * gained);
    assert_int_equal(quality.n_without_gain, 3);
    assert_int_equal(quality.n_queries, N_QUERIES);
    assert_int_equal(quality.n_rows, N_ROWS);
}

TEST(rankings_by_hand) {
    /* Ranked: 0 2 1 | 0 0 | a query without rows. */
    static const uint64_t offsets[] = {0, 3, 5, 5};
    static const double scores[] = {0.5, 9, 1, (double)INFINITY, -(double)INFINITY}, labels[] = {1, 0, 2, 0, 0};
    const thr_judged judged = {.n_queries = 3, .offsets = offsets, .scores = scores, .labels = labels};
    thr_quality_options options = {.k = 2, .convention = THR_CONVENTION_XGBOOST_MINUS};
    thr_quality q;
    expect_ok(thr_rank_quality(&judged, &options, &q, &err));
    const double log3 = 1 / log2(3);
    assert_near(q.ndcg, 3 * log3 / (3 + log3) / 3);
    assert_near(q.map, (1.0 / 2 + 2.0 / 3) / 2 / 3);
    assert_near(q.mrr, 1.0 / 2 / 3);
    assert_near(q.precision, 1.0 / 2 / 3);
    assert_near(q.err, (0 + 3.0 / 4 / 2) / 3);
    assert_int_equal(q.pairs.n_pairs, 3);
    assert_int_equal(q.pairs.n_right, 1);
    assert_int_equal(q.n_without_gain, 2);
    options.k = 0;
    options.largest_label = 4;
    expect_ok(thr_rank_quality(&judged, &options, &q, &err));
    assert_near(q.ndcg, (3 * log3 + 0.5) / (3 + log3) / 3);
    assert_near(q.precision, 2.0 / 3 / 3);
    assert_near(q.err, (3.0 / 16 / 2 + 13.0 / 16 * 1 / 16 / 3) / 3);
    options.relevant = 2;
    expect_ok(thr_rank_quality(&judged, &options, &q, &err));
    assert_near(q.map, 1.0 / 2 / 3);
    options.convention = THR_CONVENTION_LIGHTGBM;
    const thr_judged nothing = {.n_queries = 2, .offsets = offsets + 1, .scores = scores, .labels = labels};
    expect_ok(thr_rank_quality(&nothing, &options, &q, &err));
    assert_true(q.ndcg == 1 && q.map == 1 && isnan(q.pair_accuracy) && q.n_rows == 2);
}

TEST(equal_scores_keep_the_given_order) {
    static const uint64_t offsets[] = {0, 4};
    static const double scores[] = {1, 1, 1, 1}, up[] = {0, 1, 2, 3}, down[] = {3, 2, 1, 0};
    const thr_judged best = {.n_queries = 1, .offsets = offsets, .scores = scores, .labels = down};
    const thr_judged worst = {.n_queries = 1, .offsets = offsets, .scores = scores, .labels = up};
    assert_near(ndcg_of(&best, THR_CONVENTION_LIGHTGBM, 10), 1);
    assert_true(ndcg_of(&worst, THR_CONVENTION_LIGHTGBM, 10) < 0.6);
}

RANDOM_TEST(pairs_are_those_of_a_naive_count) {
    enum { MOST = 70 };
    for (size_t i = 0; i < 400; i++) {
        uint64_t offsets[4] = {0};
        double scores[3 * MOST], labels[3 * MOST];
        const uint64_t levels = 1 + thr_rng_below(&rng, 6), n_scores = 1 + thr_rng_below(&rng, 40);
        thr_pair_quality naive = {0}, got;
        for (size_t q = 0; q < 3; q++) {
            offsets[q + 1] = offsets[q] + thr_rng_below(&rng, MOST);
            for (uint64_t a = offsets[q]; a < offsets[q + 1]; a++) {
                scores[a] = (double)thr_rng_below(&rng, n_scores) - 3;
                labels[a] = (double)thr_rng_below(&rng, levels) / 3 - 1;
            }
            for (uint64_t a = offsets[q]; a < offsets[q + 1]; a++)
                for (uint64_t b = offsets[q]; b < offsets[q + 1]; b++) {
                    naive.n_pairs += labels[a] > labels[b];
                    naive.n_right += labels[a] > labels[b] && scores[a] > scores[b];
                    naive.n_tied += labels[a] > labels[b] && scores[a] == scores[b];
                }
        }
        const thr_judged judged = {.n_queries = 3, .offsets = offsets, .scores = scores, .labels = labels};
        const thr_status status = thr_pair_accuracy(&judged, &got, &err);
        assert_case(status == (naive.n_pairs != 0 ? THR_OK : THR_EINVAL), "case %zu: %s", i, err.text);
        assert_int_equal(got.n_pairs, naive.n_pairs);
        assert_int_equal(got.n_right, naive.n_right);
        assert_int_equal(got.n_tied, naive.n_tied);
        if (status != THR_OK)
            continue;
        assert_near(got.accuracy, (double)naive.n_right / (double)naive.n_pairs);
        assert_near(got.accuracy_ties_right, (double)(naive.n_right + naive.n_tied) / (double)naive.n_pairs);
    }
}

TEST(a_model_of_zeros_has_all_pairs_wrong_or_right) {
    sample s;
    const thr_judged judged = make_sample(&s, 4);
    for (size_t i = 0; i < N_ROWS; i++)
        s.scores[i] = 0;
    thr_quality_options options = {.k = 10, .convention = THR_CONVENTION_LETOR};
    thr_quality q;
    expect_ok(thr_rank_quality(&judged, &options, &q, &err));
    assert_true(q.pair_accuracy == 0 && q.pairs.n_pairs == q.pairs.n_tied);
    options.ties_are_right = true;
    expect_ok(thr_rank_quality(&judged, &options, &q, &err));
    assert_true(q.pair_accuracy == 1);
}

TEST(what_cannot_be_judged_is_refused) {
    sample s;
    thr_judged judged = make_sample(&s, 4);
    thr_quality_options options = {.k = 10, .convention = THR_CONVENTION_LETOR};
    thr_pair_quality pairs;
    thr_quality quality;
    s.labels[7] = 32;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_ERANGE,
                 "query 3, row 1: the label is 32: 2^label is defined up to 31: use linear gain");
    options.gain = THR_GAIN_LINEAR;
    expect_ok(thr_rank_quality(&judged, &options, &quality, &err));
    s.labels[7] = -1;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_ERANGE,
                 "query 3, row 1: the label is -1: gains are of labels from 0 on");
    expect_ok(thr_pair_accuracy(&judged, &pairs, &err));
    s.labels[7] = (double)INFINITY;
    expect_error(thr_pair_accuracy(&judged, &pairs, &err), THR_ERANGE, "query 3, row 1: the label is inf");
    s.labels[7] = 0;
}

TEST(options_that_cannot_be_are_refused) {
    sample s;
    thr_judged judged = make_sample(&s, 4);
    thr_quality_options options = {.k = 10, .convention = THR_CONVENTION_LETOR};
    thr_pair_quality pairs;
    thr_quality quality;
    options.gain = (thr_gain)2;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_EINVAL, "2 is no thr_gain");
    options.gain = THR_GAIN_LINEAR;
    options.convention = (thr_convention)4;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_EINVAL, "4 is no thr_convention");
    options.convention = THR_CONVENTION_LETOR;
    s.scores[0] = (double)NAN;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_ERANGE,
                 "query 0, row 0: the score is not a number");
    s.scores[0] = 0;
    s.offsets[1] = 100;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_EINVAL,
                 "query 1 ends at row 3, before its first one, 100");
    s.offsets[1] = 1;
    options.largest_label = 3;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_EINVAL,
                 "a label is 4, above the largest one there can be, 3");
    options.largest_label = -1;
    expect_error(thr_rank_quality(&judged, &options, &quality, &err), THR_EINVAL, "the largest label is -1");
    judged.n_queries = 0;
    expect_error(thr_rank_quality(&judged, NULL, &quality, &err), THR_EINVAL, "there are no queries");
    judged = make_sample(&s, 0);
    expect_error(thr_pair_accuracy(&judged, &pairs, &err), THR_EINVAL,
                 "none of 10 queries has two rows of different labels: there are no pairs");
}
