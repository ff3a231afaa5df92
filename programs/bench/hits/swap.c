/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swap.c - searches by many threads, first alone, then while a file is built beside them and two others take each
 * other's place twenty times a second. Every answer is checked: it is that of the one catalogue or of the other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "hits.h"

enum { THREADS = 64, K = BENCH_HITS_K, N_FEATURES = 200, MOST = 1 << 14, FEW_ITEMS = 10000 };

static const double SECONDS = 6, FEW_SECONDS = 0.5; /* few: to see that it works */
static const struct timespec PAUSE = {.tv_nsec = 50000000};

typedef struct swap_bench {
    bench_catalogue catalogues[2];
    const char *paths[3]; /* two that are searched, and one that is built meanwhile */
    bench_hits_query query;
    bench_hits_answer right[2];
    thr_hits_live *live;
    atomic_bool done;
    atomic_uint wrong, builds;
    uint64_t n_swaps;
} swap_bench;

typedef struct searcher {
    swap_bench *bench;
    pthread_t thread;
    double times[MOST];
    size_t n;
} searcher;

static bool are_equal(const bench_hits_answer *a, const bench_hits_answer *b) {
    bool equal = true;
    for (int i = 0; i < K; i++)
        equal = equal && a->ids[i] == b->ids[i] && a->values[i] == b->values[i];
    return equal;
}

static void *keep_searching(void *arg) {
    searcher *s = arg;
    swap_bench *b = s->bench;
    while (!atomic_load(&b->done) && s->n < MOST) {
        bench_hits_answer a;
        const double start = bench_clock();
        thr_hits *hits = thr_hits_live_take(b->live);
        const bool good = bench_hits_ask(hits, &b->query, NULL, &a, NULL) == THR_OK; /* err would be shared */
        thr_hits_live_put(b->live, hits);
        s->times[s->n++] = bench_clock() - start;
        if (!good || !(are_equal(&a, &b->right[0]) || are_equal(&a, &b->right[1])))
            atomic_fetch_add(&b->wrong, 1);
    }
    return NULL;
}

static void *keep_building(void *arg) {
    swap_bench *b = arg;
    do {
        (void)bench_hits_build(bench.context, &b->catalogues[0], b->paths[2], THR_HITS_ORDER_FEATURES);
        atomic_fetch_add(&b->builds, 1);
    } while (!atomic_load(&b->done));
    return NULL;
}

static void open_and_swap(swap_bench *b, int side) {
    thr_error err; /* bench.err belongs to the thread that builds */
    thr_hits *next = NULL;
    if (thr_hits_open(bench.context, b->paths[side], &next, &err) != THR_OK ||
        thr_hits_live_swap(b->live, next, &err) != THR_OK)
        bench_fail("%s", err.text);
    b->n_swaps++;
}

/* How many searches there were, and p50 and p99 of their seconds. */
typedef struct phase {
    size_t n;
    double p50, p99;
} phase;

static phase run_phase(swap_bench *b, searcher *searchers, bool swapping) {
    phase p = {.n = 0};
    pthread_t builder;
    atomic_store(&b->done, false);
    for (int t = 0; t < THREADS; t++) {
        searchers[t].bench = b;
        searchers[t].n = 0;
        if (pthread_create(&searchers[t].thread, NULL, keep_searching, &searchers[t]) != 0)
            bench_fail("no %d threads", THREADS);
    }
    if (swapping && pthread_create(&builder, NULL, keep_building, b) != 0)
        bench_fail("no thread to build");
    const double start = bench_clock();
    while (bench_clock() - start < (b->catalogues[0].n_items < FEW_ITEMS ? FEW_SECONDS : SECONDS)) {
        (void)nanosleep(&PAUSE, NULL);
        if (swapping)
            open_and_swap(b, (int)(b->n_swaps + 1) % 2);
    }
    atomic_store(&b->done, true);
    double *all = bench_alloc(sizeof(double) * THREADS * MOST);
    for (int t = 0; t < THREADS; t++) {
        (void)pthread_join(searchers[t].thread, NULL);
        memcpy(all + p.n, searchers[t].times, searchers[t].n * sizeof *all);
        p.n += searchers[t].n;
    }
    if (swapping)
        (void)pthread_join(builder, NULL);
    bench_sort(all, p.n);
    p.p50 = all[p.n / 2];
    p.p99 = all[p.n * 99 / 100];
    return p;
}

static void report(swap_bench *b, const phase phases[2]) {
    bench_table *table = bench_table_begin("64 threads that search", 1, "while | searches | p50, ms | p99, ms");
    for (int i = 0; i < 2; i++) {
        bench_row(table, i == 0 ? "nothing else happens" : "a file is built, %llu swaps",
                  (unsigned long long)b->n_swaps);
        bench_cells(table, "%zu | %.1f | %.1f", phases[i].n, phases[i].p50 * 1e3, phases[i].p99 * 1e3);
    }
    bench_print(table);
    bench_at_most(atomic_load(&b->wrong), 0, "failed or mixed answers of %zu while lists were swapped", phases[1].n);
    bench_at_most(phases[1].p99 / phases[0].p99, 2, "p99 of 64 searching threads, swapping over not");
}

static void measure(swap_bench *b) {
    searcher *searchers = bench_alloc(THREADS * sizeof *searchers);
    phase phases[2];
    thr_hits *hits[2];
    for (int side = 0; side < 2; side++) {
        (void)bench_hits_build(bench.context, &b->catalogues[side], b->paths[side], THR_HITS_ORDER_FEATURES);
        hits[side] = bench_hits_open(b->paths[side]);
        bench_check(bench_hits_ask(hits[side], &b->query, NULL, &b->right[side], &bench.err));
    }
    thr_hits_free(hits[1]);
    bench_check(thr_hits_live_create(bench.context, hits[0], &b->live, &bench.err));
    for (int i = 0; i < 2; i++)
        phases[i] = run_phase(b, searchers, i == 1);
    report(b, phases);
    thr_hits_live_free(b->live);
}

void bench_hits_swap(uint64_t n_items) {
    swap_bench *b = bench_alloc(sizeof *b);
    uint64_t rng = 3;
    b->paths[2] = bench_path("live-next.hits");
    for (int side = 0; side < 2; side++) {
        b->paths[side] = bench_path("live-%d.hits", side);
        b->catalogues[side] = bench_catalogue_draw(n_items, 50000, 11 + (uint64_t)side);
    }
    bench_catalogue_query(&b->catalogues[0], &rng, N_FEATURES, &b->query);
    measure(b);
}
