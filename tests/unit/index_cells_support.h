/* SPDX-License-Identifier: Apache-2.0 */
/* index_cells_support.h - clustered rows, and indexes with cells of all kinds of codes, for tests of searches. */
#pragma once

#include "index_support.h"

enum { DIMS = 24 };

/* Rows about 50 centres, at a distance that grows with spread; one in 20 is far from all. To be freed. */
static inline float *clustered_rows(uint64_t n, float spread, uint64_t seed) {
    float *centres = random_rows(50, DIMS, 77), *made = random_rows(n, DIMS, seed);
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < DIMS; d++)
            made[i * DIMS + d] = (i % 20 == 0 ? 0 : centres[i % 50 * DIMS + d]) + spread * made[i * DIMS + d];
    return made;
}

/* Queries near such rows, negated ones, and one of length 0, the third. To be freed. */
static inline float *clustered_queries(uint64_t n, float spread) {
    float *queries = clustered_rows(n, spread, 2);
    for (uint64_t i = 0; i < n * DIMS; i++)
        queries[i] *= i / DIMS == 2 ? 0.0f : i / DIMS % 3 == 1 ? -1.0f : 1.0f;
    return queries;
}

typedef struct kind {
    thr_metric metric;
    thr_dtype keep;
    uint32_t bits, lead;
    uint64_t segment_rows; /* 0: one segment */
} kind;

static const kind KINDS[] = {{THR_METRIC_COSINE, THR_DTYPE_F32, 3, 1, 0}, {THR_METRIC_IP, THR_DTYPE_F16, 4, 2, 0},
                             {THR_METRIC_L2, THR_DTYPE_I8, 3, 1, 2048},   {THR_METRIC_L2, THR_DTYPE_F32, 6, 6, 0},
                             {THR_METRIC_IP, THR_DTYPE_F32, 1, 1, 2048},  {THR_METRIC_COSINE, THR_DTYPE_I8, 2, 2, 1024},
                             {THR_METRIC_COSINE, THR_DTYPE_F16, 8, 3, 0}};
enum { N_KINDS = COUNT_OF(KINDS) };

/* Build an index of n rows in a place, in which nothing else is left. */
static inline void build_kind(const char *place, const kind *k, const float *rows, uint64_t n, uint32_t cells) {
    OWNED(thr_context, context) = test_context(2, THR_ISA_BEST, NULL);
    thr_index_build_options options = build_options(k->metric, k->keep, k->bits);
    options.lead_bits = k->lead;
    options.segment_rows = k->segment_rows;
    options.cells = cells;
    test_remove_directory(place);
    expect_ok(build_rows(context, place, rows, n, DIMS, &options, &err));
}
