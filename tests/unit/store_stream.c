/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_stream.c - searches on GPUs that have no room for all codes, against the search by the book in every bit. The
 * GPUs are the emulator of tests/simt, with as little memory as is wanted.
 *
 * The emulator's streams are synchronous, so it cannot show that copies and scores overlap. That it makes no
 * difference when they do, late.h shows.
 */
#include "test.h"

#include "kinds.h"
#include "late.h"
#include "little.h"
#include "naive.h"
#include "scan/job.h"
#include "store/slices.h"

enum {
    N_CONTEXTS = 3,
#ifdef THR_SANITIZED
    TURNS = 3 /* of every number of planes */
#else
    TURNS = 6
#endif
};

static int set_up(void **state) {
    /* By any way to distances, and by either one whatever the batch. */
    static const char *const ways[N_CONTEXTS + 1] = {"", "xor", "tile", NULL};
    test_give_memory(TEST_PLENTY);
    *state = test_gpus_make(ways);
    return 0;
}

/* ------------------------------------------------------------------------------------------ all kinds */

/* Flat and nested codes of all numbers of planes, with and without centre, of sizes around blocks and tiles. */
TEST(all_kinds_of_codes_in_chunks_equal_the_naive_answer) {
    const test_gpus *f = *state;
    const uint32_t sizes[] = {513, 640, 705}; /* a device */
    uint64_t rng = test_seed();
    for (uint32_t bits = 1; bits <= 8; bits++)
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            const thr_devices *devices = turn % 3 == 0 ? f->three : f->one;
            const test_shape shape = test_any_shape(&rng, bits, sizes[thr_rng_below(&rng, 3)] * devices->n);
            float *rows = test_tied_rows(&rng, shape.n_items, shape.n_dims, shape.centre);
            test_corpus corpus;
            test_target_put_in(f, devices, &corpus, &shape, rows,
                               turn % 2 == 0 ? TEST_ROOM_FOR_SOME : TEST_ROOM_FOR_CHUNKS);
            test_all_searches(f->contexts[thr_rng_below(&rng, N_CONTEXTS)], &corpus, 2 + thr_rng_below(&rng, 12), &rng);
            test_target_take(&corpus);
        }
}

/* ---------------------------------------------------------------------------- samples, and what they misjudge */

enum { MANY = 33000, FEW_DIMS = 9, GROUP = 6 }; /* enough tiles for a sample on one device */

static void check_many(const test_gpus *f, const test_shape *shape, const float *rows, const float *queries,
                       test_room much, const char *what) {
    uint64_t rng = test_seed(), *filter = test_filter(&rng, MANY, 2);
    test_corpus corpus;
    thr_search_options options = test_counts(40, 20);
    test_target_put_in(f, f->one, &corpus, shape, rows, much);
    assert_true(corpus.scan.store->slices->n_samples >= 8);
    for (int i = 0; i < N_CONTEXTS; i++) /* a batch on tensor cores is by far the slowest to emulate */
        test_search_equals_naive(f->contexts[i], &corpus, queries, i == 1 ? 4 : GROUP, 8, &options, what);
    options.filter = filter;
    options.filter_bits = MANY;
    test_search_equals_naive(f->contexts[1], &corpus, queries, 2, 8, &options, what);
    test_target_take(&corpus);
}

TEST(large_collections_in_chunks_equal_the_naive_answer) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_tied_rows(&rng, MANY, FEW_DIMS, false), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    for (size_t m = 0; m < 3; m++) {
        const test_shape shape = {.n_items = MANY,
                                  .n_dims = FEW_DIMS,
                                  .bits = 2,
                                  .metric = TEST_METRICS[m],
                                  .keep = TEST_KEEPS[m],
                                  .lead = m == 1};
        check_many(f, &shape, rows, queries, m == 2 ? TEST_ROOM_FOR_CHUNKS : TEST_ROOM_FOR_SOME, "many");
    }
}

/* Every row has the same score: far more reach any threshold than there is room for, and row numbers decide. */
TEST(rows_in_chunks_that_are_all_equal_come_in_their_order) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_equal_rows(&rng, MANY, FEW_DIMS), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 3, .metric = THR_METRIC_L2};
    check_many(f, &shape, rows, queries, TEST_ROOM_FOR_SOME, "all equal");
}

/* The sample is of the same tiles, and gives the same thresholds, whether codes are resident or not. */
TEST(a_sample_is_the_same_wherever_codes_are) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed(), launches[3];
    float *rows = test_tied_rows(&rng, MANY, FEW_DIMS, false);
    const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 2, .metric = THR_METRIC_IP, .lead = 1};
    uint64_t *filter = test_filter(&rng, MANY, 2); /* rows that it leaves out are 0 in the sample */
    uint32_t *samples[3], size = 0;
    for (int i = 0; i < 3; i++) {
        test_corpus corpus;
        thr_search_options options = test_counts(40, 20);
        options.filter = filter;
        options.filter_bits = MANY;
        test_target_put_in(f, f->one, &corpus, &shape, rows, (test_room)i);
        const uint64_t before = f->emulator.launches();
        test_search_equals_naive(f->contexts[0], &corpus, rows, 1, 8, &options, "sample");
        launches[i] = f->emulator.launches() - before;
        thr_store *store = corpus.scan.store;
        thr_store_slice *slice = store->slices;
        size = slice->n_samples * THR_DEVICE_TILE;
        samples[i] = test_new(size, sizeof **samples);
        assert_ok(store->backend->download(slice->stream, samples[i], slice->buffers[THR_STORE_BUFFER_SAMPLES].memory,
                                           size * sizeof **samples, NULL),
                  NULL);
        assert_ok(store->backend->wait(slice->stream, NULL), NULL);
        test_target_take(&corpus);
    }
    assert_memory_equal(samples[1], samples[0], size * sizeof **samples);
    assert_memory_equal(samples[2], samples[0], size * sizeof **samples);
    assert_true(launches[1] > launches[0] && launches[2] > launches[0]);
}

/* ------------------------------------------------------------------------------------ streams that are slow */

static void check_late(const test_gpus *f, const thr_devices *devices, uint64_t *rng, test_room much) {
    const test_shape shape = {.n_items = 700 * devices->n,
                              .n_dims = 20,
                              .bits = 2,
                              .metric = TEST_METRICS[thr_rng_below(rng, 3)],
                              .keep = THR_DTYPE_NONE,
                              .segment_items = 320};
    thr_devices late = *devices;
    thr_search_options options = test_counts(30, 12);
    float *rows = test_tied_rows(rng, shape.n_items, shape.n_dims, false),
          *queries = test_queries(rng, GROUP, shape.n_dims);
    uint64_t *filter = test_filter(rng, shape.n_items, 3);
    test_corpus corpus;
    late.backend = test_late_backend(devices->backend, *rng);
    test_target_put_in(f, &late, &corpus, &shape, rows, much);
    for (int i = 0; i < N_CONTEXTS; i++)
        test_search_equals_naive(f->contexts[i], &corpus, queries, GROUP, 5, &options, "late");
    options.filter = filter;
    options.filter_bits = shape.n_items;
    test_search_equals_naive(f->contexts[0], &corpus, queries, GROUP, 5, &options, "late, filter");
    assert_true(test_late_overtakings() > 20);
    test_target_take(&corpus);
}

/* Copies of chunks and the passes over them, on one device or several, in any order that streams may take. */
TEST(answers_do_not_depend_on_when_streams_do_their_work) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    for (int turn = 0; turn < TURNS; turn++)
        check_late(f, turn % 3 == 2 ? f->three : f->one, &rng,
                   turn % 2 == 0 ? TEST_ROOM_FOR_SOME : TEST_ROOM_FOR_CHUNKS);
}

TEST_NEEDS(test_emulator_path() != NULL)
TEST_GROUP(set_up, test_gpus_free)
