/* SPDX-License-Identifier: Apache-2.0 */
/* Many searches at once while values change: every answer is that of one set of values or of the other. */
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

static void searches_keep_the_values_they_began_with(void **state) {
    uint64_t rng = test_seed();
    hits_catalogue c = hits_draw(N, KINDS, &rng);
    thr_hits_build_options options;
    thr_error err;
    pthread_t threads[THREADS];
    float *bids[2];
    world w = {.hits = NULL};
    thr_hits_build_options_init(&options);
    options.replace = true;
    assert_ok(thr_hits_build(*state, PATH, &c.items, &options, &err), &err);
    assert_ok(thr_hits_open(*state, PATH, &w.hits, &err), &err);
    for (int side = 0; side < 2; side++) {
        bids[side] = test_array(N, sizeof(float));
        for (uint64_t i = 0; i < N; i++)
            bids[side][i] = (float)thr_rng_below(&rng, 1000);
        assert_ok(thr_hits_set_values(w.hits, bids[side], NULL, N, &err), &err);
        assert_true(search(w.hits, &w.right[side]));
    }
    assert_memory_not_equal(&w.right[0], &w.right[1], sizeof w.right[0]);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, keep_searching, &w), 0);
    for (int round = 0; round < ROUNDS; round++)
        assert_ok(thr_hits_set_values(w.hits, bids[round % 2], NULL, N, &err), &err);
    atomic_store(&w.done, true);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_int_equal(atomic_load(&w.wrong), 0);
    assert_true(atomic_load(&w.searches) >= THREADS);
    thr_hits_free(w.hits);
    free(bids[0]);
    free(bids[1]);
    hits_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(searches_keep_the_values_they_began_with)};
    return cmocka_run_group_tests(tests, hits_setup, hits_teardown);
}
