/* SPDX-License-Identifier: Apache-2.0 */
/* hits_support.h - what the tests of room hits share: items whose features are dense, clustered, rare or repeated. */
#pragma once

#include "owned.h"

#include "lists/lists.h"

typedef struct hits_catalogue {
    thr_item_features items;
    uint64_t *offsets;
    uint32_t *features;
    uint32_t n_features; /* kinds, numbered 0, STEP, 2 STEP, ...: not all numbers are there */
    uint64_t n_postings, n_repeated;
    uint8_t *has; /* has[i * n_features + f] */
} hits_catalogue;

enum { HITS_STEP = 3 };

/*
 * Kind 0: all items. Else by kind % 9: one item in 2, 5, 16, 60 or 900; runs; the ends of containers; one long run; one
 * item alone.
 */
static inline bool hits_draws(uint32_t kind, uint64_t item, uint64_t *rng) {
    switch (kind % 9) {
    case 0:
        return kind == 0 || thr_rng_below(rng, 2) == 0;
    case 1:
        return thr_rng_below(rng, 5) == 0;
    case 2:
        return thr_rng_below(rng, 16) == 0;
    case 3:
        return thr_rng_below(rng, 60) == 0;
    case 4:
        return thr_rng_below(rng, 900) == 0;
    case 5:
        return item / (7 + kind) % 9 == 0;
    case 6:
        return item % 256 == 0 || item % 256 == 255;
    case 8:
        return item == 7u * kind;
    default:
        return item >= 300u * kind && item < 300u * kind + 700;
    }
}

/* Some items repeat a feature; the order of features is random. */
static inline hits_catalogue hits_draw(uint64_t n_items, uint32_t n_features, uint64_t *rng) {
    hits_catalogue c = {.n_features = n_features};
    c.offsets = test_new(n_items + 1, sizeof *c.offsets);
    c.features = test_new(2 * n_items * n_features + 1, sizeof *c.features);
    c.has = test_new(n_items * n_features + 1, 1);
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_items; i++) {
        for (uint32_t f = 0; f < n_features; f++) {
            const bool has = hits_draws(f, i, rng);
            c.has[i * n_features + f] = has;
            c.n_postings += has;
            for (uint64_t times = has ? 1 + (thr_rng_below(rng, 10) == 0) : 0, t = 0; t < times; t++) {
                c.n_repeated += t;
                c.features[n++] = f * HITS_STEP;
            }
        }
        for (uint64_t e = n; e > c.offsets[i] + 1; e--) {
            const uint64_t j = c.offsets[i] + thr_rng_below(rng, e - c.offsets[i]);
            const uint32_t kept = c.features[e - 1];
            c.features[e - 1] = c.features[j];
            c.features[j] = kept;
        }
        c.offsets[i + 1] = n;
    }
    c.items = (thr_item_features){c.offsets, c.features, n_items};
    return c;
}

typedef struct hits_problem {
    hits_catalogue catalogue;
    thr_built_lists built;
    uint32_t *features;
    float *weights;
    size_t n;
} hits_problem;

/* Every feature there is, some twice, some unknown; weights of all sizes and signs, and zeros. */
static inline hits_problem hits_make_problem(thr_context *context, uint64_t n_items, uint32_t n_features,
                                             uint64_t *rng) {
    hits_problem p = {.catalogue = hits_draw(n_items, n_features, rng), .n = n_features + 6};
    expect_ok(thr_lists_build(context, &p.catalogue.items, NULL, &p.built, &err));
    p.features = test_new(p.n, sizeof *p.features);
    p.weights = test_new(p.n, sizeof *p.weights);
    for (size_t i = 0; i < p.n; i++) {
        const uint32_t drawn = (uint32_t)thr_rng_below(rng, n_features) * HITS_STEP;
        p.features[i] = i < n_features ? (uint32_t)i * HITS_STEP : i < n_features + 3 ? drawn : drawn + 1;
        p.weights[i] = i % 7 == 6 ? 0 : test_normal(rng) * (i % 3 == 0 ? 100.0f : 0.01f);
    }
    return p;
}

static inline void hits_free_problem(thr_context *context, hits_problem *p) {
    thr_lists_built_free(context, &p->built);
}
