/* SPDX-License-Identifier: Apache-2.0 */
/* hits_catalogue.c - a synthetic catalogue: Zipf's law, drawn by an alias table, one random number a feature. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hits.h"

/* Vose's: a number below n, then itself or its alias. */
typedef struct alias_table {
    uint32_t n;
    uint32_t *alias;
    uint32_t *keep; /* itself where the next 32 random bits are below */
} alias_table;

static void fill_alias(alias_table *t, double *shares, uint32_t *small, uint32_t *large) {
    uint32_t n_small = 0, n_large = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        t->alias[i] = i;
        t->keep[i] = UINT32_MAX;
        if (shares[i] < 1)
            small[n_small++] = i;
        else
            large[n_large++] = i;
    }
    while (n_small > 0 && n_large > 0) {
        const uint32_t s = small[--n_small], l = large[n_large - 1];
        t->keep[s] = (uint32_t)(shares[s] * 0x1p32);
        t->alias[s] = l;
        shares[l] -= 1 - shares[s];
        if (shares[l] < 1) {
            n_large--;
            small[n_small++] = l;
        }
    }
}

static int make_alias(alias_table *t, uint32_t n) {
    if (n == 0)
        return -1;
    double *shares = malloc(n * sizeof *shares), sum = 0;
    uint32_t *small = malloc(n * sizeof *small), *large = malloc(n * sizeof *large);
    t->n = n;
    t->alias = malloc(n * sizeof *t->alias);
    t->keep = malloc(n * sizeof *t->keep);
    const int rc = shares && small && large && t->alias && t->keep ? 0 : -1;
    for (uint32_t i = 0; i < n; i++)
        sum += 1 / (i + 1.0);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        shares[i] = n / (i + 1.0) / sum;
    if (rc == 0)
        fill_alias(t, shares, small, large);
    free(shares);
    free(small);
    free(large);
    return rc;
}

/* Popular features get numbers anywhere: n is no multiple of the prime. */
static uint32_t draw(const alias_table *t, uint64_t *rng) {
    const uint64_t bits = bench_random(rng);
    const uint32_t i = (uint32_t)((bits >> 32) * t->n >> 32), rank = (uint32_t)bits < t->keep[i] ? i : t->alias[i];
    return (uint32_t)((uint64_t)rank * 7919 % t->n);
}

static bool stands(const uint32_t *features, uint32_t n, uint32_t feature) {
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found |= features[i] == feature;
    return found;
}

int bench_catalogue_draw(bench_catalogue *c, uint64_t n_items, uint32_t n_features, uint32_t per_item, uint64_t seed) {
    alias_table t = {0};
    *c = (bench_catalogue){.n_items = n_items,
                           .n_features = n_features,
                           .per_item = per_item,
                           .n_postings = n_items * per_item,
                           .offsets = malloc((n_items + 1) * sizeof *c->offsets),
                           .features = malloc(n_items * per_item * sizeof *c->features)};
    int rc = c->offsets == NULL || c->features == NULL ? -1 : make_alias(&t, n_features);
    for (uint64_t i = 0; rc == 0 && i <= n_items; i++)
        c->offsets[i] = i * per_item;
    for (uint64_t i = 0; rc == 0 && i < n_items; i++) {
        uint32_t *features = c->features + i * per_item, n = 0;
        while (n < per_item) {
            const uint32_t feature = draw(&t, &seed);
            if (!stands(features, n, feature))
                features[n++] = feature;
        }
    }
    free(t.alias);
    free(t.keep);
    return rc;
}

void bench_catalogue_free(bench_catalogue *c) {
    free(c->offsets);
    free(c->features);
    *c = (bench_catalogue){.n_items = 0};
}

int bench_catalogue_query(const bench_catalogue *c, uint64_t *rng, uint32_t *features, float *weights, uint32_t n) {
    uint32_t found = 0;
    while (found < n) {
        const uint64_t item = bench_random(rng) % c->n_items;
        for (uint32_t f = 0; f < c->per_item && found < n; f++) {
            const uint32_t feature = c->features[item * c->per_item + f];
            if (!stands(features, found, feature))
                features[found++] = feature;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        float sum = -6;
        for (int j = 0; j < 12; j++)
            sum += (float)(bench_random(rng) >> 40) * 0x1p-24f;
        weights[i] = sum;
    }
    return 0;
}
