/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue.c - a synthetic catalogue by Zipf's law, one random number per feature. */

#include "hits.h"

/*
 * Zipf's law: places of equal logarithms are equally likely. Popular features get numbers anywhere: n is no multiple of
 * the prime.
 */
static uint32_t draw(uint32_t n, uint64_t *rng) {
    const uint32_t rank = (uint32_t)exp(bench_uniform(bench_random(rng)) * log((double)n + 1)) - 1;
    return (uint32_t)((uint64_t)(rank < n ? rank : n - 1) * 7919 % n);
}

static bool contains(const uint32_t *features, uint32_t n, uint32_t feature) {
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found |= features[i] == feature;
    return found;
}

bench_catalogue bench_catalogue_draw(uint64_t n_items, uint32_t n_features, uint64_t seed) {
    const uint32_t per_item = BENCH_PER_ITEM;
    bench_catalogue c = {.n_items = n_items,
                         .n_features = n_features,
                         .n_postings = n_items * per_item,
                         .offsets = bench_alloc((n_items + 1) * sizeof *c.offsets),
                         .features = bench_alloc(n_items * per_item * sizeof *c.features)};
    for (uint64_t i = 0; i <= n_items; i++)
        c.offsets[i] = i * per_item;
    for (uint64_t i = 0; i < n_items; i++) {
        uint32_t *features = c.features + i * per_item, n = 0;
        while (n < per_item) {
            const uint32_t feature = draw(n_features, &seed);
            if (!contains(features, n, feature))
                features[n++] = feature;
        }
    }
    return c;
}

void bench_catalogue_query(const bench_catalogue *c, uint64_t *rng, uint32_t n, bench_hits_query *query) {
    query->n = 0;
    while (query->n < n) {
        const uint64_t item = bench_random(rng) % c->n_items;
        for (uint32_t f = 0; f < BENCH_PER_ITEM && query->n < n; f++) {
            const uint32_t feature = c->features[item * BENCH_PER_ITEM + f];
            if (!contains(query->features, query->n, feature))
                query->features[query->n++] = feature;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        float sum = -6;
        for (int j = 0; j < 12; j++)
            sum += (float)(bench_random(rng) >> 40) * 0x1p-24f;
        query->weights[i] = sum;
    }
}

double bench_hits_build(thr_context *context, const bench_catalogue *c, const char *path, thr_hits_order order) {
    const thr_item_features items = {c->offsets, c->features, c->n_items};
    thr_hits_build_options options = {0};
    options.order = order;
    options.replace = true;
    const double start = bench_clock();
    bench_check(thr_hits_build(context, path, &items, &options, &bench.err));
    return bench_clock() - start;
}

thr_hits *bench_hits_open(const char *path) {
    thr_hits *hits = NULL;
    bench_check(thr_hits_open(bench.context, path, &hits, &bench.err));
    return hits;
}

thr_status bench_hits_ask(thr_hits *hits, const bench_hits_query *query, const thr_hits_search_options *options,
                          bench_hits_answer *a, thr_error *err) {
    const uint64_t ends[] = {0, query->n};
    const thr_hits_queries queries = {1, ends, query->features, query->weights};
    return thr_hits_search(hits, &queries, BENCH_HITS_K, options, a->ids, a->values, err);
}

void bench_hits_check(const double *exact, uint64_t n, const uint64_t *ids, const float *values, double tolerance) {
    uint64_t better = 0;
    for (int i = 0; i < BENCH_HITS_K; i++)
        if (fabs(exact[ids[i]] - (double)values[i]) > tolerance)
            bench_fail("item %llu has %g in the answer, but %g in the data", (unsigned long long)ids[i],
                       (double)values[i], exact[ids[i]]);
    for (uint64_t i = 0; i < n; i++)
        better += exact[i] > (double)values[BENCH_HITS_K - 1] + tolerance;
    if (better >= BENCH_HITS_K)
        bench_fail("%llu items are better than the last one, which has %g", (unsigned long long)better,
                   (double)values[BENCH_HITS_K - 1]);
}
