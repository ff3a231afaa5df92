/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_device.c - searches of posting lists in contexts that use GPUs: the same answers, and messages and fallbacks
 * where there are none, or they fail. The GPUs are emulated (tests/simt).
 */
#include "emulator.h"
#include "hits_support.h"

#include "device/gpus.h"

static test_emulator emulator;
static const char PATH[] = "unit-hits-device.hits";
enum { N = 20000, KINDS = 16, QUERIES = 4, K = 30 };

static hits_catalogue catalogue;
static float multipliers[N], offsets[N];
static uint64_t item_ids[N], filter[(N + 63) / 64];
static const uint64_t begins[QUERIES + 1] = {0, 6, 6, 9, 12};
static const uint32_t features[] = {0, 3, 6, 12, 24, 15, 9, 7, 33, 42, 21, 18};
static const float weights[] = {1, 2.5f, -0.25f, 3, 0.125f, 1, 4, 100, -2, 1, 0.5f, 0.25f};
static const thr_hits_queries queries = {QUERIES, begins, features, weights};

static thr_context *make_context(const char *device) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 2;
    options.device = device;
    expect_ok(thr_context_create(&options, &context, &err));
    return context;
}

static int build(void **state) {
    (void)state;
    OWNED(thr_context, context) = make_context(NULL);
    thr_hits_build_options options = {0};
    uint64_t rng = test_seed();
    catalogue = hits_draw(N, KINDS, &rng);
    for (uint64_t i = 0; i < N; i++) {
        item_ids[i] = i * 2654435761 % 1000003 + 5;
        multipliers[i] = (float)thr_rng_below(&rng, 4);
        offsets[i] = (float)thr_rng_below(&rng, 2);
        filter[i / 64] |= (uint64_t)(thr_rng_below(&rng, 3) == 0) << i % 64;
    }
    options.replace = true;
    options.ids = item_ids;
    options.n_ids = N;
    expect_ok(thr_hits_build(context, PATH, &catalogue.items, &options, &err));
    return 0;
}

static int forget(void **state) {
    (void)state;
    (void)unlink(PATH);
    return emulator.allocated() + emulator.pinned() == 0 ? 0 : 1;
}

static thr_hits *open_hits(thr_context *context) {
    return test_hits_open(context, PATH);
}

typedef struct answer {
    uint64_t ids[QUERIES * K];
    float values[QUERIES * K];
    uint32_t n_unknown[QUERIES];
} answer;

static thr_status search(thr_hits *hits, const thr_hits_target *target, bool filtered, answer *out, thr_error *error) {
    thr_hits_search_options options = {
        .target = target, .filter = filtered ? filter : NULL, .filter_bits = N, .n_unknown = out->n_unknown};
    return thr_hits_search(hits, &queries, K, &options, out->ids, out->values, error);
}

static answer found(thr_hits *hits, const thr_hits_target *target, bool filtered) {
    answer out = {.ids = {0}};
    expect_ok(search(hits, target, filtered, &out, &err));
    return out;
}

/* What the CPU answers, without values or a filter. */
static answer on_cpu(void) {
    OWNED(thr_context, context) = make_context("cpu");
    OWNED(thr_hits, hits) = open_hits(context);
    const answer out = found(hits, NULL, false);
    return out;
}

static void assert_same(const answer *a, const answer *b) {
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
    assert_memory_equal(a->values, b->values, sizeof a->values);
    assert_memory_equal(a->n_unknown, b->n_unknown, sizeof a->n_unknown);
}

TEST(a_gpu_answers_as_the_cpu) {
    thr_context *contexts[] = {make_context("cpu"), make_context("cuda"), make_context("cuda:1")};
    thr_hits *hits[3];
    thr_hits_target *targets[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        hits[i] = open_hits(contexts[i]);
        expect_ok(thr_hits_target_create(hits[i], "0 AND NOT (3 OR 15)", &targets[i], &err));
    }
    for (int kind = 0; kind < 8; kind++) {
        answer answers[3];
        for (int i = 0; i < 3; i++) {
            const uint64_t before = emulator.launches();
            /* Values change from search to search, and are taken away again by ones and zeros. */
            if (kind > 0)
                expect_ok(thr_hits_set_values(hits[i], (kind & 1) != 0 ? multipliers : NULL,
                                              kind % 3 == 0 ? offsets : NULL, N, &err));
            answers[i] = found(hits[i], (kind & 2) != 0 ? targets[i] : NULL, (kind & 4) != 0);
            assert_int_equal(emulator.launches() > before, i > 0);
        }
        assert_same(&answers[1], &answers[0]);
        assert_same(&answers[2], &answers[0]);
    }
    for (int i = 0; i < 3; i++) {
        thr_hits_target_free(targets[i]);
        thr_hits_free(hits[i]);
        thr_context_free(contexts[i]);
    }
    assert_int_equal(emulator.allocated(), 0);
}

TEST(errors_are_those_of_the_cpu) {
    static const char *const devices[] = {"cpu", "cuda"};
    for (int i = 0; i < 2; i++) {
        OWNED(thr_context, context) = make_context(devices[i]);
        OWNED(thr_hits, hits) = open_hits(context);
        float bad[COUNT_OF(weights)];
        uint64_t ids[QUERIES];
        const thr_hits_queries wrong = {QUERIES, begins, features, bad};
        memcpy(bad, weights, sizeof bad);
        bad[7] = NAN;
        expect_error(thr_hits_search(hits, &wrong, 1, NULL, ids, NULL, &err), THR_ERANGE,
                     "query 2: feature 7 of a query weighs nan");
        bad[7] = 1;
        bad[10] = 2e38f;
        multipliers[4321] = 3e38f;
        expect_ok(thr_hits_set_values(hits, multipliers, NULL, N, &err));
        multipliers[4321] = 1;
        expect_error(thr_hits_search(hits, &wrong, 1, NULL, ids, NULL, &err), THR_ERANGE, "is not finite");
        expect_error(thr_hits_search(hits, &wrong, 0, NULL, ids, NULL, &err), THR_EINVAL, "k is 0");
    }
}

TEST(auto_takes_a_gpu_once_searches_are_worth_it) {
    const answer wanted = on_cpu();
    for (int worth = 0; worth < 2; worth++) {
        OWNED(thr_context, context) = make_context("auto");
        OWNED(thr_hits, hits) = open_hits(context);
        const uint64_t before = emulator.launches();
        context->gpus->wake_up = worth ? -1 : 10;
        const answer got = found(hits, NULL, false);
        assert_int_equal(emulator.launches() > before, worth);
        assert_int_equal(strncmp(thr_context_device(context), "cuda:0", 6) == 0, worth);
        assert_same(&got, &wanted);
    }
}

/* Each of them is worth nothing, all together are. */
TEST(auto_adds_up_what_searches_have_taken) {
    const answer wanted = on_cpu();
    OWNED(thr_context, context) = make_context("auto");
    OWNED(thr_hits, hits) = open_hits(context);
    const uint64_t before = emulator.launches();
    int n = 0;
    context->gpus->wake_up = 1e-4;
    for (; emulator.launches() == before && n < 1000; n++) {
        const answer got = found(hits, NULL, false);
        assert_same(&got, &wanted);
    }
    assert_true(n > 1 && n < 1000);
}

TEST(auto_falls_back_to_the_cpu_once_and_reports_why) {
    static const char *const failures[] = {"no device", "driver missing", "alloc 2",  "alloc 12",
                                           "copy 3",    "copy 14",        "launch 1", "launch 2"};
    const answer wanted = on_cpu();
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        thr_context *context = make_context("auto");
        thr_hits *hits = open_hits(context);
        context->gpus->wake_up = -1;
        emulator.let_fail(failures[i]);
        answer got = found(hits, NULL, false);
        emulator.let_fail("none");
        assert_same(&got, &wanted);
        if (strncmp(thr_context_device(context), "cpu; ", 5) != 0)
            fail_msg("%s: %s", failures[i], thr_context_device(context));
        const uint64_t before = emulator.launches();
        got = found(hits, NULL, false); /* and it stays there */
        assert_int_equal(emulator.launches(), before);
        assert_same(&got, &wanted);
        thr_hits_free(hits);
        thr_context_free(context);
        assert_int_equal(emulator.allocated(), 0);
    }
}

TEST(cuda_fails_where_the_gpu_does) {
    static const struct {
        const char *failure;
        thr_status status;
    } cases[] = {{"alloc 2", THR_ENOMEM}, {"alloc 12", THR_ENOMEM}, {"copy 2", THR_EDEVICE}, {"launch 2", THR_EDEVICE}};
    const answer wanted = on_cpu();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        thr_context *context = make_context("cuda");
        thr_hits *hits = open_hits(context);
        answer got;
        emulator.let_fail(cases[i].failure);
        expect_error(search(hits, NULL, false, &got, &err), cases[i].status, "cuda:0: ");
        emulator.let_fail("none");
        got = found(hits, NULL, false); /* a real device would still be lost */
        assert_same(&got, &wanted);
        thr_hits_free(hits);
        thr_context_free(context);
        assert_int_equal(emulator.allocated(), 0);
    }
}

typedef struct caller {
    thr_hits *hits;
    const answer *wanted;
    bool same;
} caller;

static void *call(void *arg) {
    caller *c = arg;
    c->same = true;
    for (int i = 0; i < 5; i++) {
        answer got;
        c->same = c->same && search(c->hits, NULL, false, &got, &err) == THR_OK &&
                  memcmp(got.ids, c->wanted->ids, sizeof got.ids) == 0;
        for (int j = 0; j < QUERIES * K; j++)
            c->same = c->same && got.values[j] == c->wanted->values[j];
    }
    return NULL;
}

TEST(searches_from_several_threads_take_turns) {
    enum { THREADS = 4 };
    const answer wanted = on_cpu();
    OWNED(thr_context, context) = make_context("cuda");
    OWNED(thr_hits, hits) = open_hits(context);
    caller callers[THREADS];
    for (int i = 0; i < THREADS; i++)
        callers[i] = (caller){hits, &wanted, false};
    test_at_once(THREADS, call, callers, sizeof *callers);
    for (int i = 0; i < THREADS; i++)
        assert_true(callers[i].same);
}

TEST_NEEDS(test_emulator_take(&emulator, 2))
TEST_GROUP(build, forget)
