/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/split_merge.h"

#include "base/error.h"
#include "base/minmax.h"
#include "kernel/kernel.h"
#include "parallel/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPLIT_ONE_IN = 4, /* one group in so many is split on trial: those with the largest sums of squared distances */
    LEAST_ROWS = 4,   /* smaller groups are not split */
    SPLIT_STEPS = 4,  /* of Lloyd's algorithm, for the halves of a group */
};

/* A split must save more than this many times what the merge adds; a smaller difference may be noise. */
static const double LEAST_RATIO = 1.5;

/* A merge or a split of a group. */
typedef struct change {
    double sum; /* what it adds to, or takes from, the sum of squared distances */
    uint32_t group;
    uint32_t trial; /* of a split: its number in halves */
} change;

typedef struct moves {
    thr_context *context;
    const thr_kmeans_groups *groups;
    change *merges;    /* n: of each group with its neighbour */
    change *splits;    /* n: first with each group's own sum; then the first n_splits with what they save */
    uint32_t *nearest; /* n: each group's neighbour, the one with the nearest centroid */
    float *halves;     /* n_splits x 2 x n_dims: the centroids of the two halves of a group */
    float *distances;  /* n for every thread */
    double *sums;      /* 2 x n_dims for every thread */
    bool *is_moved;    /* n: whether the group takes part in a move */
    uint32_t n_splits;
} moves;

static const float *row_of(const thr_kmeans_groups *groups, uint32_t place) {
    return groups->sample->rows + (size_t)groups->order[place] * groups->sample->n_dims;
}

static float *centroid_of(const thr_kmeans_groups *groups, uint32_t group) {
    return groups->centroids + (size_t)group * groups->sample->n_dims;
}

static double size_of(const thr_kmeans_groups *groups, uint32_t group) {
    return (double)(groups->starts[group + 1] - groups->starts[group]);
}

static double square_distance(const moves *m, const float *a, const float *b) {
    const uint32_t n_dims = m->groups->sample->n_dims;
    float square;
    m->context->kernels->l2_f32(&square, a, b, n_dims * sizeof *b, 1, n_dims);
    return (double)square;
}

/*
 * How much larger the sum of squared distances of two groups is from their common mean than from their own means. n_a,
 * n_b: their rows. square: the squared distance of their means.
 */
static double gain_of_two(double n_a, double n_b, double square) {
    return n_a > 0 && n_b > 0 ? n_a * n_b / (n_a + n_b) * square : 0;
}

/* ------------------------------------------------------------------------------------------------ costs and gains */

/* Find a group's neighbour, what a merge with it adds, and the group's sum of squared distances. */
static void measure_group(void *arg, size_t c, uint32_t worker) {
    const moves *m = arg;
    const thr_kmeans_groups *groups = m->groups;
    const uint32_t n = groups->n, n_dims = groups->sample->n_dims, group = (uint32_t)c;
    float *distances = m->distances + (size_t)worker * n;
    uint32_t nearest = group == 0 ? 1 : 0;
    double sum = 0;
    m->context->kernels->l2_f32(distances, centroid_of(groups, group), groups->centroids, n_dims * sizeof(float), n,
                                n_dims);
    for (uint32_t i = 0; i < n; i++)
        if (i != group && distances[i] < distances[nearest])
            nearest = i;
    const double cost = gain_of_two(size_of(groups, group), size_of(groups, nearest), (double)distances[nearest]);
    m->nearest[group] = nearest;
    m->merges[group] = (change){THR_MIN(cost, (double)INFINITY), group, 0}; /* NaN, too */
    for (uint32_t i = groups->starts[group]; i < groups->starts[group + 1]; i++)
        sum += square_distance(m, row_of(groups, i), centroid_of(groups, group));
    m->splits[group] = (change){sum < (double)INFINITY ? sum : 0, group, 0};
}

/* The place, in order, of the row of a group that is farthest from a vector. */
static uint32_t farthest_from(const moves *m, uint32_t group, const float *vector) {
    const uint32_t first = m->groups->starts[group], end = m->groups->starts[group + 1];
    uint32_t farthest = first;
    double most = -1;
    for (uint32_t i = first; i < end; i++) {
        const double square = square_distance(m, row_of(m->groups, i), vector);
        if (square > most) {
            most = square;
            farthest = i;
        }
    }
    return farthest;
}

/*
 * One step of Lloyd's algorithm with the rows of a group and two centroids. Returns what the split saves; 0 if a half
 * has no rows. sums: memory for 2 x n_dims.
 */
static double improve_halves(const moves *m, uint32_t group, float *halves, double *sums) {
    const thr_kmeans_groups *groups = m->groups;
    const uint32_t n_dims = groups->sample->n_dims;
    double n[2] = {0, 0};
    memset(sums, 0, 2 * (size_t)n_dims * sizeof *sums);
    for (uint32_t i = groups->starts[group]; i < groups->starts[group + 1]; i++) {
        const float *row = row_of(groups, i);
        float squares[2];
        m->context->kernels->l2_f32(squares, row, halves, n_dims * sizeof *halves, 2, n_dims);
        const size_t half = squares[1] < squares[0];
        n[half]++;
        for (uint32_t d = 0; d < n_dims; d++)
            sums[half * n_dims + d] += (double)row[d];
    }
    if (n[0] == 0 || n[1] == 0)
        return 0;
    for (uint32_t d = 0; d < 2 * n_dims; d++)
        halves[d] = (float)(sums[d] / n[d >= n_dims]);
    const double gain = gain_of_two(n[0], n[1], square_distance(m, halves, halves + n_dims));
    return gain < (double)INFINITY ? gain : 0;
}

/*
 * Split a group on trial. The first centroids of its halves are the row farthest from the group's centroid, and the row
 * farthest from that one.
 */
static void split_group(void *arg, size_t i, uint32_t worker) {
    const moves *m = arg;
    const thr_kmeans_groups *groups = m->groups;
    const uint32_t n_dims = groups->sample->n_dims, group = m->splits[i].group;
    float *halves = m->halves + i * 2 * n_dims;
    double gain = 0;
    m->splits[i] = (change){0, group, (uint32_t)i};
    if (size_of(groups, group) < LEAST_ROWS)
        return;
    memcpy(halves, row_of(groups, farthest_from(m, group, centroid_of(groups, group))), n_dims * sizeof *halves);
    memcpy(halves + n_dims, row_of(groups, farthest_from(m, group, halves)), n_dims * sizeof *halves);
    for (int step = 0; step < SPLIT_STEPS; step++) {
        gain = improve_halves(m, group, halves, m->sums + (size_t)worker * 2 * n_dims);
        if (gain == 0)
            return;
    }
    m->splits[i].sum = gain;
}

/* ------------------------------------------------------------------------------------------------ moves */

static int ascending(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static int descending(const void *a, const void *b) {
    const change *x = a, *y = b;
    return x->sum != y->sum ? ascending(b, a) : ascending(a, b);
}

/* Merge a group with its neighbour, and use its centroid for the second half of the group that is split. */
static void move(const moves *m, uint32_t merged, uint32_t split, const float *halves) {
    const thr_kmeans_groups *groups = m->groups;
    const uint32_t n_dims = groups->sample->n_dims, other = m->nearest[merged];
    const double n_merged = size_of(groups, merged), n = n_merged + size_of(groups, other);
    const double share = n > 0 ? n_merged / n : 0;
    float *from = centroid_of(groups, merged), *to = centroid_of(groups, other);
    for (uint32_t d = 0; d < n_dims; d++)
        to[d] = (float)((double)to[d] + share * ((double)from[d] - (double)to[d]));
    memcpy(centroid_of(groups, split), halves, n_dims * sizeof *halves);
    memcpy(from, halves + n_dims, n_dims * sizeof *halves);
    m->is_moved[merged] = m->is_moved[other] = m->is_moved[split] = true;
}

/* Whether a group and its neighbour take part in no move so far, and neither is the group to split. */
static bool may_merge(const moves *m, uint32_t group, uint32_t split) {
    const uint32_t other = m->nearest[group];
    return !m->is_moved[group] && !m->is_moved[other] && group != split && other != split;
}

/*
 * Pair the splits that save most with the merges that add least, as long as LEAST_RATIO allows. No group takes part in
 * two moves, so a merge that one split passes over is impossible for all later ones. Returns the number of moves.
 */
static uint32_t move_all(const moves *m) {
    const uint32_t n_dims = m->groups->sample->n_dims;
    uint32_t n_moved = 0, at = 0;
    for (uint32_t i = 0; i < m->n_splits; i++) {
        const change *split = &m->splits[i];
        if (m->is_moved[split->group])
            continue;
        while (at < m->groups->n && !may_merge(m, m->merges[at].group, split->group))
            at++;
        if (at == m->groups->n || !(split->sum > LEAST_RATIO * m->merges[at].sum))
            break;
        move(m, m->merges[at].group, split->group, m->halves + (size_t)split->trial * 2 * n_dims);
        n_moved++;
    }
    return n_moved;
}

thr_status thr_cells_split_merge(thr_context *context, const thr_kmeans_groups *groups, uint32_t *n_moved,
                                 thr_error *err) {
    static const char what[] = "centroids";
    const uint32_t n = groups->n, n_dims = groups->sample->n_dims, n_threads = context->n_threads;
    moves m = {.context = context, .groups = groups, .n_splits = THR_CEIL_DIV(n, SPLIT_ONE_IN)};
    thr_status status = THR_OK;
    *n_moved = 0;
    if (n < 3) /* a move needs three groups */
        return THR_OK;
    THR_TRY_OUT(thr_alloc(context, n, sizeof *m.merges, &m.merges, what, err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *m.splits, &m.splits, what, err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *m.nearest, &m.nearest, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)m.n_splits * 2 * n_dims, sizeof *m.halves, &m.halves, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n_threads * n, sizeof *m.distances, &m.distances, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n_threads * 2 * n_dims, sizeof *m.sums, &m.sums, what, err));
    THR_TRY_OUT(thr_alloc_zero(context, n, sizeof *m.is_moved, &m.is_moved, what, err));
    thr_parallel_for(context, n, measure_group, &m);
    qsort(m.splits, n, sizeof *m.splits, descending);
    thr_parallel_for(context, m.n_splits, split_group, &m);
    qsort(m.splits, m.n_splits, sizeof *m.splits, descending);
    qsort(m.merges, n, sizeof *m.merges, ascending);
    *n_moved = move_all(&m);
out:
    THR_RELEASE(context, m.merges, m.splits, m.nearest, m.halves, m.distances, m.sums, m.is_moved);
    return status;
}
