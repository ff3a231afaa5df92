/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_cells_device.c - searches that skip cells, in contexts that use GPUs: the same ids, scores and numbers of rows
 * read as on the CPU. The GPUs are emulated (tests/simt).
 */
#include "emulator.h"
#include "index_cells_support.h"
#include "little.h"

#include "device/gpus.h"
#include "index/impl.h"
#include "index/search/kept_certificates.h"

static test_emulator emulator;
static const char PLACE[] = "index-cells-device";

enum { N = 6000, MOST_QUERIES = 300, MOST_ANSWERS = 6000 };

static float *rows, *queries;

static int make_rows(void **state) {
    (void)state;
    rows = clustered_rows(N, 0.2f, 1);
    queries = clustered_queries(MOST_QUERIES, 0.2f);
    test_give_memory(TEST_PLENTY);
    return 0;
}

static int free_rows(void **state) {
    (void)state;
    test_remove_directory(PLACE);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ searches */

static void build(const kind *k, const float *items, uint64_t n, uint32_t cells) {
    build_kind(PLACE, k, items, n, cells);
}

static thr_index *open_on(const char *device, thr_context **context) {
    thr_context_options options = {.n_threads = 2, .device = device};
    expect_ok(thr_context_create(&options, context, &err));
    if (strcmp(device, "auto") == 0)
        (*context)->gpus->wake_up = -1;
    return test_index_open(*context, PLACE);
}

static void close_all(thr_index *index, thr_context *context) {
    thr_index_free(index);
    thr_context_free(context);
}

/* What is searched for. */
typedef struct request {
    uint64_t n_queries, k;
    float recall;
    const uint64_t *filter;
} request;

typedef struct answer {
    uint64_t ids[MOST_ANSWERS], n_read[MOST_QUERIES];
    float scores[MOST_ANSWERS];
} answer;

static thr_status try_search(thr_index *index, const request *r, answer *out) {
    const thr_matrix matrix = thr_matrix_f32(queries, r->n_queries, DIMS);
    thr_search_options options = {
        .recall = r->recall, .filter = r->filter, .filter_bits = thr_index_n_rows(index), .n_read = out->n_read};
    memset(out, 0, sizeof *out);
    assert_true(r->n_queries * r->k <= MOST_ANSWERS);
    return thr_index_search(index, &matrix, r->k, &options, out->ids, out->scores, &err);
}

/* What the CPU answers; to be freed. */
static answer *on_cpu(const request *r) {
    thr_context *context = NULL;
    thr_index *index = open_on("cpu", &context);
    answer *out = test_new(1, sizeof *out);
    expect_ok(try_search(index, r, out));
    close_all(index, context);
    return out;
}

/* Search with the same answer as the CPU; whether GPUs ran kernels for it. */
static bool search_as_cpu(thr_index *index, const request *r) {
    answer *wanted = on_cpu(r), *got = test_new(1, sizeof *got);
    const uint64_t before = emulator.launches();
    expect_ok(try_search(index, r, got));
    const bool launched = emulator.launches() > before;
    assert_memory_equal(got, wanted, sizeof *got);
    return launched;
}

/* ------------------------------------------------------------------------------------------------ answers */

TEST(all_kinds_of_codes_have_the_cpus_bits) {
    static const char *const devices[] = {"cuda:0", "cuda", "cuda:1,2"};
    static const uint64_t batches[] = {1, 3, 9, 64};
    uint64_t filter[N / 64 + 1] = {0}, seed = 5;
    for (uint64_t i = 0; i < N; i++)
        filter[i / 64] |= (uint64_t)(thr_rng_below(&seed, 4) == 0) << i % 64;
    for (size_t i = 0; i < N_KINDS; i++) {
        thr_context *context = NULL;
        build(&KINDS[i], rows, N, 60);
        thr_index *index = open_on(devices[i % 3], &context);
        bool launched = false;
        for (size_t b = 0; b < (i == 0 ? 4 : 3); b++) {
            const request all = {batches[b], 10, b % 2 == 0 ? 0.9f : 0.99f, NULL}, some = {3, 7 + b, 0.9f, filter};
            launched = search_as_cpu(index, &all) || launched;
            launched = search_as_cpu(index, &some) || launched;
        }
        assert_true(launched);
        close_all(index, context);
        assert_int_equal(emulator.allocated() + emulator.pinned(), 0);
    }
}

/* More queries than are searched at once. */
TEST(large_batches_have_the_cpus_bits) {
    thr_context *context = NULL;
    build(&KINDS[0], rows, N, 60);
    thr_index *index = open_on("cuda", &context);
    assert_true(search_as_cpu(index, &(request){MOST_QUERIES, 10, 0.95f, NULL}));
    close_all(index, context);
}

/* So few items pass that vectors are scored without a screen, and that cells have none. */
TEST(strict_filters_have_the_cpus_bits) {
    thr_context *context = NULL;
    build(&KINDS[3], rows, N, 60);
    thr_index *index = open_on("cuda", &context);
    for (uint64_t step = 1; step < N; step *= 7) {
        uint64_t filter[N / 64 + 1] = {0};
        for (uint64_t i = 0; i < N; i += step)
            filter[i / 64] |= (uint64_t)1 << i % 64;
        (void)search_as_cpu(index, &(request){9, 10, 0.9f, filter});
    }
    close_all(index, context);
}

/* Build an index whose first rows have cells, and add the others. */
static void build_and_add(const kind *k, const float *items, uint64_t n_with_cells, uint64_t n) {
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, NULL);
    build(k, items, n_with_cells, 60);
    const thr_matrix more = thr_matrix_f32(items + n_with_cells * DIMS, n - n_with_cells, DIMS);
    expect_ok(add_matrix(context, PLACE, &more, NULL, NULL, &err));
}

/* Some items have no cells. By inner product all blocks are read then. */
TEST(items_without_cells_have_the_cpus_bits) {
    for (int metric = 0; metric < 3; metric++) {
        thr_context *context = NULL;
        build_and_add(&(kind){(thr_metric)metric, THR_DTYPE_F32, 3, 1, 0}, rows, N - 500, N);
        thr_index *index = open_on("cuda", &context);
        assert_true(index->n_segments == 2 && index->cells[0].n > 0 && index->cells[1].n == 0);
        assert_true(search_as_cpu(index, &(request){9, 10, 0.95f, NULL}));
        close_all(index, context);
    }
}

/*
 * The pass over the items without cells has so many blocks that its threshold is from a sample; which is too high where
 * the sampled blocks hold the best rows.
 */
TEST(sampled_thresholds_have_the_cpus_bits) {
    enum { MANY = 24000, BLOCK = 64, N_BLOCKS = (MANY - N) / BLOCK, N_SAMPLED = N_BLOCKS / 32 };
    float *many = clustered_rows(MANY, 0.2f, 3), *added = many + (size_t)N * DIMS;
    for (int misleads = 0; misleads < 2; misleads++) {
        thr_context *context = NULL;
        for (size_t s = 0; misleads && s < N_SAMPLED; s++)
            for (size_t i = 0; i < (size_t)BLOCK * DIMS; i++) /* rows about the first query */
                added[(2 * s + 1) * N_BLOCKS / (2 * (size_t)N_SAMPLED) * BLOCK * DIMS + i] = queries[i % DIMS] * 1.01f;
        build_and_add(&(kind){THR_METRIC_L2, THR_DTYPE_F16, 2, 1, 0}, many, N, MANY);
        thr_index *index = open_on("cuda:0", &context);
        assert_true(index->n_segments == 2 && index->cells[0].n > 0 && index->cells[1].n == 0);
        assert_true(search_as_cpu(index, &(request){5, 10, 0.9f, NULL}));
        close_all(index, context);
    }
}

/* Compare searches that read all cells, of which GPUs run no part. */
static void check_all_cells(thr_index *cpu, thr_index *gpu) {
    enum { FEW = 9, K = 10, N_WAYS = 3 };
    bool ranges; /* then certificates are for exact searches, and others skip cells */
    expect_ok(thr_index_compares_ranges(cpu, &ranges, &err));
    for (int way = 0; way < N_WAYS; way++) {
        const thr_matrix matrix = thr_matrix_f32(queries, FEW, DIMS);
        thr_index *indexes[] = {cpu, gpu};
        uint64_t ids[2][FEW * K];
        float scores[2][FEW * K];
        uint8_t certified[2][FEW] = {{0}, {0}};
        const uint64_t before = emulator.launches();
        for (int i = 0; i < 2; i++) {
            thr_search_options options = {0};
            options.recall = way == 0 || (way == 1 && ranges) ? 1 : way == 1 ? 0.9f : options.recall;
            options.certified = way == 1 ? certified[i] : NULL;
            options.n_survivors = way == 2 ? 200 : 0;
            options.n_candidates = way == 2 ? 50 : 0;
            expect_ok(thr_index_search(indexes[i], &matrix, K, &options, ids[i], scores[i], &err));
        }
        assert_int_equal(emulator.launches(), before);
        assert_memory_equal(ids[1], ids[0], sizeof ids[0]);
        assert_memory_equal(scores[1], scores[0], sizeof scores[0]);
        assert_memory_equal(certified[1], certified[0], sizeof certified[0]);
    }
}

/* Codes are relative to the cells' centroids, so searches that read all cells run on the CPU (docs/gpu.md). */
TEST(searches_of_all_cells_are_left_to_the_cpu) {
    for (size_t i = 0; i < N_KINDS; i++) {
        thr_context *contexts[2];
        build(&KINDS[i], rows, N, 60);
        thr_index *cpu = open_on("cpu", &contexts[0]), *gpu = open_on("cuda", &contexts[1]);
        assert_non_null(gpu->corpus.origins);
        check_all_cells(cpu, gpu);
        assert_true(search_as_cpu(gpu, &(request){9, 10, 0.9f, NULL})); /* copies the codes */
        check_all_cells(cpu, gpu);
        close_all(cpu, contexts[0]);
        close_all(gpu, contexts[1]);
    }
}

/* ------------------------------------------------------------------------------------------------ memory, faults */

TEST(codes_that_do_not_fit_are_searched_by_the_cpu) {
    thr_context *context = NULL;
    const request r = {9, 10, 0.9f, NULL};
    build(&KINDS[0], rows, N, 60);
    test_give_memory(40000);
    thr_index *index = open_on("cuda:0", &context);
    (void)search_as_cpu(index, &r); /* copies the codes */
    assert_false(search_as_cpu(index, &r));
    close_all(index, context);
    test_give_memory(TEST_PLENTY);
}

TEST(every_allocation_on_a_device_may_fail) {
    const request r = {9, 10, 0.9f, NULL};
    build(&KINDS[0], rows, N, 60);
    answer *wanted = on_cpu(&r), *got = test_new(1, sizeof *got);
    for (unsigned i = 1; i < 24; i++) {
        thr_context *context = NULL;
        thr_index *index = open_on("auto", &context);
        char what[32];
        (void)snprintf(what, sizeof what, "alloc %u", i);
        emulator.let_fail(what);
        expect_ok(try_search(index, &r, got));
        emulator.let_fail("none");
        assert_memory_equal(got, wanted, sizeof *got);
        close_all(index, context);
    }
}

TEST(a_lost_gpu_is_an_error_or_leaves_the_search_to_the_cpu) {
    const request r = {9, 10, 0.9f, NULL};
    build(&KINDS[0], rows, N, 60);
    answer *wanted = on_cpu(&r), *got = test_new(1, sizeof *got);
    for (int automatic = 0; automatic < 2; automatic++) {
        thr_context *context = NULL;
        thr_index *index = open_on(automatic ? "auto" : "cuda:0", &context);
        expect_ok(try_search(index, &r, got));
        emulator.let_fail("launch 2");
        expect_error(try_search(index, &r, got), automatic ? THR_OK : THR_EDEVICE, NULL);
        emulator.let_fail("none");
        const uint64_t before = emulator.launches();
        expect_ok(try_search(index, &r, got));
        assert_memory_equal(got, wanted, sizeof *got);
        assert_int_equal(emulator.launches() > before, !automatic);
        close_all(index, context);
    }
}

TEST(a_second_search_allocates_nothing) {
    const request r = {40, 10, 0.9f, NULL};
    test_memory count = {0};
    thr_context_options options = {0};
    thr_context *context = NULL;
    answer *got = test_new(1, sizeof *got);
    build(&KINDS[1], rows, N, 60);
    options.device = "cuda:0";
    options.allocator = test_memory_allocator(&count);
    expect_ok(thr_context_create(&options, &context, &err));
    thr_index *index = test_index_open(context, PLACE);
    expect_ok(try_search(index, &r, got));
    const size_t calls = atomic_load(&count.calls), device = emulator.allocated(), pinned = emulator.pinned();
    for (int i = 0; i < 2; i++)
        expect_ok(try_search(index, &r, got));
    assert_int_equal(atomic_load(&count.calls), calls);
    assert_int_equal(emulator.allocated(), device);
    assert_int_equal(emulator.pinned(), pinned);
    close_all(index, context);
    assert_int_equal(atomic_load(&count.live), 0);
}

TEST_NEEDS(test_emulator_take(&emulator, 3))
TEST_GROUP(make_rows, free_rows)
