/* SPDX-License-Identifier: Apache-2.0 */
/* beam_refused.c - wrong options and searches are refused; allocations may fail; a second search allocates nothing. */

#include "beam_support.h"

enum { SENTENCES = 3, WORDS = 40, DIMS = 6 };
static const head_case SHAPE = {WORDS, DIMS, THR_DTYPE_F32, true, true, 4, 1, 4, 2};
static const uint64_t SEEDS[SENTENCES] = {11, 22, 33};

static hashed *make_model(void) {
    hashed *model = test_new(1, sizeof *model);
    model->seeds = SEEDS;
    model->n_dims = DIMS;
    return model;
}

/* A beam over a drawn head, and a decoder for it. */
typedef struct fixture {
    head_drawn drawn;
    thr_head *head;
    thr_beam *beam;
    hashed *model;
    thr_decoder decoder;
} fixture;

/* options NULL: the usual ones */
static fixture make_fixture(thr_context *context, const thr_beam_options *options) {
    uint64_t rng = test_seed();
    thr_beam_options usual;
    fixture f = {.drawn = head_draw(&SHAPE, &rng, false), .model = make_model()};
    usual = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    f.head = head_make(context, &f.drawn);
    f.decoder = hashed_decoder(f.model);
    expect_ok(thr_beam_create(f.head, options != NULL ? options : &usual, &f.beam, &err));
    return f;
}

static void free_fixture(fixture *f) {
    thr_beam_free(f->beam);
    thr_head_free(f->head);
}

/* The right options with one change to o, their copy: no beam is made of them, and the error has this part. */
#define refuse_options(change, part)                                                                                   \
    do {                                                                                                               \
        thr_beam_options o = right;                                                                                    \
        thr_beam *beam = NULL;                                                                                         \
        (change);                                                                                                      \
        expect_error(thr_beam_create(head, &o, &beam, &err), THR_EINVAL, (part));                                      \
        assert_null(beam);                                                                                             \
    } while (0)

RANDOM_TEST(options_out_of_range_are_refused) {
    static const uint32_t never[] = {5, WORDS}, with_end[] = {5, 2};
    thr_beam_options right;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    right = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    refuse_options(o.beam = 65537, "a beam of 65537 rows: choose 1 to 65536");
    refuse_options(o.max_length = 1048577, "a maximum length of 1048577 words: choose 1 to 1048576");
    refuse_options((o.max_length = 6, o.min_length = 7), "a minimum length of 7 words is above the maximum of 6");
    refuse_options(o.penalty = (thr_beam_penalty)3, "3 is no thr_beam_penalty");
    refuse_options(o.stop = (thr_beam_stop)2, "2 is no thr_beam_stop");
    refuse_options(o.alpha = -0.5, "a length penalty with alpha -0.5: choose up to 10");
    refuse_options(o.alpha = (double)NAN, "a length penalty with alpha nan: choose up to 10");
    refuse_options(o.end_word = WORDS, "the end word is 40, and the head has 40 words");
    refuse_options(o.n_never = 2, "2 words that are never produced, but the list of them is NULL");
    refuse_options((o.n_never = 2, o.never = never), "never-produced word number 1 is 40, and the head has 40 words");
    refuse_options((o.n_never = 2, o.never = with_end), "the end word, 2, is among those that are never produced");
}

RANDOM_TEST(queries_that_a_beam_cannot_ask_are_refused) {
    thr_beam_options right;
    thr_head_query_options query = DEFAULTS(thr_head_query_options);
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    right = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    right.query = &query;
    query.group = 2;
    refuse_options(o.query = &query, "candidates for groups of 2 states: a beam search chooses them for each row (1)");
    query.group = 1;
    query.n_always = 2;
    refuse_options(o.query = &query, "2 always-in words, but the list of them is NULL");
    query.n_always = 0;
    query.screen = THR_HEAD_SCREEN_AUTO;
    refuse_options(o.query = &query, "name full or planes instead of auto");
}

RANDOM_TEST(a_beam_needs_a_head_and_options) {
    thr_beam *beam = NULL;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    expect_error(thr_beam_create(head, NULL, &beam, &err), THR_EINVAL,
                 "the head or the options of a beam search are NULL");
    assert_null(beam);
    thr_beam_free(NULL);
}

static void refuse_search(thr_beam *beam, const thr_decoder *decoder, uint64_t n_sentences, thr_status status,
                          const char *part) {
    thr_beam_result r;
    expect_error(thr_beam_search(beam, decoder, n_sentences, NULL, &r, &err), status, part);
}

TEST(wrong_searches_are_refused_and_the_next_one_is_right) {
    const uint32_t max_lengths[] = {3, 0, 4};
    const thr_decoder no_step = {.step = NULL};
    thr_beam_result r;
    fixture f = make_fixture(*state, NULL);
    refuse_search(f.beam, NULL, 1, THR_EINVAL, "the beam, the decoder or the result is NULL");
    expect_error(thr_beam_search(f.beam, &f.decoder, SENTENCES, max_lengths, &r, &err), THR_EINVAL,
                 "sentence 1: a maximum length of 0 words: choose 1 to 1048576");
    refuse_search(f.beam, &f.decoder, 500000000, THR_EINVAL,
                  "500000000 sentences with 5 rows each: 2147483647 rows at most, so give fewer at a time");
    refuse_search(f.beam, &no_step, 1, THR_EINVAL, "the decoder has no step");
    f.model->nan_step = 1;
    refuse_search(f.beam, &f.decoder, SENTENCES, THR_ERANGE,
                  "sentence 2, step 1: the decoder's state of row 0 holds NaN or infinity");
    f.model->nan_step = 2;
    refuse_search(f.beam, &f.decoder, SENTENCES, THR_ERANGE,
                  "sentence 2, step 2: the decoder's state of row 4 holds NaN or infinity");
    f.model->nan_step = 0;
    expect_ok(thr_beam_search(f.beam, &f.decoder, SENTENCES, NULL, &r, &err));
    assert_true(r.n_sequences == SENTENCES);
    free_fixture(&f);
}

TEST(no_sentences_are_answered_by_no_sequences) {
    thr_beam_result r;
    fixture f = make_fixture(*state, NULL);
    expect_ok(thr_beam_search(f.beam, &f.decoder, SENTENCES, NULL, &r, &err));
    expect_ok(thr_beam_search(f.beam, &f.decoder, 0, NULL, &r, &err));
    assert_true(r.n_sentences == 0 && r.n_sequences == 0 && r.first_of[0] == 0 && r.offsets[0] == 0);
    free_fixture(&f);
}

TEST(what_the_head_refuses_ends_a_search) {
    thr_beam_options o;
    thr_head_query_options query = DEFAULTS(thr_head_query_options);
    o = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    query.n_frequent = WORDS + 1;
    o.query = &query;
    fixture f = make_fixture(*state, &o);
    refuse_search(f.beam, &f.decoder, 1, THR_EINVAL, "step 1: 41 frequent words of a head that has 40 words");
    free_fixture(&f);
}

TEST(an_error_of_the_decoder_is_returned) {
    static const struct {
        beam_call call;
        uint32_t step;
        const char *silent;
    } cases[] = {{BEAM_CALL_START, 0, "the decoder's start failed at step 0"},
                 {BEAM_CALL_STEP, 1, "the decoder's step failed at step 1"},
                 {BEAM_CALL_STEP, 3, "the decoder's step failed at step 3"},
                 {BEAM_CALL_REORDER, 1, "the decoder's reorder failed at step 1"},
                 {BEAM_CALL_REORDER, 3, "the decoder's reorder failed at step 3"}};
    thr_beam_options o;
    thr_beam_result r;
    o = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    o.min_length = 6;
    fixture f = make_fixture(*state, &o);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        f.model->fails = cases[i].call;
        f.model->fail_step = cases[i].step;
        f.model->silently = false;
        expect_error(thr_beam_search(f.beam, &f.decoder, SENTENCES, NULL, &r, &err), THR_EIO,
                     "the model is out of breath");
        assert_true(r.n_sequences == 0 && r.words == NULL);
        assert_int_equal(thr_beam_search(f.beam, &f.decoder, SENTENCES, NULL, &r, NULL), THR_EIO);
        f.model->silently = true;
        expect_error(thr_beam_search(f.beam, &f.decoder, SENTENCES, NULL, &r, &err), THR_EIO, cases[i].silent);
    }
    f.model->fails = BEAM_CALL_NONE;
    expect_ok(thr_beam_search(f.beam, &f.decoder, SENTENCES, NULL, &r, &err));
    free_fixture(&f);
}

/* ------------------------------------------------------------------------------------------------ memory */

static thr_status search(thr_beam *beam, hashed *model, thr_error *error) {
    static const uint32_t max_lengths[SENTENCES] = {20, 9, 1};
    const thr_decoder decoder = hashed_decoder(model);
    thr_beam_result r;
    return thr_beam_search(beam, &decoder, SENTENCES, max_lengths, &r, error);
}

static thr_beam_options usual_options(thr_head_query_options *query) {
    static const uint32_t never[] = {3};
    thr_beam_options o;
    thr_head_query_options_init(query);
    query->screen = THR_HEAD_SCREEN_WTA;
    query->n_frequent = 10;
    query->group = 0;
    o = (thr_beam_options){.start_word = 1, .end_word = 2, .penalty = THR_BEAM_PENALTY_NONE};
    o.n_best = 4;
    o.max_length = 20;
    o.never = never;
    o.n_never = 1;
    o.query = query;
    return o;
}

RANDOM_TEST(every_allocation_may_fail) {
    head_drawn h = head_draw(&SHAPE, &rng, false);
    hashed *model = make_model();
    thr_head_query_options query;
    const thr_beam_options o = usual_options(&query);
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_context *context = test_context(2, THR_ISA_BEST, &memory);
        thr_head *head = head_make(context, &h);
        thr_beam *beam = NULL;
        test_oom_arm(&oom);
        thr_status status = thr_beam_create(head, &o, &beam, &err);
        if (status == THR_OK)
            status = search(beam, model, &err);
        if (!test_oom_check(&oom, status, &err, NULL) && beam != NULL) /* it may be tried again */
            expect_ok(search(beam, model, &err));
        thr_beam_free(beam);
        thr_head_free(head);
        thr_context_free(context);
    }
    assert_true(oom.n_failed > 24);
}

TEST(a_second_search_allocates_nothing) {
    for (uint64_t group = 0; group < 2; group++) {
        test_memory tracked = {.fail_at = 0};
        thr_context *context = test_context(2, THR_ISA_BEST, &tracked);
        thr_head_query_options query;
        thr_beam_options o = usual_options(&query);
        query.group = group;
        fixture f = make_fixture(context, &o);
        expect_ok(search(f.beam, f.model, &err));
        const size_t calls = tracked.calls;
        for (int again = 0; again < 5; again++)
            expect_ok(search(f.beam, f.model, &err));
        assert_int_equal(tracked.calls, calls);
        free_fixture(&f);
        thr_context_free(context);
        assert_int_equal(tracked.live, 0);
    }
}

TEST_IN_CONTEXT(2, NULL)
