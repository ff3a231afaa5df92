/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_device_search.c - searches of posting lists on a GPU, list by list and tile by tile, find what a naive model
 * finds, to the bit; damaged lists stay within their sums. The GPU is emulated (tests/simt).
 */
#include "emulator.h"
#include "hits_naive.h"

#include "hits/device/copy.h"
#include "select/sampled_threshold.h"

static test_emulator emulator;
static const thr_hit_way WAYS[] = {THR_HIT_WAY_LISTS, THR_HIT_WAY_TILES, THR_HIT_WAY_AUTO};
enum {
    N_WAYS = COUNT_OF(WAYS),
    LEFT = 3,
#ifdef THR_SANITIZED
    KINDS_STEP = 3, /* of the 16 kinds of searches, every third; of large lists two */
    LARGE_KINDS_STEP = 15,
#else
    KINDS_STEP = 1,
    LARGE_KINDS_STEP = 5,
#endif
};

/* A context, and the emulated GPU. */
typedef struct world {
    thr_context *context;
    thr_devices *devices;
} world;

static int open_world(void **state) {
    world *w = test_new(1, sizeof *w);
    thr_device_choice choice;
    w->context = test_context(2, THR_ISA_BEST, NULL);
    expect_ok(thr_device_choice_read("cuda", &choice, &err));
    expect_ok(thr_devices_open(w->context, &choice, &w->devices, &err));
    *state = w;
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    thr_devices_close(w->context, w->devices);
    thr_context_free(w->context);
    return emulator.allocated() + emulator.pinned() == 0 ? 0 : 1;
}

static thr_hit_store *make_store(const world *w, const thr_lists *lists, const uint32_t *rows) {
    thr_hit_store *store = NULL;
    expect_ok(thr_hits_store_create(w->context, w->devices, lists, rows, &store, &err));
    return store;
}

/* ------------------------------------------------------------------------------------------------ answers */

typedef struct answers {
    thr_candidate *best; /* k a query */
    size_t k, n[LEFT];
    uint32_t n_unknown[LEFT];
    uint64_t n_answered;
} answers;

static void keep(void *arg, uint64_t q, const thr_lists_found *found) {
    answers *a = arg;
    assert_int_equal(q, a->n_answered++);
    assert_true(found->n <= a->k && q < LEFT);
    assert_null(found->sums);
    memcpy(a->best + q * a->k, found->items, found->n * sizeof *found->items);
    a->n[q] = found->n;
    a->n_unknown[q] = found->n_unknown;
}

/* The answers of a search to a. */
#define TO(a) (&(const thr_hit_caller){.arg = (a), .answer = keep})

static answers start_answers(size_t k) {
    return (answers){.best = test_new(LEFT * k, sizeof(thr_candidate)), .k = k};
}

/* One query against the naive model's answer, all of it. */
static void check(thr_hit_store *store, const hits_problem *p, const thr_lists_corpus *target, size_t k,
                  const thr_candidate *all, size_t n_all, const char *what) {
    const uint64_t offsets[] = {0, p->n};
    const thr_hits_queries queries = {1, offsets, p->features, p->weights};
    answers a = start_answers(k);
    uint64_t failed = 0;
    expect_ok(thr_hits_store_search(store, target, &queries, k, TO(&a), &failed, &err));
    assert_true(a.n_answered == 1 && failed == UINT64_MAX && a.n_unknown[0] >= 3);
    assert_int_equal(a.n[0], k < n_all ? k : n_all);
    for (size_t i = 0; i < a.n[0]; i++) {
        const uint32_t *rows = target->rows;
        const uint64_t row = rows == NULL ? all[i].row : rows[all[i].row];
        assert_case(a.best[i].row == row && hits_same_bits(a.best[i].score, all[i].score),
                    "seed %llu, %s, k %zu: number %zu is row %llu with %.9g, should be %llu with %.9g",
                    (unsigned long long)test_seed(), what, k, i, (unsigned long long)a.best[i].row,
                    (double)a.best[i].score, (unsigned long long)row, (double)all[i].score);
    }
}

static const struct {
    uint64_t n_items;
    uint32_t n_features;
} SHAPES[] = {{1, 1}, {63, 9}, {257, 16}, {9000, 24}, {150000, 8}};
enum { N_SHAPES = COUNT_OF(SHAPES) };

TEST(both_ways_find_what_the_naive_model_finds) {
    static const size_t ks[] = {1, 10, 300, 100000};
    const world *w = *state;
    uint64_t rng = test_seed();
    for (size_t s = 0; s < N_SHAPES; s++) {
        hits_problem p = hits_make_problem(w->context, SHAPES[s].n_items, SHAPES[s].n_features, &rng);
        hits_numbers x = hits_draw_numbers(SHAPES[s].n_items, &rng);
        thr_hit_store *store = make_store(w, &p.built.lists, NULL);
        thr_candidate *all = test_new(SHAPES[s].n_items, sizeof *all);
        for (uint64_t kind = 0; kind < 16; kind += s < 3 ? KINDS_STEP : LARGE_KINDS_STEP) {
            const thr_lists_corpus target = {.lists = &p.built.lists,
                                             .value = (kind & 1) != 0 ? THR_HITS_VALUE_SIGMOID : THR_HITS_VALUE_SUM,
                                             .multipliers = (kind & 2) != 0 ? x.multipliers : NULL,
                                             .offsets = (kind & 4) != 0 ? x.offsets : NULL,
                                             .values_id = (kind & 6) == 0 ? 0 : kind,
                                             .filter = (kind & 8) != 0 ? x.filter : NULL};
            const size_t n_all = hits_naive_search(w->context, &p, &target, all);
            for (size_t i = 0; i < (s < 4 ? 4 : 2); i++)
                for (int way = 0; way < N_WAYS; way++) {
                    thr_hits_store_force(store, WAYS[way]);
                    check(store, &p, &target, ks[i], all, n_all,
                          way == 0   ? "list by list"
                          : way == 1 ? "tile by tile"
                                     : "the faster way");
                }
        }
        thr_hits_store_free(store);
        hits_free_problem(w->context, &p);
    }
}

/* ------------------------------------------------------------------------------------------------ special lists */

/* The lists of items that all have feature 0, and each also the one that f returns; features of a query. */
static hits_problem make_plain(thr_context *context, uint64_t n_items, uint32_t (*f)(uint64_t item),
                               uint32_t n_features) {
    hits_problem p = {.n = n_features + 3};
    hits_catalogue *c = &p.catalogue;
    c->n_features = n_features;
    c->offsets = test_new(n_items + 1, sizeof *c->offsets);
    c->features = test_new(2 * n_items, sizeof *c->features);
    c->has = test_new(n_items * n_features, 1);
    for (uint64_t i = 0; i < n_items; i++) {
        const uint32_t other = f(i);
        c->features[c->offsets[i]] = 0;
        c->has[i * n_features] = 1;
        c->has[i * n_features + other] = 1;
        c->offsets[i + 1] = c->offsets[i] + 1;
        if (other != 0)
            c->features[c->offsets[i + 1]++] = other * HITS_STEP;
    }
    c->items = (thr_item_features){c->offsets, c->features, n_items};
    expect_ok(thr_lists_build(context, &c->items, NULL, &p.built, &err));
    p.features = test_new(p.n, sizeof *p.features);
    p.weights = test_new(p.n, sizeof *p.weights);
    for (uint32_t i = 0; i < p.n; i++) {
        p.features[i] = i < n_features ? i * HITS_STEP : 1; /* nobody has 1 */
        p.weights[i] = i == 0 ? 1.5f : 0.25f * (float)(i % 4);
    }
    return p;
}

static uint32_t nothing_else(uint64_t item) {
    (void)item;
    return 0;
}
static uint32_t one_in_a_window(uint64_t item) {
    return item % 65536 == 40000 ? 1 + (uint32_t)(item / 65536) % 3 : 0;
}
static uint32_t late_ones(uint64_t item) {
    return item > 560000 ? 1 + (uint32_t)(item % 37 == 0) : item % 1000 == 7 ? 3 : 0;
}
static uint32_t sampled_ones(uint64_t item) {
    return item / THR_HIT_TILE == thr_select_sample_place(0, 4, 70) ? 3 : (uint32_t)(item % 3);
}

static void check_plain(const world *w, uint64_t n_items, uint32_t (*f)(uint64_t item), size_t k) {
    hits_problem p = make_plain(w->context, n_items, f, 4);
    const thr_lists_corpus target = {.lists = &p.built.lists};
    thr_hit_store *store = make_store(w, &p.built.lists, NULL);
    thr_candidate *all = test_new(n_items, sizeof *all);
    const size_t n_all = hits_naive_search(w->context, &p, &target, all);
    for (int way = 0; way < 2; way++) {
        thr_hits_store_force(store, WAYS[way]);
        check(store, &p, &target, k, all, n_all, "few features");
    }
    thr_hits_store_free(store);
    hits_free_problem(w->context, &p);
}

TEST(equal_values_go_to_the_smaller_rows) {
    check_plain(*state, 20000, nothing_else, 1);
    check_plain(*state, 20000, nothing_else, 9000);
}

TEST(windows_in_which_a_list_has_nothing_are_passed_over) {
    check_plain(*state, 140000, one_in_a_window, 7);
}

/* 70 tiles, of which 4 are sampled: of a sample that has all of the best, or none. */
TEST(many_items_are_found_where_a_sample_misjudges) {
    enum { BOTH = 2, SAMPLE = 2, PASS = 2 }; /* ways; launches for a threshold, and for the best by it */
    const uint64_t before = emulator.launches();
    check_plain(*state, 573000, sampled_ones, 20000);
    assert_int_equal(emulator.launches() - before, 1 + BOTH * (SAMPLE + PASS + PASS)); /* 1: list by list */
    check_plain(*state, 573000, late_ones, 100);
}

TEST(answers_are_rows_and_not_places) {
    const world *w = *state;
    uint64_t rng = test_seed() + 5;
    hits_problem p = hits_make_problem(w->context, 9000, 8, &rng);
    uint32_t *rows = test_new(9000, sizeof *rows);
    thr_candidate *all = test_new(9000, sizeof *all);
    for (uint32_t i = 0; i < 9000; i++)
        rows[i] = i / 3 * 3 + (2 - i % 3); /* equal values: not the smaller place, the smaller row */
    const thr_lists_corpus target = {.lists = &p.built.lists, .rows = rows}, places = {.lists = &p.built.lists};
    const size_t n_all = hits_naive_search(w->context, &p, &places, all);
    for (size_t i = 0; i < n_all; i++)
        all[i].row = rows[all[i].row];
    thr_select_candidates_sort(all, n_all);
    for (size_t i = 0; i < n_all; i++)
        all[i].row = all[i].row / 3 * 3 + (2 - all[i].row % 3); /* back, for check */
    thr_hit_store *store = make_store(w, &p.built.lists, rows);
    for (int way = 0; way < 2; way++) {
        thr_hits_store_force(store, WAYS[way]);
        check(store, &p, &target, 250, all, n_all, "rows");
    }
    thr_hits_store_free(store);
    hits_free_problem(w->context, &p);
}

/* ------------------------------------------------------------------------------------------------ batches */

/* Three queries: all features, none, and features of which one is repeated. */
typedef struct three {
    hits_problem p;
    uint64_t offsets[4];
    uint32_t features[64];
    float weights[64];
    thr_hits_queries queries;
} three;

static three *make_three(const world *w, uint64_t n_items, uint64_t *rng) {
    three *t = test_new(1, sizeof *t);
    t->p = hits_make_problem(w->context, n_items, 16, rng);
    memcpy(t->features, t->p.features, t->p.n * sizeof *t->features);
    memcpy(t->weights, t->p.weights, t->p.n * sizeof *t->weights);
    t->offsets[1] = t->offsets[2] = t->p.n;
    t->offsets[3] = t->p.n + 3;
    for (size_t i = 0; i < 3; i++) {
        t->features[t->p.n + i] = i == 0 ? 0 : 2 * HITS_STEP;
        t->weights[t->p.n + i] = 0.5f + (float)i;
    }
    t->queries = (thr_hits_queries){3, t->offsets, t->features, t->weights};
    return t;
}

static void free_three(const world *w, three *t) {
    hits_free_problem(w->context, &t->p);
}

/* What the CPU finds for query q. */
static size_t on_cpu(const world *w, const three *t, const thr_lists_corpus *target, uint64_t q, size_t k,
                     uint64_t *rows, float *values, uint32_t *n_unknown) {
    thr_lists_search *search = NULL;
    thr_lists_found found = {.n = 0};
    expect_ok(thr_lists_search_create(w->context, &search, &err));
    expect_ok(thr_lists_search_run(search, target, &t->queries, q, k, &found, &err));
    for (size_t i = 0; i < found.n; i++) {
        rows[i] = found.items[i].row;
        values[i] = found.items[i].score;
    }
    *n_unknown = found.n_unknown;
    thr_lists_search_free(search);
    return found.n;
}

TEST(queries_of_a_batch_are_answered_each_for_itself) {
    enum { K = 40 };
    const world *w = *state;
    uint64_t rng = test_seed() + 6;
    three *t = make_three(w, 20000, &rng);
    const thr_lists_corpus target = {.lists = &t->p.built.lists};
    thr_hit_store *store = make_store(w, &t->p.built.lists, NULL);
    for (int way = 0; way < N_WAYS; way++) {
        answers a = start_answers(K);
        uint64_t failed = 0;
        thr_hits_store_force(store, WAYS[way]);
        expect_ok(thr_hits_store_search(store, &target, &t->queries, K, TO(&a), &failed, &err));
        assert_int_equal(a.n_answered, 3);
        for (uint64_t q = 0; q < 3; q++) {
            uint64_t rows[K];
            float values[K];
            uint32_t n_unknown = 0;
            assert_int_equal(on_cpu(w, t, &target, q, K, rows, values, &n_unknown), a.n[q]);
            assert_int_equal(n_unknown, a.n_unknown[q]);
            for (size_t i = 0; i < a.n[q]; i++)
                assert_true(a.best[q * K + i].row == rows[i] && hits_same_bits(a.best[q * K + i].score, values[i]));
        }
    }
    thr_hits_store_free(store);
    free_three(w, t);
}

TEST(an_error_names_its_query_and_those_before_are_answered) {
    enum { K = 5 };
    const world *w = *state;
    uint64_t rng = test_seed() + 7, failed = 0;
    three *t = make_three(w, 3000, &rng);
    hits_numbers x = hits_draw_numbers(3000, &rng);
    thr_lists_corpus target = {.lists = &t->p.built.lists};
    thr_hit_store *store = make_store(w, &t->p.built.lists, NULL);
    for (int way = 0; way < 2; way++) {
        answers a = start_answers(K);
        thr_hits_store_force(store, WAYS[way]);
        t->weights[t->offsets[2] + 1] = NAN;
        expect_error(thr_hits_store_search(store, &target, &t->queries, K, TO(&a), &failed, &err), THR_ERANGE,
                     "feature 6 of a query weighs nan");
        assert_true(failed == 2 && a.n_answered == 2);
        t->weights[t->offsets[2] + 1] = 1;
        x.multipliers[2000] = INFINITY;
        x.multipliers[1234] = NAN;
        target.multipliers = x.multipliers;
        target.values_id = 1 + (uint64_t)way;
        a.n_answered = 0;
        expect_error(thr_hits_store_search(store, &target, &t->queries, K, TO(&a), &failed, &err), THR_ERANGE,
                     "the value of row 1234 is not finite");
        assert_true(failed == 0 && a.n_answered == 0);
        target.multipliers = NULL;
        target.values_id = 0;
    }
    thr_hits_store_free(store);
    free_three(w, t);
}

TEST(a_filter_that_lets_nothing_through_finds_nothing) {
    const world *w = *state;
    uint64_t rng = test_seed() + 8, failed = 0;
    three *t = make_three(w, 3000, &rng);
    uint64_t *filter = test_new(3000 / 64 + 1, sizeof *filter);
    const thr_lists_corpus target = {.lists = &t->p.built.lists, .filter = filter};
    thr_hit_store *store = make_store(w, &t->p.built.lists, NULL);
    answers a = start_answers(3);
    expect_ok(thr_hits_store_search(store, &target, &t->queries, 3, TO(&a), &failed, &err));
    assert_true(a.n_answered == 3 && a.n[0] == 0 && a.n[1] == 0 && a.n[2] == 0 && a.n_unknown[0] >= 3);
    filter[2999 / 64] |= UINT64_C(1) << 2999 % 64;
    a.n_answered = 0;
    expect_ok(thr_hits_store_search(store, &target, &t->queries, 3, TO(&a), &failed, &err));
    assert_true(a.n[0] == 1 && a.best[0].row == 2999 && a.n[2] == 1);
    thr_hits_store_free(store);
    free_three(w, t);
}

/* ------------------------------------------------------------------------------------------------ damage, memory */

/* What an open file may still hold: places and runs in any order. The emulator reports writes beside allocations. */
TEST(lists_in_no_order_stay_within_their_sums) {
    const world *w = *state;
    uint64_t rng = test_seed() + 9, failed = 0;
    three *t = make_three(w, 70000, &rng);
    thr_lists lists = t->p.built.lists;
    uint16_t *places = test_new(lists.n_elements[THR_LISTS_PLACES], sizeof *places);
    uint16_t *runs = test_new(lists.n_elements[THR_LISTS_RUNS], 2 * sizeof *runs);
    for (uint32_t i = 0; i < lists.n_elements[THR_LISTS_PLACES]; i++)
        places[i] = (uint16_t)thr_rng_below(&rng, 65536);
    for (uint32_t i = 0; i < lists.n_elements[THR_LISTS_RUNS]; i++) {
        runs[2 * i] = (uint16_t)thr_rng_below(&rng, 65536);
        runs[2 * i + 1] = (uint16_t)thr_rng_below(&rng, 65536u - runs[2 * i]);
    }
    lists.places = places;
    lists.runs = runs;
    const thr_lists_corpus target = {.lists = &lists};
    thr_hit_store *store = make_store(w, &lists, NULL);
    for (int way = 0; way < 2; way++) {
        answers a = start_answers(10);
        thr_hits_store_force(store, WAYS[way]);
        expect_ok(thr_hits_store_search(store, &target, &t->queries, 10, TO(&a), &failed, &err));
        assert_true(a.n_answered == 3 && a.n[0] == 10 && a.n[2] == 10);
    }
    thr_hits_store_free(store);
    free_three(w, t);
}

/* Copy the lists and search while a step of the device fails. Returns the status of the first call that failed. */
static thr_status search_with_failure(const world *w, const three *t, const thr_lists_corpus *target, const char *kind,
                                      unsigned number) {
    char failure[32];
    thr_hit_store *store = NULL;
    answers a = start_answers(20);
    uint64_t failed = 0;
    (void)snprintf(failure, sizeof failure, "%s %u", kind, number);
    emulator.let_fail(failure);
    thr_status status = thr_hits_store_create(w->context, w->devices, &t->p.built.lists, NULL, &store, &err);
    if (status == THR_OK) {
        thr_hits_store_force(store, WAYS[number % 2]);
        status = thr_hits_store_search(store, target, &t->queries, 20, TO(&a), &failed, &err);
    }
    if (status != THR_OK)
        assert_int_equal(err.status, status);
    emulator.let_fail("none");
    if (status == THR_ENOMEM && store != NULL) { /* a device that lacked memory goes on */
        a.n_answered = 0;
        expect_ok(thr_hits_store_search(store, target, &t->queries, 20, TO(&a), &failed, &err));
        assert_int_equal(a.n_answered, 3);
    }
    thr_hits_store_free(store);
    assert_int_equal(emulator.allocated() + emulator.pinned(), 0);
    return status;
}

TEST(a_failure_of_the_device_is_an_error_of_one_search) {
    static const char *const kinds[] = {"alloc", "copy", "launch"};
    const world *w = *state;
    uint64_t rng = test_seed() + 10;
    three *t = make_three(w, 3000, &rng);
    hits_numbers x = hits_draw_numbers(3000, &rng);
    const thr_lists_corpus target = {.lists = &t->p.built.lists,
                                     .multipliers = x.multipliers,
                                     .offsets = x.offsets,
                                     .values_id = 1,
                                     .filter = x.filter};
    for (int kind = 0; kind < 3; kind++) {
        unsigned n_failed = 0;
        thr_status status;
        while ((status = search_with_failure(w, t, &target, kinds[kind], n_failed + 1)) != THR_OK) {
            assert_int_equal(status, kind == 0 ? THR_ENOMEM : THR_EDEVICE);
            n_failed++;
        }
        assert_true(n_failed >= (kind == 2 ? 2 : 10));
    }
    free_three(w, t);
}

TEST(nothing_is_allocated_after_the_first_search) {
    const world *w = *state;
    uint64_t rng = test_seed() + 11, failed = 0;
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    three *t = make_three(w, 20000, &rng);
    const thr_lists_corpus target = {.lists = &t->p.built.lists};
    thr_hit_store *store = NULL;
    expect_ok(thr_hits_store_create(context, w->devices, &t->p.built.lists, NULL, &store, &err));
    for (int way = 0; way < 2; way++) {
        size_t calls = 0, device = 0, pinned = 0;
        thr_hits_store_force(store, WAYS[way]);
        for (int times = 0; times < 3; times++) {
            answers a = start_answers(40);
            expect_ok(thr_hits_store_search(store, &target, &t->queries, 40, TO(&a), &failed, &err));
            assert_true(times == 0 || (atomic_load(&memory.calls) == calls && emulator.allocated() == device &&
                                       emulator.pinned() == pinned));
            calls = atomic_load(&memory.calls);
            device = emulator.allocated();
            pinned = emulator.pinned();
        }
    }
    const thr_hit_store_size size = thr_hits_store_get_size(store);
    assert_int_equal(size.list_bytes + size.workspace_bytes, emulator.allocated());
    thr_hits_store_free(store);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
    free_three(w, t);
}

TEST_NEEDS(test_emulator_take(&emulator, 1))
TEST_GROUP(open_world, close_world)
