/* SPDX-License-Identifier: Apache-2.0 */
/* hits_naive.h - what a search of posting lists finds, item by item. */
#pragma once

#include "hits_support.h"

#include "lists/search_lists.h"
#include "kernel/elementwise.h"

/* All values, best first: from whole multiples of the unit, in any order, to floats, one operation after the other. */
static inline size_t hits_naive_search(thr_context *context, const hits_problem *p, const thr_lists_corpus *target,
                                       thr_candidate *all) {
    const hits_catalogue *c = &p->catalogue;
    thr_lists_query query = {0};
    size_t n = 0;
    expect_ok(thr_lists_query_make(context, target->lists, p->features, p->weights, p->n, &query, &err));
    for (uint64_t i = 0; i < c->items.n_items; i++) {
        int64_t sum = 0;
        if (target->filter != NULL && (target->filter[i / 64] >> i % 64 & 1) == 0)
            continue;
        for (size_t f = 0; f < p->n; f++)
            if (p->features[f] % HITS_STEP == 0 && c->has[i * c->n_features + p->features[f] / HITS_STEP] != 0)
                sum += lrint((double)p->weights[f] / query.unit);
        float value = (float)((double)sum * query.unit);
        if (target->value == THR_HITS_VALUE_SIGMOID)
            value = 1 / (1 + thr_kernel_exp_one(-value));
        if (target->multipliers != NULL)
            value *= target->multipliers[i];
        if (target->offsets != NULL)
            value += target->offsets[i];
        all[n++] = (thr_candidate){.row = i, .score = value};
    }
    thr_lists_query_free(context, &query);
    thr_select_candidates_sort(all, n);
    return n;
}

/* The problem's query on the CPU. */
static inline thr_status hits_search_problem(thr_lists_search *search, const thr_lists_corpus *target,
                                             const hits_problem *p, size_t k, thr_lists_found *found,
                                             thr_error *error) {
    const uint64_t offsets[] = {0, p->n};
    const thr_hits_queries queries = {1, offsets, p->features, p->weights};
    return thr_lists_search_run(search, target, &queries, 0, k, found, error);
}

static inline bool hits_same_bits(float a, float b) {
    return thr_kernel_float_bits(a) == thr_kernel_float_bits(b);
}

typedef struct hits_numbers {
    float *multipliers, *offsets;
    uint64_t *filter;
} hits_numbers;

static inline hits_numbers hits_draw_numbers(uint64_t n_items, uint64_t *rng) {
    hits_numbers x = {test_new(n_items, sizeof(float)), test_new(n_items, sizeof(float)),
                      test_new(n_items / 64 + 1, sizeof(uint64_t))};
    for (uint64_t i = 0; i < n_items; i++) {
        x.multipliers[i] = (float)thr_rng_below(rng, 4);
        x.offsets[i] = i % 3 == 0 ? 0 : test_normal(rng);
        x.filter[i / 64] |= (uint64_t)(thr_rng_below(rng, 3) == 0) << i % 64;
    }
    return x;
}
