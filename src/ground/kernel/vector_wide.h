/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_wide.h - the kernels of wide.h with the compiler's vector types, compiled by the _wide.c file of each level,
 * which defines the doubles of a register (THR_WIDE_LANES: 2, 4 or 8).
 *
 * Several rows are processed together: they share the loads of v and of sums, and their dependent additions overlap.
 * The 8 partial sums of a row are the lanes of its registers. v is padded with zeros after the last dimension, where
 * a row's loads run into the next row: a finite number times 0 changes no sum, because no sum is -0.
 */
#pragma once

#include "kernel/kernel.h"
#include "kernel/unroll.h"

#include <string.h>

#ifndef THR_WIDE_LANES
#define THR_WIDE_LANES 2
#endif

/*
 * AHEAD: prefetch distance in bytes. Processors do not recognise several interleaved rows as one stream: from memory,
 * prefetching more than doubles the speed.
 */
enum { SUMS = 8, WIDE = THR_WIDE_LANES, PARTS = SUMS / WIDE, TOGETHER = 4, AHEAD = 4096, LINE = 64 };

typedef double thr_wide __attribute__((vector_size(8 * THR_WIDE_LANES)));
typedef float thr_narrow __attribute__((vector_size(4 * THR_WIDE_LANES)));

THR_ALWAYS thr_wide thr_kernel_load_wide(const double *from) {
    thr_wide x;
    memcpy(&x, from, sizeof x);
    return x;
}

THR_ALWAYS thr_wide thr_kernel_widen(const float *from) {
    thr_narrow x;
    memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, thr_wide);
}

/* Add 8 partial sums in halves 4, 2, 1. */
THR_ALWAYS double thr_kernel_add_halves(const thr_wide *sums) {
    double l[SUMS];
    memcpy(l, sums, sizeof l);
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

/* Add the next 8 dimensions of some rows, stride floats apart. rows is a constant at every call. */
THR_ALWAYS void thr_kernel_times_eight(thr_wide sums[TOGETHER][PARTS], const double *v, const float *row, size_t stride,
                                       size_t rows) {
    THR_UNROLL
    for (size_t p = 0; p < PARTS; p++) {
        const thr_wide factor = thr_kernel_load_wide(v + p * WIDE);
        THR_UNROLL
        for (size_t r = 0; r < rows; r++)
            sums[r][p] += thr_kernel_widen(row + r * stride + p * WIDE) * factor;
    }
}

/* end: the end of all rows. v_rest: the factors after the last whole 8, padded with zeros. */
THR_ALWAYS void thr_kernel_times_rows(double *out, const double *v, const double *v_rest, const float *row,
                                      const float *end, size_t rows, size_t n_dims) {
    const size_t rest = n_dims % SUMS, whole = n_dims - rest;
    const float *last = row + (rows - 1) * n_dims + whole; /* of the last row */
    thr_wide sums[TOGETHER][PARTS];
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        THR_UNROLL
    for (size_t p = 0; p < PARTS; p++)
        sums[r][p] = (thr_wide){0};
    for (size_t d = 0; d < whole; d += SUMS) {
        const char *ahead = (const char *)(row + rows * d) + AHEAD; /* may be past the end: it is only a prefetch */
        __builtin_prefetch(ahead);
        if (rows * SUMS * sizeof *row > LINE)
            __builtin_prefetch(ahead + LINE);
        thr_kernel_times_eight(sums, v + d, row + d, n_dims, rows);
    }
    if (rest != 0 && end - last >= SUMS) {
        thr_kernel_times_eight(sums, v_rest, row + whole, n_dims, rows);
    } else if (rest != 0) { /* no readable floats follow these */
        float copies[TOGETHER * SUMS] = {0};
        for (size_t r = 0; r < rows; r++)
            memcpy(copies + r * SUMS, row + r * n_dims + whole, rest * sizeof *row);
        thr_kernel_times_eight(sums, v_rest, copies, SUMS, rows);
    }
    THR_UNROLL
    for (size_t r = 0; r < rows; r++)
        out[r] = thr_kernel_add_halves(sums[r]);
}

static inline void thr_times_wide(double *out, const double *v, const float *rows, size_t n_rows, size_t n_dims) {
    const float *end = rows + n_rows * n_dims;
    double v_rest[SUMS] = {0};
    size_t i = 0;
    memcpy(v_rest, v + n_dims / SUMS * SUMS, n_dims % SUMS * sizeof *v);
    for (; i + TOGETHER <= n_rows; i += TOGETHER)
        thr_kernel_times_rows(out + i, v, v_rest, rows + i * n_dims, end, TOGETHER, n_dims);
    for (; i < n_rows; i++)
        thr_kernel_times_rows(out + i, v, v_rest, rows + i * n_dims, end, 1, n_dims);
}

/* Reads and writes sums once for all of these rows. */
THR_ALWAYS void thr_kernel_add_rows(double *sums, const double *s, const float *row, size_t rows, size_t n_dims) {
    size_t d = 0;
    for (; d + WIDE <= n_dims; d += WIDE) {
        thr_wide sum = thr_kernel_load_wide(sums + d);
        THR_UNROLL
        for (size_t r = 0; r < rows; r++)
            sum += thr_kernel_widen(row + r * n_dims + d) * s[r];
        memcpy(sums + d, &sum, sizeof sum);
    }
    for (; d < n_dims; d++) {
        double sum = sums[d];
        for (size_t r = 0; r < rows; r++)
            sum += s[r] * (double)row[r * n_dims + d];
        sums[d] = sum;
    }
}

static inline void thr_add_wide(double *sums, const double *s, const float *rows, size_t n_rows, size_t n_dims) {
    size_t i = 0;
    for (; i + TOGETHER <= n_rows; i += TOGETHER)
        thr_kernel_add_rows(sums, s + i, rows + i * n_dims, TOGETHER, n_dims);
    for (; i < n_rows; i++)
        thr_kernel_add_rows(sums, s + i, rows + i * n_dims, 1, n_dims);
}

static inline void thr_kernels_fill_wide(thr_kernels *kernels) {
    kernels->times_wide = thr_times_wide;
    kernels->add_wide = thr_add_wide;
}
