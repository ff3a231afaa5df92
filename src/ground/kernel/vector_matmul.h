/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_matmul.h - kernel matmul with the compiler's vector types, compiled by the _layers.c file of each level.
 *
 * Vectors lie along a row of C, so sums never cross lanes and every element is its own sum in ascending order:
 * neither the vector width nor the blocking changes the result. The including file defines the floats of a vector
 * (THR_LANES) and the rows and vectors of C that stay in registers (THR_TILE_ROWS and THR_TILE_VECTORS, both up to
 * 6).
 *
 * B is copied to a contiguous panel of THR_TILE_VECTORS vectors and PANEL_STEPS steps, so that reading it does not
 * depend on B's stride. Columns after the last are zero in the panel, and a tile at the edge works on a copy of C.
 */
#pragma once

#include "base/minmax.h"
#include "kernel/lanes.h"
#include "kernel/layers.h"
#include "kernel/unroll.h"

#include <string.h>

#ifndef THR_TILE_ROWS
#define THR_TILE_ROWS    6
#define THR_TILE_VECTORS 4
#endif

enum {
    TILE_ROWS = THR_TILE_ROWS,
    TILE_VECTORS = THR_TILE_VECTORS,
    PANEL_COLUMNS = LANES * TILE_VECTORS,
    PANEL_STEPS = 64, /* with AVX-512 16 KiB of the stack */
    COPY_ROWS = 24    /* below this many rows, copying B costs more than it saves */
};

/* Compute rows x vectors of C, for n_steps of the sum. rows and vectors are constants at every call. */
THR_ALWAYS void thr_kernel_tile(const thr_product *p, size_t n_steps, size_t vectors, size_t rows) {
    thr_lanes sums[TILE_ROWS][TILE_VECTORS];
    const float *a = p->a, *b = p->b;
    const size_t a_row = p->a_row, a_step = p->a_step, b_row = p->b_row, c_row = p->c_row;
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        THR_UNROLL
    for (size_t v = 0; v < vectors; v++)
        sums[r][v] = thr_kernel_load(p->c + r * c_row + v * LANES);
    for (size_t k = 0; k < n_steps; k++, a += a_step, b += b_row) {
        thr_lanes right[TILE_VECTORS];
        THR_UNROLL
        for (size_t v = 0; v < vectors; v++)
            right[v] = thr_kernel_load(b + v * LANES);
        THR_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const float left = a[r * a_row];
            THR_UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[r][v] += right[v] * left;
        }
    }
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        THR_UNROLL
    for (size_t v = 0; v < vectors; v++)
        thr_kernel_store(p->c + r * c_row + v * LANES, sums[r][v]);
}

THR_ALWAYS void thr_kernel_tile_rows(const thr_product *p, size_t n_steps, size_t rows, size_t vectors) {
    THR_CALL_COUNT(rows, TILE_ROWS, thr_kernel_tile, p, n_steps, vectors)
}

static inline void thr_tile_any(const thr_product *p, size_t n_steps, size_t rows, size_t vectors) {
    THR_CALL_COUNT(vectors, TILE_VECTORS, thr_kernel_tile_rows, p, n_steps, rows)
}

/* A tile whose last vector crosses the edge of C. */
static inline void thr_tile_edge(const thr_product *p, size_t n_steps, size_t rows, size_t columns) {
    float copy[TILE_ROWS * PANEL_COLUMNS] = {0};
    thr_product inner = *p;
    inner.c = copy;
    inner.c_row = PANEL_COLUMNS;
    for (size_t r = 0; r < rows; r++)
        memcpy(copy + r * PANEL_COLUMNS, p->c + r * p->c_row, columns * sizeof(float));
    thr_tile_any(&inner, n_steps, rows, THR_CEIL_DIV(columns, LANES));
    for (size_t r = 0; r < rows; r++)
        memcpy(p->c + r * p->c_row, copy + r * PANEL_COLUMNS, columns * sizeof(float));
}

/* Copy n_steps rows of B, `columns` wide and padded with zeros to whole vectors, to contiguous memory. */
static inline void thr_copy_panel(const thr_product *p, size_t n_steps, size_t columns, float *copy) {
    const size_t vectors = THR_CEIL_DIV(columns, LANES), whole = columns / LANES;
    for (size_t k = 0; k < n_steps; k++) {
        const float *from = p->b + k * p->b_row;
        float *to = copy + k * vectors * LANES;
        for (size_t v = 0; v < whole; v++)
            thr_kernel_store(to + v * LANES, thr_kernel_load(from + v * LANES));
        for (size_t c = whole * LANES; c < vectors * LANES; c++)
            to[c] = c < columns ? from[c] : 0.0f;
    }
}

/* Compute all rows of C for at most PANEL_COLUMNS columns and PANEL_STEPS steps. */
static inline void thr_panel(const thr_product *p, size_t n_steps, size_t columns) {
    float copy[PANEL_STEPS * PANEL_COLUMNS] __attribute__((aligned(64)));
    const size_t vectors = THR_CEIL_DIV(columns, LANES);
    const bool cut = columns % LANES != 0;
    thr_product tile = *p;
    if (cut || p->n_rows >= COPY_ROWS) {
        thr_copy_panel(p, n_steps, columns, copy);
        tile.b = copy;
        tile.b_row = vectors * LANES;
    }
    for (size_t i = 0; i < p->n_rows; i += TILE_ROWS) {
        const size_t rows = THR_MIN(p->n_rows - i, TILE_ROWS);
        tile.c = p->c + i * p->c_row;
        tile.a = p->a + i * p->a_row;
        if (cut)
            thr_tile_edge(&tile, n_steps, rows, columns);
        else
            thr_tile_any(&tile, n_steps, rows, vectors);
    }
}

/* The steps are the outer loop: the intermediate sums in C equal those of the specification. */
static inline void thr_nn_matmul(const thr_product *p) {
    for (size_t k = 0; k < p->n_inner; k += PANEL_STEPS)
        for (size_t j = 0; j < p->n_columns; j += PANEL_COLUMNS) {
            thr_product part = *p;
            part.c += j;
            part.a += k * p->a_step;
            part.b += k * p->b_row + j;
            thr_panel(&part, THR_MIN(p->n_inner - k, PANEL_STEPS), THR_MIN(p->n_columns - j, PANEL_COLUMNS));
        }
}
