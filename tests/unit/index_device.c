/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_device.c - searches of an index in contexts that use GPUs: the same answers, and messages and fallbacks where
 * there are none, or they fail. The GPUs are emulated (tests/simt).
 */
#include "emulator.h"
#include "index_support.h"

#include "device/gpus.h"

static test_emulator emulator;
static const char PLACE[] = "index-device";

enum { N = 5000, DIMS = 40, QUERIES = 7, K = 10 };

static float rows[N * DIMS];

static int build(void **state) {
    (void)state;
    uint64_t rng = 5;
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    thr_index_build_options options = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        rows[i] = (float)thr_rng_below(&rng, 2001) / 1000 - 1 + (float)(i / DIMS % 10 == i % DIMS);
    const thr_matrix matrix = thr_matrix_f32(rows, N, DIMS);
    options.segment_rows = 1984;
    options.lead_bits = 1;
    options.replace = true;
    expect_ok(build_matrix(context, PLACE, &matrix, &options, &err));
    return 0;
}

static int forget(void **state) {
    (void)state;
    test_remove_directory(PLACE);
    return 0;
}

static thr_status try_context(const char *device, thr_context **context) {
    thr_context_options options = {.n_threads = 2, .device = device};
    return thr_context_create(&options, context, &err);
}

typedef struct answer {
    uint64_t ids[QUERIES * K];
    float scores[QUERIES * K];
} answer;

static thr_status search(thr_index *index, answer *out) {
    const thr_matrix queries = thr_matrix_f32(rows + 11 * DIMS, QUERIES, DIMS);
    return thr_index_search(index, &queries, K, NULL, out->ids, out->scores, &err);
}

/* What the CPU answers. */
static answer on_cpu(void) {
    OWNED(thr_context, context) = NULL;
    answer out;
    expect_ok(try_context("cpu", &context));
    assert_string_equal(thr_context_device(context), "cpu");
    OWNED(thr_index, index) = test_index_open(context, PLACE);
    expect_ok(search(index, &out));
    return out;
}

static void expect_same(const answer *a, const answer *b) {
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
    assert_memory_equal(a->scores, b->scores, sizeof a->scores);
}

TEST(one_gpu_or_several_answer_as_the_cpu) {
    static const char *const devices[] = {"cuda", "cuda:1", "cuda:1,0"};
    const answer wanted = on_cpu();
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        thr_context *context = NULL;
        answer got;
        expect_ok(try_context(devices[i], &context));
        assert_non_null(strstr(thr_context_device(context), i == 0 ? "cuda:0 (SIMT" : "cuda:1 (SIMT"));
        thr_index *index = test_index_open(context, PLACE);
        const uint64_t before = emulator.launches();
        expect_ok(search(index, &got));
        assert_true(emulator.launches() > before);
        expect_same(&got, &wanted);
        thr_index_free(index);
        thr_context_free(context);
        assert_int_equal(emulator.allocated(), 0);
    }
}

TEST(devices_are_counted_and_described) {
    thr_device_info info;
    uint32_t n = 0;
    expect_ok(thr_device_count(&n, &err));
    assert_int_equal(n, 2);
    expect_ok(thr_device_describe(1, &info, &err));
    assert_int_equal(info.number, 1);
    assert_true(info.major >= 8 && info.n_multiprocessors > 0 && info.free_bytes <= info.memory_bytes);
    expect_error(thr_device_describe(2, &info, &err), THR_EINVAL, "2 GPUs");
}

TEST(a_gpu_that_is_not_there_is_refused_with_the_reason) {
    thr_context *context = NULL;
    expect_error(try_context("cuda:7", &context), THR_EINVAL, "cuda:7");
    expect_error(try_context("gpu", &context), THR_EINVAL, NULL);
    emulator.let_fail("no device");
    expect_error(try_context("cuda", &context), THR_EDEVICE, "lists none");
    emulator.let_fail("driver missing");
    expect_error(try_context("cuda", &context), THR_EDEVICE, "driver");
    emulator.let_fail("none");
    assert_null(context);
}

/* Opens an index in a context of "auto" that finds every search worth a GPU. */
static thr_index *open_auto(thr_context **context) {
    expect_ok(try_context("auto", context));
    (*context)->gpus->wake_up = -1;
    return test_index_open(*context, PLACE);
}

TEST(auto_takes_gpus_for_searches_that_are_worth_it) {
    const answer wanted = on_cpu();
    for (int worth = 0; worth <= 1; worth++) {
        OWNED(thr_context, context) = NULL;
        OWNED(thr_index, index) = open_auto(&context);
        answer got;
        context->gpus->wake_up = worth ? -1 : 10;
        const uint64_t before = emulator.launches();
        expect_ok(search(index, &got));
        assert_int_equal(emulator.launches() > before, worth);
        assert_int_equal(strncmp(thr_context_device(context), "cuda:0", 6) == 0, worth);
        expect_same(&got, &wanted);
    }
}

/* Each of them is worth nothing, all together are. */
TEST(auto_adds_up_what_searches_have_taken) {
    const answer wanted = on_cpu();
    OWNED(thr_context, context) = NULL;
    OWNED(thr_index, index) = open_auto(&context);
    answer got;
    int n = 0;
    context->gpus->wake_up = 1e-4;
    const uint64_t before = emulator.launches();
    for (; emulator.launches() == before && n < 1000; n++) {
        expect_ok(search(index, &got));
        expect_same(&got, &wanted);
    }
    assert_true(n > 1 && n < 1000);
}

TEST(an_index_that_fails_leaves_others_their_gpu) {
    const answer wanted = on_cpu();
    OWNED(thr_context, context) = NULL;
    thr_index *failing = open_auto(&context), *index = NULL;
    answer got;
    expect_ok(thr_index_open(context, PLACE, &index, &err));
    emulator.let_fail("alloc 2");
    expect_ok(search(failing, &got));
    emulator.let_fail("none");
    expect_same(&got, &wanted);
    assert_int_equal(strncmp(thr_context_device(context), "cpu; index-device: cuda:0: ", 27), 0);
    for (int i = 0; i < 2; i++) {
        const uint64_t before = emulator.launches();
        expect_ok(search(index, &got));
        assert_true(emulator.launches() > before);
        expect_same(&got, &wanted);
    }
    assert_int_equal(strncmp(thr_context_device(context), "cuda:0 (", 8), 0);
    assert_non_null(strstr(thr_context_device(context), "; index-device: cuda:0: "));
    const uint64_t before = emulator.launches();
    expect_ok(search(failing, &got));
    assert_int_equal(emulator.launches(), before);
    thr_index_free(failing);
    thr_index_free(index);
}

TEST(auto_falls_back_to_the_cpu_once_and_reports_why) {
    static const char *const failures[] = {"no device", "driver missing", "alloc 2", "alloc 20",
                                           "copy 3",    "launch 2",       "launch 8"};
    const answer wanted = on_cpu();
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        thr_context *context = NULL;
        thr_index *index = open_auto(&context);
        answer got;
        emulator.let_fail(failures[i]);
        expect_ok(search(index, &got));
        emulator.let_fail("none");
        expect_same(&got, &wanted);
        if (strncmp(thr_context_device(context), "cpu; ", 5) != 0)
            fail_msg("%s: %s", failures[i], thr_context_device(context));
        const uint64_t before = emulator.launches();
        expect_ok(search(index, &got)); /* and it stays there */
        assert_int_equal(emulator.launches(), before);
        expect_same(&got, &wanted);
        thr_index_free(index);
        thr_context_free(context);
        assert_int_equal(emulator.allocated(), 0);
    }
}

TEST(cuda_fails_where_the_gpu_does_and_goes_on_where_it_can) {
    static const struct {
        const char *failure;
        thr_status status; /* where a search lacks memory, codes make room for it */
    } cases[] = {{"alloc 2", THR_ENOMEM}, {"alloc 21", THR_OK}, {"copy 2", THR_EDEVICE}, {"launch 7", THR_EDEVICE}};
    const answer wanted = on_cpu();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        thr_context *context = NULL;
        answer got;
        expect_ok(try_context("cuda", &context));
        thr_index *index = test_index_open(context, PLACE);
        emulator.let_fail(cases[i].failure);
        expect_error(search(index, &got), cases[i].status, NULL);
        emulator.let_fail("none");
        expect_ok(search(index, &got)); /* a real device would still be lost */
        expect_same(&got, &wanted);
        thr_index_free(index);
        thr_context_free(context);
        assert_int_equal(emulator.allocated(), 0);
    }
}

typedef struct caller {
    thr_index *index;
    const answer *wanted;
    bool same;
} caller;

static void *call(void *arg) {
    caller *c = arg;
    c->same = true;
    for (int i = 0; i < 5; i++) {
        answer got;
        const thr_matrix queries = thr_matrix_f32(rows + 11 * DIMS, QUERIES, DIMS);
        c->same = c->same && thr_index_search(c->index, &queries, K, NULL, got.ids, got.scores, &err) == THR_OK &&
                  memcmp(&got, c->wanted, sizeof got) == 0;
    }
    return NULL;
}

TEST(searches_from_several_threads_take_turns) {
    enum { THREADS = 4 };
    const answer wanted = on_cpu();
    OWNED(thr_context, context) = NULL;
    caller callers[THREADS];
    expect_ok(try_context("cuda", &context));
    OWNED(thr_index, index) = test_index_open(context, PLACE);
    for (int i = 0; i < THREADS; i++)
        callers[i] = (caller){index, &wanted, false};
    test_at_once(THREADS, call, callers, sizeof *callers);
    for (int i = 0; i < THREADS; i++)
        assert_true(callers[i].same);
}

TEST(nothing_is_allocated_after_a_first_search_of_the_same_shape) {
    test_memory c = {0};
    thr_context_options options = {0};
    thr_context *context = NULL;
    answer got;
    options.device = "cuda:0";
    options.allocator = test_memory_allocator(&c);
    expect_ok(thr_context_create(&options, &context, &err));
    thr_index *index = test_index_open(context, PLACE);
    expect_ok(search(index, &got));
    const size_t calls = atomic_load(&c.calls), device = emulator.allocated(), pinned = emulator.pinned();
    for (int i = 0; i < 3; i++)
        expect_ok(search(index, &got));
    assert_int_equal(atomic_load(&c.calls), calls);
    assert_int_equal(emulator.allocated(), device);
    assert_int_equal(emulator.pinned(), pinned);
    thr_index_free(index);
    thr_context_free(context);
    assert_int_equal(atomic_load(&c.live), 0);
}

TEST_NEEDS(test_emulator_take(&emulator, 2))
TEST_GROUP(build, forget)
