/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_layers.h - the kernels of layers.h except matmul with the compiler's vector types, compiled by the _layers.c
 * file of each level: loops over elementwise.h that compilers vectorise, and explicit vectors where they do not.
 */
#pragma once

#include "base/minmax.h"
#include "kernel/elementwise.h"
#include "kernel/kernel.h"
#include "kernel/vector_matmul.h"

/* Copies blocks into a local buffer, because in and out may be equal, which would prevent vectorisation. */
#define THR_MAP(name, one)                                                                                             \
    static inline void name(float *out, const float *in, size_t n) {                                                   \
        enum { BLOCK = 4 * LANES };                                                                                    \
        for (size_t i = 0; i < n; i += BLOCK) {                                                                        \
            float x[BLOCK] = {0}, y[BLOCK];                                                                            \
            const size_t left = THR_MIN(n - i, BLOCK);                                                                 \
            if (left == BLOCK)                                                                                         \
                memcpy(x, in + i, sizeof x);                                                                           \
            else                                                                                                       \
                memcpy(x, in + i, left * sizeof *x);                                                                   \
            for (size_t l = 0; l < BLOCK; l++)                                                                         \
                y[l] = one(x[l]);                                                                                      \
            if (left == BLOCK)                                                                                         \
                memcpy(out + i, y, sizeof y);                                                                          \
            else                                                                                                       \
                memcpy(out + i, y, left * sizeof *y);                                                                  \
        }                                                                                                              \
    }
THR_MAP(thr_tanh_f32, thr_kernel_tanh_one)
THR_MAP(thr_exp_f32, thr_kernel_exp_one)

static inline void thr_adam_step_rows(float *restrict w, float *restrict m, float *restrict v,
                                      const float *restrict gradient, size_t n, const thr_adam_step *step) {
    const thr_adam_step s = *step;
    for (size_t i = 0; i < n; i++)
        thr_kernel_adam_one(&w[i], &m[i], &v[i], gradient[i], &s);
}

static inline void thr_ftrl_step_rows(float *restrict w, float *restrict z, float *restrict n,
                                      const float *restrict gradient, size_t n_weights, const thr_ftrl_step *step) {
    const thr_ftrl_step s = *step;
    for (size_t i = 0; i < n_weights; i++)
        thr_kernel_ftrl_one(&w[i], &z[i], &n[i], gradient[i], &s);
}

/* ------------------------------------------------------------------------------------------- sums of rows */

/*
 * Process columns in chunks of registers, so that a sum is written once, and the piece read of a row is long enough
 * for efficient memory access. While adding a row, prefetch the same columns of the row FETCH_ROWS later, possibly of
 * the next sum, into the L2 cache. Nine registers suit tables of words,
 * twelve those of vectors.
 */
enum { SUM_VECTORS = 9, SCALED_VECTORS = 12, MOST_VECTORS = 12, FETCH_ROWS = 12, CACHE_LINE_FLOATS = 16 };

typedef struct thr_gather {
    const float *table;
    size_t n_columns;
    const uint32_t *rows;
    const float *weights; /* NULL: all 1 */
    size_t n_rows, n_known;
} thr_gather;

THR_ALWAYS void thr_kernel_fetch_ahead(const thr_gather *g, const float *table, size_t r, size_t vectors) {
    enum { TO_SECOND_LEVEL = 2 };
    if (r + FETCH_ROWS >= g->n_known)
        return;
    const float *ahead = table + g->rows[r + FETCH_ROWS] * g->n_columns;
    THR_UNROLL
    for (size_t i = 0; i < vectors * LANES; i += CACHE_LINE_FLOATS)
        __builtin_prefetch(ahead + i, 0, TO_SECOND_LEVEL);
}

/* vectors and scaled are constants at every call. n_rows is at least 1. */
THR_ALWAYS void thr_kernel_sum_chunk(float *out, const thr_gather *g, size_t c, size_t vectors, bool scaled) {
    thr_lanes sums[MOST_VECTORS];
    const float *table = g->table + c, *row = table + g->rows[0] * g->n_columns;
    THR_UNROLL
    for (size_t v = 0; v < vectors; v++)
        sums[v] = scaled ? g->weights[0] * thr_kernel_load(row + v * LANES) : thr_kernel_load(row + v * LANES);
    const size_t n_rows = g->n_rows;
    THR_KEEP_LOOP
    for (size_t r = 1; r < n_rows; r++) {
        thr_kernel_fetch_ahead(g, table, r - 1, vectors);
        row = table + g->rows[r] * g->n_columns;
        const float weight = scaled ? g->weights[r] : 1.0f;
        THR_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[v] += scaled ? weight * thr_kernel_load(row + v * LANES) : thr_kernel_load(row + v * LANES);
    }
    thr_kernel_fetch_ahead(g, table, n_rows - 1, vectors);
    THR_UNROLL
    for (size_t v = 0; v < vectors; v++)
        thr_kernel_store(out + c + v * LANES, sums[v]);
}

/* Columns from c on, one by one. */
THR_ALWAYS void thr_kernel_sum_rest(float *out, const thr_gather *g, size_t c, bool scaled) {
    for (; c < g->n_columns; c++) {
        float sum = g->table[g->rows[0] * g->n_columns + c];
        if (scaled)
            sum *= g->weights[0];
        for (size_t r = 1; r < g->n_rows; r++) {
            const float x = g->table[g->rows[r] * g->n_columns + c];
            sum += scaled ? g->weights[r] * x : x;
        }
        out[c] = sum;
    }
}

THR_ALWAYS void thr_kernel_gather_any(float *out, const thr_gather *g, size_t most, size_t some, bool scaled) {
    size_t c = 0;
    if (g->n_rows == 0) {
        memset(out, 0, g->n_columns * sizeof(float));
        return;
    }
    for (; c + most * LANES <= g->n_columns; c += most * LANES)
        thr_kernel_sum_chunk(out, g, c, most, scaled);
    for (; c + some * LANES <= g->n_columns; c += some * LANES)
        thr_kernel_sum_chunk(out, g, c, some, scaled);
    for (; c + LANES <= g->n_columns; c += LANES)
        thr_kernel_sum_chunk(out, g, c, 1, scaled);
    thr_kernel_sum_rest(out, g, c, scaled);
}

static inline void thr_gather_sum(float *out, const float *table, size_t n_columns, const uint32_t *rows, size_t n_rows,
                                  size_t n_ahead) {
    const thr_gather g = {table, n_columns, rows, NULL, n_rows, n_rows + n_ahead};
    thr_kernel_gather_any(out, &g, SUM_VECTORS, 2, false);
}

static inline void thr_gather_scaled(float *out, const float *table, size_t n_columns, const uint32_t *rows,
                                     const float *weights, size_t n_rows, size_t n_ahead) {
    const thr_gather g = {table, n_columns, rows, weights, n_rows, n_rows + n_ahead};
    thr_kernel_gather_any(out, &g, SCALED_VECTORS, 4, true);
}

/* ------------------------------------------------------------------------------------------------ pairs */

static inline void thr_logistic_pairs(float *restrict losses, float *restrict slopes, const float *restrict scores,
                                      const float *restrict weights, size_t n, float score) {
    for (size_t j = 0; j < n; j++) {
        float slope;
        losses[j] = weights[j] * thr_kernel_logistic_one(score - scores[j], &slope);
        slopes[j] = weights[j] * slope;
    }
}

/* ------------------------------------------------------------------------------------------------ windows */

THR_ALWAYS thr_lanes thr_kernel_choose(thr_lanes_int mask, thr_lanes yes, thr_lanes no) {
    return (thr_lanes)((mask & (thr_lanes_int)yes) | (~mask & (thr_lanes_int)no));
}

/* The words at t - 1, t and t + 1 of a text; NULL where there is none. */
typedef struct thr_neighbours {
    const float *left, *middle, *right;
} thr_neighbours;

THR_ALWAYS thr_neighbours thr_kernel_words_at(const float *vectors, const uint32_t *words, size_t n_words, size_t t,
                                              size_t n) {
    return (thr_neighbours){t == 0 ? NULL : vectors + words[t - 1] * 3 * n, vectors + words[t] * 3 * n + n,
                            t + 1 == n_words ? NULL : vectors + words[t + 1] * 3 * n + 2 * n};
}

/* The columns after the last whole pair of vectors: few or none, so this is compiled for size. */
__attribute__((cold)) static void thr_window_max_rest(float *best, uint16_t *where, const float *vectors,
                                                      const uint32_t *words, size_t n_words, const float *bias,
                                                      size_t first, size_t n_columns) {
    for (size_t t = 0; t < n_words; t++) {
        const thr_neighbours at = thr_kernel_words_at(vectors, words, n_words, t, n_columns);
        for (size_t c = first; c < n_columns; c++) {
            float z = at.left == NULL ? at.middle[c] : at.left[c] + at.middle[c];
            if (at.right != NULL)
                z += at.right[c];
            z += bias[c];
            if (t == 0 || z > best[c]) {
                best[c] = z;
                where[c] = (uint16_t)t;
            }
        }
    }
}

/* One vector of columns of the window at a word. */
THR_ALWAYS thr_lanes thr_kernel_window(thr_neighbours at, const float *bias, size_t c) {
    thr_lanes z = thr_kernel_load(at.middle + c);
    if (at.left != NULL)
        z = thr_kernel_load(at.left + c) + z;
    if (at.right != NULL)
        z += thr_kernel_load(at.right + c);
    return z + thr_kernel_load(bias + c);
}

/* Two vectors of columns stay in registers over all words. */
static inline void thr_window_max(float *best, uint16_t *where, const float *vectors, const uint32_t *words,
                                  size_t n_words, const float *bias, size_t n_columns) {
    enum { VECTORS = 2 };
    size_t c = 0;
    for (; c + VECTORS * LANES <= n_columns; c += VECTORS * LANES) {
        thr_lanes most[VECTORS];
        thr_lanes_int from[VECTORS];
        const thr_neighbours first = thr_kernel_words_at(vectors, words, n_words, 0, n_columns);
        THR_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            most[v] = thr_kernel_window(first, bias, c + v * LANES);
            from[v] = (thr_lanes_int){0};
        }
        for (size_t t = 1; t < n_words; t++) {
            const thr_neighbours at = thr_kernel_words_at(vectors, words, n_words, t, n_columns);
            THR_UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                const thr_lanes z = thr_kernel_window(at, bias, c + v * LANES);
                const thr_lanes_int more = z > most[v];
                most[v] = thr_kernel_choose(more, z, most[v]);
                from[v] = (more & (int32_t)t) | (~more & from[v]);
            }
        }
        THR_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            thr_kernel_store(best + c + v * LANES, most[v]);
            const thr_lanes_half narrow = __builtin_convertvector(from[v], thr_lanes_half);
            memcpy(where + c + v * LANES, &narrow, sizeof narrow);
        }
    }
    thr_window_max_rest(best, where, vectors, words, n_words, bias, c, n_columns);
}

static inline void thr_add_where(float *out, const float *in, const uint16_t *where, uint16_t at, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        thr_lanes_half narrow;
        memcpy(&narrow, where + i, sizeof narrow);
        const thr_lanes_int here = __builtin_convertvector(narrow, thr_lanes_int) == (int32_t)at;
        const thr_lanes old = thr_kernel_load(out + i);
        thr_kernel_store(out + i, thr_kernel_choose(here, old + thr_kernel_load(in + i), old));
    }
    for (; i < n; i++)
        if (where[i] == at)
            out[i] += in[i];
}

static inline void thr_kernels_fill_layers(thr_kernels *kernels) {
    kernels->matmul = thr_nn_matmul;
    kernels->tanh_f32 = thr_tanh_f32;
    kernels->exp_f32 = thr_exp_f32;
    kernels->gather_sum = thr_gather_sum;
    kernels->gather_scaled = thr_gather_scaled;
    kernels->logistic_pairs = thr_logistic_pairs;
    kernels->window_max = thr_window_max;
    kernels->add_where = thr_add_where;
    kernels->adam_step = thr_adam_step_rows;
    kernels->ftrl_step = thr_ftrl_step_rows;
}
