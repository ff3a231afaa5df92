/* SPDX-License-Identifier: Apache-2.0 */
/* head_choice.c - the screen auto: the faster way is taken, found once for a class, and answers as it would alone. */
#include "base/clock.h"
#include "head/auto_screen.h"
#include "head_support.h"

enum { STATES = 9, K = 5 };

static const head_case SHAPE = {600, 32, THR_DTYPE_F32, true, false, 0, 0, 0, 3};

/* A query that takes so long by each screen. */
typedef struct slow_query {
    double full, planes;
    int n_asked, fails_at;
} slow_query;

static thr_status ask_slowly(void *arg, thr_head_screen screen, thr_error *error) {
    slow_query *q = arg;
    (void)error;
    assert_true(screen == THR_HEAD_SCREEN_FULL || screen == THR_HEAD_SCREEN_PLANES);
    const double start = thr_clock(), seconds = screen == THR_HEAD_SCREEN_FULL ? q->full : q->planes;
    while (thr_clock() - start < seconds)
        continue;
    return ++q->n_asked == q->fails_at ? THR_ENOMEM : THR_OK;
}

static thr_head_screen choose(thr_head *head, size_t n_states, uint32_t n_shortlist, slow_query *q) {
    thr_head_screen screen = THR_HEAD_SCREEN_WTA;
    expect_ok(thr_head_choose_screen(head, n_states, n_shortlist, ask_slowly, q, &screen, &err));
    return screen;
}

RANDOM_TEST(the_faster_way_is_taken_and_kept) {
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    thr_head_screen screen;
    slow_query full_wins = {0, 0.05, 0, 0}, planes_win = {0.05, 0, 0, 0}, fails = {0, 0, 0, 3};
    assert_int_equal(thr_head_choose_screen(head, 12, 100, ask_slowly, &fails, &screen, NULL), THR_ENOMEM);
    assert_int_equal(choose(head, 12, 100, &planes_win), THR_HEAD_SCREEN_PLANES); /* nothing is kept of a failure */
    assert_int_equal(planes_win.n_asked, 6);
    assert_int_equal(choose(head, 9, 128, &full_wins), THR_HEAD_SCREEN_PLANES); /* 9 to 16, 65 to 128 */
    assert_int_equal(choose(head, 16, 65, &full_wins), THR_HEAD_SCREEN_PLANES);
    assert_int_equal(full_wins.n_asked, 0);
    assert_int_equal(choose(head, 8, 128, &full_wins), THR_HEAD_SCREEN_FULL);
    assert_int_equal(choose(head, 16, 129, &full_wins), THR_HEAD_SCREEN_FULL);
    assert_int_equal(full_wins.n_asked, 12);
    assert_int_equal(choose(head, 5, 100, &planes_win), THR_HEAD_SCREEN_FULL);
    assert_int_equal(choose(head, 1, UINT32_MAX, &planes_win), THR_HEAD_SCREEN_PLANES);
    assert_int_equal(choose(head, SIZE_MAX, 1, &planes_win), THR_HEAD_SCREEN_PLANES);
}

typedef struct answer {
    uint32_t words[STATES * K];
    float logits[STATES * K], log_probs[STATES * K];
    thr_head_screen used;
} answer;

static answer ask(thr_head *head, const float *states, thr_head_screen screen, thr_head_normaliser normaliser) {
    answer a;
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    thr_head_times times = {-1, -1, -1, -1};
    memset(&a, 0, sizeof a);
    o.screen = screen;
    o.normaliser = normaliser;
    o.n_shortlist = screen == THR_HEAD_SCREEN_FULL ? THR_HEAD_AUTO : 40;
    o.used = &a.used;
    o.times = &times;
    expect_ok(thr_head_query(head, ROWS(states, STATES, thr_head_get_info(head).n_dims), K, &o,
                             &(thr_head_answers){a.words, a.logits, a.log_probs}, &err));
    assert_true(times.score > 0 && times.screen >= 0);
    return a;
}

RANDOM_TEST(answers_are_those_of_the_screen_that_was_used) {
    rng += 1;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    thr_head *head = head_make(*state, &h);
    float states[STATES * 32];
    slow_query full_wins = {0, 0.02, 0, 0}, planes_win = {0.02, 0, 0, 0};
    test_gaussian(&rng, states, COUNT_OF(states));
    const answer full = ask(head, states, THR_HEAD_SCREEN_FULL, THR_HEAD_NORMALISER_CANDIDATES);
    const answer planes = ask(head, states, THR_HEAD_SCREEN_PLANES, THR_HEAD_NORMALISER_CANDIDATES);
    assert_int_equal(full.used, THR_HEAD_SCREEN_FULL);
    assert_int_equal(planes.used, THR_HEAD_SCREEN_PLANES);
    assert_true(memcmp(full.log_probs, planes.log_probs, sizeof full.log_probs) != 0);
    const answer found = ask(head, states, THR_HEAD_SCREEN_AUTO, THR_HEAD_NORMALISER_CANDIDATES);
    for (int i = 0; i < 3; i++) {
        const answer a = ask(head, states, THR_HEAD_SCREEN_AUTO, THR_HEAD_NORMALISER_CANDIDATES);
        const answer *wanted = found.used == THR_HEAD_SCREEN_FULL ? &full : &planes;
        assert_memory_equal(&a, wanted, sizeof a);
        assert_memory_equal(&found, wanted, sizeof a);
    }
    /* All words are normalised over in any case. */
    const answer exact = ask(head, states, THR_HEAD_SCREEN_AUTO, THR_HEAD_NORMALISER_EXACT);
    assert_memory_equal(&exact, &full, sizeof exact);
    /* Both ways are taken, whichever is the faster one here. */
    for (int way = 0; way < 2; way++) {
        memset(head->choices, 0, sizeof *head->choices);
        (void)choose(head, STATES, 40, way == 0 ? &full_wins : &planes_win);
        const answer a = ask(head, states, THR_HEAD_SCREEN_AUTO, THR_HEAD_NORMALISER_CANDIDATES);
        assert_memory_equal(&a, way == 0 ? &full : &planes, sizeof a);
    }
    thr_head_free(head);
    h.options.n_planes = 0;
    head = head_make(*state, &h);
    const answer bare = ask(head, states, THR_HEAD_SCREEN_AUTO, THR_HEAD_NORMALISER_CANDIDATES);
    assert_memory_equal(&bare, &full, sizeof bare);
    thr_head_free(head);
}

TEST_IN_CONTEXT(2, NULL)
