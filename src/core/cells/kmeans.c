/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/kmeans.h"

#include "base/error.h"
#include "base/rng.h"
#include "cells/centroids.h"
#include "cells/split_merge.h"
#include "parallel/pool.h"

#include <string.h>

enum {
    STEPS = 10,      /* of Lloyd's algorithm; further ones move few rows */
    MOVES_EVERY = 2, /* steps: after the third, fifth and seventh, unless the last try moved no centroid */
    LAST_STEPS = 3,  /* without moves */
};

static const uint64_t SEED = 1; /* arbitrary: the same rows have the same centroids */

/* The centroids so far, and the rows of each, ascending, so that each sum is in row order. */
typedef struct kmeans {
    thr_context *context;
    const thr_kmeans_sample *sample;
    uint32_t n;
    float *centroids;
    uint32_t *nearest; /* of each row */
    uint32_t *order;   /* rows by centroid, then ascending */
    uint32_t *starts;  /* n + 1 */
    double *sums;      /* n_dims for every thread */
    uint64_t rng;
} kmeans;

static void copy_row(const kmeans *k, uint32_t centroid, size_t row) {
    const uint32_t n_dims = k->sample->n_dims;
    memcpy(k->centroids + (size_t)centroid * n_dims, k->sample->rows + row * n_dims, n_dims * sizeof *k->centroids);
}

/* Choose distinct rows at random, by the first n steps of a shuffle. */
static void choose_first(kmeans *k) {
    const size_t n_rows = k->sample->n_rows;
    for (size_t i = 0; i < n_rows; i++)
        k->order[i] = (uint32_t)i;
    for (uint32_t c = 0; c < k->n; c++) {
        const size_t other = c + (size_t)thr_rng_below(&k->rng, n_rows - c);
        const uint32_t row = k->order[other];
        k->order[other] = k->order[c];
        copy_row(k, c, row);
    }
}

/* Sort rows by their nearest centroid, with a counting sort. */
static void sort_rows(const kmeans *k) {
    memset(k->starts, 0, ((size_t)k->n + 1) * sizeof *k->starts);
    for (size_t i = 0; i < k->sample->n_rows; i++)
        k->starts[k->nearest[i]]++;
    for (uint32_t c = 0, at = 0; c <= k->n; c++) {
        const uint32_t size = k->starts[c];
        k->starts[c] = at;
        at += size;
    }
    for (size_t i = 0; i < k->sample->n_rows; i++)
        k->order[k->starts[k->nearest[i]]++] = (uint32_t)i;
    memmove(k->starts + 1, k->starts, k->n * sizeof *k->starts);
    k->starts[0] = 0;
}

/* The mean of a centroid's rows; one without rows stays as it is. */
static void update_centroid(void *arg, size_t c, uint32_t worker) {
    const kmeans *k = arg;
    const uint32_t n_dims = k->sample->n_dims, first = k->starts[c], end = k->starts[c + 1];
    double *sums = k->sums + (size_t)worker * n_dims;
    if (first == end)
        return;
    memset(sums, 0, n_dims * sizeof *sums);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t d = 0; d < n_dims; d++)
            sums[d] += (double)k->sample->rows[(size_t)k->order[i] * n_dims + d];
    for (uint32_t d = 0; d < n_dims; d++)
        k->centroids[c * n_dims + d] = (float)(sums[d] / (double)(end - first));
}

/* Centroids that lost all their rows become random rows of the largest group. */
static void refill(kmeans *k) {
    uint32_t largest = 0;
    for (uint32_t i = 1; i < k->n; i++)
        if (k->starts[i + 1] - k->starts[i] > k->starts[largest + 1] - k->starts[largest])
            largest = i;
    const uint32_t first = k->starts[largest], n_rows = k->starts[largest + 1] - first;
    for (uint32_t c = 0; c < k->n; c++)
        if (k->starts[c] == k->starts[c + 1])
            copy_row(k, c, k->order[first + (uint32_t)thr_rng_below(&k->rng, n_rows)]);
}

static thr_status improve(kmeans *k, thr_error *err) {
    const thr_kmeans_sample *sample = k->sample;
    const thr_kmeans_groups groups = {sample, k->n, k->centroids, k->order, k->starts};
    uint32_t n_moved = 1;
    for (int step = 0; step < STEPS; step++) {
        thr_centroids centroids;
        THR_TRY(thr_cells_centroids_make(k->context, k->centroids, k->n, sample->n_dims, &centroids, err));
        const thr_status status =
            thr_cells_centroids_nearest(&centroids, sample->rows, sample->n_rows, k->nearest, err);
        thr_cells_centroids_free(&centroids);
        THR_TRY(status);
        sort_rows(k);
        thr_parallel_for(k->context, k->n, update_centroid, k);
        refill(k);
        if (n_moved > 0 && step > 0 && step % MOVES_EVERY == 0 && step < STEPS - LAST_STEPS)
            THR_TRY(thr_cells_split_merge(k->context, &groups, &n_moved, err));
    }
    return THR_OK;
}

thr_status thr_cells_kmeans(thr_context *context, const thr_kmeans_sample *sample, uint32_t n, float *centroids,
                            thr_error *err) {
    static const char what[] = "centroids";
    kmeans k = {.context = context, .sample = sample, .n = n, .centroids = centroids, .rng = SEED};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, sample->n_rows, sizeof *k.nearest, &k.nearest, what, err));
    THR_TRY_OUT(thr_alloc(context, sample->n_rows, sizeof *k.order, &k.order, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n + 1, sizeof *k.starts, &k.starts, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)context->n_threads * sample->n_dims, sizeof *k.sums, &k.sums, what, err));
    choose_first(&k);
    status = improve(&k, err);
out:
    THR_RELEASE(context, k.nearest, k.order, k.starts, k.sums);
    return status;
}
