/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "rank.h"

static const double NOISE = 0.15, BAD_SCALE = 100;

static double uniform(uint64_t *state) {
    return bench_uniform(bench_random(state));
}

/* A row's score while its query is put in order. */
typedef struct scored {
    double score;
    uint64_t row;
} scored;

static int by_score(const void *a, const void *b) {
    const scored *x = a, *y = b;
    return x->score < y->score ? -1 : x->score > y->score ? 1 : x->row < y->row ? -1 : 1;
}

/* Levels are equally many rows each, but that few are at the top: the square of the place. */
static void label_query(bench_examples *e, uint64_t n, scored *rows) {
    qsort(rows, n, sizeof *rows, by_score);
    for (uint64_t i = 0; i < n; i++) {
        const double place = (double)i / (double)n, share = e->shape.n_levels <= 10 ? place * place : place;
        e->labels[rows[i].row] = floor(share * (double)e->shape.n_levels);
    }
}

static void draw_rows(bench_examples *e, uint64_t seed, const double *weights, double *means, scored *rows) {
    const uint32_t d = e->shape.n_features;
    uint64_t state = seed;
    for (uint64_t q = 0; q < e->shape.n_queries; q++) {
        const uint64_t first = e->offsets[q], n = e->offsets[q + 1] - first;
        for (uint32_t f = 0; f < d; f++)
            means[f] = uniform(&state) * 0.5;
        for (uint64_t i = 0; i < n; i++) {
            double score = NOISE * (uniform(&state) + uniform(&state) - 1) * sqrt((double)d);
            float *row = e->values + (first + i) * d;
            for (uint32_t f = 0; f < d; f++) {
                const double value = floor((means[f] + 0.5 * uniform(&state)) * 1e6) * 1e-6;
                score += weights[f] * (value - means[f]);
                row[f] = (float)(e->shape.badly_scaled && f % 3 == 0 ? value * BAD_SCALE : value);
            }
            rows[i] = (scored){score, first + i};
            e->queries[first + i] = q + 1;
        }
        label_query(e, n, rows);
    }
}

bench_examples bench_examples_draw(const bench_rank_shape *shape) {
    const uint64_t seed = bench.program->globals.seed;
    uint64_t state = seed + 1;
    bench_examples e = {.shape = *shape,
                        .values = bench_alloc(shape->n_rows * shape->n_features * sizeof *e.values),
                        .labels = bench_alloc(shape->n_rows * sizeof *e.labels),
                        .queries = bench_alloc(shape->n_rows * sizeof *e.queries),
                        .offsets = bench_alloc((shape->n_queries + 1) * sizeof *e.offsets)};
    double *weights = bench_alloc(shape->n_features * sizeof *weights);
    double *means = bench_alloc(shape->n_features * sizeof *means);
    for (uint64_t q = 0; q <= shape->n_queries; q++)
        e.offsets[q] = q * shape->n_rows / shape->n_queries;
    scored *rows = bench_alloc((shape->n_rows / shape->n_queries + 1) * sizeof *rows); /* of the longest query */
    for (uint32_t f = 0; f < shape->n_features; f++)
        weights[f] = uniform(&state) * 2 - 1;
    draw_rows(&e, seed, weights, means, rows);
    return e;
}

uint64_t bench_examples_write(const bench_examples *e, uint64_t n_queries, const char *path) {
    FILE *file = fopen(path, "w");
    const uint32_t d = e->shape.n_features;
    for (uint64_t i = 0; file != NULL && i < e->offsets[n_queries]; i++) {
        (void)fprintf(file, "%g qid:%llu", e->labels[i], (unsigned long long)e->queries[i]);
        for (uint32_t f = 0; f < d; f++)
            (void)fprintf(file, " %u:%.6f", f + 1, (double)e->values[i * d + f]);
        (void)fputs(" # docid = none\n", file);
    }
    const long bytes = file != NULL ? ftell(file) : -1;
    if (file == NULL || ferror(file) || fclose(file) != 0 || bytes < 0)
        bench_fail("%s: could not be written", path);
    return (uint64_t)bytes;
}
