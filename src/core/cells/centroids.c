/* SPDX-License-Identifier: Apache-2.0 */
/* centroids.c - compares rows with groups of centroids, strip by strip. */
#include "cells/centroids.h"

#include "base/error.h"
#include "base/minmax.h"
#include "kernel/kernel.h"
#include "nn/products.h"
#include "parallel/pool.h"

#include <math.h>
#include <string.h>

enum {
    STRIP_ROWS = 1024, /* rows that are searched together */
    CHUNK = 16,        /* values compared at once */
    LEAST_ROWS = 64,   /* rows that are multiplied with centroids at once, if there are so many */
    ONE_GROUP_IN = 4,  /* the share of the groups that a row searches first */
    GROUP_SIZE = 64,   /* mean number of centroids; products of fewer leave vector registers unused */
    GROUP_STEPS = 4,   /* of Lloyd's algorithm, for the groups */
};

static const char WHAT[] = "centroids";
static const size_t MOST_PRODUCTS = (size_t)1 << 22; /* at once, unless LEAST_ROWS rows have more */

/* Rows whose squared distance from their centroid exceeds this many times the strip's mean are compared with all. */
static const double FAR = 1.3;

/* ------------------------------------------------------------------------------------------------ products */

/* The largest of CHUNK values. Compilers vectorise these loops. */
static float largest_in_chunk(const float *values) {
    float most[CHUNK / 4];
    for (int i = 0; i < CHUNK / 4; i++)
        most[i] = values[i];
    for (int first = CHUNK / 4; first < CHUNK; first += CHUNK / 4)
        for (int i = 0; i < CHUNK / 4; i++)
            most[i] = THR_MAX(values[first + i], most[i]);
    for (int n = CHUNK / 8; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            most[i] = THR_MAX(most[n + i], most[i]);
    return most[0];
}

/* The place of the largest value, the first of equal ones. */
static uint32_t largest_of(const float *values, uint32_t n) {
    const uint32_t n_whole = n - n % CHUNK;
    float most = -INFINITY;
    uint32_t best = 0;
    for (uint32_t first = 0; first < n_whole; first += CHUNK) {
        const float largest = largest_in_chunk(values + first);
        if (largest > most) {
            most = largest;
            best = first;
        }
    }
    while (values[best] < most)
        best++;
    for (uint32_t i = n_whole; i < n; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

/* A run of columns of a matrix with n_dims rows, and minus half of each column's squared length. */
typedef struct column_run {
    const float *columns, *halves;
    uint32_t n, n_dims;
    size_t stride; /* of the matrix, in floats */
} column_run;

/* products (n_rows x run->n) = <x, c> - |c|^2 / 2 of every row and column. */
static void compare(const thr_kernels *kernels, const column_run *run, const float *rows, size_t n_rows,
                    float *products) {
    for (size_t i = 0; i < n_rows; i++)
        memcpy(products + i * run->n, run->halves, run->n * sizeof *products);
    const thr_product product = {.c = products,
                                 .a = rows,
                                 .b = run->columns,
                                 .c_row = run->n,
                                 .a_row = run->n_dims,
                                 .a_step = 1,
                                 .b_row = run->stride,
                                 .n_rows = n_rows,
                                 .n_columns = run->n,
                                 .n_inner = run->n_dims};
    kernels->matmul(&product);
}

/* ------------------------------------------------------------------------------------------------ nearest */

/* The memory of one thread. */
typedef struct scratch {
    float *products;  /* capacity_for(n) */
    float *gathered;  /* STRIP_ROWS x n_dims: rows that are compared together */
    float *best;      /* STRIP_ROWS: the largest product of each row */
    uint32_t *groups; /* STRIP_ROWS x n_near: the groups that each row searches */
    uint32_t *rows;   /* the same by group: rows of the strip, ascending */
    uint32_t *ends;   /* n_groups + 1: where each group ends in rows */
} scratch;

typedef struct search {
    const thr_centroids *of;
    const float *rows;
    size_t n_rows;
    uint32_t n_near; /* groups that a row searches at first */
    uint32_t *nearest;
    scratch *scratch; /* of each thread */
} search;

/* The places of the n_largest largest of n values, the largest first. */
static void find_largest(const float *values, uint32_t n, uint32_t n_largest, uint32_t *largest) {
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (n_found == n_largest && !(values[i] > values[largest[n_largest - 1]]))
            continue;
        uint32_t at = n_found < n_largest ? n_found++ : n_largest - 1;
        for (; at > 0 && values[i] > values[largest[at - 1]]; at--)
            largest[at] = largest[at - 1];
        largest[at] = i;
    }
}

/* Find the groups that each row searches. */
static void find_groups(const search *s, const float *rows, uint32_t n_rows, const scratch *mine) {
    const thr_centroids *of = s->of;
    const column_run means = {of->group_columns, of->group_halves, of->n_groups, of->n_dims, of->n_groups};
    compare(of->context->kernels, &means, rows, n_rows, mine->products);
    for (uint32_t i = 0; i < n_rows; i++)
        find_largest(mine->products + (size_t)i * of->n_groups, of->n_groups, s->n_near,
                     mine->groups + (size_t)i * s->n_near);
}

/* Sort the rows by group: group g has those from ends[g - 1] (g = 0: 0) to ends[g]. */
static void sort_rows(const search *s, uint32_t n_rows, const scratch *mine) {
    const uint32_t n_groups = s->of->n_groups, n = n_rows * s->n_near;
    memset(mine->ends, 0, (n_groups + 1) * sizeof *mine->ends);
    for (uint32_t i = 0; i < n; i++)
        mine->ends[mine->groups[i] + 1]++;
    for (uint32_t g = 0; g < n_groups; g++)
        mine->ends[g + 1] += mine->ends[g];
    for (uint32_t i = 0; i < n; i++)
        mine->rows[mine->ends[mine->groups[i]]++] = i / s->n_near;
}

/* The rows of a strip that are compared with the same centroids. */
typedef struct row_list {
    const float *strip;
    uint32_t *nearest;    /* of the strip */
    const uint32_t *rows; /* numbers in the strip */
    uint32_t n;
} row_list;

/* The number of products that are computed at once. */
static size_t capacity_for(uint32_t n) {
    const size_t all = (size_t)STRIP_ROWS * n, least = (size_t)LEAST_ROWS * n;
    return all < MOST_PRODUCTS ? all : least > MOST_PRODUCTS ? least : MOST_PRODUCTS;
}

/* Compare n listed rows with the centroids of a run that begins in place first. */
static void search_rows(const thr_centroids *of, uint32_t first, const column_run *run, const row_list *list,
                        const scratch *mine) {
    for (uint32_t i = 0; i < list->n; i++)
        memcpy(mine->gathered + (size_t)i * of->n_dims, list->strip + (size_t)list->rows[i] * of->n_dims,
               of->n_dims * sizeof(float));
    compare(of->context->kernels, run, mine->gathered, list->n, mine->products);
    for (uint32_t i = 0; i < list->n; i++) {
        const float *products = mine->products + (size_t)i * run->n;
        const uint32_t at = largest_of(products, run->n), row = list->rows[i], number = of->numbers[first + at];
        if (products[at] > mine->best[row] || (products[at] == mine->best[row] && number < list->nearest[row])) {
            mine->best[row] = products[at];
            list->nearest[row] = number;
        }
    }
}

/* Compare listed rows with the centroids in places first to first + size - 1. */
static void search_run(const thr_centroids *of, uint32_t first, uint32_t size, const row_list *list,
                       const scratch *mine) {
    const column_run run = {of->columns + first, of->halves + first, size, of->n_dims, of->n};
    const uint32_t most = size == 0 ? 0 : (uint32_t)(capacity_for(of->n) / size);
    for (uint32_t at = 0; size > 0 && at < list->n; at += most) {
        const uint32_t n = THR_MIN(list->n - at, most);
        const row_list part = {list->strip, list->nearest, list->rows + at, n};
        search_rows(of, first, &run, &part, mine);
    }
}

static void search_near_groups(const search *s, const float *strip, uint32_t n_rows, uint32_t *nearest,
                               const scratch *mine) {
    const thr_centroids *of = s->of;
    find_groups(s, strip, n_rows, mine);
    sort_rows(s, n_rows, mine);
    for (uint32_t g = 0, at = 0; g < of->n_groups; at = mine->ends[g++]) {
        const row_list list = {strip, nearest, mine->rows + at, mine->ends[g] - at};
        search_run(of, of->starts[g], of->starts[g + 1] - of->starts[g], &list, mine);
    }
}

/* List the rows that are far from the centroids found. mine->best becomes squared distances. */
static uint32_t list_far(const thr_centroids *of, const float *strip, uint32_t n_rows, const scratch *mine) {
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        const double square = of->context->kernels->sum_squares(strip + (size_t)i * of->n_dims, of->n_dims);
        mine->best[i] = (float)(square - 2 * (double)mine->best[i]);
        sum += (double)mine->best[i];
    }
    for (uint32_t i = 0; i < n_rows; i++)
        if (!((double)mine->best[i] <= FAR * sum / n_rows))
            mine->rows[n++] = i;
    return n;
}

static uint32_t list_all(uint32_t n_rows, const scratch *mine) {
    for (uint32_t i = 0; i < n_rows; i++)
        mine->rows[i] = i;
    return n_rows;
}

/* Compare n listed rows with all centroids. */
static void search_all(const thr_centroids *of, const float *strip, uint32_t n, uint32_t *nearest,
                       const scratch *mine) {
    const row_list list = {strip, nearest, mine->rows, n};
    for (uint32_t i = 0; i < n; i++)
        mine->best[list.rows[i]] = -INFINITY;
    search_run(of, 0, of->n, &list, mine);
}

static void search_strip(void *arg, size_t strip, uint32_t worker) {
    const search *s = arg;
    const thr_centroids *of = s->of;
    const scratch *mine = &s->scratch[worker];
    const size_t first = strip * STRIP_ROWS;
    const uint32_t n = (uint32_t)THR_MIN(s->n_rows - first, STRIP_ROWS);
    const float *rows = s->rows + first * of->n_dims;
    uint32_t *nearest = s->nearest + first;
    memset(nearest, 0, n * sizeof *nearest); /* rows whose products are all NaN keep this */
    if (of->n_groups == 1) {
        search_all(of, rows, list_all(n, mine), nearest, mine);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        mine->best[i] = -INFINITY;
    search_near_groups(s, rows, n, nearest, mine);
    search_all(of, rows, list_far(of, rows, n, mine), nearest, mine);
}

/* The centroids of the largest group, or the number of groups if that is larger. */
static thr_status reserve(const search *s, scratch *mine, thr_error *err) {
    const thr_centroids *of = s->of;
    const size_t n_pairs = (size_t)STRIP_ROWS * s->n_near;
    THR_TRY(thr_alloc(of->context, capacity_for(of->n), sizeof(float), &mine->products, WHAT, err));
    THR_TRY(thr_alloc(of->context, (size_t)STRIP_ROWS * of->n_dims, sizeof(float), &mine->gathered, WHAT, err));
    THR_TRY(thr_alloc(of->context, STRIP_ROWS, sizeof(float), &mine->best, WHAT, err));
    THR_TRY(thr_alloc(of->context, n_pairs, sizeof(uint32_t), &mine->groups, WHAT, err));
    THR_TRY(thr_alloc(of->context, n_pairs, sizeof(uint32_t), &mine->rows, WHAT, err));
    return thr_alloc(of->context, (size_t)of->n_groups + 1, sizeof(uint32_t), &mine->ends, WHAT, err);
}

thr_status thr_cells_centroids_nearest(const thr_centroids *centroids, const float *rows, size_t n_rows,
                                       uint32_t *nearest, thr_error *err) {
    thr_context *context = centroids->context;
    search s = {.of = centroids, .rows = rows, .n_rows = n_rows, .nearest = nearest};
    thr_status status = THR_OK;
    s.n_near = THR_CEIL_DIV(centroids->n_groups, ONE_GROUP_IN);
    THR_TRY(thr_alloc_zero(context, context->n_threads, sizeof *s.scratch, &s.scratch, WHAT, err));
    for (uint32_t i = 0; i < context->n_threads; i++)
        THR_TRY_OUT(reserve(&s, &s.scratch[i], err));
    thr_parallel_for(context, THR_CEIL_DIV(n_rows, STRIP_ROWS), search_strip, &s);
out:
    for (uint32_t i = 0; i < context->n_threads; i++) {
        const scratch *mine = &s.scratch[i];
        THR_RELEASE(context, mine->products, mine->gathered, mine->best, mine->groups, mine->rows, mine->ends);
    }
    thr_release(context, s.scratch);
    return status;
}

/* ------------------------------------------------------------------------------------------------ make */

static void halve_squares(const thr_kernels *kernels, const float *rows, uint32_t n, uint32_t n_dims, float *halves) {
    for (uint32_t i = 0; i < n; i++)
        halves[i] = (float)(-0.5 * kernels->sum_squares(rows + (size_t)i * n_dims, n_dims));
}

/* Find each centroid's group, the one with the nearest mean. products is scratch memory of n_groups floats. */
static void assign_groups(const thr_centroids *of, const float *rows, float *products, uint32_t *groups) {
    const column_run run = {of->group_columns, of->group_halves, of->n_groups, of->n_dims, of->n_groups};
    for (uint32_t i = 0; i < of->n; i++) {
        compare(of->context->kernels, &run, rows + (size_t)i * of->n_dims, 1, products);
        groups[i] = largest_of(products, of->n_groups);
    }
}

/* Means of the groups; a group without centroids keeps its row. */
static void average_groups(const thr_centroids *of, const float *rows, const uint32_t *groups, double *sums,
                           float *means) {
    for (uint32_t g = 0; g < of->n_groups; g++) {
        uint32_t n = 0;
        memset(sums, 0, of->n_dims * sizeof *sums);
        for (uint32_t i = 0; i < of->n; i++) {
            if (groups[i] != g)
                continue;
            n++;
            for (uint32_t d = 0; d < of->n_dims; d++)
                sums[d] += (double)rows[(size_t)i * of->n_dims + d];
        }
        for (uint32_t d = 0; d < of->n_dims && n > 0; d++)
            means[(size_t)g * of->n_dims + d] = (float)(sums[d] / n);
    }
}

static void set_means(const thr_centroids *of, const float *means) {
    thr_nn_transpose(means, of->n_groups, of->n_dims, of->group_columns);
    halve_squares(of->context->kernels, means, of->n_groups, of->n_dims, of->group_halves);
}

/* Group centroids by a few steps of Lloyd's algorithm, starting from evenly spaced centroids. */
static thr_status make_groups(thr_centroids *c, const float *rows, uint32_t *groups, thr_error *err) {
    thr_context *context = c->context;
    const size_t n_floats = (size_t)c->n_groups * c->n_dims;
    float *means = NULL, *products = NULL;
    double *sums = NULL;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, n_floats, sizeof(float), &c->group_columns, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, c->n_groups, sizeof(float), &c->group_halves, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, n_floats, sizeof(float), &means, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, c->n_groups, sizeof(float), &products, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, c->n_dims, sizeof(double), &sums, WHAT, err));
    for (uint32_t g = 0; g < c->n_groups; g++)
        memcpy(means + (size_t)g * c->n_dims, rows + (size_t)((uint64_t)g * c->n / c->n_groups) * c->n_dims,
               c->n_dims * sizeof *means);
    set_means(c, means);
    for (int step = 0; step < GROUP_STEPS; step++) {
        assign_groups(c, rows, products, groups);
        average_groups(c, rows, groups, sums, means);
        set_means(c, means);
    }
    assign_groups(c, rows, products, groups);
out:
    THR_RELEASE(context, means, products, sums);
    return status;
}

/* Put the centroids in the order of their groups. */
static void sort_centroids(thr_centroids *c, const float *rows, const uint32_t *groups) {
    uint32_t at = 0;
    for (uint32_t g = 0; g < c->n_groups; g++) {
        c->starts[g] = at;
        for (uint32_t i = 0; i < c->n; i++)
            if (groups[i] == g) {
                const float *row = rows + (size_t)i * c->n_dims;
                c->numbers[at] = i;
                halve_squares(c->context->kernels, row, 1, c->n_dims, &c->halves[at]);
                for (uint32_t d = 0; d < c->n_dims; d++)
                    c->columns[(size_t)d * c->n + at] = row[d];
                at++;
            }
    }
    c->starts[c->n_groups] = at;
}

thr_status thr_cells_centroids_make(thr_context *context, const float *rows, uint32_t n, uint32_t n_dims,
                                    thr_centroids *centroids, thr_error *err) {
    thr_centroids *c = centroids;
    uint32_t *groups = NULL;
    thr_status status = THR_OK;
    *c = (thr_centroids){.context = context, .n = n, .n_dims = n_dims, .n_groups = 1};
    if (n >= THR_CENTROIDS_GROUPED)
        c->n_groups = n / GROUP_SIZE;
    THR_TRY_OUT(thr_alloc(context, n, sizeof *c->numbers, &c->numbers, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)c->n_groups + 1, sizeof *c->starts, &c->starts, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n * n_dims, sizeof *c->columns, &c->columns, WHAT, err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *c->halves, &c->halves, WHAT, err));
    THR_TRY_OUT(thr_alloc_zero(context, n, sizeof *groups, &groups, WHAT, err));
    if (c->n_groups > 1)
        THR_TRY_OUT(make_groups(c, rows, groups, err));
    sort_centroids(c, rows, groups);
out:
    thr_release(context, groups);
    if (status != THR_OK)
        thr_cells_centroids_free(c);
    return status;
}

void thr_cells_centroids_free(thr_centroids *centroids) {
    thr_centroids *c = centroids;
    if (c->context == NULL)
        return;
    THR_RELEASE(c->context, c->numbers, c->starts, c->columns, c->halves, c->group_columns, c->group_halves);
    *c = (thr_centroids){.context = NULL};
}
