/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_listed.c - screens of blocks that each query lists, on emulated GPUs, against the CPU's screen of the same
 * blocks.
 */
#include "test.h"

#include "kinds.h"
#include "little.h"
#include "naive.h"
#include "scan/job.h"
#include "store/listed.h"

enum {
    QUERIES = 9,
#ifdef THR_SANITIZED
    TURNS = 2 /* of every number of planes */
#else
    TURNS = 6
#endif
};

static int set_up(void **state) {
    static const char *const ways[] = {"", "", NULL};
    test_give_memory(TEST_PLENTY);
    *state = test_gpus_make(ways);
    return 0;
}

/* Queries with their lists, prepared on the lanes of a scan. */
typedef struct setting {
    thr_scan *scan;
    thr_search_options options;
    thr_answers answers;
    thr_job job;
    thr_scan_query queries[QUERIES];
    thr_block_range *runs[QUERIES];
    thr_store_list lists[QUERIES];
    thr_store_list *pointers[QUERIES];
    size_t n; /* without queries of length 0 */
    float *vectors;
    uint64_t *filter;
} setting;

/* The origins of a corpus's items (scan/origins.h). */
typedef struct item_origins {
    thr_corpus_origins of;
    thr_segment_origins *segments;
    uint32_t *starts, *of_block;
    float *points, *lengths;
} item_origins;

/* Random starts of runs: some shorter than a block, or a single one. Returns their number. */
static uint32_t some_starts(uint64_t *rng, uint32_t n_items, uint32_t *starts) {
    const bool single = thr_rng_below(rng, 4) == 0;
    uint32_t n = 0;
    for (uint32_t at = 0; at < n_items && (n == 0 || !single); n++) {
        starts[n] = at;
        at += 1 + (uint32_t)thr_rng_below(rng, thr_rng_below(rng, 2) == 0 ? 12 : 1500);
    }
    return n;
}

/* Give the items random origins, which the store of their codes does not read. */
static void give_origins(test_corpus *corpus, uint64_t *rng, item_origins *o) {
    const uint32_t n_items = corpus->shape.n_items, n_dims = corpus->shape.n_dims;
    const size_t n_segments = corpus->scan.n_segments;
    *o = (item_origins){.segments = test_new(n_segments, sizeof *o->segments),
                        .starts = test_new(n_items, sizeof *o->starts),
                        .of_block = test_new(n_items / THR_BLOCK_ITEMS + n_segments, sizeof *o->of_block),
                        .points = test_new((size_t)n_items * n_dims, sizeof *o->points),
                        .lengths = test_new(n_items, sizeof *o->lengths)};
    test_gaussian(rng, o->points, (size_t)n_items * n_dims);
    uint32_t n = 0, *of_block = o->of_block;
    for (size_t s = 0; s < n_segments; s++) {
        thr_segment_origins *some = &o->segments[s];
        uint32_t *starts = o->starts + n, n_some = some_starts(rng, corpus->segments[s].n_items, starts);
        *some = (thr_segment_origins){n_some, n, starts, of_block, o->points + (size_t)n * n_dims, o->lengths + n};
        for (uint32_t item = 0, origin = 0; item < corpus->segments[s].n_items; item += THR_BLOCK_ITEMS) {
            while (origin + 1 < n_some && starts[origin + 1] <= item)
                origin++;
            *of_block++ = origin;
        }
        corpus->segments[s].origins = some;
        n += n_some;
    }
    for (uint32_t i = 0; i < n; i++)
        o->lengths[i] = (float)sqrt(corpus->context->kernels->sum_squares(o->points + (size_t)i * n_dims, n_dims));
    o->of = (thr_corpus_origins){.segments = o->segments, .n_segments = n_segments, .n = n};
    corpus->scan.origins = &o->of;
}

/* Margins that differ between origins, as thr_scan_margin_screen sets them. */
static void give_margins(uint64_t *rng, thr_scan_query *query) {
    if (thr_rng_below(rng, 4) == 0)
        return;
    query->random_margin = (double)thr_rng_below(rng, 300) / 10;
    query->own_margin = (double)thr_rng_below(rng, 300) / 10;
    query->across = thr_rng_below(rng, 2) == 0 ? (double)INFINITY : query->geometry.farthest_origin * 0.8;
}

/* About half the blocks, in runs of a few. */
static size_t some_runs(uint64_t *rng, uint64_t n_blocks, thr_block_range *runs) {
    size_t n = 0;
    for (uint64_t at = thr_rng_below(rng, 3); at < n_blocks;) {
        const uint64_t left = n_blocks - at, length = 1 + thr_rng_below(rng, thr_rng_below(rng, 4) == 0 ? 40 : 5);
        runs[n++] = (thr_block_range){at, at + (length < left ? length : left)};
        at = runs[n - 1].end + 1 + thr_rng_below(rng, 5);
    }
    return n;
}

static void make_setting(thr_context *context, const test_corpus *corpus, bool filtered, uint64_t *rng, setting *s) {
    const uint32_t n_items = corpus->shape.n_items, n_dims = corpus->shape.n_dims;
    const uint64_t n_blocks = (n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS;
    *s = (setting){.options = test_counts(10, 10), .answers = {.k = 5}};
    s->options.query_bits = 1 + (uint32_t)thr_rng_below(rng, 8);
    s->filter = test_filter(rng, n_items, 3);
    s->options.filter = filtered ? s->filter : NULL;
    s->options.filter_bits = n_items;
    s->job = thr_scan_job_make(context, &corpus->scan, &s->options, &s->answers);
    s->vectors = test_queries(rng, QUERIES, n_dims);
    expect_ok(thr_scan_create(context, &s->scan, &err));
    assert_true(s->scan->n_lanes >= QUERIES);
    expect_ok(thr_scan_make_room(s->scan, &corpus->scan, QUERIES, 1, n_items, &err));
    const thr_matrix matrix = thr_matrix_f32(s->vectors, QUERIES, n_dims);
    for (uint64_t q = 0; q < QUERIES; q++) {
        thr_lane *lane = &s->scan->lanes[s->n];
        s->job.exact = false;
        thr_scan_query_prepare(&s->job, &matrix, q, lane, &s->queries[s->n]);
        if (s->queries[s->n].norm == 0 && corpus->shape.metric != THR_METRIC_L2)
            continue;
        if (corpus->scan.origins != NULL)
            give_margins(rng, &s->queries[s->n]);
        s->runs[s->n] = test_new(n_blocks, sizeof **s->runs);
        s->pointers[s->n] = &s->lists[s->n];
        s->lists[s->n] = (thr_store_list){.query = &s->queries[s->n],
                                          .runs = s->runs[s->n],
                                          .n_runs = some_runs(rng, n_blocks, s->runs[s->n]),
                                          .n_rows = n_items,
                                          .threshold = -INFINITY,
                                          .most = n_items,
                                          .collector = &lane->collector};
        s->n++;
    }
}

static void free_setting(setting *s) {
    thr_scan_free(s->scan);
}

static void start(const setting *s, size_t i) {
    expect_ok(
        thr_select_collector_start(s->lists[i].collector, s->job.context, s->job.corpus->n_rows, -INFINITY, &err));
}

/* The rows that the CPU finds, sorted; to be freed. */
static thr_candidate *on_cpu(setting *s, size_t i, float threshold, size_t *n) {
    thr_collector *collector = s->lists[i].collector;
    const thr_scan_group alone = thr_scan_group_make(&s->job, &s->queries[i], 1, &s->scan->lanes[i]);
    start(s, i);
    collector->threshold = threshold;
    for (size_t r = 0; r < s->lists[i].n_runs; r++)
        thr_scan_screen_blocks(&alone, &s->scan->lanes[i], s->runs[i][r]);
    *n = collector->n;
    thr_candidate *rows = test_new(*n + 1, sizeof *rows);
    memcpy(rows, collector->items, *n * sizeof *rows);
    thr_select_candidates_sort(rows, *n);
    return rows;
}

static void assert_same_rows(const setting *s, const thr_candidate *a, const thr_candidate *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a[i].row, b[i].row);
        assert_memory_equal(&a[i].score, &b[i].score, sizeof a->score);
        if (thr_is_nested(s->job.corpus))
            assert_int_equal(a[i].distance, b[i].distance);
    }
}

/* All rows of the lists, then those that reach the score of some row, then the best few of these. */
static void check_lists(thr_store *store, setting *s, uint64_t *rng) {
    thr_candidate *rows[QUERIES];
    size_t n[QUERIES];
    for (int turn = 0; turn < 3; turn++) {
        bool done = false;
        for (size_t i = 0; i < s->n; i++) {
            thr_store_list *list = &s->lists[i];
            rows[i] = on_cpu(s, i, list->threshold, &n[i]);
            if (turn == 0 && n[i] > 0 && thr_rng_below(rng, 4) > 0) {
                list->threshold = rows[i][thr_rng_below(rng, n[i])].score;
                rows[i] = on_cpu(s, i, list->threshold, &n[i]);
            }
            list->most = turn == 2 ? 1 + thr_rng_below(rng, 40) : list->most;
            start(s, i);
        }
        expect_ok(thr_store_screen_lists(store, &s->job, s->pointers, s->n, &done, &err));
        assert_true(done);
        for (size_t i = 0; i < s->n; i++) {
            thr_collector *found = s->lists[i].collector;
            const size_t wanted = n[i] < s->lists[i].most ? n[i] : s->lists[i].most;
            assert_false(s->lists[i].lost);
            assert_int_equal(s->lists[i].n_reached, n[i]);
            assert_true(found->n >= wanted && found->n <= n[i]);
            thr_select_candidates_sort(found->items, found->n);
            assert_same_rows(s, found->items, rows[i], wanted);
        }
    }
}

/* Screen random lists of corpora of all kinds of codes. */
static void check_kinds(const test_gpus *f, bool with_origins) {
    const uint32_t sizes[] = {1, 63, 65, 128, 129, 500, 3000};
    uint64_t rng = test_seed();
    for (uint32_t bits = 1; bits <= 8; bits++)
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            const uint32_t n_items = sizes[thr_rng_below(&rng, COUNT_OF(sizes))];
            const test_shape shape = test_any_shape(&rng, bits, n_items);
            float *rows = test_tied_rows(&rng, n_items, shape.n_dims, shape.centre);
            test_corpus corpus;
            item_origins origins = {.segments = NULL};
            setting s;
            test_target_put(f, turn % 2 == 0 ? f->one : f->three, &corpus, &shape, rows);
            assert_true(thr_store_is_resident(corpus.scan.store));
            if (with_origins && thr_has_factors(&corpus.scan))
                give_origins(&corpus, &rng, &origins);
            make_setting(f->contexts[turn % 2], &corpus, turn % 3 == 0, &rng, &s);
            if (s.n > 0)
                check_lists(corpus.scan.store, &s, &rng);
            free_setting(&s);
            test_target_take(&corpus);
        }
}

TEST(listed_blocks_have_the_rows_of_the_cpu) {
    check_kinds(*state, false);
}

TEST(codes_with_origins_have_the_rows_of_the_cpu) {
    check_kinds(*state, true);
}

enum { MANY = 33000, FEW_DIMS = 9 };

/* More rows reach the threshold than a device has room for. */
TEST(lost_rows_are_counted) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    float *rows = test_equal_rows(&rng, MANY, FEW_DIMS);
    const test_shape shape = {.n_items = MANY, .n_dims = FEW_DIMS, .bits = 2, .metric = THR_METRIC_L2};
    test_corpus corpus;
    setting s;
    bool done = false;
    test_target_put(f, f->one, &corpus, &shape, rows);
    make_setting(f->contexts[0], &corpus, false, &rng, &s);
    for (size_t i = 0; i < s.n; i++) {
        s.runs[i][0] = (thr_block_range){i, (MANY + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS};
        s.lists[i].n_runs = i == 1 ? 0 : 1;
        s.lists[i].most = 10;
        start(&s, i);
    }
    expect_ok(thr_store_screen_lists(corpus.scan.store, &s.job, s.pointers, s.n, &done, &err));
    assert_true(done);
    for (size_t i = 0; i < s.n; i++) {
        assert_int_equal(s.lists[i].lost, i != 1);
        assert_int_equal(s.lists[i].n_reached, i == 1 ? 0 : MANY - i * THR_BLOCK_ITEMS);
    }
    free_setting(&s);
    test_target_take(&corpus);
}

/* Every allocation for lists fails in turn, until none fails. */
static void fail_allocations(const test_gpus *f, bool with_origins, const test_shape *shape, const float *rows,
                             uint64_t *rng) {
    bool done = false;
    for (unsigned i = 1; !done; i++) {
        char what[32];
        test_corpus corpus;
        item_origins origins = {.segments = NULL};
        setting s;
        (void)snprintf(what, sizeof what, "alloc %u", i);
        test_target_put(f, f->three, &corpus, shape, rows);
        if (with_origins)
            give_origins(&corpus, rng, &origins);
        make_setting(f->contexts[0], &corpus, true, rng, &s);
        for (size_t q = 0; q < s.n; q++)
            start(&s, q);
        f->emulator.let_fail(what);
        expect_ok(thr_store_screen_lists(corpus.scan.store, &s.job, s.pointers, s.n, &done, &err));
        f->emulator.let_fail("none");
        assert_true(thr_store_is_resident(corpus.scan.store) && (!done || i > 20));
        check_lists(corpus.scan.store, &s, rng);
        free_setting(&s);
        test_target_take(&corpus);
    }
}

/* Codes in chunks, and failed allocations: nothing is done, which is no error, and no codes are moved. */
TEST(a_lack_of_memory_is_no_error) {
    const test_gpus *f = *state;
    uint64_t rng = test_seed();
    const test_shape shape = {.n_items = 1700, .n_dims = 20, .bits = 3, .metric = THR_METRIC_IP, .keep = THR_DTYPE_F32};
    float *rows = test_tied_rows(&rng, shape.n_items, shape.n_dims, false);
    test_corpus corpus;
    setting s;
    bool done = true;
    test_target_put_in(f, f->one, &corpus, &shape, rows, TEST_ROOM_FOR_SOME);
    make_setting(f->contexts[0], &corpus, true, &rng, &s);
    assert_false(thr_store_is_resident(corpus.scan.store));
    expect_ok(thr_store_screen_lists(corpus.scan.store, &s.job, s.pointers, s.n, &done, &err));
    assert_false(done);
    free_setting(&s);
    test_target_take(&corpus);
    fail_allocations(f, false, &shape, rows, &rng);
    fail_allocations(f, true, &shape, rows, &rng);
}

TEST(a_lost_device_is_an_error) {
    const test_gpus *f = *state;
    static const char *const failures[] = {"launch 1", "launch 2", "copy 1", "copy 6"};
    uint64_t rng = test_seed();
    const test_shape shape = {.n_items = 1700, .n_dims = 20, .bits = 3, .metric = THR_METRIC_IP, .keep = THR_DTYPE_F32};
    float *rows = test_tied_rows(&rng, shape.n_items, shape.n_dims, false);
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        test_corpus corpus;
        setting s;
        bool done = true;
        test_target_put(f, f->one, &corpus, &shape, rows);
        make_setting(f->contexts[0], &corpus, false, &rng, &s);
        for (size_t q = 0; q < s.n; q++)
            start(&s, q);
        f->emulator.let_fail(failures[i]);
        expect_error(thr_store_screen_lists(corpus.scan.store, &s.job, s.pointers, s.n, &done, &err), THR_EDEVICE,
                     "cuda:");
        f->emulator.let_fail("none");
        assert_false(done);
        free_setting(&s);
        test_target_take(&corpus);
    }
}

TEST_NEEDS(test_emulator_path() != NULL)
TEST_GROUP(set_up, test_gpus_free)
