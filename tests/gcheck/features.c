/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting lists on a GPU against the same on the CPU: list by list, tile by tile, and the way that is chosen. Items
 * have features by Zipf's law, those of queries are drawn alike, and weights are about normal.
 */
#include "gcheck.h"

#include "base/clock.h"
#include "hits/device/copy.h"

typedef struct sizes {
    uint64_t n_items;
    uint32_t n_kinds, an_item; /* features there are, and that an item has */
    int repeats;               /* timed runs; the median counts */
} sizes;

static const sizes SIZES[] = {[GCHECK_SMALL] = {30000, 300, 6, 1},
                              [GCHECK_QUICK] = {500000, 20000, 20, 9},
                              [GCHECK_FULL] = {5000000, 200000, 20, 15}};

enum { MOST_REPEATS = 15, BATCH = 64, K = 100, N_SIZES = 3, N_WAYS = 3 };

static const uint32_t FEATURES[N_SIZES] = {20, 200, 1000};
static const char *const WAYS[N_WAYS] = {
    [THR_HIT_WAY_AUTO] = "auto", [THR_HIT_WAY_LISTS] = "lists", [THR_HIT_WAY_TILES] = "tiles"};

typedef struct job {
    gcheck *g;
    sizes n;
    thr_built_lists built;
    thr_hit_store *store;
    thr_lists_search *search; /* the CPU's */
    float *multipliers;
    uint64_t rng, n_compared, n_wrong;

    uint64_t offsets[BATCH + 1]; /* of queries */
    uint32_t *features;
    float *weights;
    thr_hits_queries queries;

    thr_candidate found[BATCH][K]; /* by the GPU */
    size_t n_found[BATCH];
} job;

static void build(job *j) {
    gcheck_items items;
    gcheck_items_make(j->n.n_items, j->n.n_kinds, j->n.an_item, &j->rng, &items);
    gcheck_must(thr_lists_build(j->g->context, &items.view, NULL, &j->built, &err), &err, "building posting lists");
    gcheck_items_free(&items);
    j->multipliers = test_array(j->n.n_items, sizeof *j->multipliers);
    for (uint64_t i = 0; i < j->n.n_items; i++)
        j->multipliers[i] = (float)thr_rng_below(&j->rng, 1000) / 100;
}

static void draw_queries(job *j, uint32_t n_features) {
    for (uint64_t q = 0; q <= BATCH; q++)
        j->offsets[q] = q * n_features;
    for (uint64_t i = 0; i < (uint64_t)BATCH * n_features; i++) {
        j->features[i] = gcheck_draw_feature(j->n.n_kinds, &j->rng);
        j->weights[i] = test_normal(&j->rng);
    }
    j->queries = (thr_hits_queries){BATCH, j->offsets, j->features, j->weights};
}

static void keep(void *arg, uint64_t q, const thr_lists_found *found) {
    job *j = arg;
    memcpy(j->found[q], found->items, found->n * sizeof *found->items);
    j->n_found[q] = found->n;
}

static void on_gpu(job *j, const thr_lists_corpus *target, uint64_t n_queries) {
    uint64_t failed;
    thr_hits_queries queries = j->queries;
    const thr_hit_caller caller = {.arg = j, .answer = keep};
    queries.n_queries = n_queries;
    gcheck_must(thr_hits_store_search(j->store, target, &queries, K, &caller, &failed, &err), &err,
                "searching posting lists");
}

static size_t on_cpu(job *j, const thr_lists_corpus *target, uint64_t q, uint64_t *rows, float *values) {
    thr_lists_found found = {.n = 0};
    gcheck_must(thr_lists_search_run(j->search, target, &j->queries, q, K, &found, &err), &err,
                "searching posting lists on the CPU");
    for (size_t i = 0; i < found.n; i++) {
        rows[i] = found.items[i].row;
        values[i] = found.items[i].score;
    }
    return found.n;
}

/* The first queries of a batch, each way. */
static void check(job *j, const thr_lists_corpus *target, uint32_t n_features) {
    const uint64_t n_queries = j->g->effort == GCHECK_SMALL ? 2 : 4;
    for (int way = 0; way < N_WAYS; way++) {
        thr_hits_store_force(j->store, (thr_hit_way)way);
        on_gpu(j, target, n_queries);
        for (uint64_t q = 0; q < n_queries; q++) {
            uint64_t rows[K];
            float values[K];
            const size_t n = on_cpu(j, target, q, rows, values);
            bool same = n == j->n_found[q];
            for (size_t i = 0; i < n && same; i++) {
                uint32_t bits[2];
                memcpy(&bits[0], &values[i], sizeof bits[0]);
                memcpy(&bits[1], &j->found[q][i].score, sizeof bits[1]);
                same = rows[i] == j->found[q][i].row && bits[0] == bits[1];
            }
            j->n_compared++;
            j->n_wrong += same ? 0 : 1;
            if (!same)
                (void)printf("FAIL posting lists: %u features, %s, query %u: not the CPU's answer\n", n_features,
                             WAYS[way], (unsigned)q);
        }
    }
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of a search of so many queries, after one that counts for nothing; 0 queries: one, by the CPU. */
static double time_search(job *j, const thr_lists_corpus *target, uint64_t n_queries) {
    double seconds[MOST_REPEATS];
    for (int i = -1; i < j->n.repeats; i++) {
        uint64_t rows[K];
        float values[K];
        const double start = thr_clock();
        if (n_queries > 0)
            on_gpu(j, target, n_queries);
        else
            (void)on_cpu(j, target, 0, rows, values);
        if (i >= 0)
            seconds[i] = thr_clock() - start;
    }
    qsort(seconds, (size_t)j->n.repeats, sizeof *seconds, by_size);
    return seconds[j->n.repeats / 2];
}

static void measure(job *j, const thr_lists_corpus *target, uint32_t n_features) {
    const thr_lists *lists = &j->built.lists;
    uint64_t n_postings = 0;
    for (uint32_t i = 0; i < n_features; i++) {
        const uint32_t f = thr_lists_find(lists, j->features[i]);
        n_postings += f < lists->n_features ? thr_lists_size(lists, f) : 0;
    }
    gcheck_figure(j->g, (double)n_postings, "hits.%u.postings", n_features);
    gcheck_figure(j->g, time_search(j, target, 0), "hits.%u.cpu_s", n_features);
    for (int way = 0; way < N_WAYS; way++) {
        thr_hits_store_force(j->store, (thr_hit_way)way);
        gcheck_figure(j->g, time_search(j, target, 1), "hits.%u.%s_s", n_features, WAYS[way]);
    }
    thr_hits_store_force(j->store, THR_HIT_WAY_AUTO);
    gcheck_figure(j->g, BATCH / time_search(j, target, BATCH), "hits.%u.batch_per_s", n_features);
}

void gcheck_features(gcheck *g, bool timed) {
    job *j = test_array(1, sizeof *j);
    j->g = g;
    j->n = SIZES[timed || g->effort == GCHECK_SMALL ? g->effort : GCHECK_QUICK];
    j->rng = g->seed;
    gcheck_say("posting lists: %u items of %u features", (unsigned)j->n.n_items, j->n.an_item);
    build(j);
    const thr_lists *lists = &j->built.lists;
    j->features = test_array((size_t)BATCH * FEATURES[N_SIZES - 1], sizeof *j->features);
    j->weights = test_array((size_t)BATCH * FEATURES[N_SIZES - 1], sizeof *j->weights);
    gcheck_must(thr_lists_search_create(g->context, &j->search, &err), &err, "starting");
    gcheck_must(thr_hits_store_create(g->context, g->opened_one, lists, NULL, &j->store, &err), &err,
                "copying posting lists");
    for (int i = 0; i < N_SIZES; i++) {
        const thr_lists_corpus sums = {.lists = lists};
        const thr_lists_corpus bids = {
            .lists = lists, .value = THR_HITS_VALUE_SIGMOID, .multipliers = j->multipliers, .values_id = 1};
        draw_queries(j, FEATURES[i]);
        check(j, &sums, FEATURES[i]);
        check(j, &bids, FEATURES[i]);
        if (timed)
            measure(j, &sums, FEATURES[i]);
    }
    const thr_hit_store_size size = thr_hits_store_get_size(j->store);
    gcheck_figure(g, (double)lists->n_items, "hits.items");
    gcheck_figure(g, (double)size.list_bytes, "hits.list_bytes");
    gcheck_figure(g, (double)size.workspace_bytes, "hits.workspace_bytes");
    gcheck_figure(g, (double)j->n_compared, "hits.compared");
    gcheck_figure(g, (double)j->n_wrong, "hits.wrong");
    g->n_failed += j->n_wrong;
    thr_hits_store_free(j->store);
    thr_lists_search_free(j->search);
    thr_lists_built_free(g->context, &j->built);
    free(j->multipliers);
    free(j->features);
    free(j->weights);
    free(j);
}
