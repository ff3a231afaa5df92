/* SPDX-License-Identifier: Apache-2.0 */
/* index_hits_support.h - items with features, and queries for them, for tests of indexes that have both. */
#pragma once

#include "index_support.h"

enum { N_QUERIES = 5, N_FEATURES = 23, MOST_FEATURES = 12 };

/* Feature f is on one item in f + 1, clustered for odd f; some items have none. */
typedef struct catalogue {
    thr_item_features items;
    uint64_t *offsets;
    uint32_t *features;
} catalogue;

static inline catalogue draw_items(uint64_t n, uint64_t seed) {
    catalogue c = {.offsets = test_new(n + 1, sizeof(uint64_t)),
                   .features = test_new(n * N_FEATURES + 1, sizeof(uint32_t))};
    assert_non_null(c.offsets);
    assert_non_null(c.features);
    for (uint64_t i = 0; i < n; i++) {
        c.offsets[i + 1] = c.offsets[i];
        for (uint32_t f = 0; f < N_FEATURES && i % 10 != 9; f++)
            if (f % 2 == 0 ? thr_rng_below(&seed, f + 1) == 0 : i / 50 % (f + 1) == 0)
                c.features[c.offsets[i + 1]++] = f;
    }
    c.items = (thr_item_features){c.offsets, c.features, n};
    return c;
}

/* Query 0 has no features, others unknown ones, too; weights of both signs. */
typedef struct asked {
    thr_hits_queries queries;
    uint64_t offsets[N_QUERIES + 1];
    uint32_t features[N_QUERIES * MOST_FEATURES];
    float weights[N_QUERIES * MOST_FEATURES];
} asked;

static inline void ask(asked *a, uint64_t seed) {
    a->offsets[0] = 0;
    for (uint64_t q = 0; q < N_QUERIES; q++) {
        uint64_t at = a->offsets[q];
        for (uint64_t i = 0; i < q * MOST_FEATURES / N_QUERIES; i++, at++) {
            a->features[at] = (uint32_t)thr_rng_below(&seed, N_FEATURES + 2);
            a->weights[at] = (float)thr_rng_below(&seed, 2000) / 1000.0f - 0.6f;
        }
        a->offsets[q + 1] = at;
    }
    a->queries = (thr_hits_queries){N_QUERIES, a->offsets, a->features, a->weights};
}

static inline uint64_t *draw_filter(uint64_t n, uint64_t one_in, uint64_t seed) {
    uint64_t *filter = test_new((size_t)n / 64 + 1, sizeof *filter);
    for (uint64_t row = 0; row < n; row++)
        filter[row / 64] |= (uint64_t)(thr_rng_below(&seed, one_in) == 0) << row % 64;
    return filter;
}
