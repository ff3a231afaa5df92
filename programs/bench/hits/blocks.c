/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.c - posting lists as HitMatch's Algorithm 1 stores them: a feature's items in blocks of 256 ids of 8
 * bits, in groups of blocks of 1, 2, 4, ..., 256 places; keys, header and values per group. Padding with 0, as it is
 * published, would add the weight to item 0 of the block: here each block has a count instead, a byte.
 */
#include <string.h>

#include "hits.h"

enum { BLOCK = 256 };

static unsigned group_of(uint64_t n) {
    return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

/* The items of a feature that share a block, from `at` on. */
static uint64_t block_end(const bench_ways *w, uint64_t at, uint64_t end) {
    const uint32_t block = w->items[at] / BLOCK;
    while (at < end && w->items[at] / BLOCK == block)
        at++;
    return at;
}

/* Count each feature's blocks of each group into keys[f + 1], then add them up. */
static void count(const bench_ways *w, bench_blocks groups[BENCH_GROUPS]) {
    const uint32_t n = w->catalogue->n_features;
    for (uint32_t f = 0; f < n; f++)
        for (uint64_t at = w->starts[f], end; at < w->starts[f + 1]; at = end) {
            end = block_end(w, at, w->starts[f + 1]);
            groups[group_of(end - at)].keys[f + 1]++;
        }
    for (unsigned g = 0; g < BENCH_GROUPS; g++)
        for (uint32_t f = 0; f < n; f++)
            groups[g].keys[f + 1] += groups[g].keys[f];
}

static void fill(const bench_ways *w, bench_blocks groups[BENCH_GROUPS]) {
    uint64_t next[BENCH_GROUPS] = {0}; /* features are in order, so blocks follow each other */
    for (uint32_t f = 0; f < w->catalogue->n_features; f++)
        for (uint64_t at = w->starts[f], end; at < w->starts[f + 1]; at = end) {
            end = block_end(w, at, w->starts[f + 1]);
            const unsigned g = group_of(end - at);
            const uint64_t i = next[g]++;
            groups[g].header[i] = w->items[at] / BLOCK;
            groups[g].counts[i] = (uint8_t)(end - at - 1);
            for (uint64_t j = at; j < end; j++)
                groups[g].values[(i << g) + j - at] = (uint8_t)(w->items[j] % BLOCK);
        }
}

void bench_blocks_make(bench_ways *w) {
    const size_t n = w->catalogue->n_features;
    for (unsigned g = 0; g < BENCH_GROUPS; g++)
        w->groups[g].keys = bench_alloc((n + 1) * sizeof *w->groups[g].keys);
    count(w, w->groups);
    for (unsigned g = 0; g < BENCH_GROUPS; g++) {
        bench_blocks *group = &w->groups[g];
        const uint64_t n_blocks = group->keys[n];
        group->header = bench_alloc((n_blocks + 1) * sizeof *group->header);
        group->counts = bench_alloc(n_blocks + 1);
        group->values = bench_alloc((n_blocks << g) + 1);
        w->block_bytes += (double)(n_blocks * (sizeof *group->header + 1) + (n_blocks << g));
        w->block_bytes += (double)((n + 1) * sizeof *group->keys);
    }
    fill(w, w->groups);
}

void bench_way_blocks(bench_ways *w, const bench_hits_query *query, float *sums) {
    memset(sums, 0, w->catalogue->n_items * sizeof *sums);
    for (unsigned g = 0; g < BENCH_GROUPS; g++) {
        const bench_blocks *group = &w->groups[g];
        for (uint32_t f = 0; f < query->n; f++) {
            const float weight = query->weights[f];
            for (uint64_t i = group->keys[query->features[f]]; i < group->keys[query->features[f] + 1]; i++) {
                float *part = sums + (size_t)group->header[i] * BLOCK;
                const uint8_t *ids = group->values + (i << g);
                for (uint32_t j = 0; j <= group->counts[i]; j++)
                    part[ids[j]] += weight;
            }
        }
    }
}
