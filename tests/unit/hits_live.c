/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of live lists, while others are built, swapped and searched: none is lost, and none is seen in part. */
#include "hits_model.h"

#include <pthread.h>

static const char PATH[] = "unit-hits-live.hits";
enum { ROUNDS = 60 };

/* ------------------------------------------------------------------------------------------------ replayed updates */

typedef struct history {
    model *now, *read; /* the catalogue, and as it was read at the mark */
    uint64_t mark, since;
    batch batches[ROUNDS]; /* of update i + 1 */
    uint32_t n_batches;
} history;

static thr_status try_update(thr_hits_live *live, const history *h, const batch *b, thr_error *error) {
    const thr_hits_changes changes = changes_of(h->now, b, NULL);
    return thr_hits_live_update(live, &changes, error);
}

static void update(thr_hits_live *live, history *h, bool values, uint64_t *rng) {
    h->batches[h->n_batches] = draw_batch(h->now, values, rng);
    expect_ok(try_update(live, h, &h->batches[h->n_batches], &err));
    apply(h->now, &h->batches[h->n_batches++]);
    assert_int_equal(thr_hits_live_mark(live), h->n_batches);
}

static void take_mark(thr_hits_live *live, history *h) {
    h->mark = thr_hits_live_mark(live);
    *h->read = *h->now;
}

/* The catalogue as it was read, with the updates after its mark applied again. */
static void repeat(history *h, uint64_t mark) {
    const uint32_t next_key = h->now->next_key;
    *h->now = *h->read;
    h->now->next_key = next_key;
    for (uint64_t i = mark; i < h->n_batches; i++)
        apply(h->now, &h->batches[i]);
}

static void check_live(thr_context *context, thr_hits_live *live, const history *h, uint32_t round, bool values,
                       uint64_t *rng) {
    thr_hits *hits = thr_hits_live_take(live);
    check(context, hits, h->now, round, values, rng);
    thr_hits_live_put(live, hits);
}

TEST(updates_during_a_build_are_made_again) {
    for (int run = 0; run < 2 * N_NAMINGS; run++) {
        uint64_t rng = test_seed() + 60 + (uint64_t)run;
        const bool values = run >= N_NAMINGS;
        history h = {.now = draw_model((naming)(run % N_NAMINGS), &rng), .read = test_new(1, sizeof(model))};
        thr_hits_live *live = NULL;
        expect_ok(thr_hits_live_create(*state, build(*state, h.now, PATH, values), &live, &err));
        take_mark(live, &h);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint64_t what = thr_rng_below(&rng, 8);
            if (what == 0) {
                take_mark(live, &h);
            } else if (what == 1 && h.mark >= h.since) {
                expect_ok(thr_hits_live_swap_since(live, build(*state, h.read, ANEW, values), h.mark, &err));
                h.since = h.mark;
                repeat(&h, h.mark);
            } else if (what == 2) { /* the catalogue has the updates already; they are applied once more */
                expect_ok(thr_hits_live_swap(live, build(*state, h.read, ANEW, values), &err));
                repeat(&h, h.since);
                take_mark(live, &h);
            } else {
                update(live, &h, values, &rng);
            }
            check_live(*state, live, &h, round, values, &rng);
        }
        thr_hits_live_free(live);
    }
}

/* The updates before a mark are in the lists that were built from it, and are forgotten. */
TEST(a_build_from_before_the_current_one_is_refused) {
    uint64_t rng = test_seed() + 70;
    history h = {.now = draw_model(GIVEN_IDS, &rng), .read = test_new(1, sizeof(model))};
    thr_hits *late = build(*state, h.now, "unit-hits-live-late.hits", false);
    thr_hits_live *live = NULL;
    expect_ok(thr_hits_live_create(*state, build(*state, h.now, PATH, false), &live, &err));
    const uint64_t early = thr_hits_live_mark(live);
    update(live, &h, false, &rng);
    take_mark(live, &h);
    update(live, &h, false, &rng);
    expect_error(thr_hits_live_swap_since(live, late, 3, &err), THR_EINVAL, "a mark of 3 updates: there were 2");
    expect_ok(thr_hits_live_swap_since(live, build(*state, h.read, ANEW, false), h.mark, &err));
    expect_error(thr_hits_live_swap_since(live, late, early, &err), THR_EINVAL,
                 "a mark of 0 updates: there were 2, and the first 1 cannot be replayed");
    check_live(*state, live, &h, 0, false, &rng);
    thr_hits_free(late);
    thr_hits_live_free(live);
}

TEST(updates_of_names_are_not_made_on_lists_of_ids) {
    uint64_t rng = test_seed() + 71;
    history h = {.now = draw_model(NAMES, &rng), .read = draw_model(GIVEN_IDS, &rng)};
    thr_hits *next = build(*state, h.read, ANEW, false);
    thr_hits_live *live = NULL;
    expect_ok(thr_hits_live_create(*state, build(*state, h.now, PATH, false), &live, &err));
    update(live, &h, false, &rng);
    expect_error(thr_hits_live_swap(live, next, &err), THR_EMISMATCH, "items have ids, those of");
    check_live(*state, live, &h, 3, false, &rng);
    expect_ok(thr_hits_live_swap_since(live, next, thr_hits_live_mark(live), &err)); /* nothing to make again */
    thr_hits_live_free(live);
}

/* Removals are remembered until newer lists have them, also those of unknown ids. */
TEST(remembered_removals_are_bounded) {
    const uint64_t most = THR_HITS_MAX_REMOVED;
    uint64_t rng = test_seed() + 73, *ids = test_new(most, sizeof *ids);
    history h = {.now = draw_model(GIVEN_IDS, &rng)};
    thr_hits *next = build(*state, h.now, ANEW, false);
    thr_hits_live *live = NULL;
    thr_hits_changes changes = {0};
    for (uint64_t i = 0; i < most; i++)
        ids[i] = 1000000 + i;
    expect_ok(thr_hits_live_create(*state, build(*state, h.now, PATH, false), &live, &err));
    changes.removed_ids = ids;
    changes.n_removed = most;
    expect_ok(thr_hits_live_update(live, &changes, &err));
    expect_ok(thr_hits_live_update(live, &changes, &err)); /* the same ones */
    ids[0] = 999999;
    changes.n_removed = 1;
    expect_error(thr_hits_live_update(live, &changes, &err), THR_EDIM, "1048577 removals after this update");
    expect_ok(thr_hits_live_swap_since(live, next, thr_hits_live_mark(live), &err));
    expect_ok(thr_hits_live_update(live, &changes, &err));
    check_live(*state, live, &h, 3, false, &rng);
    thr_hits_live_free(live);
}

/* An update, or a swap to next, with each allocation failing in turn: until it succeeds, nothing changes. */
static void check_out_of_memory(thr_context *context, test_memory *memory, thr_hits_live *live, history *h,
                                const batch *b, thr_hits *next, uint64_t *rng) {
    test_oom oom = test_oom_start(memory);
    oom.keeps = true; /* the change that succeeds */
    while (test_oom_next(&oom)) {
        thr_hits *before = thr_hits_live_take(live);
        test_oom_arm(&oom);
        const thr_status status = next != NULL ? thr_hits_live_swap(live, next, &err) : try_update(live, h, b, &err);
        const bool succeeded = test_oom_check(&oom, status, &err, "no memory for");
        thr_hits *after = thr_hits_live_take(live);
        if (!succeeded) {
            assert_ptr_equal(before, after);
            check_live(context, live, h, 3, true, rng);
        }
        thr_hits_live_put(live, before);
        thr_hits_live_put(live, after);
    }
    assert_true(oom.n_failed > 18);
}

TEST(every_failing_allocation_leaves_what_is_current) {
    for (naming known_by = GIVEN_IDS; known_by < N_NAMINGS; known_by++) {
        uint64_t rng = test_seed() + 72;
        test_memory memory = {0};
        thr_context *context = test_context(1, THR_ISA_BEST, &memory);
        history h = {.now = draw_model(known_by, &rng), .read = test_new(1, sizeof(model))};
        thr_hits *next = build(context, h.now, ANEW, true);
        thr_hits_live *live = NULL;
        expect_ok(thr_hits_live_create(context, build(context, h.now, PATH, true), &live, &err));
        *h.read = *h.now;
        update(live, &h, true, &rng);
        for (int swapping = 0; swapping < 2; swapping++) {
            const batch b = draw_batch(h.now, true, &rng);
            check_out_of_memory(context, &memory, live, &h, &b, swapping != 0 ? next : NULL, &rng);
            h.batches[h.n_batches] = b;
            if (swapping == 0)
                apply(h.now, &h.batches[h.n_batches++]);
            else
                repeat(&h, 0);
            check_live(context, live, &h, 3, true, &rng);
        }
        thr_hits_live_free(live);
        thr_context_free(context);
        assert_int_equal(atomic_load(&memory.live), 0);
    }
}

/* ------------------------------------------------------------------------------------------------ many threads */

/*
 * Every updater moves a token: each of its updates removes the item that had the token's feature and adds another one,
 * and one that stays. So every search must find one item with the feature, newer than the one before it.
 */
enum { SEARCHERS = 8, UPDATERS = 2, UPDATES = 60, TOKEN = 1000, KEPT = 2000, FIRST_ID = 1000000 };

typedef struct world {
    thr_hits_live *live;
    atomic_uint wrong, searches, failed, running;
} world;

typedef struct updater {
    world *world;
    uint32_t number;
} updater;

static uint64_t token_id(uint32_t number, uint64_t update) {
    return FIRST_ID * (uint64_t)(number + 1) + 2 * update;
}

static void *keep_updating(void *arg) {
    const updater *u = arg;
    for (uint64_t i = 1; i <= UPDATES; i++) {
        const uint64_t ids[] = {token_id(u->number, i), token_id(u->number, i) + 1}, offsets[] = {0, 1, 2};
        const uint64_t gone[] = {token_id(u->number, i - 1)};
        const uint32_t features[] = {TOKEN + u->number, KEPT + u->number};
        thr_hits_changes changes = {
            .n_added = 2, .ids = ids, .offsets = offsets, .features = features, .n_removed = 1, .removed_ids = gone};
        atomic_fetch_add(&u->world->failed, thr_hits_live_update(u->world->live, &changes, NULL) != THR_OK);
    }
    atomic_fetch_sub(&u->world->running, 1);
    return NULL;
}

static void *keep_searching(void *arg) {
    world *w = arg;
    uint64_t last[UPDATERS] = {0};
    do {
        thr_hits *hits = thr_hits_live_take(w->live);
        for (uint32_t u = 0; u < UPDATERS; u++) {
            const uint64_t ends[] = {0, 1};
            const uint32_t features[] = {TOKEN + u};
            const thr_hits_queries queries = {1, ends, features, NULL};
            uint64_t ids[2];
            float values[2];
            const bool good = thr_hits_search(hits, &queries, 2, NULL, ids, values, NULL) == THR_OK && values[0] == 1 &&
                              values[1] == 0 && ids[0] >= last[u] && ids[0] / FIRST_ID == u + UINT64_C(1);
            last[u] = good ? ids[0] : last[u];
            atomic_fetch_add(&w->wrong, !good);
            atomic_fetch_add(&w->searches, 1);
        }
        thr_hits_live_put(w->live, hits);
    } while (atomic_load(&w->running) > 0);
    return NULL;
}

/* A file without tokens; they are replayed. */
static thr_hits *open_again(thr_context *context) {
    return test_hits_open(context, PATH);
}

/* The first token of each updater. */
static void add_first_tokens(thr_hits_live *live) {
    for (uint32_t u = 0; u < UPDATERS; u++) {
        const uint64_t id = token_id(u, 0), offsets[] = {0, 1};
        const uint32_t feature = TOKEN + u;
        thr_hits_changes changes = {.n_added = 1, .ids = &id, .offsets = offsets, .features = &feature};
        expect_ok(thr_hits_live_update(live, &changes, &err));
    }
}

/* Swaps lists and sets values that change no answer until all updaters are done; the number of swaps. */
static uint32_t swap_while_running(thr_context *context, world *w) {
    uint32_t n_swaps = 0;
    do {
        expect_ok(thr_hits_live_swap(w->live, open_again(context), &err));
        n_swaps++;
        thr_hits *hits = thr_hits_live_take(w->live);
        expect_ok(thr_hits_set_values(hits, NULL, NULL, thr_hits_get_info(hits).n_rows, &err));
        thr_hits_live_put(w->live, hits);
    } while (atomic_load(&w->running) > 0);
    return n_swaps;
}

TEST(searches_see_all_of_an_update_or_nothing) {
    uint64_t rng = test_seed() + 80;
    model *m = draw_model(GIVEN_IDS, &rng);
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    pthread_t searching[SEARCHERS], updating[UPDATERS];
    updater updaters[UPDATERS];
    world w = {.live = NULL};
    expect_ok(thr_hits_live_create(context, build(context, m, PATH, false), &w.live, &err));
    atomic_store(&w.running, UPDATERS);
    add_first_tokens(w.live);
    for (uint32_t t = 0; t < SEARCHERS; t++)
        assert_int_equal(pthread_create(&searching[t], NULL, keep_searching, &w), 0);
    for (uint32_t u = 0; u < UPDATERS; u++) {
        updaters[u] = (updater){&w, u};
        assert_int_equal(pthread_create(&updating[u], NULL, keep_updating, &updaters[u]), 0);
    }
    const uint32_t n_swaps = swap_while_running(context, &w);
    for (uint32_t t = 0; t < SEARCHERS; t++)
        assert_int_equal(pthread_join(searching[t], NULL), 0);
    for (uint32_t u = 0; u < UPDATERS; u++)
        assert_int_equal(pthread_join(updating[u], NULL), 0);
    assert_int_equal(atomic_load(&w.failed), 0);
    assert_int_equal(atomic_load(&w.wrong), 0);
    assert_true(atomic_load(&w.searches) >= SEARCHERS * UPDATERS && n_swaps > 0);
    thr_hits *hits = thr_hits_live_take(w.live);
    assert_int_equal(thr_hits_get_info(hits).n_items, N + UPDATERS * (UPDATES + 1)); /* none is lost */
    for (uint32_t u = 0; u < UPDATERS; u++)
        assert_int_equal(thr_hits_feature_items(hits, KEPT + u), UPDATES);
    thr_hits_live_put(w.live, hits);
    thr_hits_live_free(w.live);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_IN_CONTEXT(3, NULL)
