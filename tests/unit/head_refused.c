/* SPDX-License-Identifier: Apache-2.0 */
/* head_refused.c - wrong queries are refused; allocations may fail; a second query allocates nothing. */

#include "head_support.h"

static const char PATH[] = "unit-head-refused.head";
static const head_case SHAPE = {300, 12, THR_DTYPE_F32, true, true, 6, 2, 8, 3};

RANDOM_TEST(bad_weights_are_refused) {
    thr_head *head = NULL;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    thr_matrix weights = thr_matrix_f32(h.weights, 300, 12);
    const thr_head_build_options good = h.options;

    h.weights[123 * 12 + 5] = NAN;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_ERANGE,
                 "row 123 of the weights holds NaN or infinity");
    h.weights[123 * 12 + 5] = -INFINITY;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_ERANGE, "row 123 of the weights");
    h.weights[123 * 12 + 5] = 0x1p61F;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_ERANGE,
                 "row 123 of the weights is longer than 2^60");
    h.weights[123 * 12 + 5] = 70000;
    h.options.dtype = THR_DTYPE_F16;
    expect_error(thr_head_create(*state, &weights, &h.options, &head, &err), THR_ERANGE,
                 "row 123 of the weights holds 70000, beyond the 65504 of f16: store the weights as f32");
    h.weights[123 * 12 + 5] = 1;

    weights.n_rows = 0;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_EDIM, "weights of 0 words");
    weights.n_rows = 20000000;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_EDIM, "weights of 20000000 words");
    weights.n_rows = 300;
    weights.n_dims = 0;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_EDIM, "weights of 0 dimensions");
    weights.n_dims = 12;
    expect_error(thr_head_create(*state, NULL, &good, &head, &err), THR_EINVAL,
                 "the context, the weights or the pointer to the head is NULL");
    assert_null(head);
}

RANDOM_TEST(build_options_out_of_range_are_refused) {
    thr_head *head = NULL;
    head_drawn h = head_draw(&SHAPE, &rng, false);
    const thr_matrix weights = thr_matrix_f32(h.weights, 300, 12);
    const thr_head_build_options good = h.options;
    thr_head_build_options o = good;
    o.n_bias = 299;
    expect_error(thr_head_create(*state, &weights, &o, &head, &err), THR_EDIM, "299 biases for 300 words");
    h.bias[7] = INFINITY;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_ERANGE, "the bias of word 7 is inf");
    h.bias[7] = 0;
    h.order[3] = h.order[1];
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_EINVAL, "frequent word number 3, ");
    h.order[3] = 300;
    expect_error(thr_head_create(*state, &weights, &good, &head, &err), THR_EINVAL,
                 "frequent word number 3, 300, is out of range");
    o = good;
    o.frequent = NULL;
    o.n_places = 13;
    expect_error(thr_head_create(*state, &weights, &o, &head, &err), THR_EINVAL,
                 "hashes of 13 components: choose 2 to 12");
    o = good;
    o.dtype = THR_DTYPE_U8;
    expect_error(thr_head_create(*state, &weights, &o, &head, &err), THR_EINVAL,
                 "weights are stored as f32, f16, bf16 or i8, not as u8");
    o = good;
    o.n_planes = 9;
    o.frequent = NULL;
    expect_error(thr_head_create(*state, &weights, &o, &head, &err), THR_EINVAL, "codes of 9 planes: choose 1 to 8");
}

/* The default options with one change to o, their copy: a query is refused, and the error has this part. */
#define refuse_query(change, part)                                                                                     \
    do {                                                                                                               \
        thr_head_query_options o;                                                                                      \
        thr_head_query_options_init(&o);                                                                               \
        (change);                                                                                                      \
        expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EINVAL, (part));                          \
    } while (0)

RANDOM_TEST(query_options_out_of_range_are_refused) {
    static const uint32_t always[] = {3, 300};
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    uint32_t *words = test_new(301 * 2, sizeof *words);
    const float states[24] = {1, [13] = 2};
    const thr_matrix rows = thr_matrix_f32(states, 2, 12);
    const thr_head_answers answers = {words, NULL, NULL};
    refuse_query(o.screen = (thr_head_screen)6, "6 is no thr_head_screen");
    refuse_query(o.normaliser = (thr_head_normaliser)3, "3 is no thr_head_normaliser");
    refuse_query(o.combine = (thr_head_combine)2, "2 is no thr_head_combine");
    refuse_query(o.n_frequent = 301, "301 frequent words of a head that has 300 words");
    refuse_query(o.threshold = 0, "every word has 0 hits: choose a threshold");
    refuse_query((o.n_always = 2, o.always = always), "always-in word number 1 is 300, and the head has 300 words");
    refuse_query(o.n_always = 2, "2 always-in words, but the list of them is NULL");
    refuse_query(o.n_shortlist = 0, "a shortlist of 0 words of a head that has 300");
    refuse_query(o.n_shortlist = 301, "a shortlist of 301 words of a head that has 300");
}

static void refuse_states(thr_head *head, const float *states, uint32_t n_dims, uint32_t *words, thr_status status,
                          const char *part) {
    expect_error(thr_head_query(head, ROWS(states, 2, n_dims), 1, NULL, &(thr_head_answers){words, NULL, NULL}, &err),
                 status, part);
}

RANDOM_TEST(counts_and_states_that_do_not_fit_the_head_are_refused) {
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    uint32_t *words = test_new(301 * 2, sizeof *words);
    float states[24] = {1, [13] = 2};
    const thr_matrix rows = thr_matrix_f32(states, 2, 12);
    const thr_head_answers answers = {words, NULL, NULL};
    expect_error(thr_head_query(head, &rows, 0, NULL, &answers, &err), THR_EINVAL,
                 "the best 0 words of a head that has 300");
    expect_error(thr_head_query(head, &rows, 301, NULL, &answers, &err), THR_EINVAL,
                 "the best 301 words of a head that has 300: ask for 1 or more, and no more than it has");
    states[17] = NAN;
    refuse_states(head, states, 12, words, THR_ERANGE, "state 1 holds NaN or infinity");
    states[17] = 0x1p61F;
    refuse_states(head, states, 12, words, THR_ERANGE, "state 1 is longer than 2^60");
    states[17] = 0;
    refuse_states(head, states, 11, words, THR_EDIM, "states of 11 dimensions for a head of 12");
    refuse_states(head, states, 12, NULL, THR_EINVAL, "the words of a query are NULL");
    expect_ok(thr_head_query(head, &rows, 300, NULL, &answers, &err));
    thr_head_free(NULL);
}

RANDOM_TEST(a_screen_that_the_head_was_built_without_is_refused) {
    uint32_t words[2];
    const float states[24] = {1, [13] = 2};
    const thr_matrix rows = thr_matrix_f32(states, 2, 12);
    const thr_head_answers answers = {words, NULL, NULL};
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    head_drawn h = head_draw(&SHAPE, &rng, false);
    h.options.n_bands = h.options.n_planes = 0;
    OWNED(thr_head, head) = head_make(*state, &h);
    o.screen = THR_HEAD_SCREEN_WTA;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EUNSUPPORTED,
                 "the head has no hashes: build it with bands, or choose another screen");
    o.screen = THR_HEAD_SCREEN_PLANES;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EUNSUPPORTED,
                 "the head has no codes: build it with planes, or choose another screen");
}

RANDOM_TEST(lists_that_do_not_fit_the_groups_are_refused) {
    uint32_t words[3];
    const float states[36] = {1, [13] = 2, [26] = 1};
    const thr_matrix rows = thr_matrix_f32(states, 3, 12);
    const thr_head_answers answers = {words, NULL, NULL};
    uint64_t starts[] = {0, 1, 2};
    uint32_t listed[] = {1, 2};
    thr_head_word_lists lists = {2, starts, listed};
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    o.screen = THR_HEAD_SCREEN_ALIGN;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EINVAL,
                 "the screen align has 0 lists of words for 3 groups of states: give lists, one for each group");
    o.lists = &lists;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EINVAL, "2 lists of words for 3 groups");
    o.group = 2;
    expect_ok(thr_head_query(head, &rows, 1, &o, &answers, &err));
    listed[1] = h.shape.n_words;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EINVAL, "of list 1 does not exist");
    listed[1] = 0;
    starts[1] = 3;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EINVAL, "starts must not decrease");
    starts[1] = 1;
    lists.words = NULL;
    expect_error(thr_head_query(head, &rows, 1, &o, &answers, &err), THR_EINVAL, "list 0 has no words where");
}

/* A screen that lets no word by gives the most frequent ones, in number k. */
RANDOM_TEST(an_empty_screen_gives_frequent_words) {
    head_drawn h = head_draw(&SHAPE, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    uint32_t words[3], n_candidates;
    float states[12] = {1};
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = THR_HEAD_SCREEN_WTA;
    o.n_frequent = 0;
    o.threshold = 1000;
    o.n_candidates = &n_candidates;
    expect_ok(thr_head_query(head, ROWS(states, 1, 12), 3, &o, &(thr_head_answers){words, NULL, NULL}, &err));
    assert_int_equal(n_candidates, 3);
    for (int i = 0; i < 3; i++)
        assert_true(words[i] == h.order[0] || words[i] == h.order[1] || words[i] == h.order[2]);
}

/* ------------------------------------------------------------------------------------------------ memory */

static thr_status ask(thr_head *head, const thr_matrix *rows, int round, thr_error *error) {
    uint32_t words[12 * 7], n_candidates[12];
    float logits[12 * 7], log_probs[12 * 7];
    uint8_t certified[12];
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = (thr_head_screen)(round % 4);
    o.certified = round >= 8 ? certified : NULL;
    o.normaliser = (thr_head_normaliser)(round / 4 % 3);
    o.group = 5;
    o.n_frequent = 20;
    o.n_shortlist = 30;
    o.n_candidates = n_candidates;
    return thr_head_query(head, rows, 7, &o, &(thr_head_answers){words, logits, log_probs}, error);
}

/* Every function that allocates. */
static thr_status do_all(thr_context *context, const head_drawn *h, const thr_matrix *rows, thr_error *error) {
    thr_head *head = NULL, *opened = NULL;
    thr_head_recall recall;
    thr_status status = thr_head_create(context, ROWS(h->weights, 300, 12), &h->options, &head, error);
    if (status == THR_OK)
        status = thr_head_save(head, PATH, true, error);
    if (status == THR_OK)
        status = thr_head_open(context, PATH, &opened, error);
    for (int round = 0; round < 12 && status == THR_OK; round++)
        status = ask(opened, rows, round, error);
    if (status == THR_OK)
        status = thr_head_measure(opened, NULL, rows, 7, NULL, &recall, error);
    if (status == THR_OK)
        status = thr_head_measure(opened, head, rows, 7, NULL, &recall, error);
    if (status == THR_OK)
        status = thr_head_verify(opened, error);
    thr_head_free(head);
    thr_head_free(opened);
    return status;
}

/* Without memory to measure it, a search guesses which kernel is the fastest; so that is settled here. */
RANDOM_TEST(every_allocation_may_fail) {
    float states[144];
    head_drawn h = head_draw(&SHAPE, &rng, false);
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    h.options.dtype = THR_DTYPE_I8; /* which has scales, too */
    test_gaussian(&rng, states, 144);
    assert_int_equal(setenv("THR_KERNEL", "table", 1), 0);
    while (test_oom_next(&oom)) {
        thr_context *context = test_context(2, THR_ISA_BEST, &memory);
        test_oom_arm(&oom);
        const thr_status status = do_all(context, &h, ROWS(states, 12, 12), &err);
        (void)test_oom_check(&oom, status, &err, NULL);
        thr_context_free(context);
    }
    assert_true(oom.n_failed > 29);
    assert_int_equal(unsetenv("THR_KERNEL"), 0);
    (void)unlink(PATH);
}

RANDOM_TEST(a_second_query_allocates_nothing) {
    float states[144];
    test_memory tracked = {.fail_at = 0};
    thr_context *context = test_context(2, THR_ISA_BEST, &tracked);
    head_drawn h = head_draw(&SHAPE, &rng, false);
    thr_head *head = head_make(context, &h);
    const thr_matrix rows = thr_matrix_f32(states, 12, 12);
    test_gaussian(&rng, states, 144);
    for (int round = 0; round < 8; round++)
        expect_ok(ask(head, &rows, round, &err));
    const size_t calls = tracked.calls;
    for (int again = 0; again < 5; again++) { /* other states, of which other words are candidates */
        test_gaussian(&rng, states, 144);
        for (int round = 0; round < 8; round++)
            expect_ok(ask(head, &rows, round, &err));
    }
    assert_int_equal(tracked.calls, calls);
    thr_head_free(head);
    thr_context_free(context);
    assert_int_equal(tracked.live, 0);
}

TEST_IN_CONTEXT(2, NULL)
