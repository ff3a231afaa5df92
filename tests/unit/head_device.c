/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_device.c - queries of heads in contexts that use GPUs: the CPU's answers to the bit, and messages and fallbacks
 * where there are none, or they fail. The GPUs are emulated (tests/simt).
 */

#include "device/gpus.h"
#include "emulator.h"
#include "head/device/copy.h"
#include "head_support.h"

static test_emulator emulator;
enum { STATES = 13, MOST_ALWAYS = 4 };

static const head_case CASES[] = {
    {1, 1, THR_DTYPE_F32, false, false, 0, 0, 0, 0},     {63, 7, THR_DTYPE_F32, true, false, 5, 1, 3, 2},
    {130, 16, THR_DTYPE_F16, true, true, 8, 2, 4, 3},    {700, 33, THR_DTYPE_F32, false, true, 20, 2, 16, 1},
    {1500, 64, THR_DTYPE_F16, true, true, 70, 2, 8, 3},  {64, 20, THR_DTYPE_F16, false, false, 3, 3, 5, 8},
    {1025, 24, THR_DTYPE_F32, true, false, 1, 32, 2, 1}, {4500, 9, THR_DTYPE_F32, false, true, 40, 1, 2, 0},
    {33000, 3, THR_DTYPE_F32, false, false, 3, 1, 3, 0}, {333, 37, THR_DTYPE_BF16, true, false, 9, 2, 6, 2},
    {270, 18, THR_DTYPE_I8, true, true, 9, 1, 4, 2},
};

static thr_context *make_context(const char *device) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 2;
    options.device = device;
    expect_ok(thr_context_create(&options, &context, &err));
    return context;
}

/* ------------------------------------------------------------------------------------------------ answers */

typedef struct answer {
    size_t n_states, n;
    uint32_t *words, *n_candidates;
    float *logits, *log_probs;
} answer;

static answer answer_make(size_t n_states, uint32_t k) {
    const size_t n = n_states * k;
    return (answer){n_states,
                    n,
                    test_new(n, sizeof(uint32_t)),
                    test_new(n_states, sizeof(uint32_t)),
                    test_new(n, sizeof(float)),
                    test_new(n, sizeof(float))};
}

static thr_status try_ask(thr_head *head, const float *states, uint32_t k, const thr_head_query_options *options,
                          answer *a, thr_error *error) {
    thr_head_query_options o = *options;
    o.n_candidates = a->n_candidates;
    return thr_head_query(head, ROWS(states, a->n_states, thr_head_get_info(head).n_dims), k, &o,
                          &(thr_head_answers){a->words, a->logits, a->log_probs}, error);
}

static answer ask(thr_head *head, const float *states, size_t n_states, uint32_t k,
                  const thr_head_query_options *options) {
    answer a = answer_make(n_states, k);
    expect_ok(try_ask(head, states, k, options, &a, &err));
    return a;
}

static bool is_same(const answer *a, const answer *b) {
    return memcmp(a->words, b->words, a->n * sizeof *a->words) == 0 &&
           memcmp(a->logits, b->logits, a->n * sizeof *a->logits) == 0 &&
           memcmp(a->log_probs, b->log_probs, a->n * sizeof *a->log_probs) == 0 &&
           memcmp(a->n_candidates, b->n_candidates, a->n_states * sizeof *a->n_candidates) == 0;
}

/* ------------------------------------------------------------------------------------------------ the same answers */

/* Options of all kinds, in 16 rounds and more. */
static thr_head_query_options draw_options(const head_case *shape, int round, const uint32_t *always, uint64_t *rng) {
    const uint32_t n = shape->n_words;
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = (thr_head_screen)(round % 4);
    if ((o.screen == THR_HEAD_SCREEN_WTA && shape->n_bands == 0) ||
        (o.screen == THR_HEAD_SCREEN_PLANES && shape->n_planes == 0))
        o.screen = THR_HEAD_SCREEN_FREQUENT;
    o.normaliser = (thr_head_normaliser)(round / 4 % 2);
    o.combine = (thr_head_combine)(round / 8 % 2);
    o.n_shortlist = 1 + (uint32_t)thr_rng_below(rng, n < 40 ? n : 40);
    o.n_frequent = round % 3 == 0 ? 0 : (uint32_t)thr_rng_below(rng, n / 8 + 1);
    o.threshold = 1 + (uint32_t)thr_rng_below(rng, 4);
    o.group = (uint64_t)(round / 2) % 6;
    o.always = always;
    o.n_always = (uint64_t)round % (MOST_ALWAYS + 1);
    return o;
}

/* On the GPU with as much memory as it likes, and, every other time, with what one state takes, or some. */
static void check_case(const head_case *shape, bool ties, int first, int rounds, uint64_t *rng) {
    thr_context *contexts[] = {make_context("cpu"), make_context("cuda:1")};
    head_drawn h = head_draw(shape, rng, ties);
    const uint32_t n_padding = shape->n_words / 9;
    for (uint32_t w = shape->n_words - n_padding; w < shape->n_words; w++) /* of no effect without a bias */
        h.bias[w] = w % 16 == 3 ? -1e9F : -INFINITY;
    thr_head *heads[] = {head_make(contexts[0], &h), head_make(contexts[1], &h)};
    const uint32_t n = shape->n_words, always[MOST_ALWAYS] = {n - 1, n / 2, 0, n / 2};
    float *states = test_new((size_t)STATES * shape->n_dims, sizeof *states);
    uint32_t *never = test_new(n, sizeof *never);
    head_draw_rows(rng, states, STATES, shape->n_dims, ties);
    for (int round = first; round < first + rounds; round++) {
        thr_head_query_options o = draw_options(shape, round, always, rng);
        uint32_t n_left = 0;
        o.never = never;
        o.n_never = round % 3 != 0 || n < 2 ? 0 : 1 + thr_rng_below(rng, round % 2 == 0 ? n / 2 : 1);
        for (uint64_t i = 0; i < o.n_never; i++)
            never[i] = 1 + (uint32_t)thr_rng_below(rng, n - 1);
        assert_int_equal(thr_head_count_left(heads[0], never, o.n_never, &n_left, NULL), THR_OK);
        const uint32_t most = n_left < 12 ? n_left : 12,
                       k = round == first + rounds - 1 && n < 5000 ? n_left : 1 + (uint32_t)thr_rng_below(rng, most);
        const size_t n_states = 1 + (size_t)thr_rng_below(rng, STATES);
        if (heads[1]->on_device.copy != NULL)
            thr_head_device_limit(heads[1]->on_device.copy,
                                  round % 2 == 0 ? (size_t)256 << 20 : (size_t)n * 13 * (size_t)round);
        const uint64_t before = emulator.launches();
        answer a = ask(heads[0], states, n_states, k, &o);
        assert_int_equal(emulator.launches(), before);
        answer b = ask(heads[1], states, n_states, k, &o);
        assert_true(emulator.launches() > before);
        assert_case(is_same(&a, &b), "seed %llu, %u words, ties %d, round %d: %u words of %zu states by screen %d",
                    (unsigned long long)test_seed(), n, ties, round, k, n_states, (int)o.screen);
    }
    for (int i = 0; i < 2; i++) {
        thr_head_free(heads[i]);
        thr_context_free(contexts[i]);
    }
    assert_int_equal(emulator.allocated() + emulator.pinned(), 0);
}

RANDOM_TEST(a_gpu_answers_as_the_cpu) {
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        check_case(&CASES[i], false, 6 * (int)i, CASES[i].n_words > 1000 ? 4 : 8, &rng);
        if (CASES[i].n_words < 1000)
            check_case(&CASES[i], true, 6 * (int)i + 3, 4, &rng);
    }
}

/* Logits and log-probabilities that are not requested, no states, and matrices of other types. */
RANDOM_TEST(what_is_not_wanted_is_not_needed) {
    rng += 1;
    thr_context *contexts[] = {make_context("cpu"), make_context("cuda")};
    head_drawn h = head_draw(&CASES[3], &rng, false);
    float *states = test_new((size_t)STATES * CASES[3].n_dims, sizeof *states);
    uint32_t words[2][STATES * 3];
    float logits[2][STATES * 3];
    test_gaussian(&rng, states, (size_t)STATES * CASES[3].n_dims);
    for (int i = 0; i < 2; i++) {
        thr_head *head = head_make(contexts[i], &h);
        const thr_matrix rows = thr_matrix_f32(states, STATES, CASES[3].n_dims);
        expect_ok(thr_head_query(head, ROWS(states, 0, CASES[3].n_dims), 3, NULL,
                                 &(thr_head_answers){words[i], NULL, NULL}, &err));
        expect_ok(thr_head_query(head, &rows, 3, NULL, &(thr_head_answers){words[i], NULL, NULL}, &err));
        expect_ok(thr_head_query(head, &rows, 3, NULL, &(thr_head_answers){words[i], logits[i], NULL}, &err));
        thr_head_free(head);
        thr_context_free(contexts[i]);
    }
    assert_memory_equal(words[0], words[1], sizeof words[0]);
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
}

/* Certificates are the CPU's; auto is one of two screens there, too. */
RANDOM_TEST(certificates_are_the_same) {
    rng += 5;
    const head_case shape = {400, 40, THR_DTYPE_F32, true, false, 0, 0, 0, 6};
    thr_context *contexts[] = {make_context("cpu"), make_context("cuda")};
    head_drawn h = head_draw(&shape, &rng, false);
    float *states = test_new((size_t)STATES * shape.n_dims, sizeof *states);
    const thr_matrix rows = thr_matrix_f32(states, STATES, shape.n_dims);
    uint8_t certified[2][STATES];
    uint32_t words[3][STATES * 3];
    size_t n = 0;
    test_gaussian(&rng, states, (size_t)STATES * shape.n_dims);
    for (int i = 0; i < 2; i++) {
        thr_head *head = head_make(contexts[i], &h);
        thr_head_query_options o = DEFAULTS(thr_head_query_options);
        thr_head_screen used;
        o.screen = THR_HEAD_SCREEN_PLANES;
        o.n_shortlist = 60;
        o.certified = certified[i];
        expect_ok(thr_head_query(head, &rows, 3, &o, &(thr_head_answers){words[i], NULL, NULL}, &err));
        o.screen = THR_HEAD_SCREEN_AUTO;
        o.certified = NULL;
        o.used = &used;
        expect_ok(thr_head_query(head, &rows, 3, &o, &(thr_head_answers){words[2], NULL, NULL}, &err));
        o.screen = used;
        expect_ok(thr_head_query(head, &rows, 3, &o, &(thr_head_answers){words[i], NULL, NULL}, &err));
        assert_memory_equal(words[2], words[i], sizeof words[i]);
        thr_head_free(head);
        thr_context_free(contexts[i]);
    }
    assert_memory_equal(certified[0], certified[1], sizeof certified[0]);
    for (size_t i = 0; i < STATES; i++)
        n += certified[0][i];
    assert_true(n > 0);
}

/* A table so full that keys are in its stash: these are found, too. */
RANDOM_TEST(keys_in_the_stash_are_found) {
    rng += 2;
    thr_context *contexts[] = {make_context("cpu"), make_context("cuda")};
    head_drawn h = head_draw(&CASES[3], &rng, false);
    float *states = test_new((size_t)STATES * CASES[3].n_dims, sizeof *states);
    answer answers[2];
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = THR_HEAD_SCREEN_WTA;
    o.n_frequent = 0;
    o.threshold = 1;
    for (int i = 0; i < STATES; i++) /* rows of weights: so that there are hits */
        memcpy(states + (size_t)i * CASES[3].n_dims, h.weights + (size_t)i * 7 * CASES[3].n_dims,
               CASES[3].n_dims * sizeof *states);
    for (int i = 0; i < 2; i++) {
        thr_head *head = head_make(contexts[i], &h);
        thr_cuckoo *table = &head->view.contents.lsh.table;
        thr_cuckoo_slot *slots = head->memory.lsh.slots;
        for (uint32_t s = 0; s < table->n_slots && table->n_stash < THR_CUCKOO_STASH; s++)
            if (slots[s].n > 1) {
                slots[table->n_slots + table->n_stash++] = slots[s];
                slots[s].n = 0;
            }
        assert_int_equal(table->n_stash, THR_CUCKOO_STASH);
        answers[i] = ask(head, states, STATES, 4, &o);
        thr_head_free(head);
        thr_context_free(contexts[i]);
    }
    assert_true(is_same(&answers[0], &answers[1]));
}

RANDOM_TEST(memory_is_counted_and_kept) {
    rng += 3;
    const head_case *shape = &CASES[4];
    OWNED(thr_context, context) = make_context("cuda");
    head_drawn h = head_draw(shape, &rng, false);
    OWNED(thr_head, head) = head_make(context, &h);
    const thr_head_info info = thr_head_get_info(head);
    float *states = test_new((size_t)STATES * shape->n_dims, sizeof *states);
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    test_gaussian(&rng, states, (size_t)STATES * shape->n_dims);
    for (int screen = 0; screen < 4; screen++) {
        o.screen = (thr_head_screen)screen;
        answer a = ask(head, states, STATES, 5, &o);
        const thr_head_device_size size = thr_head_device_get_size(head->on_device.copy);
        const uint64_t n_permutations = (uint64_t)info.n_bands * info.n_hashes * info.n_places;
        assert_int_equal(size.head_bytes,
                         info.weight_bytes + info.hash_bytes + (2 * (uint64_t)info.n_words + n_permutations) * 4);
        assert_int_equal(size.code_bytes > 0, screen == THR_HEAD_SCREEN_PLANES);
        assert_int_equal(emulator.allocated(), size.head_bytes + size.code_bytes + size.workspace_bytes);
        answer again = ask(head, states, STATES, 5, &o);
        assert_int_equal(emulator.allocated(), size.head_bytes + size.code_bytes + size.workspace_bytes);
        assert_true(is_same(&a, &again));
    }
}

/* ------------------------------------------------------------------------------------------------ failures */

enum { FEW = 3 };
static const head_case GIVEN = {300, 24, THR_DTYPE_F16, true, true, 12, 2, 8, 3};

/* A head and states, the same for every context, and what the CPU answers. */
static struct {
    head_drawn drawn;
    float *states;
    answer right;
} given;

static thr_head_query_options given_options(void) {
    thr_head_query_options o = DEFAULTS(thr_head_query_options);
    o.screen = THR_HEAD_SCREEN_WTA;
    o.normaliser = THR_HEAD_NORMALISER_EXACT;
    o.n_frequent = 40;
    return o;
}

static answer ask_given(thr_head *head) {
    const thr_head_query_options o = given_options();
    return ask(head, given.states, FEW, 6, &o);
}

static int give(void **state) {
    (void)state;
    uint64_t rng = test_seed() + 4;
    thr_context *context = make_context("cpu");
    given.drawn = head_draw(&GIVEN, &rng, false);
    given.states = test_new((size_t)FEW * GIVEN.n_dims, sizeof *given.states);
    test_gaussian(&rng, given.states, (size_t)FEW * GIVEN.n_dims);
    thr_head *head = head_make(context, &given.drawn);
    given.right = ask_given(head);
    thr_head_free(head);
    thr_context_free(context);
    return 0;
}

static int forget(void **state) {
    (void)state;
    return emulator.allocated() + emulator.pinned() == 0 ? 0 : 1;
}

static void assert_right(thr_head *head) {
    answer a = ask_given(head);
    assert_true(is_same(&a, &given.right));
}

TEST(errors_are_those_of_the_cpu) {
    static const char *const devices[] = {"cpu", "cuda"};
    const uint32_t n_dims = GIVEN.n_dims, beyond = GIVEN.n_words;
    float *bad = test_new((size_t)FEW * n_dims, sizeof *bad);
    for (int i = 0; i < 2; i++) {
        OWNED(thr_context, context) = make_context(devices[i]);
        OWNED(thr_head, head) = head_make(context, &given.drawn);
        answer a = answer_make(FEW, 6);
        thr_head_query_options o = DEFAULTS(thr_head_query_options);
        /* What a damaged file may hold: before the first query, which copies it. */
        const uint16_t nan16 = 0x7e00;
        for (size_t d = 0; d < (size_t)GIVEN.n_words * n_dims; d++)
            if (d / n_dims % 3 != 0)
                memcpy((uint16_t *)head->memory.weights + d, &nan16, sizeof nan16);
        memcpy(bad, given.states, (size_t)FEW * n_dims * sizeof *bad);
        bad[2 * n_dims + 1] = NAN;
        expect_error(try_ask(head, bad, 6, &o, &a, &err), THR_ERANGE, "state 2 holds NaN or infinity");
        o.always = &beyond;
        o.n_always = 1;
        expect_error(try_ask(head, given.states, 6, &o, &a, &err), THR_EINVAL, "always-in word number 0 is 300");
        o.n_always = 0;
        a = answer_make(FEW, 110);
        expect_error(try_ask(head, given.states, 110, &o, &a, &err), THR_ERANGE,
                     "state 0 has logits that are NaN: verify the head's file");
    }
}

TEST(a_sampled_normaliser_is_the_cpus) {
    static const char *const devices[] = {"cpu", "auto", "cuda"};
    answer answers[3];
    for (int i = 0; i < 3; i++) {
        OWNED(thr_context, context) = make_context(devices[i]);
        OWNED(thr_head, head) = head_make(context, &given.drawn);
        thr_head_query_options o = given_options();
        o.normaliser = THR_HEAD_NORMALISER_SAMPLED;
        head->on_device.seconds = 1e9; /* a GPU is worth it */
        answers[i] = answer_make(FEW, 6);
        const thr_status status = try_ask(head, given.states, 6, &o, &answers[i], &err);
        if (i == 2)
            expect_error(status, THR_EUNSUPPORTED, "GPUs do not sample a normaliser");
        else
            expect_ok(status);
    }
    assert_true(is_same(&answers[0], &answers[1]));
}

TEST(auto_takes_a_gpu_once_queries_are_worth_it) {
    for (int worth = 0; worth < 2; worth++) {
        OWNED(thr_context, context) = make_context("auto");
        OWNED(thr_head, head) = head_make(context, &given.drawn);
        const uint64_t before = emulator.launches();
        context->gpus->wake_up = worth ? -1 : 10;
        assert_right(head);
        assert_int_equal(emulator.launches() > before, worth);
        assert_int_equal(strncmp(thr_context_device(context), "cuda:0", 6) == 0, worth);
    }
}

TEST(auto_adds_up_what_queries_have_taken) {
    OWNED(thr_context, context) = make_context("auto");
    OWNED(thr_head, head) = head_make(context, &given.drawn);
    const uint64_t before = emulator.launches();
    int n = 0;
    context->gpus->wake_up = 1e-4;
    for (; emulator.launches() == before && n < 1000; n++)
        assert_right(head);
    assert_true(n > 1 && n < 1000);
}

/* Every allocation, copy and launch in turn, until none is left to fail. */
TEST(every_failure_is_reported_or_recovered) {
    static const char *const kinds[] = {"alloc", "copy", "launch"};
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++)
        for (int required = 0; required < 2; required++) {
            bool failed = true;
            int i = 1;
            for (; failed; i++) {
                thr_context *context = make_context(required ? "cuda" : "auto");
                thr_head *head = head_make(context, &given.drawn);
                answer a = answer_make(FEW, 6);
                const thr_head_query_options o = given_options();
                char failure[32];
                context->gpus->wake_up = -1;
                (void)snprintf(failure, sizeof failure, "%s %d", kinds[kind], i);
                emulator.let_fail(failure);
                const thr_status status = try_ask(head, given.states, 6, &o, &a, &err);
                emulator.let_fail("none");
                failed = required ? status != THR_OK : strncmp(thr_context_device(context), "cpu; ", 5) == 0;
                if (required && failed)
                    expect_error(status, kind == 0 ? THR_ENOMEM : THR_EDEVICE, "cuda:0: ");
                else
                    assert_case(status == THR_OK && is_same(&a, &given.right), "%s: %s", failure, err.text);
                assert_right(head); /* a real device would still be lost */
                thr_head_free(head);
                thr_context_free(context);
                assert_case(emulator.allocated() + emulator.pinned() == 0, "%s: %zu bytes are left", failure,
                            emulator.allocated() + emulator.pinned());
            }
            /* As many as there are: sections and rooms, copies, operations. */
            assert_case(i > (kind == 0 ? 15 : 6), "%s: %d", kinds[kind], i);
        }
}

TEST(a_missing_gpu_is_an_error_where_one_is_required) {
    OWNED(thr_context, context) = make_context("auto");
    OWNED(thr_head, head) = head_make(context, &given.drawn);
    context->gpus->wake_up = -1;
    emulator.let_fail("no device");
    assert_right(head);
    emulator.let_fail("none");
    assert_int_equal(strncmp(thr_context_device(context), "cpu; ", 5), 0);
    const uint64_t before = emulator.launches();
    assert_right(head); /* and it stays there */
    assert_int_equal(emulator.launches(), before);
}

typedef struct asker {
    thr_head *head;
    bool same;
} asker;

static void *ask_thread(void *arg) {
    asker *a = arg;
    a->same = true;
    for (int i = 0; i < 3; i++) {
        answer got = ask_given(a->head);
        a->same = a->same && is_same(&got, &given.right);
    }
    return NULL;
}

TEST(queries_from_several_threads_take_turns) {
    enum { THREADS = 3 };
    OWNED(thr_context, context) = make_context("cuda");
    OWNED(thr_head, head) = head_make(context, &given.drawn);
    asker askers[THREADS];
    for (int i = 0; i < THREADS; i++)
        askers[i] = (asker){head, false};
    test_at_once(THREADS, ask_thread, askers, sizeof *askers);
    for (int i = 0; i < THREADS; i++)
        assert_true(askers[i].same);
}

TEST_NEEDS(test_emulator_take(&emulator, 2))
TEST_GROUP(give, forget)
