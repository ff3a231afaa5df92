/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_stream.c - searches on GPUs that have no room for all codes, against the search by the book in every bit. The
 * GPUs are the emulator of tests/simt, with as little memory as is wanted.
 *
 * The emulator's streams do at once what they are told: that copies and scores overlap it cannot show. That it makes no
 * difference when they do, late.h shows.
 */
#include "gpus.h"
#include "late.h"
#include "naive.h"
#include "scan/lane.h"
#include "scan/store_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const thr_metric METRICS[] = {THR_METRIC_COSINE, THR_METRIC_IP, THR_METRIC_L2};
static const thr_dtype KEEPS[] = {THR_DTYPE_F32, THR_DTYPE_F16, THR_DTYPE_I8, THR_DTYPE_NONE};

enum {
    N_CONTEXTS = 3,
    PLENTY = 1 << 30, /* of memory */
#ifdef THR_SANITIZED
    TURNS = 3 /* of every number of planes */
#else
    TURNS = 6
#endif
};

static void give_memory(size_t bytes) {
    char text[32];
    (void)snprintf(text, sizeof text, "%zu", bytes);
    (void)setenv("THR_SIMT_MEMORY", text, 1);
}

static int set_up(void **state) {
    /* By any way to distances, and by either one whatever the batch. */
    static const char *const ways[N_CONTEXTS + 1] = {"", "xor", "tile", NULL};
    give_memory(PLENTY);
    *state = test_gpus_make("THR_KERNEL", ways);
    return test_say_seed(state);
}

/* ------------------------------------------------------------------------------------ stores that have no room */

typedef enum room { ROOM_FOR_ALL, ROOM_FOR_SOME, ROOM_FOR_CHUNKS } room;

static uint32_t tiles_of(const thr_store *store) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < store->n_parts; i++)
        n += store->parts[i].n_tiles;
    return n;
}

/* So much memory that the sample fits, and two chunks of a tile, or two chunks and some more tiles. */
static size_t memory_for(const thr_store *store, room much) {
    const thr_store_part *part = &store->parts[store->n_parts - 1]; /* none has more tiles */
    const size_t tile = part->tile.all, filter = part->n_tiles * (size_t)(THR_DEVICE_TILE / 8);
    const size_t half = part->n_tiles / 2 > 3 ? part->n_tiles / 2 : 3;
    const size_t n = (much == ROOM_FOR_SOME ? half : 2) + part->n_samples, bytes = n * tile + tile * 9 / 10 + filter;
    return bytes + bytes / 3 + 1; /* a quarter of it stays free */
}

/* Of a store with little room: some codes are resident, or none, and the others come in several chunks. */
static void check_places(const thr_store *store, room much) {
    uint64_t resident = 0, streamed = 0;
    for (uint32_t i = 0; i < store->n_parts; i++) {
        const thr_store_part *part = &store->parts[i];
        assert_true(much == ROOM_FOR_ALL ? part->n_resident == part->n_tiles : part->chunks.n > 1);
        assert_true((part->n_resident > 0) == (much != ROOM_FOR_CHUNKS));
        resident += part->n_resident * part->tile.all;
        streamed += (part->n_tiles - part->n_resident) * part->tile.all;
    }
    assert_int_equal(store->streamed_bytes, streamed);
    assert_true(store->code_bytes >= resident);
}

/* Put a target's codes on devices that have so much room. Searches then have plenty of memory. */
static void make_store(const test_gpus *f, const thr_devices *devices, test_target *target, room much) {
    thr_error err;
    thr_store **store = &target->scan.store;
    assert_ok(thr_store_create(f->contexts[1], devices, &target->scan, store, &err), &err);
    if (much != ROOM_FOR_ALL) {
        const size_t memory = memory_for(*store, much);
        thr_store_free(*store);
        give_memory(memory);
        assert_ok(thr_store_create(f->contexts[1], devices, &target->scan, store, &err), &err);
        give_memory(PLENTY);
    }
    check_places(*store, much);
}

static void free_target(test_target *target) {
    thr_store_free(target->scan.store);
    test_target_free(target);
}

/* ------------------------------------------------------------------------------------------ all kinds */

static void check_target(const test_gpus *f, const test_target *target, uint64_t *rng) {
    const uint64_t n = target->shape.n_items, n_queries = 2 + thr_rng_below(rng, 12);
    const uint32_t n_dims = target->shape.n_dims;
    thr_context *context = f->contexts[thr_rng_below(rng, N_CONTEXTS)];
    float *queries = test_queries(rng, n_queries, n_dims);
    uint64_t *filter = test_filter(rng, target->shape.n_items, 3), *none = test_array((n + 63) / 64, sizeof *none);
    thr_search_options options = test_counts(30, 12);
    options.query_bits = 1 + (uint32_t)thr_rng_below(rng, 8);
    test_search_equals_naive(context, target, queries, 1, 5, &options, "one query");
    test_search_equals_naive(context, target, queries, n_queries, 5, &options, "a batch");
    test_search_equals_naive(context, target, queries, 2, n + 3, &options, "k > n");
    options.extra = target->shape.metric == THR_METRIC_COSINE ? 0.05f : (float)n_dims / 20;
    test_search_equals_naive(context, target, queries, n_queries, 4, &options, "extra");
    options = test_counts(20, 10);
    options.filter = filter;
    options.filter_bits = n;
    test_search_equals_naive(context, target, queries, n_queries, 7, &options, "filter");
    options.filter = none;
    test_search_equals_naive(context, target, queries, n_queries, 7, &options, "nothing allowed");
    free(none);
    free(filter);
    free(queries);
}

/* Flat and nested codes of all numbers of planes, with and without centre, of sizes around blocks and tiles. */
static void all_kinds_of_codes_in_chunks_equal_the_naive_answer(void **state) {
    const test_gpus *f = *state;
    const uint32_t sizes[] = {513, 640, 705}; /* a device */
    uint64_t rng = test_seed();
    for (uint32_t bits = 1; bits <= 8; bits++)
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            const thr_devices *devices = turn % 3 == 0 ? f->three : f->one;
            const test_shape shape = {.n_items = sizes[thr_rng_below(&rng, 3)] * devices->n,
                                      .n_dims = 1 + (uint32_t)thr_rng_below(&rng, 75),
                                      .bits = bits,
                                      .metric = METRICS[thr_rng_below(&rng, 3)],
                                      .keep = KEEPS[thr_rng_below(&rng, 4)],
                                      .segment_items = turn % 2 == 0 ? 0 : 64 * (1 + (uint32_t)thr_rng_below(&rng, 3)),
                                      .centre = thr_rng_below(&rng, 2) == 0,
                                      .lead =
                                          turn % 3 < 2 || bits == 1 ? 0 : 1 + (uint32_t)thr_rng_below(&rng, bits - 1)};
            float *rows = test_tied_rows(&rng, shape.n_items, shape.n_dims, shape.centre);
            test_target target;
            test_target_make(&target, &shape, rows);
            make_store(f, devices, &target, turn % 2 == 0 ? ROOM_FOR_SOME : ROOM_FOR_CHUNKS);
            check_target(f, &target, &rng);
            free_target(&target);
            free(rows);
        }
}

/* ---------------------------------------------------------------------------- samples, and what they misjudge */

enum { MANY = 33000, FEW_DIMS = 9, GROUP = 6 }; /* enough tiles for a sample on one device */

static void check_many(const test_gpus *f, const test_shape *shape, const float *rows, const float *queries, room much,
                       const char *what) {
    uint64_t rng = test_seed(), *filter = test_filter(&rng, MANY, 2);
    test_target target;
    thr_search_options options = test_counts(40, 20);
    test_target_make(&target, shape, rows);
    make_store(f, f->one, &target, much);
    assert_true(target.scan.store->parts->n_samples >= 8);
    for (int i = 0; i < N_CONTEXTS; i++) /* a batch on tensor cores is by far the slowest to emulate */
        test_search_equals_naive(f->contexts[i], &target, queries, i == 1 ? 4 : GROUP, 8, &options, what);
    options.filter = filter;
    options.filter_bits = MANY;
    test_search_equals_naive(f->contexts[1], &target, queries, 2, 8, &options, what);
    free_target(&target);
    free(filter);
}

static void large_collections_in_chunks_equal_the_naive_answer(void **state) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_tied_rows(&rng, MANY, FEW_DIMS, false), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    for (size_t m = 0; m < 3; m++) {
        const test_shape shape = {
            .n_items = MANY, .n_dims = FEW_DIMS, .bits = 2, .metric = METRICS[m], .keep = KEEPS[m], .lead = m == 1};
        check_many(f, &shape, rows, queries, m == 2 ? ROOM_FOR_CHUNKS : ROOM_FOR_SOME, "many");
    }
    free(queries);
    free(rows);
}

/* Every row has the same score: far more reach any threshold than there is room for, and row numbers decide. */
static void rows_in_chunks_that_are_all_equal_come_in_their_order(void **state) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_array((size_t)MANY * FEW_DIMS, sizeof *rows), *queries = test_queries(&rng, GROUP, FEW_DIMS);
    test_gaussian(&rng, rows, FEW_DIMS);
    for (uint32_t i = 1; i < MANY; i++)
        memcpy(rows + (size_t)i * FEW_DIMS, rows, FEW_DIMS * sizeof *rows);
    const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 3, .metric = THR_METRIC_L2};
    check_many(f, &shape, rows, queries, ROOM_FOR_SOME, "all equal");
    free(queries);
    free(rows);
}

/* The sample is of the same tiles, and gives the same thresholds, whether codes are resident or not. */
static void a_sample_is_the_same_wherever_codes_are(void **state) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed(), launches[3];
    float *rows = test_tied_rows(&rng, MANY, FEW_DIMS, false);
    const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 2, .metric = THR_METRIC_IP, .lead = 1};
    uint64_t *filter = test_filter(&rng, MANY, 2); /* what it leaves out is 0 in the sample */
    uint32_t *samples[3], size = 0;
    for (int i = 0; i < 3; i++) {
        test_target target;
        thr_search_options options = test_counts(40, 20);
        options.filter = filter;
        options.filter_bits = MANY;
        test_target_make(&target, &shape, rows);
        make_store(f, f->one, &target, (room)i);
        const uint64_t before = f->emulator.launches();
        test_search_equals_naive(f->contexts[0], &target, rows, 1, 8, &options, "sample");
        launches[i] = f->emulator.launches() - before;
        thr_store *store = target.scan.store;
        thr_store_part *part = store->parts;
        size = part->n_samples * THR_DEVICE_TILE;
        samples[i] = test_array(size, sizeof **samples);
        assert_ok(store->backend->download(part->stream, samples[i], part->rooms[THR_ROOM_SAMPLES].memory,
                                           size * sizeof **samples, NULL),
                  NULL);
        assert_ok(store->backend->wait(part->stream, NULL), NULL);
        free_target(&target);
    }
    assert_memory_equal(samples[1], samples[0], size * sizeof **samples);
    assert_memory_equal(samples[2], samples[0], size * sizeof **samples);
    assert_true(launches[1] > launches[0] && launches[2] > launches[0]);
    for (int i = 0; i < 3; i++)
        free(samples[i]);
    free(filter);
    free(rows);
}

/* ------------------------------------------------------------------------------------ streams that are slow */

static void check_late(const test_gpus *f, const thr_devices *devices, uint64_t *rng, room much) {
    const test_shape shape = {.n_items = 700 * devices->n,
                              .n_dims = 20,
                              .bits = 2,
                              .metric = METRICS[thr_rng_below(rng, 3)],
                              .keep = THR_DTYPE_NONE,
                              .segment_items = 320};
    thr_devices late = *devices;
    thr_search_options options = test_counts(30, 12);
    float *rows = test_tied_rows(rng, shape.n_items, shape.n_dims, false),
          *queries = test_queries(rng, GROUP, shape.n_dims);
    uint64_t *filter = test_filter(rng, shape.n_items, 3);
    test_target target;
    late.backend = test_late_backend(devices->backend, *rng);
    test_target_make(&target, &shape, rows);
    make_store(f, &late, &target, much);
    for (int i = 0; i < N_CONTEXTS; i++)
        test_search_equals_naive(f->contexts[i], &target, queries, GROUP, 5, &options, "late");
    options.filter = filter;
    options.filter_bits = shape.n_items;
    test_search_equals_naive(f->contexts[0], &target, queries, GROUP, 5, &options, "late, filter");
    options.extra = 0.05f;
    test_search_equals_naive(f->contexts[0], &target, queries, 1, 5, &options, "late, extra");
    assert_true(test_late_overtakings() > 20);
    free_target(&target);
    free(filter);
    free(queries);
    free(rows);
}

/* Copies of chunks and what is done with them, on one device or several, in any order that streams may take. */
static void answers_do_not_depend_on_when_streams_do_their_work(void **state) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    for (int turn = 0; turn < TURNS; turn++)
        check_late(f, turn % 3 == 2 ? f->three : f->one, &rng, turn % 2 == 0 ? ROOM_FOR_SOME : ROOM_FOR_CHUNKS);
}

/* ------------------------------------------------------------------------------------ memory, and failures */

typedef struct small {
    float *rows, *queries;
    test_target target;
    thr_search_options options;
    size_t memory; /* of each of three devices, so that some codes fit */
} small;

enum { SMALL = 1700, SMALL_DIMS = 20 };

static void make_small(const test_gpus *f, small *s) {
    uint64_t rng = test_seed();
    thr_error err;
    const test_shape shape = {.n_items = SMALL, .n_dims = SMALL_DIMS, .bits = 3, .metric = THR_METRIC_L2};
    s->rows = test_tied_rows(&rng, SMALL, SMALL_DIMS, false);
    s->queries = test_queries(&rng, GROUP, SMALL_DIMS);
    s->options = test_counts(20, 10);
    test_target_make(&s->target, &shape, s->rows);
    assert_ok(thr_store_create(f->contexts[0], f->three, &s->target.scan, &s->target.scan.store, &err), &err);
    s->memory = memory_for(s->target.scan.store, ROOM_FOR_SOME);
    thr_store_free(s->target.scan.store);
    s->target.scan.store = NULL;
}

static void free_small(small *s) {
    free_target(&s->target);
    free(s->rows);
    free(s->queries);
}

static thr_status search(const test_gpus *f, const small *s, thr_error *err) {
    uint64_t rows[GROUP * 5];
    const thr_matrix queries = thr_matrix_f32(s->queries, GROUP, SMALL_DIMS);
    thr_scan *scan = NULL;
    assert_ok(thr_scan_create(f->contexts[0], &scan, err), err);
    const thr_status status = thr_scan_search(scan, &s->target.scan, &queries, 5, &s->options, rows, NULL, err);
    thr_scan_free(scan);
    return status;
}

/* A store on three devices with little memory, and a search with plenty of it. */
static thr_status create_and_search(const test_gpus *f, small *s, thr_error *err) {
    give_memory(s->memory);
    const thr_status status = thr_store_create(f->contexts[0], f->three, &s->target.scan, &s->target.scan.store, err);
    give_memory(PLENTY);
    return status == THR_OK ? search(f, s, err) : status;
}

static void every_allocation_may_fail(void **state) {
    enum { MOST_ALLOCATIONS = 90 }; /* more than there are */
    const test_gpus *f = *state;
    small s;
    thr_error err;
    make_small(f, &s);
    unsigned n_failed = 0, n_pinned = 0, n_smaller = 0;
    uint64_t streamed = 0;
    for (unsigned i = MOST_ALLOCATIONS; i > 0; i--) {
        char what[32];
        (void)snprintf(what, sizeof what, "alloc %u", i);
        f->emulator.let_fail(what);
        const thr_status status = create_and_search(f, &s, &err);
        f->emulator.let_fail("none");
        assert_true(status == THR_OK || i < MOST_ALLOCATIONS);
        if (status == THR_OK) {
            const uint64_t bytes = thr_store_get_size(s.target.scan.store).streamed_bytes;
            streamed = i == MOST_ALLOCATIONS ? bytes : streamed;
            n_smaller += bytes > streamed;
        } else {
            assert_error(status, THR_ENOMEM, &err, "cuda:");
            n_failed++;
            n_pinned += strstr(err.text, "pinned memory for codes") != NULL;
        }
        if (s.target.scan.store != NULL) /* what failed is asked for again */
            test_search_equals_naive(f->contexts[0], &s.target, s.queries, 2, 5, &s.options, "after a failure");
        thr_store_free(s.target.scan.store);
        s.target.scan.store = NULL;
        assert_int_equal(f->emulator.allocated() + f->emulator.pinned(), 0);
    }
    assert_true(streamed > 0 && n_failed > 30);
    assert_int_equal(n_pinned, 3);
    assert_int_equal(n_smaller, 3); /* with fewer resident tiles it goes on */
    free_small(&s);
}

static void a_lost_device_is_an_error_and_leaks_nothing(void **state) {
    const test_gpus *f = *state;
    static const char *const kinds[] = {"launch", "copy"};
    small s;
    thr_error err;
    make_small(f, &s);
    for (size_t kind = 0; kind < 2; kind++)
        for (unsigned i = 1;; i += 1 + i / 8) {
            char what[32];
            (void)snprintf(what, sizeof what, "%s %u", kinds[kind], i);
            f->emulator.let_fail(what);
            const thr_status status = create_and_search(f, &s, &err);
            if (status != THR_OK)
                assert_error(status, THR_EDEVICE, &err, "illegal");
            thr_store_free(s.target.scan.store);
            s.target.scan.store = NULL;
            f->emulator.let_fail("none");
            assert_int_equal(f->emulator.allocated() + f->emulator.pinned(), 0);
            if (status == THR_OK) {
                assert_true(i > 20);
                break;
            }
        }
    free_small(&s);
}

static void a_device_without_room_for_two_chunks_is_refused(void **state) {
    const test_gpus *f = *state;
    small s;
    thr_error err;
    make_small(f, &s);
    for (s.memory = 1; s.memory < 2 * (size_t)THR_DEVICE_TILE * (8 + SMALL_DIMS * 3 / 8); s.memory *= 2)
        assert_error(create_and_search(f, &s, &err), THR_ENOMEM, &err, "a chunk of codes");
    assert_null(s.target.scan.store);
    free_small(&s);
}

/* Creating leaves some memory free, and batches are no larger than that allows. */
static void searches_have_room_beside_codes(void **state) {
    enum { WIDE = 64 };
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    thr_error err;
    const test_shape shape = {.n_items = MANY, .n_dims = WIDE, .bits = 4, .metric = THR_METRIC_IP};
    float *rows = test_tied_rows(&rng, MANY, WIDE, false), *queries = test_queries(&rng, GROUP, WIDE);
    const thr_search_options options = test_counts(40, 20);
    test_target target;
    test_target_make(&target, &shape, rows);
    give_memory((size_t)1 << 20);
    assert_ok(thr_store_create(f->contexts[0], f->one, &target.scan, &target.scan.store, &err), &err);
    test_search_equals_naive(f->contexts[0], &target, queries, GROUP, 5, &options, "little memory");
    give_memory(PLENTY);
    check_places(target.scan.store, ROOM_FOR_SOME);
    free_target(&target);
    free(queries);
    free(rows);
}

static void memory_is_accounted_for_and_does_not_grow(void **state) {
    const test_gpus *f = *state;
    small s;
    thr_error err;
    make_small(f, &s);
    assert_ok(create_and_search(f, &s, &err), &err);
    const thr_store_size size = thr_store_get_size(s.target.scan.store);
    const size_t device = f->emulator.allocated(), pinned = f->emulator.pinned();
    assert_int_equal(device, size.code_bytes + size.workspace_bytes);
    assert_true(size.streamed_bytes > 0 && pinned >= size.streamed_bytes);
    assert_true(tiles_of(s.target.scan.store) * s.target.scan.store->parts->tile.all <
                size.code_bytes + size.streamed_bytes);
    assert_ok(search(f, &s, &err), &err);
    assert_int_equal(f->emulator.allocated(), device);
    assert_int_equal(f->emulator.pinned(), pinned);
    free_small(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_codes_in_chunks_equal_the_naive_answer),
        cmocka_unit_test(large_collections_in_chunks_equal_the_naive_answer),
        cmocka_unit_test(rows_in_chunks_that_are_all_equal_come_in_their_order),
        cmocka_unit_test(a_sample_is_the_same_wherever_codes_are),
        cmocka_unit_test(answers_do_not_depend_on_when_streams_do_their_work),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_lost_device_is_an_error_and_leaks_nothing),
        cmocka_unit_test(a_device_without_room_for_two_chunks_is_refused),
        cmocka_unit_test(searches_have_room_beside_codes),
        cmocka_unit_test(memory_is_accounted_for_and_does_not_grow),
    };
    if (test_emulator_path() == NULL)
        return 77;
    return cmocka_run_group_tests(tests, set_up, test_gpus_free);
}
