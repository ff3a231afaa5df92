/* SPDX-License-Identifier: Apache-2.0 */
/* beam.c - a beam search equals a naive one bit for bit; an unlimited beam finds the best sequences. */

#include "beam_support.h"

enum { SENTENCES = 5 };

static thr_beam *make_beam(thr_head *head, const thr_beam_options *o) {
    thr_beam *beam = NULL;
    expect_ok(thr_beam_create(head, o, &beam, &err));
    return beam;
}

static hashed *make_model(const uint64_t *seeds, uint32_t n_dims, bool ties) {
    hashed *model = test_new(1, sizeof *model);
    model->seeds = seeds;
    model->n_dims = n_dims;
    model->ties = ties;
    return model;
}

/* ------------------------------------------------------------------------------------------------ by the book */

static thr_beam_options draw_options(uint64_t *rng, uint32_t n_words, uint32_t *never, thr_head_query_options *query) {
    thr_beam_options o;
    o = (thr_beam_options){.start_word = 7,
                           .end_word = thr_rng_below(rng, 8) == 0 ? THR_BEAM_NO_WORD : n_words - 1,
                           .penalty = THR_BEAM_PENALTY_NONE};
    o.beam = 1 + (uint32_t)thr_rng_below(rng, thr_rng_below(rng, 4) == 0 ? 40 : 6);
    o.n_best = 1 + (uint32_t)thr_rng_below(rng, thr_rng_below(rng, 4) == 0 ? 50 : 5);
    o.max_length = 1 + (uint32_t)thr_rng_below(rng, 12);
    o.min_length = (uint32_t)thr_rng_below(rng, o.max_length + 1);
    o.penalty = (thr_beam_penalty)(2 - thr_rng_below(rng, 3));
    o.alpha = (double)thr_rng_below(rng, 9) / 4;
    if (o.alpha == 0)
        o.penalty = THR_BEAM_PENALTY_NONE;
    o.stop = (thr_beam_stop)(thr_rng_below(rng, 4) == 0);
    o.never = never;
    o.n_never = n_words > 4 ? thr_rng_below(rng, 4) : 0;
    for (uint64_t i = 0; i < o.n_never; i++)
        never[i] = (uint32_t)thr_rng_below(rng, n_words - 1);
    thr_head_query_options_init(query);
    query->group = thr_rng_below(rng, 2);
    if (n_words > 20 && thr_rng_below(rng, 2) == 0) {
        query->screen = (thr_head_screen)(1 + thr_rng_below(rng, 3));
        query->n_frequent = (uint32_t)thr_rng_below(rng, n_words / 2);
        query->normaliser = (thr_head_normaliser)thr_rng_below(rng, 2);
        query->n_shortlist = 5;
    }
    o.query = query;
    return o;
}

static void check(thr_head *head, hashed *model, const thr_beam_options *o, const uint32_t *max_lengths,
                  const char *what) {
    OWNED(thr_beam, beam) = make_beam(head, o);
    const thr_decoder decoder = hashed_decoder(model);
    thr_beam_result r;
    expect_ok(thr_beam_search(beam, &decoder, SENTENCES, max_lengths, &r, &err));
    assert_true(r.n_sentences == SENTENCES && r.first_of[0] == 0 && r.first_of[SENTENCES] == r.n_sequences);
    for (size_t s = 0; s < SENTENCES; s++) {
        naive_search naive = {.beam = beam, .model = model};
        const size_t enough = o->n_best > o->beam ? o->n_best : o->beam;
        naive_run(&naive, model->seeds[s], max_lengths != NULL ? max_lengths[s] : o->max_length, o->never,
                  o->stop == THR_BEAM_STOP_ENOUGH ? enough : SIZE_MAX);
        const size_t n = naive.n_finished < o->n_best ? naive.n_finished : o->n_best;
        assert_case(r.first_of[s + 1] - r.first_of[s] == n,
                    "seed %llu, %s, sentence %zu: %llu sequences, should be %zu", (unsigned long long)test_seed(), what,
                    s, (unsigned long long)(r.first_of[s + 1] - r.first_of[s]), n);
        for (size_t i = 0; i < n; i++)
            assert_case(same_sequence(&r, r.first_of[s] + i, &naive.finished[i]),
                        "seed %llu, %s, sentence %zu: sequence %zu has score %.17g, should have %.17g",
                        (unsigned long long)test_seed(), what, s, i, r.scores[r.first_of[s] + i],
                        naive.finished[i].score);
    }
}

RANDOM_TEST(answers_are_those_by_the_book) {
    static const head_case cases[] = {
        {2, 3, THR_DTYPE_F32, true, false, 0, 0, 0, 0},
        {9, 5, THR_DTYPE_F32, false, false, 0, 0, 0, 0},
        {60, 12, THR_DTYPE_F16, true, true, 5, 1, 8, 3},
    };
    for (size_t i = 0; i < 3; i++)
        for (int ties = 0; ties < 2; ties++) {
            OWNED(thr_context, context) = test_context((uint32_t)i + 1, THR_ISA_BEST, NULL);
            head_drawn h = head_draw(&cases[i], &rng, ties != 0);
            OWNED(thr_head, head) = head_make(context, &h);
            for (int round = 0; round < 60; round++) {
                uint32_t never[4], max_lengths[SENTENCES];
                uint64_t seeds[SENTENCES];
                thr_head_query_options query;
                char what[80];
                const thr_beam_options o = draw_options(&rng, cases[i].n_words, never, &query);
                for (size_t s = 0; s < SENTENCES; s++) {
                    seeds[s] = thr_rng_next(&rng);
                    max_lengths[s] = 1 + (uint32_t)thr_rng_below(&rng, 15);
                }
                hashed *model = make_model(seeds, cases[i].n_dims, ties != 0);
                (void)snprintf(what, sizeof what, "case %zu, ties %d, round %d", i, ties, round);
                check(head, model, &o, round % 3 == 0 ? max_lengths : NULL, what);
            }
        }
}

/*
 * Few answers of many rows: most rows cannot reach them. They still count towards THR_BEAM_STOP_ENOUGH, and their
 * states still choose candidates that the rows of a sentence share.
 */
RANDOM_TEST(rows_out_of_reach_change_no_answer) {
    static const head_case shape = {60, 12, THR_DTYPE_F16, true, true, 5, 1, 8, 3};
    thr_context *context = test_context(2, THR_ISA_BEST, NULL);
    head_drawn h = head_draw(&shape, &rng, false);
    thr_head *head = head_make(context, &h);
    for (int round = 0; round < 150; round++) {
        uint32_t never[4];
        uint64_t seeds[SENTENCES];
        thr_head_query_options query;
        thr_beam_options o = draw_options(&rng, shape.n_words, never, &query);
        o.beam = 10 + (uint32_t)thr_rng_below(&rng, 20);
        o.n_best = 1 + (uint32_t)thr_rng_below(&rng, 3);
        o.min_length = 0;
        o.max_length = 8 + (uint32_t)thr_rng_below(&rng, 4);
        o.end_word = shape.n_words - 1;
        o.stop = round % 2 == 0 ? THR_BEAM_STOP_ENOUGH : THR_BEAM_STOP_EXACT;
        query.group = 0;
        query.screen = round % 2 == 0 ? THR_HEAD_SCREEN_FULL : THR_HEAD_SCREEN_WTA;
        for (size_t s = 0; s < SENTENCES; s++)
            seeds[s] = thr_rng_next(&rng);
        hashed *model = make_model(seeds, shape.n_dims, false);
        check(head, model, &o, NULL, round % 2 == 0 ? "enough" : "shared candidates");
    }
    thr_head_free(head);
    thr_context_free(context);
}

/* ------------------------------------------------------------------------------------------------ the true best */

typedef struct walk {
    thr_head *head;
    const hashed *model;
    const thr_beam_options *o;
    thr_beam *beam;
    naive_sequence *all;
    size_t n;
} walk;

/* Every sequence there is. */
static void walk_on(walk *w, const naive_sequence *before) {
    const uint32_t n_words = w->beam->n_words, length = before->n + 1;
    float state[8], log_probs[8];
    uint32_t words[8];
    hashed_state(w->model, before->hash, state);
    expect_ok(thr_head_query(w->head, ROWS(state, 1, w->model->n_dims), n_words, NULL,
                             &(thr_head_answers){words, NULL, log_probs}, &err));
    for (uint32_t i = 0; i < n_words; i++) {
        naive_sequence next = *before;
        next.words[next.n] = words[i];
        next.log_probs[next.n++] = log_probs[i];
        next.log_prob += (double)log_probs[i];
        next.hash = hashed_follow(next.hash, words[i]);
        next.ended = words[i] == w->o->end_word;
        if (!next.ended && length < w->o->max_length) {
            walk_on(w, &next);
        } else if (!next.ended || length >= w->o->min_length) {
            next.score = next.log_prob / w->beam->penalties[length];
            next.row = (uint32_t)w->n;
            w->all[w->n++] = next;
        }
    }
}

RANDOM_TEST(a_beam_of_everything_finds_the_true_best) {
    enum { WORDS = 4, LENGTH = 5, N_BEST = 60, ALL = 1024 };
    static const head_case shape = {WORDS, 3, THR_DTYPE_F32, true, false, 0, 0, 0, 0};
    rng += 1;
    for (int round = 0; round < 12; round++) {
        const uint64_t seeds[1] = {thr_rng_next(&rng)};
        head_drawn h = head_draw(&shape, &rng, false);
        OWNED(thr_head, head) = head_make(*state, &h);
        hashed *model = make_model(seeds, shape.n_dims, false);
        thr_beam_options o;
        o = (thr_beam_options){.start_word = 3, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
        o.beam = ALL;
        o.n_best = round % 2 == 0 ? 1 : N_BEST;
        o.max_length = LENGTH;
        o.min_length = (uint32_t)round % 4;
        o.penalty = (thr_beam_penalty)(round % 3);
        o.alpha = 0.75;
        walk w = {.head = head, .model = model, .o = &o, .beam = make_beam(head, &o)};
        const thr_decoder decoder = hashed_decoder(model);
        thr_beam_result r;
        expect_ok(thr_beam_search(w.beam, &decoder, 1, NULL, &r, &err));
        const naive_sequence nothing = {.hash = hashed_follow(seeds[0], 3)};
        w.all = test_new(ALL, sizeof *w.all);
        walk_on(&w, &nothing);
        qsort(w.all, w.n, sizeof *w.all, naive_by_score);
        assert_true(w.n > 200 && r.n_sequences == o.n_best);
        for (size_t i = 0; i < o.n_best; i++)
            assert_case(same_sequence(&r, i, &w.all[i]),
                        "seed %llu, round %d: sequence %zu has %.17g, should have %.17g",
                        (unsigned long long)test_seed(), round, i, r.scores[i], w.all[i].score);
        thr_beam_free(w.beam);
    }
}

/* ------------------------------------------------------------------------------------------------ by hand */

/* A head whose logits are the state, so that a decoder sets all probabilities. */
static thr_head *make_mirror(thr_context *context, uint32_t n_words) {
    float *weights = test_new((size_t)n_words * n_words, sizeof *weights);
    thr_head_build_options options = DEFAULTS(thr_head_build_options);
    thr_head *head = NULL;
    options.n_bands = options.n_planes = 0;
    for (uint32_t i = 0; i < n_words; i++)
        weights[i * n_words + i] = 1;
    expect_ok(thr_head_create(context, ROWS(weights, n_words, n_words), &options, &head, &err));
    return head;
}

enum { TABLE_WORDS = 3 };

/* Probabilities by the last word: 0 ends, 1 and 2 go on. */
typedef struct table {
    float rows[TABLE_WORDS][TABLE_WORDS];
} table;

static thr_status table_step(void *self, const uint32_t *words, uint64_t n, float *states, thr_error *error) {
    const table *t = self;
    (void)error;
    for (uint64_t i = 0; i < n; i++)
        for (int w = 0; w < TABLE_WORDS; w++)
            states[i * TABLE_WORDS + (uint64_t)w] = logf(t->rows[words[i]][w]);
    return THR_OK;
}

static thr_beam_result search_table(thr_beam *beam, table *t) {
    const thr_decoder decoder = {.self = t, .step = table_step};
    thr_beam_result r;
    expect_ok(thr_beam_search(beam, &decoder, 1, NULL, &r, &err));
    return r;
}

static void assert_near(double x, double y) {
    assert_case(fabs(x - y) <= 1e-6 * (1 + fabs(y)), "%.9g is not %.9g", x, y);
}

/* Ends at once with 0.3; by 1 with 0.6 x 0.4; by 1 1 with 0.6 x 0.5 x 0.4. */
TEST(penalties_are_those_of_their_papers) {
    table t = {{{0.3F, 0.6F, 0.1F}, {0.4F, 0.5F, 0.1F}, {0.2F, 0.2F, 0.6F}}};
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    static const double divisors[][3] = {{1, 2, 3}, {1, 7.0 / 6, 8.0 / 6}, {1, 1, 1}}; /* by thr_beam_penalty */
    for (int penalty = 0; penalty < 3; penalty++)
        for (int a = 0; a < 3; a++) {
            const double alphas[] = {1, 0.5, 2.7}, alpha = alphas[a], p[] = {0.3, 0.24, 0.12};
            thr_beam_options o;
            o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
            o.beam = 50;
            o.n_best = 200; /* more than there are */
            o.max_length = 6;
            o.penalty = (thr_beam_penalty)penalty;
            o.alpha = alpha;
            OWNED(thr_beam, beam) = make_beam(head, &o);
            const thr_beam_result r = search_table(beam, &t);
            int n_by_hand = 0;
            for (uint64_t i = 0; i < r.n_sequences; i++) {
                const uint64_t n = r.offsets[i + 1] - r.offsets[i], before = n - 1;
                const uint32_t *words = r.words + r.offsets[i];
                assert_true(i == 0 || r.scores[i - 1] >= r.scores[i]);
                assert_int_equal(r.ended[i], words[before] == 0);
                bool ones = r.ended[i] && n <= 3;
                for (uint64_t j = 0; j < before; j++)
                    ones = ones && words[j] == 1;
                if (!ones)
                    continue;
                n_by_hand++;
                assert_near(r.log_probs[i], log(p[before]));
                assert_near(r.scores[i], log(p[before]) / pow(divisors[penalty][before], alpha));
            }
            assert_true(n_by_hand == 3 && r.n_sequences < 200);
        }
}

TEST(powers_are_right_and_never_fall) {
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    static const double alphas[] = {1e-9, 0.01, 0.6, 1, 2.5, 10};
    for (size_t a = 0; a < 6; a++)
        for (int penalty = 0; penalty < 2; penalty++) {
            thr_beam_options o;
            o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
            o.penalty = (thr_beam_penalty)penalty;
            o.alpha = alphas[a];
            OWNED(thr_beam, beam) = make_beam(head, &o);
            expect_ok(thr_beam_set_penalties(beam, 100000, &err));
            for (uint32_t n = 1; n <= 100000; n += n < 1000 ? 1 : 37) {
                const double right = pow(penalty == 1 ? (5 + (double)n) / 6 : (double)n, o.alpha);
                assert_case(fabs(beam->penalties[n] - right) <= 1e-15 * (4 + log(right)) * right &&
                                beam->penalties[n] >= beam->penalties[n - 1],
                            "penalty %d of %u words, alpha %g: %.17g, should be %.17g", penalty, n, o.alpha,
                            beam->penalties[n], right);
            }
        }
}

/* The best one ends at once; min_length, never and max_length each take another way. */
/* Word 0 ends a sequence. Its probability after each word is more than that of any longer sequence. */
static table likely_ends(void) {
    return (table){{{0.7F, 0.2F, 0.1F}, {0.6F, 0.3F, 0.1F}, {0.6F, 0.1F, 0.3F}}};
}

TEST(a_search_stops_when_nothing_can_become_better) {
    table t = likely_ends();
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    thr_beam_options o;
    o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
    OWNED(thr_beam, beam) = make_beam(head, &o);
    const thr_beam_result r = search_table(beam, &t);
    assert_true(r.n_sequences == 1 && r.offsets[1] == 1 && r.words[0] == 0 && r.ended[0] == 1);
    assert_int_equal(r.n_steps, 1);
}

TEST(a_sequence_has_the_least_length_and_no_forbidden_word) {
    static const uint32_t never[] = {1};
    table t = likely_ends();
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    thr_beam_options o;
    o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
    o.min_length = 3;
    thr_beam *beam = make_beam(head, &o);
    thr_beam_result r = search_table(beam, &t);
    assert_true(r.offsets[1] == 3 && r.words[0] == 1 && r.words[1] == 1 && r.words[2] == 0);
    assert_near(r.log_probs[0], log(0.2 * 0.3 * 0.6));
    assert_near((double)r.word_log_probs[1], log(0.3));
    thr_beam_free(beam);

    o.never = never;
    o.n_never = 1;
    beam = make_beam(head, &o);
    r = search_table(beam, &t);
    assert_true(r.offsets[1] == 3 && r.words[0] == 2 && r.words[1] == 2 && r.words[2] == 0);
    thr_beam_free(beam);
}

TEST(without_an_end_word_a_sequence_has_the_greatest_length) {
    table t = likely_ends();
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    thr_beam_options o;
    o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
    o.min_length = 3;
    o.end_word = THR_BEAM_NO_WORD;
    o.max_length = 4;
    OWNED(thr_beam, beam) = make_beam(head, &o);
    const thr_beam_result r = search_table(beam, &t);
    assert_true(r.offsets[1] == 4 && r.ended[0] == 0 && r.words[3] == 0);
}

TEST(there_are_no_more_sequences_than_the_options_allow) {
    static const uint32_t all[] = {1, 2};
    table t = likely_ends();
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    thr_beam_options o;
    o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
    o.min_length = 2; /* the end word may not come first, and the other words never */
    o.never = all;
    o.n_never = 2;
    thr_beam *beam = make_beam(head, &o);
    thr_beam_result r = search_table(beam, &t);
    assert_true(r.n_sentences == 1 && r.n_sequences == 0 && r.first_of[1] == 0 && r.offsets[0] == 0);
    thr_beam_free(beam);

    o.n_never = 1;
    o.n_best = 9;
    o.max_length = 3; /* 2 0, 2 2 0, 2 2 2 */
    beam = make_beam(head, &o);
    r = search_table(beam, &t);
    assert_int_equal(r.n_sequences, 3);
    thr_beam_free(beam);
}

TEST(a_search_stops_early_only_on_request) {
    /* 0 is likelier at first; 2 leads to a long certain way, which is better on average */
    table t = {{{0.5F, 0.3F, 0.2F}, {0.8F, 0.1F, 0.1F}, {0.01F, 0.01F, 0.98F}}};
    OWNED(thr_head, head) = make_mirror(*state, TABLE_WORDS);
    thr_beam_options o;
    o = (thr_beam_options){.start_word = 0, .end_word = 0, .penalty = THR_BEAM_PENALTY_NONE};
    o.beam = 2;
    o.max_length = 30;
    o.penalty = THR_BEAM_PENALTY_LENGTH;
    thr_beam *beam = make_beam(head, &o);
    thr_beam_result r = search_table(beam, &t);
    assert_true(r.n_steps == 30 && r.offsets[1] == 30 && r.ended[0] == 0);
    thr_beam_free(beam);
    o.stop = THR_BEAM_STOP_ENOUGH;
    beam = make_beam(head, &o);
    r = search_table(beam, &t);
    assert_true(r.n_steps == 2 && r.ended[0] == 1 && r.offsets[1] == 1);
    thr_beam_free(beam);
}

/* ------------------------------------------------------------------------------------------------ independence */

/* Sentence s of a batch's result has the words, scores and endings of a search of its own. */
static void expect_sentence(const thr_beam_result *whole, size_t s, const thr_beam_result *alone) {
    const uint64_t first = whole->first_of[s], n = whole->first_of[s + 1] - first, at = whole->offsets[first],
                   n_words = whole->offsets[first + n] - at;
    assert_true(n == alone->n_sequences && n_words == alone->offsets[n]);
    assert_memory_equal(whole->words + at, alone->words, n_words * sizeof(uint32_t));
    assert_memory_equal(whole->word_log_probs + at, alone->word_log_probs, n_words * sizeof(float));
    assert_memory_equal(whole->scores + first, alone->scores, n * sizeof(double));
    assert_memory_equal(whole->ended + first, alone->ended, n);
}

/* A round's screen and groups of states, and short sentences. */
static void set_round(int round, thr_head_query_options *query, thr_beam_options *o) {
    thr_head_query_options_init(query);
    query->screen = (thr_head_screen)(round % 4);
    query->group = (uint64_t)round / 4;
    query->n_frequent = 30;
    *o = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    o->max_length = 15;
    o->n_best = 3;
    o->penalty = THR_BEAM_PENALTY_WU;
    o->query = query;
}

/* The batch, alone, other threads and kernels: the same bits. */
RANDOM_TEST(answers_depend_on_the_sentence_alone) {
    static const head_case shape = {500, 24, THR_DTYPE_F32, true, true, 10, 1, 8, 3};
    rng += 2;
    uint64_t seeds[SENTENCES];
    thr_context *one = test_context(1, THR_ISA_SCALAR, NULL), *three = test_context(3, THR_ISA_BEST, NULL);
    head_drawn h = head_draw(&shape, &rng, false);
    thr_head *a = head_make(one, &h), *b = head_make(three, &h);
    for (size_t s = 0; s < SENTENCES; s++)
        seeds[s] = thr_rng_next(&rng);
    for (int round = 0; round < 8; round++) {
        thr_head_query_options query;
        thr_beam_options o;
        thr_beam_result whole, alone;
        set_round(round, &query, &o);
        hashed *model = make_model(seeds, shape.n_dims, false), *single = make_model(seeds, shape.n_dims, false);
        thr_beam *all = make_beam(a, &o), *each = make_beam(b, &o);
        const thr_decoder of_all = hashed_decoder(model), of_each = hashed_decoder(single);
        expect_ok(thr_beam_search(all, &of_all, SENTENCES, NULL, &whole, &err));
        for (size_t s = 0; s < SENTENCES; s++) {
            single->seeds = seeds + s;
            expect_ok(thr_beam_search(each, &of_each, 1, NULL, &alone, &err));
            expect_sentence(&whole, s, &alone);
        }
        thr_beam_free(all);
        thr_beam_free(each);
    }
    thr_head_free(a);
    thr_head_free(b);
    thr_context_free(one);
    thr_context_free(three);
}

TEST_IN_CONTEXT(2, NULL)
