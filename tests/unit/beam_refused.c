/* SPDX-License-Identifier: Apache-2.0 */
/* beam_refused.c - what is wrong is told in words; memory may end anywhere, and a second search asks for none. */
#include <math.h>
#include <string.h>

#include "beam_support.h"

enum { SENTENCES = 3, WORDS = 40, DIMS = 6 };
static const head_case SHAPE = {WORDS, DIMS, THR_DTYPE_F32, true, true, 4, 1, 4, 2};
static const uint64_t SEEDS[SENTENCES] = {11, 22, 33};

static hashed *make_model(void) {
    hashed *model = test_array(1, sizeof *model);
    model->seeds = SEEDS;
    model->n_dims = DIMS;
    return model;
}

typedef struct wrong_options {
    thr_beam_options options;
    const char *text;
} wrong_options;

static void bad_options_are_told(void **state) {
    static const uint32_t never[] = {5, WORDS}, with_end[] = {5, 2};
    uint64_t rng = test_seed();
    thr_error err;
    thr_beam *beam = NULL;
    thr_beam_options good;
    thr_head_query_options query;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    thr_head *head = head_make(*state, &h);
    thr_beam_options_init(&good, 1, 2);
    thr_head_query_options_init(&query);
    wrong_options cases[] = {
        {good, "a beam of 0 rows: 1 to 65536"},
        {good, "a beam of 65537 rows: 1 to 65536"},
        {good, "the best 0 sequences of a sentence: ask for 1 or more"},
        {good, "0 words at most: 1 to 1048576"},
        {good, "7 words at least and 6 at most"},
        {good, "there is no length penalty number 3"},
        {good, "there is no way number 2 to stop"},
        {good, "a length penalty with alpha -0.5: 0 to 10"},
        {good, "a length penalty with alpha nan: 0 to 10"},
        {good, "the end word is 40, and the head has 40 words"},
        {good, "2 words that are never produced, and no list of them"},
        {good, "never-produced word number 1 is 40, and the head has 40 words"},
        {good, "the end word, 2, is among those that are never produced"},
        {good, "candidates for groups of 2 states: a beam search has them for each row (1) or for all rows"},
        {good, "thr_beam_options has size 3"},
    };
    cases[0].options.beam = 0;
    cases[1].options.beam = 65537;
    cases[2].options.n_best = 0;
    cases[3].options.max_length = 0;
    cases[4].options.max_length = 6;
    cases[4].options.min_length = 7;
    cases[5].options.penalty = (thr_beam_penalty)3;
    cases[6].options.stop = (thr_beam_stop)2;
    cases[7].options.alpha = -0.5;
    cases[8].options.alpha = (double)NAN;
    cases[9].options.end_word = WORDS;
    cases[10].options.n_never = cases[11].options.n_never = cases[12].options.n_never = 2;
    cases[11].options.never = never;
    cases[12].options.never = with_end;
    query.group = 2;
    cases[13].options.query = &query;
    cases[14].options.size = 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_error(thr_beam_create(head, &cases[i].options, &beam, &err), THR_EINVAL, &err, cases[i].text);
    query.group = 1;
    query.n_always = 2;
    good.query = &query;
    assert_error(thr_beam_create(head, &good, &beam, &err), THR_EINVAL, &err, "2 always-in words, and no list of them");
    query.n_always = 0;
    query.screen = THR_HEAD_SCREEN_AUTO;
    assert_error(thr_beam_create(head, &good, &beam, &err), THR_EINVAL, &err, "name its screen, full or planes");
    query.size = 1;
    assert_error(thr_beam_create(head, &good, &beam, &err), THR_EINVAL, &err, "thr_head_query_options has size 1");
    assert_error(thr_beam_create(head, NULL, &beam, &err), THR_EINVAL, &err, "made with a head and options");
    assert_null(beam);
    thr_beam_free(NULL);
    thr_head_free(head);
    head_drawn_free(&h);
}

static void bad_searches_are_told(void **state) {
    uint64_t rng = test_seed();
    const uint32_t max_lengths[] = {3, 0, 4};
    thr_error err;
    thr_beam_options o;
    thr_head_query_options query;
    thr_beam_result r;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    thr_head *head = head_make(*state, &h);
    thr_beam *beam = NULL;
    hashed *model = make_model();
    thr_decoder decoder = hashed_decoder(model);
    thr_beam_options_init(&o, 1, 2);
    assert_ok(thr_beam_create(head, &o, &beam, &err), &err);
    assert_error(thr_beam_search(beam, NULL, 1, NULL, &r, &err), THR_EINVAL, &err, "a search needs a beam, a decoder");
    assert_error(thr_beam_search(beam, &decoder, SENTENCES, max_lengths, &r, &err), THR_EINVAL, &err,
                 "sentence 1: 0 words at most: 1 to 1048576");
    assert_error(thr_beam_search(beam, &decoder, 500000000, NULL, &r, &err), THR_EINVAL, &err,
                 "500000000 sentences with 5 rows each: 2147483647 rows at most, so give fewer at a time");
    decoder.step = NULL;
    assert_error(thr_beam_search(beam, &decoder, 1, NULL, &r, &err), THR_EINVAL, &err, "the decoder has no step");
    decoder = hashed_decoder(model);
    model->nan_step = 1;
    assert_error(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, &err), THR_ERANGE, &err,
                 "sentence 2, step 1: the decoder's state of row 0 holds NaN or infinity");
    model->nan_step = 2;
    assert_error(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, &err), THR_ERANGE, &err,
                 "sentence 2, step 2: the decoder's state of row 4 holds NaN or infinity");
    model->nan_step = 0;
    assert_ok(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, &err), &err); /* none of this stays */
    assert_true(r.n_sequences == SENTENCES);
    assert_ok(thr_beam_search(beam, &decoder, 0, NULL, &r, &err), &err);
    assert_true(r.n_sentences == 0 && r.n_sequences == 0 && r.first_of[0] == 0 && r.offsets[0] == 0);
    thr_beam_free(beam);

    thr_head_query_options_init(&query);
    query.n_frequent = WORDS + 1;
    o.query = &query;
    assert_ok(thr_beam_create(head, &o, &beam, &err), &err);
    assert_error(thr_beam_search(beam, &decoder, 1, NULL, &r, &err), THR_EINVAL, &err,
                 "step 1: 41 frequent words of a head that has 40 words");
    thr_beam_free(beam);
    free(model);
    thr_head_free(head);
    head_drawn_free(&h);
}

static void what_a_decoder_says_is_passed_on(void **state) {
    static const struct {
        beam_call call;
        uint32_t step;
        const char *silent;
    } cases[] = {{BEAM_CALL_START, 0, "the decoder's start failed at step 0"},
                 {BEAM_CALL_STEP, 1, "the decoder's step failed at step 1"},
                 {BEAM_CALL_STEP, 3, "the decoder's step failed at step 3"},
                 {BEAM_CALL_REORDER, 1, "the decoder's reorder failed at step 1"},
                 {BEAM_CALL_REORDER, 3, "the decoder's reorder failed at step 3"}};
    uint64_t rng = test_seed();
    thr_error err;
    thr_beam_options o;
    thr_beam_result r;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    thr_head *head = head_make(*state, &h);
    thr_beam *beam = NULL;
    hashed *model = make_model();
    const thr_decoder decoder = hashed_decoder(model);
    thr_beam_options_init(&o, 1, 2);
    o.min_length = 6;
    assert_ok(thr_beam_create(head, &o, &beam, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model->fails = cases[i].call;
        model->fail_step = cases[i].step;
        model->silently = false;
        assert_error(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, &err), THR_EIO, &err,
                     "the model is out of breath");
        assert_true(r.n_sequences == 0 && r.words == NULL);
        assert_int_equal(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, NULL), THR_EIO);
        model->silently = true;
        assert_error(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, &err), THR_EIO, &err, cases[i].silent);
    }
    model->fails = BEAM_CALL_NONE;
    assert_ok(thr_beam_search(beam, &decoder, SENTENCES, NULL, &r, &err), &err);
    thr_beam_free(beam);
    free(model);
    thr_head_free(head);
    head_drawn_free(&h);
}

/* ------------------------------------------------------------------------------------------------ memory */

static thr_status search(thr_beam *beam, hashed *model, thr_error *err) {
    static const uint32_t max_lengths[SENTENCES] = {20, 9, 1};
    const thr_decoder decoder = hashed_decoder(model);
    thr_beam_result r;
    return thr_beam_search(beam, &decoder, SENTENCES, max_lengths, &r, err);
}

static thr_beam_options usual_options(thr_head_query_options *query) {
    static const uint32_t never[] = {3};
    thr_beam_options o;
    thr_head_query_options_init(query);
    query->screen = THR_HEAD_SCREEN_WTA;
    query->n_frequent = 10;
    query->group = 0;
    thr_beam_options_init(&o, 1, 2);
    o.n_best = 4;
    o.max_length = 20;
    o.never = never;
    o.n_never = 1;
    o.query = query;
    return o;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    uint64_t rng = test_seed();
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
        thr_error err = {.status = THR_OK};
        test_oom_arm(&oom);
        thr_status status = thr_beam_create(head, &o, &beam, &err);
        if (status == THR_OK)
            status = search(beam, model, &err);
        if (!test_oom_check(&oom, status, &err, NULL) && beam != NULL) /* it may be tried again */
            assert_ok(search(beam, model, &err), &err);
        thr_beam_free(beam);
        thr_head_free(head);
        thr_context_free(context);
    }
    assert_true(oom.n_failed > 24);
    free(model);
    head_drawn_free(&h);
}

static void a_second_search_asks_for_no_memory(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    for (uint64_t group = 0; group < 2; group++) {
        test_memory tracked = {.fail_at = 0};
        thr_context *context = test_context(2, THR_ISA_BEST, &tracked);
        thr_error err;
        head_drawn h = head_draw(&SHAPE, &rng, false);
        thr_head *head = head_make(context, &h);
        thr_beam *beam = NULL;
        hashed *model = make_model();
        thr_head_query_options query;
        thr_beam_options o = usual_options(&query);
        query.group = group;
        assert_ok(thr_beam_create(head, &o, &beam, &err), &err);
        assert_ok(search(beam, model, &err), &err);
        const size_t calls = tracked.calls;
        for (int again = 0; again < 5; again++)
            assert_ok(search(beam, model, &err), &err);
        assert_int_equal(tracked.calls, calls);
        thr_beam_free(beam);
        thr_head_free(head);
        thr_context_free(context);
        assert_int_equal(tracked.live, 0);
        free(model);
        head_drawn_free(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_told),
        cmocka_unit_test(bad_searches_are_told),
        cmocka_unit_test(what_a_decoder_says_is_passed_on),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_second_search_asks_for_no_memory),
    };
    return test_run_with_context(tests);
}
