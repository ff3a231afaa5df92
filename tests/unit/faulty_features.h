/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_features.h - items that follow from their ids, for tests of changes on a failing machine. */
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

/* The item has its features. One item of eight is also asked for all others, which it does not have. */
static void expect_features(thr_index *index, uint64_t id) {
    enum { ALL = 107 };
    uint32_t features[ALL], own[2];
    float shares[ALL] = {0};
    const uint64_t ends[] = {0, id % 8 == 0 ? ALL : 2};
    const thr_hits_queries all = {1, ends, features, NULL};
    features_of(id, own);
    for (uint32_t f = 0; f < ends[1]; f++)
        features[f] = ends[1] == 2 ? own[f] : f;
    expect_ok(thr_hits_explain(thr_index_hits(index), id, &all, 0, shares, NULL, &error));
    for (uint32_t f = 0; f < ends[1]; f++)
        assert_true((shares[f] != 0) == (features[f] == own[0] || features[f] == own[1]));
}

static float value_of(uint64_t id, int d) {
    return (float)((id * 31 + (uint64_t)d * 17) % 101) / 50 - 1;
}

/* The items have the vectors that follow from their ids, and with_features their features. */
static void expect_items(thr_index *index, const uint64_t *ids, size_t n, int n_dims) {
    float *vectors = test_array(n * (size_t)n_dims, sizeof *vectors);
    expect_ok(thr_index_vectors(index, ids, n, vectors, &error));
    for (size_t i = 0; i < n; i++) {
        for (int d = 0; d < n_dims; d++)
            assert_true(vectors[i * (size_t)n_dims + (size_t)d] == value_of(ids[i], d));
        if (with_features)
            expect_features(index, ids[i]);
    }
    free(vectors);
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
