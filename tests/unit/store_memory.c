/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_memory.c - stores on GPUs that have no room for all codes: what they take and give back, what searches find
 * left, and what fails. The GPUs are the emulator of tests/simt, with as little memory as is wanted.
 */
#include "test.h"

#include "kinds.h"
#include "little.h"
#include "naive.h"
#include "store/slices.h"

static int set_up(void **state) {
    static const char *const ways[] = {"", NULL};
    test_give_memory(TEST_PLENTY);
    *state = test_gpus_make(ways);
    return 0;
}

typedef struct small {
    float *rows, *queries;
    test_corpus corpus;
    thr_search_options options;
    size_t memory; /* of each of three devices, so that some codes fit */
} small;

enum { SMALL = 1700, SMALL_DIMS = 20, GROUP = 6 };

static void make_small(const test_gpus *f, small *s) {
    uint64_t rng = test_seed();
    const test_shape shape = {.n_items = SMALL, .n_dims = SMALL_DIMS, .bits = 3, .metric = THR_METRIC_L2};
    s->rows = test_tied_rows(&rng, SMALL, SMALL_DIMS, false);
    s->queries = test_queries(&rng, GROUP, SMALL_DIMS);
    s->options = test_counts(20, 10);
    test_target_make(&s->corpus, &shape, s->rows);
    expect_ok(thr_store_create(f->contexts[0], f->three, &s->corpus.scan, &s->corpus.scan.store, &err));
    s->memory = test_memory_for(s->corpus.scan.store, TEST_ROOM_FOR_SOME);
    thr_store_free(s->corpus.scan.store);
    s->corpus.scan.store = NULL;
}

static void free_small(small *s) {
    test_target_take(&s->corpus);
}

/* A store on three devices with little memory, and a search with plenty of it. */
static thr_status create_and_search(const test_gpus *f, small *s, thr_error *error) {
    test_give_memory(s->memory);
    const thr_status status = thr_store_create(f->contexts[0], f->three, &s->corpus.scan, &s->corpus.scan.store, error);
    test_give_memory(TEST_PLENTY);
    return status == THR_OK ? test_search_once(f->contexts[0], &s->corpus, s->queries, GROUP, error) : status;
}

TEST(every_allocation_may_fail) {
    enum { MOST_ALLOCATIONS = 90 }; /* more than there are */
    const test_gpus *f = *state;
    small s;
    make_small(f, &s);
    unsigned n_failed = 0, n_pinned = 0, n_smaller = 0, n_made_room = 0;
    uint64_t streamed = 0;
    for (unsigned i = MOST_ALLOCATIONS; i > 0; i--) {
        char what[32];
        (void)snprintf(what, sizeof what, "alloc %u", i);
        f->emulator.let_fail(what);
        const thr_status status = create_and_search(f, &s, &err);
        f->emulator.let_fail("none");
        assert_true(status == THR_OK || i < MOST_ALLOCATIONS);
        if (status == THR_OK) {
            const uint64_t bytes = thr_store_get_size(s.corpus.scan.store).host_code_bytes;
            streamed = i == MOST_ALLOCATIONS ? bytes : streamed;
            n_smaller += bytes > streamed;
            n_made_room += bytes < streamed;
        } else {
            expect_error(status, THR_ENOMEM, "cuda:");
            n_failed++;
            n_pinned += strstr(err.text, "pinned memory for codes") != NULL;
        }
        if (s.corpus.scan.store != NULL) /* the failed copy is tried again */
            test_search_equals_naive(f->contexts[0], &s.corpus, s.queries, 2, 5, &s.options, "after a failure");
        thr_store_free(s.corpus.scan.store);
        s.corpus.scan.store = NULL;
        assert_int_equal(f->emulator.allocated() + f->emulator.pinned(), 0);
    }
    assert_true(streamed > 0 && n_failed > 15);
    assert_true(n_made_room > 10); /* codes were placed anew, with plenty of memory by then */
    assert_int_equal(n_pinned, 3);
    assert_int_equal(n_smaller, 3); /* with fewer resident tiles it goes on */
    free_small(&s);
}

TEST(a_lost_device_is_an_error_and_leaks_nothing) {
    const test_gpus *f = *state;
    static const char *const kinds[] = {"launch", "copy"};
    small s;
    make_small(f, &s);
    for (size_t kind = 0; kind < 2; kind++)
        for (unsigned i = 1;; i += 1 + i / 8) {
            char what[32];
            (void)snprintf(what, sizeof what, "%s %u", kinds[kind], i);
            f->emulator.let_fail(what);
            const thr_status status = create_and_search(f, &s, &err);
            if (status != THR_OK)
                expect_error(status, THR_EDEVICE, "illegal");
            thr_store_free(s.corpus.scan.store);
            s.corpus.scan.store = NULL;
            f->emulator.let_fail("none");
            assert_int_equal(f->emulator.allocated() + f->emulator.pinned(), 0);
            if (status == THR_OK) {
                assert_true(i > 20);
                break;
            }
        }
    free_small(&s);
}

TEST(a_device_without_room_for_two_chunks_is_refused) {
    const test_gpus *f = *state;
    small s;
    make_small(f, &s);
    for (s.memory = 1; s.memory < 2 * (size_t)THR_DEVICE_TILE * (8 + SMALL_DIMS * 3 / 8); s.memory *= 2)
        expect_error(create_and_search(f, &s, &err), THR_ENOMEM, "a chunk of codes");
    assert_null(s.corpus.scan.store);
    free_small(&s);
}

/* Creating leaves some memory free, and batches are no larger than that allows. */
TEST(searches_have_room_beside_codes) {
    enum { MANY = 33000, WIDE = 64 };
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    const test_shape shape = {.n_items = MANY, .n_dims = WIDE, .bits = 4, .metric = THR_METRIC_IP};
    float *rows = test_tied_rows(&rng, MANY, WIDE, false), *queries = test_queries(&rng, GROUP, WIDE);
    const thr_search_options options = test_counts(40, 20);
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    test_give_memory((size_t)1 << 20);
    expect_ok(thr_store_create(f->contexts[0], f->one, &corpus.scan, &corpus.scan.store, &err));
    test_search_equals_naive(f->contexts[0], &corpus, queries, GROUP, 5, &options, "little memory");
    test_give_memory(TEST_PLENTY);
    test_check_places(corpus.scan.store, TEST_ROOM_FOR_SOME);
    test_target_take(&corpus);
}

/* All codes fit, but then there is too little left for searches that want many rows: some codes make room. */
TEST(codes_make_room_for_searches) {
    enum { MANY = 33000, WIDE = 64, K = 12000 };
    const test_gpus *f = *state;
    uint64_t rng = test_seed(), *filter = test_filter(&rng, MANY, 2);
    const test_shape shape = {.n_items = MANY, .n_dims = WIDE, .bits = 4, .metric = THR_METRIC_IP};
    float *rows = test_tied_rows(&rng, MANY, WIDE, false), *queries = test_queries(&rng, GROUP, WIDE);
    thr_search_options options = test_counts(20, 10);
    test_corpus corpus;
    test_target_put(f, f->one, &corpus, &shape, rows);
    const uint64_t bytes = thr_store_get_size(corpus.scan.store).code_bytes;
    thr_store_free(corpus.scan.store);
    test_give_memory(bytes + bytes / 3 + (size_t)MANY);
    expect_ok(thr_store_create(f->contexts[0], f->one, &corpus.scan, &corpus.scan.store, &err));
    test_check_places(corpus.scan.store, TEST_ROOM_FOR_ALL);
    test_search_equals_naive(f->contexts[0], &corpus, queries, 1, K, &options, "a little memory");
    test_check_places(corpus.scan.store, TEST_ROOM_FOR_SOME);
    const uint64_t streamed = thr_store_get_size(corpus.scan.store).host_code_bytes;
    test_search_equals_naive(f->contexts[0], &corpus, queries, GROUP, K, &options, "a batch");
    assert_int_equal(thr_store_get_size(corpus.scan.store).host_code_bytes, streamed); /* once was enough */
    options.filter = filter;
    options.filter_bits = MANY;
    test_search_equals_naive(f->contexts[0], &corpus, queries, GROUP, K, &options, "filter");
    const thr_store_size size = thr_store_get_size(corpus.scan.store);
    assert_int_equal(f->emulator.allocated(), size.code_bytes + size.workspace_bytes);
    test_give_memory(TEST_PLENTY);
    test_target_take(&corpus);
}

/* Not even without any resident code there is memory for such a search; smaller ones go on. */
TEST(a_search_that_no_codes_can_make_room_for_is_refused) {
    enum { MANY = 33000, FEW_DIMS = 9 };
    const test_gpus *f = *state;
    uint64_t rng = test_seed(), *found = test_new(MANY, sizeof *found);
    const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 2, .metric = THR_METRIC_COSINE};
    float *rows = test_tied_rows(&rng, MANY, FEW_DIMS, false), *queries = test_queries(&rng, 2, FEW_DIMS);
    const thr_search_options all = test_counts(MANY, MANY), few = test_counts(20, 10);
    test_corpus corpus;
    test_target_make(&corpus, &shape, rows);
    test_give_memory((size_t)400 << 10);
    expect_ok(thr_store_create(f->contexts[0], f->one, &corpus.scan, &corpus.scan.store, &err));
    for (int turn = 0; turn < 2; turn++) {
        expect_error(test_search(f->contexts[0], &corpus, queries, 1, MANY, &all, found, NULL, &err), THR_ENOMEM,
                     "a search");
        test_search_equals_naive(f->contexts[0], &corpus, queries, 2, 5, &few, "few rows");
    }
    test_check_places(corpus.scan.store, TEST_ROOM_FOR_CHUNKS);
    test_give_memory(TEST_PLENTY);
    test_target_take(&corpus);
}

TEST(memory_is_accounted_for_and_does_not_grow) {
    const test_gpus *f = *state;
    small s;
    make_small(f, &s);
    expect_ok(create_and_search(f, &s, &err));
    const thr_store_size size = thr_store_get_size(s.corpus.scan.store);
    const uint32_t n_tiles = (SMALL + THR_DEVICE_TILE - 1) / THR_DEVICE_TILE;
    const size_t device = f->emulator.allocated(), pinned = f->emulator.pinned();
    assert_int_equal(device, size.code_bytes + size.workspace_bytes);
    assert_true(size.host_code_bytes > 0 && pinned >= size.host_code_bytes);
    assert_true(n_tiles * s.corpus.scan.store->slices->tile.all < size.code_bytes + size.host_code_bytes);
    expect_ok(test_search_once(f->contexts[0], &s.corpus, s.queries, GROUP, &err));
    assert_int_equal(f->emulator.allocated(), device);
    assert_int_equal(f->emulator.pinned(), pinned);
    free_small(&s);
}

TEST_NEEDS(test_emulator_path() != NULL)
TEST_GROUP(set_up, test_gpus_free)
