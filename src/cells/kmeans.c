/* SPDX-License-Identifier: Apache-2.0 */
/* kmeans.c - k-means: Lloyd's steps on a sample. */
#include "cells/kmeans.h"

#include "base/error.h"
#include "base/rng.h"
#include "kernel/kernel.h"
#include "nn/products.h"
#include "parallel/pool.h"

#include <string.h>

enum {
    STEPS = 10,       /* of Lloyd's algorithm; further ones move few rows */
    STRIP_ROWS = 256, /* rows multiplied with all centroids at once */
};

/* Rows of the sample by their centroid, so that each sum is in row order. */
typedef struct members {
    const float *rows;
    uint32_t *numbers; /* of each row */
    uint32_t *order;   /* row numbers, by centroid, then ascending */
    uint32_t *starts;  /* n + 1 */
} members;

/* ------------------------------------------------------------------------------------------------ assign */

static uint32_t largest_of(const float *values, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

typedef struct assignment {
    const thr_kmeans *kmeans;
    const float *rows;
    size_t n_rows;
    uint32_t *nearest;
    float *products; /* STRIP_ROWS x n for every thread */
} assignment;

static void assign_strip(void *arg, size_t strip, uint32_t worker) {
    const assignment *a = arg;
    const thr_kmeans *kmeans = a->kmeans;
    const size_t first = strip * STRIP_ROWS;
    const size_t n_rows = a->n_rows - first < STRIP_ROWS ? a->n_rows - first : STRIP_ROWS;
    float *products = a->products + (size_t)worker * STRIP_ROWS * kmeans->n;
    for (size_t i = 0; i < n_rows; i++)
        memcpy(products + i * kmeans->n, kmeans->halves, kmeans->n * sizeof *products);
    const thr_product product = {.c = products,
                                 .a = a->rows + first * kmeans->n_dims,
                                 .b = kmeans->columns,
                                 .c_row = kmeans->n,
                                 .a_row = kmeans->n_dims,
                                 .a_step = 1,
                                 .b_row = kmeans->n,
                                 .n_rows = n_rows,
                                 .n_columns = kmeans->n,
                                 .n_inner = kmeans->n_dims};
    kmeans->context->kernels->matmul(&product);
    for (size_t i = 0; i < n_rows; i++)
        a->nearest[first + i] = largest_of(products + i * kmeans->n, kmeans->n);
}

thr_status thr_cells_kmeans_assign(const thr_kmeans *kmeans, const float *rows, size_t n_rows, uint32_t *nearest,
                                   thr_error *err) {
    thr_context *context = kmeans->context;
    assignment a = {kmeans, rows, n_rows, nearest, NULL};
    THR_TRY(thr_alloc(context, (size_t)context->n_threads * STRIP_ROWS * kmeans->n, sizeof *a.products, &a.products,
                      "distances from centroids", err));
    thr_parallel_for(context, (n_rows + STRIP_ROWS - 1) / STRIP_ROWS, assign_strip, &a);
    thr_release(context, a.products);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ train */

static void prepare(thr_kmeans *kmeans) {
    const thr_kernels *kernels = kmeans->context->kernels;
    thr_nn_transpose(kmeans->centroids, kmeans->n, kmeans->n_dims, kmeans->columns);
    for (uint32_t i = 0; i < kmeans->n; i++)
        kmeans->halves[i] =
            (float)(-0.5 * kernels->sum_squares(kmeans->centroids + (size_t)i * kmeans->n_dims, kmeans->n_dims));
}

/* Sort rows by centroid, with a counting sort. */
static void sort_members(const members *m, size_t n_rows, uint32_t n) {
    memset(m->starts, 0, ((size_t)n + 1) * sizeof *m->starts);
    for (size_t i = 0; i < n_rows; i++)
        m->starts[m->numbers[i]]++;
    for (uint32_t c = 0, at = 0; c <= n; c++) {
        const uint32_t size = m->starts[c];
        m->starts[c] = at;
        at += size;
    }
    for (size_t i = 0; i < n_rows; i++)
        m->order[m->starts[m->numbers[i]]++] = (uint32_t)i;
    memmove(m->starts + 1, m->starts, n * sizeof *m->starts);
    m->starts[0] = 0;
}

typedef struct update {
    const thr_kmeans *kmeans;
    const members *members;
    double *sums; /* n_dims for every thread */
} update;

/* The mean of a centroid's rows; one without rows stays as it is. */
static void update_centroid(void *arg, size_t c, uint32_t worker) {
    const update *u = arg;
    const members *m = u->members;
    const uint32_t n_dims = u->kmeans->n_dims, first = m->starts[c], end = m->starts[c + 1];
    double *sums = u->sums + (size_t)worker * n_dims;
    if (first == end)
        return;
    memset(sums, 0, n_dims * sizeof *sums);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t d = 0; d < n_dims; d++)
            sums[d] += (double)m->rows[(size_t)m->order[i] * n_dims + d];
    for (uint32_t d = 0; d < n_dims; d++)
        u->kmeans->centroids[c * n_dims + d] = (float)(sums[d] / (double)(end - first));
}

static void copy_row(const thr_kmeans *kmeans, uint32_t c, const float *rows, size_t row) {
    memcpy(kmeans->centroids + (size_t)c * kmeans->n_dims, rows + row * kmeans->n_dims,
           kmeans->n_dims * sizeof *kmeans->centroids);
}

/* Centroids that lost all their rows become random rows of the largest group. */
static void refill(const thr_kmeans *kmeans, const members *m, uint64_t *rng) {
    uint32_t largest = 0;
    for (uint32_t i = 1; i < kmeans->n; i++)
        if (m->starts[i + 1] - m->starts[i] > m->starts[largest + 1] - m->starts[largest])
            largest = i;
    const uint32_t first = m->starts[largest], n_rows = m->starts[largest + 1] - first;
    for (uint32_t c = 0; c < kmeans->n; c++)
        if (m->starts[c] == m->starts[c + 1])
            copy_row(kmeans, c, m->rows, m->order[first + (uint32_t)thr_rng_below(rng, n_rows)]);
}

/* Choose distinct rows at random, by the first n steps of a shuffle of m->order. */
static void choose_first(const thr_kmeans *kmeans, const members *m, size_t n_rows, uint64_t *rng) {
    for (size_t i = 0; i < n_rows; i++)
        m->order[i] = (uint32_t)i;
    for (uint32_t c = 0; c < kmeans->n; c++) {
        const size_t other = c + (size_t)thr_rng_below(rng, n_rows - c);
        const uint32_t row = m->order[other];
        m->order[other] = m->order[c];
        copy_row(kmeans, c, m->rows, row);
    }
}

static thr_status improve(const thr_kmeans *kmeans, const members *m, size_t n_rows, uint64_t *rng, thr_error *err) {
    thr_context *context = kmeans->context;
    update u = {kmeans, m, NULL};
    thr_status status = THR_OK;
    THR_TRY(thr_alloc(context, (size_t)context->n_threads * kmeans->n_dims, sizeof *u.sums, &u.sums, "sums", err));
    for (int step = 0; step < STEPS; step++) {
        thr_kmeans now = *kmeans;
        THR_TRY_OUT(thr_cells_kmeans_assign(kmeans, m->rows, n_rows, m->numbers, err));
        sort_members(m, n_rows, kmeans->n);
        thr_parallel_for(context, kmeans->n, update_centroid, &u);
        refill(kmeans, m, rng);
        prepare(&now);
    }
out:
    thr_release(context, u.sums);
    return status;
}

thr_status thr_cells_kmeans_train(thr_kmeans *kmeans, const float *rows, size_t n_rows, uint64_t seed, thr_error *err) {
    static const char what[] = "centroids";
    thr_context *context = kmeans->context;
    const uint32_t n = kmeans->n, n_dims = kmeans->n_dims;
    members m = {.rows = rows};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, (size_t)n * n_dims, sizeof(float), &kmeans->centroids, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n * n_dims, sizeof(float), &kmeans->columns, what, err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof(float), &kmeans->halves, what, err));
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof(uint32_t), &m.numbers, what, err));
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof(uint32_t), &m.order, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n + 1, sizeof(uint32_t), &m.starts, what, err));
    choose_first(kmeans, &m, n_rows, &seed);
    prepare(kmeans);
    THR_TRY_OUT(improve(kmeans, &m, n_rows, &seed, err));
out:
    thr_release(context, m.numbers);
    thr_release(context, m.order);
    thr_release(context, m.starts);
    if (status != THR_OK)
        thr_cells_kmeans_free(kmeans);
    return status;
}

void thr_cells_kmeans_free(thr_kmeans *kmeans) {
    if (kmeans->context == NULL)
        return;
    thr_release(kmeans->context, kmeans->centroids);
    thr_release(kmeans->context, kmeans->columns);
    thr_release(kmeans->context, kmeans->halves);
    *kmeans = (thr_kmeans){.context = NULL};
}
