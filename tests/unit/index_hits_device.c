/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_hits_device.c - vectors and features in one pass on a GPU give the CPU's answers, to the bit, whatever the
 * codes and the values; and where a GPU cannot, the CPU answers or the failure is returned. The GPUs are emulated
 * (tests/simt).
 */
#include "emulator.h"
#include "index_hits_support.h"

#include "device/gpus.h"
#include "index/impl.h"

static test_emulator emulator;
static const char PLACE[] = "index-hits-device";

enum {
    K = 20,
#ifdef THR_SANITIZED
    MOST_ROWS = 9000,
    FAILURES_STEP = 4, /* every fourth call to the GPU fails in its turn */
#else
    MOST_ROWS = 20000,
    FAILURES_STEP = 1,
#endif
};

/* The same index on the CPU and on GPUs. */
typedef struct pair {
    catalogue items;
    float *rows, *queries;
    uint32_t n_dims;
    thr_context *contexts[2];
    thr_index *indexes[2]; /* the CPU's first */
    asked a;
} pair;

static thr_context *context_on(const char *device, test_memory *memory) {
    thr_context_options options = {0};
    thr_context *context = NULL;
    options.n_threads = 2;
    options.device = device;
    if (memory != NULL)
        options.allocator = test_memory_allocator(memory);
    expect_ok(thr_context_create(&options, &context, &err));
    return context;
}

static void open_on(pair *p, int which, const char *device, test_memory *memory) {
    p->contexts[which] = context_on(device, memory);
    expect_ok(thr_index_open(p->contexts[which], PLACE, &p->indexes[which], &err));
}

static void close_one(pair *p, int which) {
    thr_index_free(p->indexes[which]);
    thr_context_free(p->contexts[which]);
}

static void set_up_on(pair *p, const char *device, uint64_t n, uint32_t n_dims, thr_index_build_options options) {
    *p = (pair){.items = draw_items(n, n),
                .n_dims = n_dims,
                .rows = random_rows(n, n_dims, 3),
                .queries = random_rows(N_QUERIES, n_dims, 4)};
    memset(p->queries, 0, n_dims * sizeof *p->queries); /* of the first nothing is known, neither vector nor features */
    ask(&p->a, n_dims);
    options.features = &p->items.items;
    options.calibration_queries = THR_NO_CALIBRATION;
    test_remove_directory(PLACE);
    thr_context *builder = test_context(1, THR_ISA_BEST, NULL);
    expect_ok(build_rows(builder, PLACE, p->rows, n, n_dims, &options, &err));
    thr_context_free(builder);
    open_on(p, 0, "cpu", NULL);
    open_on(p, 1, device, NULL);
}

static void tear_down(pair *p) {
    close_one(p, 0);
    close_one(p, 1);
    test_remove_directory(PLACE);
    assert_int_equal(emulator.allocated(), 0);
    assert_int_equal(emulator.pinned(), 0);
}

/* More items than are returned, so that every step leaves some out. */
static thr_search_options screened(void) {
    thr_search_options options = {.n_survivors = 90, .n_candidates = 50};
    return options;
}

typedef struct answer {
    uint64_t ids[N_QUERIES * K];
    float values[N_QUERIES * K];
    uint32_t n_unknown[N_QUERIES];
} answer;

static thr_status search(const pair *p, int which, thr_search_options options, answer *out) {
    const thr_matrix queries = thr_matrix_f32(p->queries, N_QUERIES, p->n_dims);
    memset(out, 0, sizeof *out);
    options.features = &p->a.queries;
    options.n_unknown = out->n_unknown;
    return thr_index_search(p->indexes[which], &queries, K, &options, out->ids, out->values, &err);
}

static void expect_same(const answer *a, const answer *b) {
    assert_memory_equal(a->ids, b->ids, sizeof a->ids);
    assert_memory_equal(a->values, b->values, sizeof a->values);
    assert_memory_equal(a->n_unknown, b->n_unknown, sizeof a->n_unknown);
}

/* Both sides answer alike, and the other one's GPU has worked. */
static void check(const pair *p, thr_search_options options) {
    answer wanted, got;
    expect_ok(search(p, 0, options, &wanted));
    const uint64_t before = emulator.launches();
    expect_ok(search(p, 1, options, &got));
    assert_true(emulator.launches() > before);
    expect_same(&got, &wanted);
}

static void check_all_values(pair *p, uint64_t seed) {
    const uint64_t n = p->items.items.n_items;
    float *multipliers = random_rows(1, (uint32_t)n, seed), *offsets = random_rows(1, (uint32_t)n, seed + 1);
    uint64_t *half = draw_filter(n, 2, seed);
    for (int form = 0; form < 4; form++) {
        thr_search_options options = screened();
        options.value = form == 2 ? THR_HITS_VALUE_SIGMOID : THR_HITS_VALUE_SUM;
        options.filter = form == 3 ? half : NULL;
        options.filter_bits = n;
        for (int i = 0; i < 2; i++)
            expect_ok(thr_hits_set_values(thr_index_hits(p->indexes[i]), form == 0 ? NULL : multipliers,
                                          form < 2 ? NULL : offsets, n, &err));
        check(p, options);
    }
}

TEST(a_gpu_answers_as_the_cpu) {
    static const thr_metric metrics[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
    static const thr_dtype keeps[] = {THR_DTYPE_F32, THR_DTYPE_NONE};
    for (uint32_t i = 0; i < 12; i++) {
        const uint64_t n = i == 3 ? MOST_ROWS : i == 4 ? 1 : 700;
        const bool nested = i / 6 == 0;
        pair p;
        thr_index_build_options options = build_options(metrics[i % 3], keeps[i / 3 % 2], nested ? 3 : 1 + i % 2);
        options.lead_bits = nested ? 1 : options.item_bits;
        options.segment_rows = i % 2 == 0 ? 128 : 0;
        set_up_on(&p, "cuda", n, i == 3 ? 3 : 41, options);
        check_all_values(&p, i);
        tear_down(&p);
    }
}

/* So many tiles that thresholds come from a sample of them. */
TEST(a_large_index_is_sampled_first) {
    const uint64_t n = 64 * (uint64_t)THR_HIT_TILE + 100;
    pair p;
    set_up_on(&p, "cuda", n, 2, build_options(THR_METRIC_IP, THR_DTYPE_NONE, 1));
    check(&p, screened());
    tear_down(&p);
}

TEST(the_first_of_several_gpus_is_used) {
    pair p;
    const thr_search_options options = screened();
    set_up_on(&p, "cuda:1,0", 700, 9, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    const thr_matrix queries = thr_matrix_f32(p.queries, N_QUERIES, p.n_dims);
    uint64_t ids[2][N_QUERIES * K];
    for (int i = 0; i < 2; i++) /* vectors alone go to both */
        expect_ok(thr_index_search(p.indexes[i], &queries, K, NULL, ids[i], NULL, &err));
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
    check(&p, options);
    check(&p, options);
    tear_down(&p);
}

TEST(a_target_alone_and_one_with_features_are_obeyed) {
    pair p;
    set_up_on(&p, "cuda", 700, 9, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    answer answers[2];
    for (int i = 0; i < 2; i++) {
        thr_search_options options = screened();
        OWNED(thr_hits_target, target) = NULL;
        expect_ok(thr_hits_target_create(thr_index_hits(p.indexes[i]), "2 AND NOT 4", &target, &err));
        options.target = target;
        expect_ok(search(&p, i, options, &answers[i]));
    }
    expect_same(&answers[1], &answers[0]);
    tear_down(&p);
}

/* Multipliers that make the worst rows' values infinite: the CPU leaves these out, and so must who has a GPU. */
TEST(values_that_are_not_finite_are_left_to_the_cpu) {
    pair p;
    answer wanted, got;
    thr_search_options options = screened();
    options.n_survivors = options.n_candidates = 700;
    set_up_on(&p, "cuda", 700, 9, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    float *offsets = test_new(700, sizeof *offsets), *multipliers = test_new(700, sizeof *multipliers);
    for (uint64_t i = 0; i < 700; i++)
        multipliers[i] = i % 7 == 0 ? -3e38f : 1;
    for (int i = 0; i < 2; i++)
        expect_ok(thr_hits_set_values(thr_index_hits(p.indexes[i]), multipliers, NULL, 700, &err));
    const thr_status status = search(&p, 0, options, &wanted);
    assert_int_equal(search(&p, 1, options, &got), status);
    if (status == THR_OK)
        expect_same(&got, &wanted);
    for (uint64_t i = 0; i < 700; i++)
        multipliers[i] = 3e38f;
    for (int i = 0; i < 2; i++) {
        expect_ok(thr_hits_set_values(thr_index_hits(p.indexes[i]), multipliers, NULL, 700, &err));
        expect_error(search(&p, i, options, &got), THR_ERANGE, NULL);
        expect_ok(thr_hits_set_values(thr_index_hits(p.indexes[i]), NULL, offsets, 700, &err));
    }
    check(&p, options);
    tear_down(&p);
}

/* One search while the GPU fails so; whether it did. */
static bool fails(pair *p, const char *what, bool is_auto, const answer *wanted) {
    answer got;
    emulator.let_fail(what);
    const thr_status status = search(p, 1, screened(), &got);
    emulator.let_fail("none");
    assert_true(status == THR_OK || (!is_auto && (status == THR_ENOMEM || status == THR_EDEVICE)));
    if (status != THR_OK)
        expect_ok(search(p, 1, screened(), &got));
    expect_same(&got, wanted);
    return is_auto ? strstr(thr_context_device(p->contexts[1]), "; ") != NULL : status != THR_OK;
}

/* "cuda" returns a failure, with "auto" the CPU answers; a search after it is right either way. */
TEST(every_failure_of_a_gpu_is_reported_or_recovered) {
    static const char *const steps[] = {"alloc", "copy", "launch"};
    pair p;
    answer wanted;
    set_up_on(&p, "cuda", 300, 9, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    expect_ok(search(&p, 0, screened(), &wanted));
    for (int i = 0; i < 6; i++) {
        const bool is_auto = i >= 3;
        bool failed = true;
        for (int at = 1; failed; at += FAILURES_STEP) {
            char what[32];
            (void)snprintf(what, sizeof what, "%s %d", steps[i % 3], at);
            close_one(&p, 1);
            open_on(&p, 1, is_auto ? "auto" : "cuda", NULL);
            p.contexts[1]->gpus->wake_up = -1;
            failed = fails(&p, what, is_auto, &wanted);
            assert_true(at < 200 && (failed || at > 3));
        }
    }
    tear_down(&p);
}

/* Codes by themselves and lists by themselves go on where both together have failed. */
TEST(codes_and_lists_keep_their_gpu_where_both_together_fail) {
    pair p;
    answer wanted;
    uint64_t ids[N_QUERIES * K];
    set_up_on(&p, "auto", 300, 9, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    p.contexts[1]->gpus->wake_up = -1;
    const thr_matrix queries = thr_matrix_f32(p.queries, N_QUERIES, p.n_dims);
    expect_ok(search(&p, 0, screened(), &wanted));
    const uint64_t none = emulator.launches();
    assert_true(fails(&p, "launch 5", true, &wanted));
    const uint64_t failed = emulator.launches();
    assert_true(failed > none);
    assert_true(fails(&p, "none", true, &wanted)); /* it stays with the CPU */
    assert_int_equal(emulator.launches(), failed);
    const thr_search_options options = screened();
    expect_ok(thr_index_search(p.indexes[1], &queries, K, &options, ids, NULL, &err));
    const uint64_t codes = emulator.launches();
    assert_true(codes > failed);
    expect_ok(thr_hits_search(thr_index_hits(p.indexes[1]), &p.a.queries, K, NULL, ids, NULL, &err));
    assert_true(emulator.launches() > codes);
    tear_down(&p);
}

/* Codes are relative to the cells' centroids, which GPUs know only where cells are skipped (docs/gpu.md). */
TEST(codes_of_cells_are_left_to_the_cpu) {
    for (int metric = 0; metric < 3; metric++) {
        pair p;
        answer wanted, got;
        thr_index_build_options options = build_options((thr_metric)metric, THR_DTYPE_F32, 3);
        options.cells = 20;
        options.lead_bits = metric == 0 ? 1 : 3;
        set_up_on(&p, "cuda", 3000, 9, options);
        assert_non_null(p.indexes[1]->corpus.origins);
        expect_ok(search(&p, 0, screened(), &wanted));
        const uint64_t before = emulator.launches();
        expect_ok(search(&p, 1, screened(), &got));
        assert_int_equal(emulator.launches(), before);
        expect_same(&got, &wanted);
        tear_down(&p);
    }
}

TEST(a_second_search_allocates_nothing) {
    test_memory memory = {0};
    pair p;
    answer first, again;
    const thr_search_options options = screened();
    set_up_on(&p, "cuda", 700, 9, build_options(THR_METRIC_IP, THR_DTYPE_F32, 3));
    close_one(&p, 1);
    open_on(&p, 1, "cuda", &memory);
    expect_ok(search(&p, 1, options, &first));
    const size_t calls = atomic_load(&memory.calls), on_device = emulator.allocated(), pinned = emulator.pinned();
    for (int i = 0; i < 5; i++) {
        expect_ok(search(&p, 1, options, &again));
        expect_same(&again, &first);
    }
    assert_int_equal(atomic_load(&memory.calls), calls);
    assert_int_equal(emulator.allocated(), on_device);
    assert_int_equal(emulator.pinned(), pinned);
    tear_down(&p);
}

TEST_NEEDS(test_emulator_take(&emulator, 2))
