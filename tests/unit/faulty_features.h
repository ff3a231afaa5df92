/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_features.h - features that follow from an item's id, for tests of changes on a failing machine. */
#pragma once

#include "index_support.h"

static thr_error error;

/* In an index with features, each item has two, which follow from its id. */
static bool with_features;

static void features_of(uint64_t id, uint32_t features[2]) {
    features[0] = (uint32_t)(id % 23);
    features[1] = 100 + (uint32_t)(id % 7);
}

/* Features of n items, numbered from 0 if ids is NULL. offsets has room for n + 1 numbers, features for 2 n. */
static thr_item_features draw_features(const uint64_t *ids, uint64_t n, uint64_t *offsets, uint32_t *features) {
    for (uint64_t i = 0; i < n; i++)
        features_of(ids == NULL ? i : ids[i], features + 2 * i);
    for (uint64_t i = 0; i <= n; i++)
        offsets[i] = 2 * i;
    return (thr_item_features){offsets, features, n};
}

/* The item has its features and no others. */
static void expect_features(thr_index *index, uint64_t id) {
    enum { ALL = 107 };
    uint32_t features[ALL], own[2];
    float shares[ALL];
    const uint64_t ends[] = {0, ALL};
    const thr_hits_queries all = {1, ends, features, NULL};
    features_of(id, own);
    for (uint32_t f = 0; f < ALL; f++)
        features[f] = f;
    expect_ok(thr_hits_explain(thr_index_hits(index), id, &all, 0, shares, NULL, &error));
    for (uint32_t f = 0; f < ALL; f++)
        assert_true((shares[f] != 0) == (f == own[0] || f == own[1]));
}

static int begin_features(void **state) {
    (void)state;
    with_features = true;
    return 0;
}

static int end_features(void **state) {
    (void)state;
    with_features = false;
    return 0;
}
