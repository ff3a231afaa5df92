/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways.c - what posting lists are compared with, each written as well as plain C allows: the compiler vectorises
 * what can be, and nothing is looked up that could be known before.
 */
#include <string.h>

#include "hits.h"

enum { WINDOW = 65536 };

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

static void fill_windows(bench_ways *w) {
    for (uint32_t f = 0; f < w->catalogue->n_features; f++) {
        uint64_t *starts = w->window_starts + (size_t)f * (w->n_windows + 1), at = w->starts[f];
        for (uint32_t window = 0; window < w->n_windows; window++) {
            starts[window] = at;
            for (; at < w->starts[f + 1] && w->items[at] / WINDOW == window; at++)
                w->local[at] = (uint16_t)(w->items[at] % WINDOW);
        }
        starts[w->n_windows] = at;
    }
}

void bench_ways_make(bench_ways *w, const bench_catalogue *c) {
    uint64_t *next = bench_alloc(c->n_features * sizeof *next);
    *w = (bench_ways){.catalogue = c, .n_windows = (uint32_t)((c->n_items + WINDOW - 1) / WINDOW)};
    w->starts = bench_alloc((c->n_features + 1) * sizeof *w->starts);
    w->items = bench_alloc(c->n_postings * sizeof *w->items);
    w->window_starts = bench_alloc((size_t)c->n_features * (w->n_windows + 1) * sizeof *w->window_starts);
    w->local = bench_alloc(c->n_postings * sizeof *w->local);
    w->dense = bench_alloc(c->n_features * sizeof *w->dense);
    fill_columns(w, next);
    fill_windows(w);
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

void bench_way_windows(bench_ways *w, const bench_hits_query *query, float *sums) {
    memset(sums, 0, w->catalogue->n_items * sizeof *sums);
    for (uint32_t window = 0; window < w->n_windows; window++) {
        float *part = sums + (size_t)window * WINDOW;
        for (uint32_t i = 0; i < query->n; i++) {
            const uint64_t *starts = w->window_starts + (size_t)query->features[i] * (w->n_windows + 1) + window;
            const float weight = query->weights[i];
            for (uint64_t e = starts[0]; e < starts[1]; e++)
                part[w->local[e]] += weight;
        }
    }
}
