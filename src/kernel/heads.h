/* SPDX-License-Identifier: Apache-2.0 */
/* heads.h - the slots that output layers are asked with: rows of weights against several states at once. */
#ifndef THR_KERNEL_HEADS_H
#define THR_KERNEL_HEADS_H

#include <thresher/context.h>

#define THR_HEAD_KERNEL_LIST(X) X(dots_f32, thr_dots_kernel)

enum {
    THR_DOT_SUMS = 16,    /* partial sums of a product, of which number d mod 16 has dimension d */
    THR_DOTS_COLUMNS = 16 /* queries come in so many columns; no query has zeros there */
};

/*
 * Queries packed for dots_f32: a partial sum's dimensions follow each other, of each of them all queries. Query q has
 * dimension d at columns[((d % 16) * n_steps + d / 16) * width + q], with the following numbers of steps and columns.
 */
static inline size_t thr_dots_steps(size_t n_dims) {
    return (n_dims + THR_DOT_SUMS - 1) / THR_DOT_SUMS;
}

static inline size_t thr_dots_width(size_t n_queries) {
    return (n_queries + THR_DOTS_COLUMNS - 1) / THR_DOTS_COLUMNS * THR_DOTS_COLUMNS;
}

static inline size_t thr_dots_packed(size_t n_queries, size_t n_dims) {
    return THR_DOT_SUMS * thr_dots_steps(n_dims) * thr_dots_width(n_queries);
}

/* Pack n_queries of n_dims floats, one behind the other; columns has thr_dots_packed places. */
void thr_dots_pack(float *columns, const float *queries, size_t n_queries, size_t n_dims);

/* n_rows rows of n_dims floats, which may lie anywhere, unaligned. */
typedef struct thr_dots {
    const float *columns;
    const float *const *rows;
    size_t n_queries, n_rows, n_dims;
} thr_dots;

/* out[q * stride + i] = what dot_f32 gives of query q and row i. */
typedef void (*thr_dots_kernel)(float *out, size_t stride, const thr_dots *dots);

#endif
