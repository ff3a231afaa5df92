/* SPDX-License-Identifier: Apache-2.0 */
/* head_query.c - the best words are the naive ones, to the bit, with every screen, group and number of threads. */

#include "head_support.h"

static const head_case CASES[] = {
    {1, 1, THR_DTYPE_F32, false, false, 0, 0, 0, 0},    {63, 7, THR_DTYPE_F32, true, false, 5, 1, 3, 2},
    {130, 16, THR_DTYPE_F16, true, true, 8, 2, 4, 3},   {700, 33, THR_DTYPE_F32, false, true, 20, 2, 16, 1},
    {1500, 64, THR_DTYPE_F32, true, true, 30, 1, 8, 3}, {64, 20, THR_DTYPE_F16, false, false, 3, 3, 5, 8},
    {50, 701, THR_DTYPE_F16, true, false, 4, 2, 16, 2}, {66, 1100, THR_DTYPE_F32, false, true, 4, 2, 16, 2},
    {210, 35, THR_DTYPE_BF16, true, true, 9, 2, 6, 3},  {150, 47, THR_DTYPE_I8, true, false, 9, 1, 6, 2},
};
enum {
    N_CASES = COUNT_OF(CASES),
#ifdef THR_SANITIZED
    STATES = 13
#else
    STATES = 37
#endif
};

static bool same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

typedef struct answer {
    uint32_t *words, *n_candidates;
    float *logits, *log_probs;
} answer;

static answer ask(thr_head *head, const float *states, uint64_t n_states, uint32_t k,
                  const thr_head_query_options *options) {
    answer a = {test_new(n_states * k, sizeof(uint32_t)), test_new(n_states, sizeof(uint32_t)),
                test_new(n_states * k, sizeof(float)), test_new(n_states * k, sizeof(float))};
    thr_head_query_options o = *options;
    o.n_candidates = a.n_candidates;
    expect_ok(thr_head_query(head, ROWS(states, n_states, thr_head_get_info(head).n_dims), k, &o,
                             &(thr_head_answers){a.words, a.logits, a.log_probs}, &err));
    return a;
}

/*
 * By the book: ranks 0 to 255 by themselves, then from rank 128 x 2^j on one for 2^j, the middle one; a word is at most
 * e^80 times the candidates.
 */
static double sampled_normaliser(const head_drawn *h, const float *state, const bool *candidates, double normaliser) {
    double sum = exp(normaliser);
    for (uint32_t begin = 0, end = 256, step = 1; begin < h->shape.n_words; begin = end, end *= 2, step *= 2)
        for (uint32_t rank = begin; rank < end && rank < h->shape.n_words; rank += step) {
            const uint32_t left = h->shape.n_words - rank, n = left < step ? left : step;
            const uint32_t middle = rank + n / 2, word = h->shape.order ? h->order[middle] : middle;
            if (!candidates[word])
                sum += (double)n * exp(fmin((double)head_logit(h, state, word), normaliser + 80));
        }
    return log(sum);
}

/* Move the words that may be answered to the front. */
static void leave_out_never(const thr_head_query_options *o, thr_candidate *words, size_t n) {
    for (size_t i = 0, at = 0; i < n; i++)
        if (!head_is_never(o, (uint32_t)words[i].row))
            words[at++] = words[i];
}

static void check(thr_head *head, const head_drawn *h, const float *states, uint32_t k, const thr_head_query_options *o,
                  const char *what) {
    const uint32_t n = h->shape.n_words, n_dims = h->shape.n_dims;
    answer a = ask(head, states, STATES, k, o);
    bool *wanted = test_new(n, sizeof *wanted), *everything = test_new(n, sizeof *everything);
    thr_candidate *all = test_new(n, sizeof *all);
    memset(everything, true, n * sizeof *everything);
    const size_t group = o->group == 0 ? STATES : (size_t)o->group;
    for (size_t i = 0; i < STATES; i++) {
        const float *state = states + i * n_dims;
        const size_t first = i / group * group, left = STATES - first;
        double normaliser, exact;
        (void)head_naive_answer(h, state, everything, all, &exact);
        const thr_head_word_lists list = {1, o->lists != NULL ? o->lists->starts + first / group : NULL,
                                          o->lists != NULL ? o->lists->words : NULL};
        thr_head_query_options own = *o;
        own.lists = &list;
        head_naive_candidates(head, h, &own, states + first * n_dims, left < group ? left : group, k, wanted);
        const size_t n_wanted = head_naive_answer(h, state, wanted, all, &normaliser);
        assert_case(a.n_candidates[i] == n_wanted, "seed %llu, %s, state %zu: %u candidates, should be %zu",
                    (unsigned long long)test_seed(), what, i, a.n_candidates[i], n_wanted);
        if (o->normaliser == THR_HEAD_NORMALISER_EXACT)
            normaliser = exact;
        if (o->normaliser == THR_HEAD_NORMALISER_SAMPLED && o->screen != THR_HEAD_SCREEN_FULL)
            normaliser = sampled_normaliser(h, state, wanted, normaliser);
        leave_out_never(o, all, n_wanted);
        for (uint32_t j = 0; j < k; j++) {
            const double log_prob = (double)all[j].score - normaliser;
            assert_case(a.words[i * k + j] == all[j].row && same_bits(a.logits[i * k + j], all[j].score),
                        "seed %llu, %s, state %zu: word %u is %u with %.9g, should be %llu with %.9g",
                        (unsigned long long)test_seed(), what, i, j, a.words[i * k + j], (double)a.logits[i * k + j],
                        (unsigned long long)all[j].row, (double)all[j].score);
            assert_case(fabs((double)a.log_probs[i * k + j] - log_prob) <= 1e-6 * (1 + fabs(log_prob)),
                        "seed %llu, %s, state %zu: log-probability %u is %.9g, should be %.9g",
                        (unsigned long long)test_seed(), what, i, j, (double)a.log_probs[i * k + j], log_prob);
        }
    }
}

/* Lists of some words for every state; some are empty. */
typedef struct drawn_lists {
    uint64_t starts[STATES + 1];
    uint32_t words[STATES * 20];
    thr_head_word_lists view;
} drawn_lists;

static void draw_lists(drawn_lists *lists, uint32_t n_words, uint64_t *rng) {
    lists->starts[0] = 0;
    for (size_t i = 0; i < STATES; i++) {
        lists->starts[i + 1] = lists->starts[i] + thr_rng_below(rng, 20);
        for (uint64_t j = lists->starts[i]; j < lists->starts[i + 1]; j++)
            lists->words[j] = (uint32_t)thr_rng_below(rng, n_words);
    }
    lists->view = (thr_head_word_lists){STATES, lists->starts, lists->words};
}

/* Options of every kind: screens, normalisers and combinations in turn, numbers at random. */
static thr_head_query_options draw_options(const head_case *shape, int round, uint64_t *rng) {
    static const thr_head_screen screens[] = {THR_HEAD_SCREEN_FULL, THR_HEAD_SCREEN_FREQUENT, THR_HEAD_SCREEN_ALIGN,
                                              THR_HEAD_SCREEN_WTA, THR_HEAD_SCREEN_PLANES};
    const uint32_t n = shape->n_words;
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = screens[round % (shape->n_bands > 0 ? 5 : 3)];
    o.normaliser = (thr_head_normaliser)(round / 4 % 3);
    o.combine = (thr_head_combine)(round / 8 % 2);
    o.n_shortlist = 1 + (uint32_t)thr_rng_below(rng, n < 40 ? n : 40);
    o.n_frequent = (uint32_t)thr_rng_below(rng, n / 8 + 1);
    o.threshold = 1 + (uint32_t)thr_rng_below(rng, 4);
    o.group = (uint64_t)(round / 2) % 6;
    o.n_always = (uint64_t)round % 5;
    return o;
}

RANDOM_TEST(answers_are_the_naive_ones) {
    for (size_t i = 0; i < N_CASES; i++) {
        OWNED(thr_context, context) = test_context((uint32_t)i % 3 + 1, THR_ISA_BEST, NULL);
        const uint32_t n = CASES[i].n_words;
        for (int ties = 0; ties < 2; ties++) {
            head_drawn h = head_draw(&CASES[i], &rng, ties != 0);
            OWNED(thr_head, head) = head_make(context, &h);
            float *states = test_new((size_t)STATES * CASES[i].n_dims, sizeof *states);
            const uint32_t always[] = {n - 1, n / 2, 0, n / 2};
            head_draw_rows(&rng, states, STATES, CASES[i].n_dims, ties != 0);
            head_find_codes(head, &h);
            const int rounds = n > 500 ? 8 : 24; /* the naive model is slow */
            for (int round = 0; round < rounds; round++) {
                char what[80];
                drawn_lists lists;
                draw_lists(&lists, n, &rng);
                thr_head_query_options o = draw_options(&CASES[i], round, &rng);
                o.lists = &lists.view;
                o.always = always;
                uint32_t never[16], n_left = n;
                o.never = never;
                o.n_never = round % 3 != 0 || n < 20 ? 0 : 1 + thr_rng_below(&rng, 16);
                for (uint64_t w = 0; w < o.n_never; w++)
                    never[w] = (uint32_t)thr_rng_below(&rng, n);
                assert_int_equal(thr_head_count_left(head, never, o.n_never, &n_left, NULL), THR_OK);
                const uint32_t most = n_left < 12 ? n_left : 12,
                               k = round == rounds - 1 ? n_left : 1 + (uint32_t)thr_rng_below(&rng, most);
                (void)snprintf(what, sizeof what, "case %zu, ties %d, round %d", i, ties, round);
                check(head, &h, states, k, &o, what);
            }
        }
    }
}

/* All bits, log-probabilities' too: on one thread by the scalar kernels, and on three by the best. */
RANDOM_TEST(answers_do_not_depend_on_threads_or_kernels) {
    rng += 1;
    thr_context *one = test_context(1, THR_ISA_SCALAR, NULL), *three = test_context(3, THR_ISA_BEST, NULL);
    for (size_t i = 2; i < N_CASES; i++) {
        head_drawn h = head_draw(&CASES[i], &rng, false);
        thr_head *a = head_make(one, &h), *b = head_make(three, &h);
        float *states = test_new((size_t)STATES * CASES[i].n_dims, sizeof *states);
        test_gaussian(&rng, states, (size_t)STATES * CASES[i].n_dims);
        for (int round = 0; round < 12; round++) {
            thr_head_query_options o = DEFAULTS(thr_head_query_options);
            o.screen = (thr_head_screen)(round % 4);
            o.normaliser = (thr_head_normaliser)(round / 4);
            o.n_shortlist = 30;
            o.n_frequent = 40;
            answer x = ask(a, states, STATES, 9, &o), y = ask(b, states, STATES, 9, &o);
            assert_memory_equal(x.words, y.words, STATES * 9 * sizeof(uint32_t));
            assert_memory_equal(x.logits, y.logits, STATES * 9 * sizeof(float));
            assert_memory_equal(x.log_probs, y.log_probs, STATES * 9 * sizeof(float));
            /* Alone a state has the answer that it has in a batch. */
            answer z = ask(b, states + (size_t)5 * CASES[i].n_dims, 1, 9, &o);
            assert_memory_equal(x.log_probs + 45, z.log_probs, 9 * sizeof(float));
            assert_memory_equal(x.words + 45, z.words, 9 * sizeof(uint32_t));
        }
        thr_head_free(a);
        thr_head_free(b);
    }
    thr_context_free(one);
    thr_context_free(three);
}

/* What a damaged file may hold: of every three words two have a weight that is no number. */
RANDOM_TEST(words_without_a_logit_hide_no_others) {
    enum { K = 40 };
    rng += 7;
    head_drawn h = head_draw(&CASES[4], &rng, false);
    thr_head *good = head_make(*state, &h), *bad = head_make(*state, &h);
    const uint32_t n = h.shape.n_words, n_dims = h.shape.n_dims;
    float *states = test_new((size_t)STATES * n_dims, sizeof *states);
    uint32_t words[STATES * K];
    float logits[STATES * K];
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    test_gaussian(&rng, states, (size_t)STATES * n_dims);
    for (uint32_t w = 0; w < n; w++)
        if (w % 3 != 0)
            ((float *)bad->memory.weights)[(size_t)w * n_dims + w % n_dims] = NAN;
    expect_ok(thr_head_query(bad, ROWS(states, STATES, n_dims), K, &o, &(thr_head_answers){words, logits, NULL}, &err));
    answer all = ask(good, states, STATES, n, &o);
    for (size_t i = 0; i < STATES; i++)
        for (size_t j = 0, at = 0; j < K; j++, at++) {
            while (all.words[i * n + at] % 3 != 0)
                at++;
            assert_int_equal(words[i * K + j], all.words[i * n + at]);
            assert_true(same_bits(logits[i * K + j], all.logits[i * n + at]));
        }
    thr_head_free(good);
    thr_head_free(bad);
}

/* Count the words that two answers of 5 words a state share; returns the fewest of any state. */
static size_t count_common(const answer *a, const answer *b, size_t *found) {
    size_t worst = 5;
    *found = 0;
    for (size_t i = 0; i < STATES; i++) {
        size_t n = 0;
        for (size_t j = 0; j < 25; j++)
            n += a->words[i * 5 + j / 5] == b->words[i * 5 + j % 5];
        *found += n;
        worst = n < worst ? n : worst;
    }
    return worst;
}

RANDOM_TEST(recall_is_counted_against_all_words) {
    rng += 2;
    head_drawn h = head_draw(&CASES[4], &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    float *states = test_new((size_t)STATES * h.shape.n_dims, sizeof *states);
    thr_head_query_options full, o;
    thr_head_recall recall;
    uint32_t counts[STATES];
    const thr_matrix rows = thr_matrix_f32(states, STATES, h.shape.n_dims);
    test_gaussian(&rng, states, (size_t)STATES * h.shape.n_dims);
    thr_head_query_options_init(&full);
    expect_ok(thr_head_measure(head, NULL, &rows, 5, &full, &recall, &err));
    assert_true(fabs(recall.recall - 1) < 1e-12 && recall.worst == 1 && fabs(recall.candidates - 1500) < 1e-9);
    thr_head_query_options_init(&o);
    o.screen = THR_HEAD_SCREEN_FREQUENT;
    o.n_frequent = 700;
    o.n_candidates = counts;
    thr_head_times times = {-1, -1, -1, -1};
    o.times = &times;
    expect_ok(thr_head_measure(head, NULL, &rows, 5, &o, &recall, &err));
    assert_true(times.screen >= 0 && times.choose > 0 && times.score > 0 && times.exact == 0);
    answer a = ask(head, states, STATES, 5, &full), b = ask(head, states, STATES, 5, &o);
    size_t found;
    const size_t worst = count_common(&a, &b, &found);
    for (size_t i = 0; i < STATES; i++)
        assert_int_equal(counts[i], 700);
    assert_true(found > 0 && found < 5 * STATES);
    assert_true(fabs(recall.recall - (double)found / (5 * STATES)) < 1e-9);
    assert_true(fabs(recall.worst - (double)worst / 5) < 1e-9 && recall.candidates == 700);
    expect_error(thr_head_measure(head, NULL, ROWS(states, 0, h.shape.n_dims), 5, &o, &recall, &err), THR_EDIM,
                 "no states to measure");
}

/* A shortlist of a twentieth of the words has the best; one of all words has all. */
RANDOM_TEST(a_shortlist_by_planes_keeps_the_best) {
    rng += 3;
    const head_case shape = {3000, 96, THR_DTYPE_F32, true, false, 0, 0, 0, 3};
    head_drawn h = head_draw(&shape, &rng, false);
    for (uint32_t w = 0; w < shape.n_words; w++) /* what all rows share moves all logits alike */
        for (uint32_t d = 0; d < shape.n_dims; d++)
            h.weights[(size_t)w * shape.n_dims + d] += 3;
    OWNED(thr_head, head) = head_make(*state, &h);
    float *states = test_new((size_t)STATES * shape.n_dims, sizeof *states);
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    thr_head_recall recall;
    const thr_matrix rows = thr_matrix_f32(states, STATES, shape.n_dims);
    test_gaussian(&rng, states, (size_t)STATES * shape.n_dims);
    o.screen = THR_HEAD_SCREEN_PLANES;
    o.n_shortlist = 150;
    expect_ok(thr_head_measure(head, NULL, &rows, 10, &o, &recall, &err));
    assert_true(recall.candidates >= 150 && recall.candidates <= 150 + 3000 / 64);
    assert_case(recall.recall >= 0.99, "seed %llu: recall %.4f", (unsigned long long)test_seed(), recall.recall);
    o.n_shortlist = 3000;
    expect_ok(thr_head_measure(head, NULL, &rows, 10, &o, &recall, &err));
    assert_true(recall.candidates == 3000 && recall.recall == 1);
    o.n_shortlist = THR_HEAD_AUTO;
    expect_ok(thr_head_measure(head, NULL, &rows, 10, &o, &recall, &err));
    assert_true(recall.candidates >= 260 && recall.candidates <= 260 + 3000 / 64);
}

typedef struct asker {
    thr_head *head;
    const float *states;
    thr_head_screen screen;
    answer got;
} asker;

static void *ask_thread(void *arg) {
    asker *a = arg;
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = a->screen;
    o.n_shortlist = 40;
    for (int round = 0; round < 5; round++) {
        a->got = ask(a->head, a->states, STATES, 6, &o);
    }
    return NULL;
}

RANDOM_TEST(many_may_ask_at_once) {
    enum { ASKERS = 4 };
    rng += 4;
    head_drawn h = head_draw(&CASES[4], &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    float *states = test_new((size_t)STATES * h.shape.n_dims, sizeof *states);
    asker askers[ASKERS];
    test_gaussian(&rng, states, (size_t)STATES * h.shape.n_dims);
    for (int i = 0; i < ASKERS; i++)
        askers[i] = (asker){.head = head, .states = states, .screen = (thr_head_screen)i};
    test_at_once(ASKERS, ask_thread, askers, sizeof *askers);
    for (int i = 0; i < ASKERS; i++) {
        asker alone = {.head = head, .states = states, .screen = (thr_head_screen)i};
        (void)ask_thread(&alone);
        assert_memory_equal(askers[i].got.words, alone.got.words, STATES * 6 * sizeof(uint32_t));
        assert_memory_equal(askers[i].got.log_probs, alone.got.log_probs, STATES * 6 * sizeof(float));
    }
}

TEST(words_by_hand) {
    /* Logits of (1, 2): 3.5, 2, 3, 3.5; e^3.5 twice, e^3, e^2: ln of the sum 4.5027... */
    static const float weights[] = {1, 1, 2, 0, -1, 2, 1, 1}, bias[] = {0.5F, 0, 0, 0.5F}, states[] = {1, 2};
    thr_head_build_options build = DEFAULTS(thr_head_build_options);
    thr_head_query_options o;
    OWNED(thr_head, head) = NULL;
    uint32_t words[4];
    float logits[4], log_probs[4];
    build.bias = bias;
    build.n_bias = 4;
    build.n_bands = 0;
    expect_ok(thr_head_create(*state, ROWS(weights, 4, 2), &build, &head, &err));
    expect_ok(thr_head_query(head, ROWS(states, 1, 2), 4, NULL, &(thr_head_answers){words, logits, log_probs}, &err));
    static const uint32_t order[] = {0, 3, 2, 1};
    static const float wanted[] = {3.5F, 3.5F, 3, 2};
    const double sum = log(2 * exp(3.5) + exp(3) + exp(2));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(words[i], order[i]);
        assert_true(same_bits(logits[i], wanted[i]));
        assert_true(fabs((double)log_probs[i] - ((double)wanted[i] - sum)) < 1e-6);
    }
    /* Of the words 0 and 2 alone. */
    static const uint32_t always[] = {2};
    thr_head_query_options_init(&o);
    o.screen = THR_HEAD_SCREEN_FREQUENT;
    o.n_frequent = 1;
    o.always = always;
    o.n_always = 1;
    expect_ok(thr_head_query(head, ROWS(states, 1, 2), 2, &o, &(thr_head_answers){words, NULL, log_probs}, &err));
    assert_true(words[0] == 0 && words[1] == 2);
    assert_true(fabs((double)log_probs[1] - (3 - log(exp(3.5) + exp(3)))) < 1e-6);
    const thr_matrix none = thr_matrix_f32(states, 0, 2);
    expect_ok(thr_head_query(head, &none, 2, &o, &(thr_head_answers){words, NULL, log_probs}, &err));
}

TEST_IN_CONTEXT(2, NULL)
