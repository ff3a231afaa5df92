/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_certify.c - no answer is certified that is not the full head's, whatever weights, states and codes are; with
 * many planes answers are certified.
 */
#include "head_support.h"

enum {
    MOST_K = 12,
#ifdef THR_SANITIZED
    STATES = 20
#else
    STATES = 60
#endif
};

/* How weights and states are drawn, and codes changed, so that estimates have the largest errors. */
typedef enum kind {
    GAUSSIAN,   /* as trained ones are, more or less */
    TIES,       /* rows that are copies, small whole numbers */
    SPIKES,     /* a row is one large component and small ones: codes without rotation keep little of it */
    FAR_MEAN,   /* all rows share a long vector */
    LENGTHS,    /* of rows from 1e-3 to 1e3 */
    WORSE_CODES /* bits of codes and factors of a foreign file: still of the words, but far off */
} kind;

enum { N_KINDS = WORSE_CODES + 1 };

static void draw_weights(head_drawn *h, kind how, uint64_t *rng) {
    const uint32_t n_dims = h->shape.n_dims;
    for (uint32_t w = 0; w < h->shape.n_words; w++) {
        float *row = h->weights + (size_t)w * n_dims;
        const float length = powf(10, (float)thr_rng_below(rng, 61) / 10 - 3);
        for (uint32_t d = 0; d < n_dims; d++)
            row[d] = how == FAR_MEAN  ? row[d] + 50
                     : how == LENGTHS ? row[d] * length
                     : how == SPIKES  ? row[d] * 0.01F
                                      : row[d];
        if (how == SPIKES)
            row[thr_rng_below(rng, n_dims)] += thr_rng_below(rng, 2) == 0 ? 3 : -3;
    }
}

static void spoil_codes(thr_head *head, uint64_t *rng) {
    const size_t n = (size_t)thr_head_padded(head->view.contents.n_words);
    const size_t size = n / THR_BLOCK_ITEMS * thr_block_size(head->quantiser.n_dims, head->quantiser.item_bits);
    for (size_t i = 0; i < size; i += 3)
        head->memory.planes.codes[i] ^= (uint8_t)(1u << thr_rng_below(rng, 8));
    for (size_t i = 0; i < head->view.contents.n_words; i += 2)
        head->memory.planes.factors[i] *= (float)thr_rng_below(rng, 300) / 100;
}

typedef struct counts {
    size_t n, certified, wrong;
} counts;

static void check(thr_head *head, const float *states, uint32_t k, const thr_head_query_options *options, counts *sum) {
    const thr_matrix rows = thr_matrix_f32(states, STATES, thr_head_get_info(head).n_dims);
    uint32_t words[STATES * MOST_K], full[STATES * MOST_K];
    uint8_t certified[STATES];
    float logits[STATES * MOST_K];
    thr_head_query_options o = *options;
    memset(certified, 7, sizeof certified);
    o.certified = certified;
    expect_ok(thr_head_query(head, &rows, k, NULL, &(thr_head_answers){full, NULL, NULL}, &err));
    expect_ok(thr_head_query(head, &rows, k, &o, &(thr_head_answers){words, k % 2 == 0 ? logits : NULL, NULL}, &err));
    for (size_t i = 0; i < STATES; i++) {
        const bool same = memcmp(words + i * k, full + i * k, k * sizeof *words) == 0;
        assert_true(certified[i] <= 1);
        assert_case(same || certified[i] == 0, "seed %llu: state %zu is certified, and its %u words are others",
                    (unsigned long long)test_seed(), i, k);
        sum->certified += certified[i];
        sum->wrong += !same;
    }
    sum->n += STATES;
}

static void check_kind(thr_context *context, kind how, uint32_t n_planes, thr_dtype dtype, uint64_t *rng, counts *sum) {
    const head_case shape = {700, 40 + 23 * n_planes, dtype, n_planes % 2 == 1, false, 0, 0, 0, n_planes};
    head_drawn h = head_draw(&shape, rng, how == TIES);
    draw_weights(&h, how, rng);
    OWNED(thr_head, head) = head_make(context, &h);
    float *states = test_new((size_t)STATES * shape.n_dims, sizeof *states);
    head_draw_rows(rng, states, STATES, shape.n_dims, how == TIES);
    for (size_t i = 0; i < STATES; i++)
        for (uint32_t d = 0; d < shape.n_dims; d++) { /* every other near a word, one in ten of a single component */
            const float *row = h.weights + i * 7 * shape.n_dims;
            states[i * shape.n_dims + d] += i % 2 == 0 ? 4 * row[d] : 0;
            states[i * shape.n_dims + d] *= i % 10 == 3 ? (float)(d == 5) : 1;
        }
    memset(states, 0, shape.n_dims * sizeof *states);
    if (how == WORSE_CODES)
        spoil_codes(head, rng);
    for (int round = 0; round < 4; round++) {
        thr_head_query_options o = DEFAULTS(thr_head_query_options);
        o.screen = THR_HEAD_SCREEN_PLANES;
        o.n_shortlist = 1 + (uint32_t)thr_rng_below(rng, round == 0 ? 5 : 150);
        o.group = round == 3 ? 0 : 1;
        check(head, states, 1 + (uint32_t)thr_rng_below(rng, MOST_K), &o, sum);
    }
}

RANDOM_TEST(no_other_answer_is_certified) {
    for (int how = 0; how < N_KINDS; how++) {
        counts few = {0, 0, 0}, many = {0, 0, 0};
        for (uint32_t n_planes = 1; n_planes <= THR_MAX_BITS; n_planes++) {
            static const thr_dtype dtypes[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_BF16};
            check_kind(*state, (kind)how, n_planes, dtypes[n_planes % 4], &rng, n_planes <= 2 ? &few : &many);
        }
        assert_case(few.wrong + many.wrong > 0, "seed %llu, kind %d: nothing was missed",
                    (unsigned long long)test_seed(), how);
        assert_case(how == WORSE_CODES || many.certified > 0, "seed %llu, kind %d: nothing was certified",
                    (unsigned long long)test_seed(), how);
    }
}

/* With 8 planes most answers are certain, once a shortlist is long enough. */
RANDOM_TEST(many_planes_certify) {
    rng += 1;
    counts sum = {0, 0, 0};
    const head_case shape = {3000, 200, THR_DTYPE_F32, true, false, 0, 0, 0, 8};
    head_drawn h = head_draw(&shape, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    float *states = test_new((size_t)STATES * shape.n_dims, sizeof *states);
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    test_gaussian(&rng, states, (size_t)STATES * shape.n_dims);
    o.screen = THR_HEAD_SCREEN_PLANES;
    o.n_shortlist = 1000;
    check(head, states, 10, &o, &sum);
    assert_case(sum.certified > STATES * 9 / 10, "seed %llu: %zu of %d states", (unsigned long long)test_seed(),
                sum.certified, (int)STATES);
}

RANDOM_TEST(screens_certify_what_they_know) {
    rng += 2;
    const head_case shape = {500, 30, THR_DTYPE_F32, true, false, 8, 2, 4, 2};
    head_drawn h = head_draw(&shape, &rng, false);
    OWNED(thr_head, head) = head_make(*state, &h);
    float *states = test_new((size_t)STATES * shape.n_dims, sizeof *states);
    test_gaussian(&rng, states, (size_t)STATES * shape.n_dims);
    for (int screen = THR_HEAD_SCREEN_FULL; screen <= THR_HEAD_SCREEN_PLANES; screen++) {
        counts sum = {0, 0, 0};
        thr_head_query_options o = DEFAULTS(thr_head_query_options);
        o.screen = (thr_head_screen)screen;
        o.n_frequent = 400;
        o.n_shortlist = 500;
        check(head, states, 3, &o, &sum);
        assert_int_equal(sum.certified,
                         screen == THR_HEAD_SCREEN_FULL || screen == THR_HEAD_SCREEN_PLANES ? (size_t)STATES : 0);
    }
}

RANDOM_TEST(certificates_do_not_depend_on_threads_or_kernels) {
    rng += 3;
    const head_case shape = {900, 120, THR_DTYPE_F16, true, false, 0, 0, 0, 6};
    thr_context *contexts[] = {test_context(1, THR_ISA_SCALAR, NULL), test_context(3, THR_ISA_BEST, NULL)};
    head_drawn h = head_draw(&shape, &rng, false);
    float *states = test_new((size_t)STATES * shape.n_dims, sizeof *states);
    uint8_t certified[2][STATES];
    size_t n = 0;
    test_gaussian(&rng, states, (size_t)STATES * shape.n_dims);
    for (int i = 0; i < 2; i++) {
        thr_head *head = head_make(contexts[i], &h);
        uint32_t words[STATES * 4];
        thr_head_query_options o = DEFAULTS(thr_head_query_options);
        o.screen = THR_HEAD_SCREEN_PLANES;
        o.n_shortlist = 60;
        o.certified = certified[i];
        expect_ok(thr_head_query(head, ROWS(states, STATES, shape.n_dims), 4, &o,
                                 &(thr_head_answers){words, NULL, NULL}, &err));
        thr_head_free(head);
        thr_context_free(contexts[i]);
    }
    assert_memory_equal(certified[0], certified[1], STATES);
    for (size_t i = 0; i < STATES; i++)
        n += certified[0][i];
    assert_case(n > 0 && n < STATES, "seed %llu: %zu of %d states", (unsigned long long)test_seed(), n, (int)STATES);
}

TEST_IN_CONTEXT(2, NULL)
