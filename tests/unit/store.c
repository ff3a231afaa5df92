/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - searches whose screen runs on GPUs, against the search by the book in every bit. The GPUs are the
 * emulator of tests/simt, three of them; the backend is the real one, compiled for it.
 */
#include "test.h"

#include "kinds.h"
#include "naive.h"
#include "scan/job.h"

enum {
    N_CONTEXTS = 4,
#ifdef THR_SANITIZED
    TURNS = 3, /* of every number of planes */
    MOST_QUERIES = 24,
    MANY_METRICS = 1,     /* that many rows are searched by */
    ALL_DEVICES = 0,      /* at work where allocations fail, */
    MOST_ALLOCATIONS = 45 /* of which there are fewer */
#else
    TURNS = 8,
    MOST_QUERIES = 100,
    MANY_METRICS = 3,
    ALL_DEVICES = 1,
    MOST_ALLOCATIONS = 150
#endif
};

static int set_up(void **state) {
    /* Whatever the batch by either way to distances, too. */
    static const char *const ways[N_CONTEXTS + 1] = {"", "", "xor", "tile", NULL};
    *state = test_gpus_make(ways);
    return 0;
}

/* ------------------------------------------------------------------------------------------ all kinds */

/* Flat and nested codes of all numbers of planes, with and without centre, of sizes around blocks and tiles. */
TEST(all_kinds_of_codes_equal_the_naive_answer) {
    const test_gpus *f = *state;
    const uint32_t sizes[] = {1, 63, 64, 65, 128, 129, 500};
    uint64_t rng = test_seed();
    for (uint32_t bits = 1; bits <= 8; bits++)
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            const uint32_t n_items = sizes[thr_rng_below(&rng, COUNT_OF(sizes))];
            const test_shape shape = test_any_shape(&rng, bits, n_items);
            const uint64_t n_queries = 2 + thr_rng_below(&rng, thr_rng_below(&rng, 2) == 0 ? 8 : MOST_QUERIES - 2);
            float *rows = test_tied_rows(&rng, n_items, shape.n_dims, shape.centre);
            test_corpus corpus;
            test_target_put(f, turn % 3 == 0 ? f->one : f->three, &corpus, &shape, rows);
            const uint64_t before = f->emulator.launches();
            test_all_searches(f->contexts[thr_rng_below(&rng, N_CONTEXTS)], &corpus, n_queries, &rng);
            assert_true(f->emulator.launches() > before);
            test_target_take(&corpus);
        }
}

/* Codes of so many dimensions and bits that they do not travel with the operations. */
TEST(long_queries_equal_the_naive_answer) {
    const test_gpus *f = *state;
    enum { ITEMS = 200, DIMS = 3333 };
    uint64_t rng = test_seed();
    const test_shape shape = {.n_items = ITEMS, .n_dims = DIMS, .bits = 2, .metric = THR_METRIC_L2, .lead = 1};
    float *rows = test_tied_rows(&rng, ITEMS, DIMS, false), *queries = test_queries(&rng, 6, DIMS);
    test_corpus corpus;
    test_target_put(f, f->three, &corpus, &shape, rows);
    for (uint32_t query_bits = 7; query_bits <= 8; query_bits++)
        for (uint64_t n_queries = 1; n_queries <= 6; n_queries += 5) {
            thr_search_options options = test_counts(50, 20);
            options.query_bits = query_bits;
            test_search_equals_naive(f->contexts[0], &corpus, queries, n_queries, 5, &options, "long queries");
        }
    test_target_take(&corpus);
}

/* ---------------------------------------------------------------------------- samples, and what they misjudge */

enum { MANY = 33000, FEW_DIMS = 9, GROUP = 6 }; /* enough tiles for a sample on one device */

static void check_many(const test_gpus *f, const test_shape *shape, const float *rows, const float *queries,
                       const char *what) {
    test_corpus corpus;
    thr_search_options options = test_counts(40, 20);
    test_target_put(f, f->one, &corpus, shape, rows);
    for (int i = 1; i < N_CONTEXTS; i += 2) /* a batch on tensor cores is by far the slowest to emulate */
        test_search_equals_naive(f->contexts[i], &corpus, queries, i == 1 ? 4 : GROUP, 8, &options, what);
    test_search_equals_naive(f->contexts[1], &corpus, queries, 1, 5000, &options, what);
    test_target_take(&corpus);
}

TEST(large_collections_equal_the_naive_answer) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_tied_rows(&rng, MANY, FEW_DIMS, false), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    for (size_t m = 0; m < MANY_METRICS; m++) {
        const test_shape shape = {.n_items = MANY,
                                  .n_dims = FEW_DIMS,
                                  .bits = 2,
                                  .metric = TEST_METRICS[m],
                                  .keep = TEST_KEEPS[m],
                                  .lead = m == 1};
        check_many(f, &shape, rows, queries, "many");
    }
}

/* Every row has the same score: far more reach any threshold than there is room for, and row numbers decide. */
TEST(rows_that_are_all_equal_come_in_their_order) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_equal_rows(&rng, MANY, FEW_DIMS), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    for (size_t m = 0; m < MANY_METRICS; m++) {
        const test_shape shape = {
            .n_items = MANY, .n_dims = FEW_DIMS, .bits = 3, .metric = TEST_METRICS[m], .lead = m == 2};
        check_many(f, &shape, rows, queries, "all equal");
    }
}

/* The sampled tiles hold the rows nearest to the queries, or those farthest away. */
TEST(samples_that_mislead_do_not_change_answers) {
    const test_gpus *f = *state;
    enum { TILE = 128 };
    const uint32_t n_tiles = (MANY + TILE - 1) / TILE, n_samples = n_tiles / 32;
    uint64_t rng = test_seed();
    float *queries = test_new((size_t)GROUP * FEW_DIMS, sizeof *queries), *rows = NULL;
    for (size_t i = 0; i < (size_t)GROUP * FEW_DIMS; i++)
        queries[i] = 1 + test_normal(&rng) / 10;
    assert_true(n_samples >= 8);
    for (int sign = -1; sign <= 1; sign += 2) {
        rows = test_new((size_t)MANY * FEW_DIMS, sizeof *rows);
        test_gaussian(&rng, rows, (size_t)MANY * FEW_DIMS);
        for (uint32_t s = 0; s < n_samples; s++) {
            const uint32_t tile = (uint32_t)thr_select_sample_place(s, n_samples, n_tiles);
            for (size_t i = 0;
                 i < (size_t)TILE * FEW_DIMS && (size_t)tile * TILE * FEW_DIMS + i < (size_t)MANY * FEW_DIMS; i++)
                rows[(size_t)tile * TILE * FEW_DIMS + i] += (float)sign * 3;
        }
        for (size_t m = 0; m < MANY_METRICS; m++) {
            const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 3, .metric = TEST_METRICS[m]};
            check_many(f, &shape, rows, queries, "misleading sample");
        }
    }
}

/* --------------------------------------------------------------------------------------------- failures */

typedef struct small {
    float *rows, *queries;
    test_corpus corpus;
    thr_search_options options;
} small;

enum { SMALL = 300, SMALL_DIMS = 20 };

static void make_small(small *s) {
    uint64_t rng = test_seed();
    const test_shape shape = {
        .n_items = SMALL, .n_dims = SMALL_DIMS, .bits = 3, .metric = THR_METRIC_IP, .keep = THR_DTYPE_F16, .lead = 1};
    s->rows = test_tied_rows(&rng, SMALL, SMALL_DIMS, false);
    s->queries = test_queries(&rng, GROUP, SMALL_DIMS);
    s->options = test_counts(20, 10);
    test_target_make(&s->corpus, &shape, s->rows);
}

static void free_small(small *s) {
    test_target_take(&s->corpus);
}

TEST(every_allocation_on_a_device_may_fail) {
    const test_gpus *f = *state;
    const thr_devices *devices = ALL_DEVICES ? f->three : f->one;
    small s = {.rows = NULL};
    make_small(&s);
    const size_t before = f->emulator.allocated();
    unsigned n_failed = 0, n_left_out = 0, n_streamed = 0;
    uint64_t row_bytes = 0;
    for (unsigned i = MOST_ALLOCATIONS; i > 0; i--) {
        char what[32];
        (void)snprintf(what, sizeof what, "alloc %u", i);
        f->emulator.let_fail(what);
        thr_status status = thr_store_create(f->contexts[0], devices, &s.corpus.scan, &s.corpus.scan.store, &err);
        if (status == THR_OK)
            status = test_search_once(f->contexts[0], &s.corpus, s.queries, GROUP, &err);
        f->emulator.let_fail("none");
        if (status == THR_OK) { /* records and vectors that do not fit stay where they are, codes come in chunks */
            const thr_store_size size = thr_store_get_size(s.corpus.scan.store);
            row_bytes = i == MOST_ALLOCATIONS ? size.row_bytes : row_bytes;
            n_left_out += size.row_bytes < row_bytes;
            n_streamed += size.host_code_bytes > 0;
        } else {
            n_failed++;
            expect_error(status, THR_ENOMEM, "cuda:");
        }
        if (s.corpus.scan.store != NULL) { /* the failed copy is tried again */
            expect_ok(test_search_once(f->contexts[0], &s.corpus, s.queries, GROUP, &err));
            test_search_equals_naive(f->contexts[0], &s.corpus, s.queries, GROUP, 5, &s.options, "after a failure");
        }
        thr_store_free(s.corpus.scan.store);
        s.corpus.scan.store = NULL;
        assert_int_equal(f->emulator.allocated(), before);
    }
    assert_true(row_bytes > 0 && n_failed > 10 && n_left_out > 1 && n_streamed == devices->n);
    free_small(&s);
}

TEST(a_lost_device_is_an_error_and_leaks_nothing) {
    const test_gpus *f = *state;
    static const char *const kinds[] = {"launch", "copy"};
    small s = {.rows = NULL};
    make_small(&s);
    const size_t before = f->emulator.allocated(), pinned = f->emulator.pinned();
    for (size_t kind = 0; kind < 2; kind++)
        for (unsigned i = 1;; i++) {
            char what[32];
            (void)snprintf(what, sizeof what, "%s %u", kinds[kind], i);
            f->emulator.let_fail(what);
            thr_status status = thr_store_create(f->contexts[0], f->one, &s.corpus.scan, &s.corpus.scan.store, &err);
            if (status == THR_OK)
                status = test_search_once(f->contexts[0], &s.corpus, s.queries, GROUP, &err);
            const bool was_lost = status != THR_OK;
            if (was_lost)
                expect_error(status, THR_EDEVICE, "illegal");
            thr_store_free(s.corpus.scan.store);
            s.corpus.scan.store = NULL;
            assert_int_equal(f->emulator.allocated(), before);
            assert_int_equal(f->emulator.pinned(), pinned);
            f->emulator.let_fail("none");
            if (!was_lost) {
                assert_true(i > 3); /* packing, scoring, choosing */
                break;
            }
        }
    free_small(&s);
}

/* Device memory for codes is what they take on disk, but for the last tile. */
TEST(codes_take_no_more_memory_than_on_disk) {
    const test_gpus *f = *state;
    enum { ITEMS = 12800, DIMS = 100 };
    uint64_t rng = test_seed();
    const test_shape shape = {.n_items = ITEMS, .n_dims = DIMS, .bits = 3, .metric = THR_METRIC_L2, .centre = true};
    float *rows = test_tied_rows(&rng, ITEMS, DIMS, true);
    test_corpus corpus;
    const size_t before = f->emulator.allocated();
    test_target_put(f, f->one, &corpus, &shape, rows);
    const thr_store_size size = thr_store_get_size(corpus.scan.store);
    assert_int_equal(f->emulator.allocated() - before, size.code_bytes + size.row_bytes + size.workspace_bytes);
    assert_int_equal(size.code_bytes, ITEMS * (3 * 13 + 2 * sizeof(float)));
    test_target_take(&corpus);
}

TEST(words_for_devices_are_read_or_refused) {
    static const char *const bad[] = {"",        "gpu",      "CPU",     "cuda:",      "cuda:x", "cuda:1,",
                                      "cuda:,1", "cuda:1,1", "cuda:-1", "cuda:99999", "cuda 0", "auto:1"};
    thr_device_choice choice;
    expect_ok(thr_device_choice_read(NULL, &choice, &err));
    assert_int_equal(choice.kind, THR_DEVICE_CPU);
    expect_ok(thr_device_choice_read("auto", &choice, &err));
    assert_int_equal(choice.kind, THR_DEVICE_AUTO);
    expect_ok(thr_device_choice_read("cuda:2,0,11", &choice, &err));
    assert_int_equal(choice.kind, THR_DEVICE_CUDA);
    assert_int_equal(choice.n, 3);
    assert_int_equal(choice.numbers[2], 11);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        expect_error(thr_device_choice_read(bad[i], &choice, &err), THR_EINVAL, NULL);
}

TEST_NEEDS(test_emulator_path() != NULL)
TEST_GROUP(set_up, test_gpus_free)
