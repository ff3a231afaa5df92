/* SPDX-License-Identifier: Apache-2.0 */
/* head_measure.c - the loss of a head against another is computed from their words and log-probabilities. */

#include "head_support.h"

enum { WORDS = 400, DIMS = 24, STATES = 33, K = 8 };
static const head_case SHAPE = {WORDS, DIMS, THR_DTYPE_F32, true, false, 0, 0, 0, 3};

static thr_head *keep_as(thr_context *context, const head_drawn *h, thr_dtype dtype) {
    head_drawn other = *h;
    other.options.dtype = dtype;
    return head_make(context, &other);
}

/* The same from what both answer, word by word. */
static thr_head_recall naive(thr_head *head, thr_head *truth, const thr_matrix *states,
                             const thr_head_query_options *options) {
    static uint32_t words[STATES * K], wanted[STATES * K], n_candidates[STATES];
    static float log_probs[STATES * K], wanted_log_probs[STATES * K];
    thr_head_query_options o = *options;
    thr_head_recall loss = {.worst = 1};
    double n_both = 0;
    o.n_candidates = n_candidates;
    expect_ok(thr_head_query(head, states, K, &o, &(thr_head_answers){words, NULL, log_probs}, &err));
    expect_ok(thr_head_query(truth, states, K, NULL, &(thr_head_answers){wanted, NULL, wanted_log_probs}, &err));
    for (int s = 0; s < STATES; s++) {
        double n = 0;
        for (int i = s * K; i < (s + 1) * K; i++)
            for (int j = s * K; j < (s + 1) * K; j++) {
                if (words[i] != wanted[j])
                    continue;
                n++;
                loss.log_prob_error += fabs((double)log_probs[i] - (double)wanted_log_probs[j]);
            }
        n_both += n;
        loss.worst = fmin(loss.worst, n / K);
        loss.first += (words[s * K] == wanted[s * K]) / (double)STATES;
        loss.candidates += n_candidates[s] / (double)STATES;
    }
    loss.recall = n_both / (STATES * K);
    loss.log_prob_error /= n_both;
    return loss;
}

static void assert_near(double is, double wanted) {
    assert_true(fabs(is - wanted) <= 1e-12 * (1 + fabs(wanted)));
}

RANDOM_TEST(a_loss_is_that_of_the_answers) {
    static const thr_dtype KINDS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_BF16, THR_DTYPE_I8};
    float states[STATES * DIMS];
    double errors[4];
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, truth) = keep_as(*state, &h, THR_DTYPE_F32);
    test_gaussian(&rng, states, STATES * DIMS);
    const thr_matrix rows = thr_matrix_f32(states, STATES, DIMS);
    for (int kind = 0; kind < 4; kind++) {
        OWNED(thr_head, head) = keep_as(*state, &h, KINDS[kind]);
        for (int screen = 0; screen < 2; screen++) {
            thr_head_query_options o = DEFAULTS(thr_head_query_options);
            thr_head_recall loss;
            o.screen = screen == 0 ? THR_HEAD_SCREEN_FULL : THR_HEAD_SCREEN_PLANES;
            o.n_shortlist = 12;
            expect_ok(thr_head_measure(head, truth, &rows, K, &o, &loss, &err));
            const thr_head_recall wanted = naive(head, truth, &rows, &o);
            assert_near(loss.recall, wanted.recall);
            assert_near(loss.worst, wanted.worst);
            assert_near(loss.first, wanted.first);
            assert_near(loss.candidates, wanted.candidates);
            assert_near(loss.log_prob_error, wanted.log_prob_error);
            if (screen == 0)
                errors[kind] = loss.log_prob_error;
            else
                assert_true(loss.recall < 1 && loss.candidates >= 12 && loss.candidates <= 12 + WORDS / 64);
        }
    }
    assert_true(errors[0] == 0 && errors[1] > 0 && errors[2] > errors[1] && errors[3] > errors[1] && errors[3] < 0.1);
}

RANDOM_TEST(what_cannot_be_compared_is_refused) {
    static const head_case SMALLER = {WORDS - 1, DIMS, THR_DTYPE_F32, false, false, 0, 0, 0, 0};
    float states[DIMS] = {1};
    thr_head_recall loss;
    head_drawn h = head_draw(&SHAPE, &rng, false), other = head_draw(&SMALLER, &rng, false);
    thr_head *a = head_make(*state, &h), *b = head_make(*state, &other);
    const thr_matrix rows = thr_matrix_f32(states, 1, DIMS), none = thr_matrix_f32(states, 0, DIMS);
    expect_error(thr_head_measure(a, b, &rows, K, NULL, &loss, &err), THR_EDIM,
                 "a head of 400 words and 24 dimensions beside one of 399 and 24: compare heads of the same words and "
                 "dimensions");
    expect_error(thr_head_measure(a, a, &none, K, NULL, &loss, &err), THR_EDIM, "no states to measure on");
    expect_error(thr_head_measure(a, a, &rows, 0, NULL, &loss, &err), THR_EINVAL, "the best 0 words of a head");
    expect_error(thr_head_measure(a, a, &rows, WORDS + 1, NULL, &loss, &err), THR_EINVAL, "that has 400");
    expect_error(thr_head_measure(NULL, a, &rows, K, NULL, &loss, &err), THR_EINVAL,
                 "the head, the states or the result of a measurement is NULL");
    expect_ok(thr_head_measure(a, a, &rows, WORDS, NULL, &loss, &err));
    assert_true(loss.recall == 1 && loss.worst == 1 && loss.first == 1 && loss.log_prob_error == 0);
    thr_head_free(a);
    thr_head_free(b);
}

TEST_IN_CONTEXT(2, NULL)
