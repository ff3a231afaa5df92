/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_swap.c - searches by many threads, first alone, then while a file is built beside them and two others take each
 * other's place twenty times a second. Every answer is checked: it is that of the one catalogue or of the other.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hits.h"

enum { THREADS = 64, K = 100, N_FEATURES = 200, MOST = 1 << 14 };

static const double SECONDS = 6, PAUSE = 0.05;

typedef struct answer {
    uint64_t ids[K];
    float values[K];
} answer;

typedef struct swap_bench {
    bench_scan_run *run;
    bench_catalogue catalogues[2];
    char paths[3][1100]; /* two that are searched, and one that is built meanwhile */
    uint32_t features[N_FEATURES];
    float weights[N_FEATURES];
    answer right[2];
    thr_hits_live *live;
    atomic_bool done;
    atomic_uint wrong;
    atomic_uint failed_builds, builds;
    uint64_t n_swaps;
} swap_bench;

typedef struct searcher {
    swap_bench *bench;
    pthread_t thread;
    double times[MOST];
    size_t n;
} searcher;

static bool search(thr_hits *hits, const swap_bench *b, answer *a) {
    static const uint64_t ends[] = {0, N_FEATURES};
    const thr_hits_queries queries = {1, ends, b->features, b->weights};
    return thr_hits_search(hits, &queries, K, NULL, a->ids, a->values, NULL) == THR_OK;
}

static bool are_equal(const answer *a, const answer *b) {
    bool equal = true;
    for (int i = 0; i < K; i++)
        equal = equal && a->ids[i] == b->ids[i] && a->values[i] == b->values[i];
    return equal;
}

static void *keep_searching(void *arg) {
    searcher *s = arg;
    swap_bench *b = s->bench;
    while (!atomic_load(&b->done) && s->n < MOST) {
        answer a;
        const double start = bench_clock();
        thr_hits *hits = thr_hits_live_take(b->live);
        const bool good = search(hits, b, &a);
        thr_hits_live_put(b->live, hits);
        s->times[s->n++] = bench_clock() - start;
        if (!good || !(are_equal(&a, &b->right[0]) || are_equal(&a, &b->right[1])))
            atomic_fetch_add(&b->wrong, 1);
    }
    return NULL;
}

static thr_status build_file(swap_bench *b, int side, const char *path, thr_error *err) {
    const bench_catalogue *c = &b->catalogues[side];
    const thr_item_features items = {c->offsets, c->features, c->n_items};
    thr_hits_build_options options;
    thr_hits_build_options_init(&options);
    options.replace = true;
    return thr_hits_build(b->run->context, path, &items, &options, err);
}

static int build(swap_bench *b, int side) {
    return build_file(b, side, b->paths[side], &b->run->err) == THR_OK ? 0 : -1;
}

static void *keep_building(void *arg) {
    swap_bench *b = arg;
    do {
        thr_error err;
        atomic_fetch_add(&b->failed_builds, build_file(b, 0, b->paths[2], &err) != THR_OK);
        atomic_fetch_add(&b->builds, 1);
    } while (!atomic_load(&b->done));
    return NULL;
}

static int open_and_swap(swap_bench *b, int side) {
    thr_hits *next = NULL;
    if (thr_hits_open(b->run->context, b->paths[side], &next, &b->run->err) != THR_OK)
        return -1;
    if (thr_hits_live_swap(b->live, next, &b->run->err) != THR_OK) {
        thr_hits_free(next);
        return -1;
    }
    b->n_swaps++;
    return 0;
}

static void wait_for(double seconds) {
    const double start = bench_clock();
    const struct timespec nap = {.tv_nsec = 10000000};
    while (bench_clock() - start < seconds)
        (void)nanosleep(&nap, NULL);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* p50 and p99 of all searches, in seconds; how many there were. */
static int run_phase(swap_bench *b, searcher *searchers, bool swapping, double *p50, double *p99, size_t *n) {
    int rc = 0, started = 0;
    atomic_store(&b->done, false);
    for (; started < THREADS; started++) {
        searchers[started].bench = b;
        searchers[started].n = 0;
        if (pthread_create(&searchers[started].thread, NULL, keep_searching, &searchers[started]) != 0)
            break;
    }
    pthread_t builder;
    const bool building = swapping && pthread_create(&builder, NULL, keep_building, b) == 0;
    const double start = bench_clock();
    while (rc == 0 && bench_clock() - start < SECONDS) {
        wait_for(PAUSE);
        if (swapping)
            rc = open_and_swap(b, (int)(b->n_swaps + 1) % 2);
    }
    atomic_store(&b->done, true);
    *n = 0;
    for (int t = 0; t < started; t++) {
        (void)pthread_join(searchers[t].thread, NULL);
        *n += searchers[t].n;
    }
    if (building)
        (void)pthread_join(builder, NULL);
    if (swapping && (!building || atomic_load(&b->failed_builds) > 0))
        rc = bench_fail(b->run, "%s: could not be built meanwhile", b->paths[2]);
    double *all = malloc((*n + 1) * sizeof *all);
    if (started < THREADS || all == NULL || *n == 0)
        rc = bench_fail(b->run, "no %d threads, or no memory for their times", THREADS);
    size_t at = 0;
    for (int t = 0; t < started && rc == 0; t++, at += searchers[t - 1].n)
        memcpy(all + at, searchers[t].times, searchers[t].n * sizeof *all);
    if (rc == 0) {
        qsort(all, *n, sizeof *all, compare);
        *p50 = all[*n / 2];
        *p99 = all[*n * 99 / 100];
    }
    free(all);
    return rc;
}

static void report(swap_bench *b, const double p50[2], const double p99[2], const size_t n[2]) {
    static bench_table table;
    bench_table_begin(&table, "64 threads that search half a million items for 200 features, best 100",
                      "while | searches | p50, ms | p99, ms");
    for (int phase = 0; phase < 2; phase++) {
        bench_row(&table, phase == 0 ? "nothing else happens" : "a file is built, %llu swaps",
                  (unsigned long long)b->n_swaps);
        bench_cells(&table, "%zu | %.1f | %.1f", n[phase], p50[phase] * 1e3, p99[phase] * 1e3);
    }
    bench_print(b->run, &table);
    bench_figure(b->run, "hits_swap_wrong", atomic_load(&b->wrong), 0, false,
                 "failed or mixed answers of %zu while lists were swapped", n[1]);
    bench_figure(b->run, "hits_swap_p99", p99[1] / p99[0], 2, false, "p99 of 64 searching threads, swapping over not");
}

static int measure(swap_bench *b) {
    searcher *searchers = calloc(THREADS, sizeof *searchers);
    thr_hits *hits = NULL;
    double p50[2] = {0}, p99[2] = {0};
    size_t n[2] = {0};
    int rc = searchers == NULL ? bench_fail(b->run, "no memory for threads") : 0;
    for (int side = 1; side >= 0 && rc == 0; side--) {
        thr_hits_free(hits);
        hits = NULL;
        rc = build(b, side);
        if (rc == 0)
            rc = thr_hits_open(b->run->context, b->paths[side], &hits, &b->run->err) == THR_OK ? 0 : -1;
        if (rc == 0 && !search(hits, b, &b->right[side]))
            rc = bench_fail(b->run, "a search failed");
    }
    if (rc == 0 && thr_hits_live_create(b->run->context, hits, &b->live, &b->run->err) != THR_OK)
        rc = -1;
    if (b->live == NULL)
        thr_hits_free(hits);
    for (int phase = 0; phase < 2 && rc == 0; phase++)
        rc = run_phase(b, searchers, phase == 1, &p50[phase], &p99[phase], &n[phase]);
    if (rc == 0)
        report(b, p50, p99, n);
    thr_hits_live_free(b->live);
    free(searchers);
    return rc;
}

int bench_hits_swap(bench_scan_run *run, uint64_t n_items) {
    swap_bench *b = calloc(1, sizeof *b);
    uint64_t rng = 3;
    if (b == NULL)
        return bench_fail(run, "no memory");
    b->run = run;
    int rc = 0;
    (void)snprintf(b->paths[2], sizeof b->paths[2], "%s/live-next.hits", run->scratch);
    for (int side = 0; side < 2 && rc == 0; side++) {
        (void)snprintf(b->paths[side], sizeof b->paths[side], "%s/live-%d.hits", run->scratch, side);
        rc = bench_catalogue_draw(&b->catalogues[side], n_items, 50000, 20, 11 + (uint64_t)side);
    }
    if (rc == 0)
        (void)bench_catalogue_query(&b->catalogues[0], &rng, b->features, b->weights, N_FEATURES);
    rc = rc == 0 ? measure(b) : bench_fail(run, "no memory for two catalogues");
    for (int side = 0; side < 2; side++)
        bench_catalogue_free(&b->catalogues[side]);
    free(b);
    return rc;
}
