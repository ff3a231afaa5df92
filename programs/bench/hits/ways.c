/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways.c - what posting lists are compared with, each written as well as plain C allows: the compiler vectorises
 * what can be, and nothing is looked up that could be known before.
 */
#include <string.h>

#include "hits.h"

static void fill_columns(bench_ways *w, uint64_t *next) {
    const bench_catalogue *c = w->catalogue;
    for (uint64_t e = 0; e < c->n_postings; e++)
        w->starts[c->features[e] + 1]++;
    for (uint32_t f = 0; f < c->n_features; f++)
        w->starts[f + 1] += w->starts[f];
    memcpy(next, w->starts, c->n_features * sizeof *next);
    for (uint64_t i = 0; i < c->n_items; i++)
        for (uint64_t e = c->offsets[i]; e < c->offsets[i + 1]; e++)
            w->items[next[c->features[e]]++] = (uint32_t)i;
}

void bench_ways_make(bench_ways *w, const bench_catalogue *c) {
    uint64_t *next = bench_alloc(c->n_features * sizeof *next);
    *w = (bench_ways){.catalogue = c};
    w->starts = bench_alloc((c->n_features + 1) * sizeof *w->starts);
    w->items = bench_alloc(c->n_postings * sizeof *w->items);
    w->dense = bench_alloc(c->n_features * sizeof *w->dense);
    fill_columns(w, next);
    bench_blocks_make(w);
}

void bench_way_csr(bench_ways *w, const bench_hits_query *query, float *sums) {
    const bench_catalogue *c = w->catalogue;
    for (uint32_t i = 0; i < query->n; i++)
        w->dense[query->features[i]] = query->weights[i];
    for (uint64_t i = 0; i < c->n_items; i++) {
        float sum = 0;
        for (uint64_t e = c->offsets[i]; e < c->offsets[i + 1]; e++)
            sum += w->dense[c->features[e]];
        sums[i] = sum;
    }
    for (uint32_t i = 0; i < query->n; i++)
        w->dense[query->features[i]] = 0;
}

void bench_way_columns(bench_ways *w, const bench_hits_query *query, float *sums) {
    memset(sums, 0, w->catalogue->n_items * sizeof *sums);
    for (uint32_t i = 0; i < query->n; i++) {
        const float weight = query->weights[i];
        for (uint64_t e = w->starts[query->features[i]]; e < w->starts[query->features[i] + 1]; e++)
            sums[w->items[e]] += weight;
    }
}
