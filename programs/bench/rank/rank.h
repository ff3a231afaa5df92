/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - one run of `thresher-bench rank`: synthetic examples of known shapes, and the classic way to learn.
 */
#pragma once

#include "bench.h"

/* ------------------------------------------------------------------------------------------------ examples.c */

typedef struct bench_rank_shape {
    const char *name;
    uint64_t n_rows, n_queries;
    uint32_t n_features, n_levels; /* of a query's labels, at most */
    bool badly_scaled;             /* a feature in three has values a hundred times as large */
    double classic_share;          /* of the rows, which the classic way has time for */
} bench_rank_shape;

/* Rows by query: query q has rows offsets[q] to offsets[q + 1] - 1. */
typedef struct bench_examples {
    bench_rank_shape shape;
    float *values; /* n_rows x n_features */
    double *labels;
    uint64_t *queries, *offsets;
} bench_examples;

/*
 * In bench_alloc's memory. Values from 0 to 1, a query's around means of its own; labels are places in the order of a
 * linear score with noise, put into levels. The same for the same seed.
 */
bench_examples bench_examples_draw(const bench_rank_shape *shape);

/* The first n_queries as an SVMlight file, of so many bytes. */
uint64_t bench_examples_write(const bench_examples *e, uint64_t n_queries, const char *path);

/* ------------------------------------------------------------------------------------------------- classic.c */

/*
 * Linear RankSVM as it has long been done (Lee and Lin 2014): values as pairs of an index and a double, one thread; a
 * trust region Newton method whose products with the Hessian go through a tree over labels. The tree is a Fenwick tree,
 * which is faster than one of nodes.
 */
typedef struct bench_classic_result {
    double objective, solve_s;
    uint64_t n_products;
    uint32_t n_steps;
} bench_classic_result;

/* The objective at the start of a solver and after each step, with the time. Steps beyond the array are not kept. */
enum { BENCH_RANK_STEPS = 256 };
typedef struct bench_rank_trace {
    int n;
    double seconds[BENCH_RANK_STEPS], objectives[BENCH_RANK_STEPS];
} bench_rank_trace;
void bench_rank_trace_add(bench_rank_trace *trace, double seconds, double objective);

/* Learn from the first n_queries. trace, without the time of copying the rows, may be NULL. */
void bench_classic_train(const bench_examples *e, uint64_t n_queries, double c, double epsilon, bench_rank_trace *trace,
                         bench_classic_result *result);

/* -------------------------------------------------------------------------------------------------- convergence.c */

/* Curves and a table of how near each solver is to the least of f, on shares of the shapes and on MQ2007. */
void bench_rank_convergence(const bench_rank_shape *shapes, int n_shapes, double c);
