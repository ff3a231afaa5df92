/* SPDX-License-Identifier: Apache-2.0 */
/* Many searches at once while values, or all lists, change: every answer is that of the one or of the other. */
#include "hits_support.h"

#include <pthread.h>

static const char PATH[] = "unit-hits-threads.hits";
enum { N = 70000, KINDS = 16, K = 20, THREADS = 6, ROUNDS = 30 };

static const uint64_t OFFSETS[] = {0, 5};
static const uint32_t FEATURES[] = {0, 3, 6, 12, 15};
static const thr_hits_queries QUERIES = {1, OFFSETS, FEATURES, NULL};

typedef struct answer {
    uint64_t ids[K];
    float values[K];
} answer;

typedef struct world {
    thr_hits *hits;
    answer right[2];
    atomic_bool done;
    atomic_uint wrong, searches;
} world;

static bool search(thr_hits *hits, answer *a) {
    return thr_hits_search(hits, &QUERIES, K, NULL, a->ids, a->values, NULL) == THR_OK;
}

static void *keep_searching(void *arg) {
    world *w = arg;
    do {
        answer a;
        const bool good =
            search(w->hits, &a) && (memcmp(&a, &w->right[0], sizeof a) == 0 || memcmp(&a, &w->right[1], sizeof a) == 0);
        atomic_fetch_add(&w->wrong, !good);
        atomic_fetch_add(&w->searches, 1);
    } while (!atomic_load(&w->done));
    return NULL;
}

TEST(searches_keep_the_values_they_began_with) {
    uint64_t rng = test_seed();
    hits_catalogue c = hits_draw(N, KINDS, &rng);
    thr_hits_build_options options = {0};
    pthread_t threads[THREADS];
    float *bids[2];
    world w = {.hits = NULL};
    options.replace = true;
    expect_ok(thr_hits_build(*state, PATH, &c.items, &options, &err));
    expect_ok(thr_hits_open(*state, PATH, &w.hits, &err));
    for (int side = 0; side < 2; side++) {
        bids[side] = test_new(N, sizeof(float));
        for (uint64_t i = 0; i < N; i++)
            bids[side][i] = (float)thr_rng_below(&rng, 1000);
        expect_ok(thr_hits_set_values(w.hits, bids[side], NULL, N, &err));
        assert_true(search(w.hits, &w.right[side]));
    }
    assert_memory_not_equal(&w.right[0], &w.right[1], sizeof w.right[0]);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, keep_searching, &w), 0);
    for (int round = 0; round < ROUNDS; round++)
        expect_ok(thr_hits_set_values(w.hits, bids[round % 2], NULL, N, &err));
    atomic_store(&w.done, true);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_int_equal(atomic_load(&w.wrong), 0);
    assert_true(atomic_load(&w.searches) >= THREADS);
    thr_hits_free(w.hits);
}

/* ------------------------------------------------------------------------------------------------ live */

typedef struct live_world {
    thr_hits_live *live;
    answer right[2];
    atomic_bool done;
    atomic_uint wrong;
} live_world;

static void *keep_taking(void *arg) {
    live_world *w = arg;
    do {
        thr_hits *hits = thr_hits_live_take(w->live);
        answer a, again;
        const bool good = search(hits, &a) && search(hits, &again) && memcmp(&a, &again, sizeof a) == 0 &&
                          (memcmp(&a, &w->right[0], sizeof a) == 0 || memcmp(&a, &w->right[1], sizeof a) == 0);
        thr_hits_live_put(w->live, hits);
        atomic_fetch_add(&w->wrong, !good);
    } while (!atomic_load(&w->done));
    return NULL;
}

static thr_hits *open_side(thr_context *context, int side) {
    static const char *const paths[] = {"unit-hits-live-0.hits", "unit-hits-live-1.hits"};
    return test_hits_open(context, paths[side]);
}

TEST(searches_keep_the_lists_they_took) {
    uint64_t rng = test_seed() + 1;
    thr_hits_build_options options = {0};
    pthread_t threads[THREADS];
    live_world w = {.live = NULL};
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    options.replace = true;
    for (int side = 0; side < 2; side++) {
        hits_catalogue c = hits_draw(side == 0 ? 3000 : 5000, KINDS, &rng);
        expect_ok(thr_hits_build(context, side == 0 ? "unit-hits-live-0.hits" : "unit-hits-live-1.hits", &c.items,
                                 &options, &err));
        OWNED(thr_hits, hits) = open_side(context, side);
        assert_true(search(hits, &w.right[side]));
    }
    expect_ok(thr_hits_live_create(context, open_side(context, 0), &w.live, &err));
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, keep_taking, &w), 0);
    for (int round = 1; round < ROUNDS; round++)
        expect_ok(thr_hits_live_swap(w.live, open_side(context, round % 2), &err));
    atomic_store(&w.done, true);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_int_equal(atomic_load(&w.wrong), 0);
    thr_hits_live_free(w.live);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST(lists_are_freed_by_the_last_who_has_them) {
    uint64_t rng = test_seed() + 2;
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    hits_catalogue c = hits_draw(100, 3, &rng);
    thr_hits_build_options options = {0};
    thr_hits_live *live = NULL;
    options.replace = true;
    expect_ok(thr_hits_build(context, "unit-hits-live-0.hits", &c.items, &options, &err));
    thr_hits *first = open_side(context, 0), *second = open_side(context, 0);
    const size_t two = atomic_load(&memory.live);
    expect_ok(thr_hits_live_create(context, first, &live, &err));
    assert_ptr_equal(thr_hits_live_take(live), first);
    expect_error(thr_hits_live_swap(live, first, &err), THR_EINVAL, "live already");
    expect_error(thr_hits_live_swap(live, NULL, &err), THR_EINVAL, "needs live posting lists");
    memory.fail_at = atomic_load(&memory.calls) + 1;
    expect_error(thr_hits_live_swap(live, second, &err), THR_ENOMEM, "no memory for");
    memory.fail_at = 0;
    expect_ok(thr_hits_live_swap(live, second, &err));
    assert_ptr_equal(thr_hits_live_take(live), second);
    assert_int_equal(thr_hits_get_info(first).n_items, 100); /* still open for who took it */
    assert_int_equal(atomic_load(&memory.live), two + 3);
    thr_hits_live_put(live, first);
    assert_true(atomic_load(&memory.live) < two + 2);
    thr_hits_live_put(live, second);
    thr_hits_live_free(live);
    thr_context_free(context);
    assert_int_equal(atomic_load(&memory.live), 0);
}

TEST_IN_CONTEXT(3, NULL)
