/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_heads.h - the kernels of heads.h with the compiler's vector types, compiled by the _heads.c file of each
 * level. That file defines the floats of a register (THR_LANES: 4, 8 or 16) and the rows and vectors of queries of a
 * register tile (THR_DOT_ROWS up to 8, THR_DOT_VECTORS up to 4).
 *
 * Lanes are queries, so sums never cross lanes. The products of a block are computed one partial sum at a time,
 * dimension by dimension, with a row's number broadcast to all lanes; at the end the 16 partial sums are added in
 * halves. The rows of a block stay in the L1 cache for PANEL_STEPS steps of every partial sum, which are stored in
 * between.
 */
#pragma once

#include "base/minmax.h"
#include "kernel/kernel.h"
#include "kernel/lanes.h"
#include "kernel/unroll.h"

#include <string.h>

#ifndef THR_DOT_ROWS
#define THR_DOT_ROWS    6
#define THR_DOT_VECTORS 4
#endif

enum {
    DOT_ROWS = THR_DOT_ROWS,
    DOT_VECTORS = THR_DOT_VECTORS,
    DOT_QUERIES = LANES * DOT_VECTORS,
    PANEL_STEPS = 64 /* of 16 dimensions */
};

/* One of the 16 partial sums, for all products of a block. */
typedef thr_lanes thr_block_sum[DOT_ROWS][DOT_VECTORS];

/* The input of one partial sum: n_steps dimensions from first on, 16 apart in rows. */
typedef struct thr_dot_strip {
    const float *columns;
    const float *const *rows;
    size_t width, first, n_steps;
    bool begins; /* start from zero instead of the stored sums */
} thr_dot_strip;

/* rows and vectors are constants at every call. */
THR_ALWAYS void thr_kernel_dot_tile(const thr_dot_strip *p, thr_block_sum sum, size_t vectors, size_t rows) {
    const float *row[DOT_ROWS], *column = p->columns;
    thr_block_sum s;
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        row[r] = p->rows[r] + p->first;
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        THR_UNROLL
    for (size_t v = 0; v < vectors; v++)
        s[r][v] = p->begins ? (thr_lanes){0} : sum[r][v];
    for (size_t step = 0; step < p->n_steps; step++, column += p->width) {
        thr_lanes y[DOT_VECTORS];
        THR_UNROLL
        for (size_t v = 0; v < vectors; v++)
            y[v] = thr_kernel_load(column + v * LANES);
        THR_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const float x = row[r][step * THR_DOT_SUMS];
            THR_UNROLL
            for (size_t v = 0; v < vectors; v++)
                s[r][v] += y[v] * x;
        }
    }
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        THR_UNROLL
    for (size_t v = 0; v < vectors; v++)
        sum[r][v] = s[r][v];
}

THR_ALWAYS void thr_kernel_dot_tile_rows(const thr_dot_strip *p, thr_block_sum sum, size_t rows, size_t vectors) {
    THR_CALL_COUNT(rows, DOT_ROWS, thr_kernel_dot_tile, p, sum, vectors)
}

static inline void thr_dot_tile_any(const thr_dot_strip *p, thr_block_sum sum, size_t rows, size_t vectors) {
    THR_CALL_COUNT(vectors, DOT_VECTORS, thr_kernel_dot_tile_rows, p, sum, rows)
}

/* Add 16 partial sums in halves, 8, 4, 2, 1, into the first. */
static inline void thr_dot_add_halves(thr_block_sum *sums, size_t rows, size_t vectors) {
    for (size_t half = THR_DOT_SUMS / 2; half > 0; half /= 2)
        for (size_t s = 0; s < half; s++)
            for (size_t r = 0; r < rows; r++)
                for (size_t v = 0; v < vectors; v++)
                    sums[s][r][v] += sums[s + half][r][v];
}

/* At most DOT_ROWS rows and DOT_QUERIES queries. */
static inline void thr_dots_block(float *out, size_t stride, const thr_dots *d, size_t n_rows, size_t n_queries) {
    const size_t n_steps = thr_dots_steps(d->n_dims), vectors = THR_CEIL_DIV(n_queries, LANES);
    thr_dot_strip strip = {.rows = d->rows, .width = thr_dots_width(d->n_queries)};
    thr_block_sum sums[THR_DOT_SUMS];
    for (size_t s = d->n_dims; s < THR_DOT_SUMS; s++)
        memset(sums[s], 0, sizeof sums[s]);
    for (size_t first = 0; first < n_steps; first += PANEL_STEPS)
        for (size_t s = 0; s < THR_DOT_SUMS && first * THR_DOT_SUMS + s < d->n_dims; s++) {
            const size_t left = thr_dots_steps(d->n_dims - first * THR_DOT_SUMS - s);
            strip.columns = d->columns + (s * n_steps + first) * strip.width;
            strip.first = first * THR_DOT_SUMS + s;
            strip.n_steps = THR_MIN(left, PANEL_STEPS);
            strip.begins = first == 0;
            thr_dot_tile_any(&strip, sums[s], n_rows, vectors);
        }
    thr_dot_add_halves(sums, n_rows, vectors);
    for (size_t q = 0; q < n_queries; q++)
        for (size_t r = 0; r < n_rows; r++)
            out[q * stride + r] = sums[0][r][q / LANES][q % LANES];
}

static inline void thr_dots_f32(float *out, size_t stride, const thr_dots *d) {
    for (size_t i = 0; i < d->n_rows; i += DOT_ROWS)
        for (size_t q = 0; q < d->n_queries; q += DOT_QUERIES) {
            thr_dots block = *d;
            block.rows += i;
            block.columns += q;
            thr_dots_block(out + q * stride + i, stride, &block, THR_MIN(d->n_rows - i, DOT_ROWS),
                           THR_MIN(d->n_queries - q, DOT_QUERIES));
        }
}

static inline void thr_kernels_fill_heads(thr_kernels *kernels) {
    kernels->dots_f32 = thr_dots_f32;
}
