/* SPDX-License-Identifier: Apache-2.0 */
/* heads.h - kernel slots for output layers: rows of weights times several states at once. */
#pragma once

#include <thresher/context.h>

#include "base/minmax.h"

#define THR_HEAD_KERNEL_LIST(X) X(dots_f32, thr_dots_kernel)

enum {
    THR_DOT_SUMS = 16,    /* partial sums of a product: dimension d goes to number d mod 16 */
    THR_DOTS_COLUMNS = 16 /* queries are padded with zeros to a multiple of this many columns */
};

/*
 * Queries packed for dots_f32: dimensions are grouped by partial sum, and queries are interleaved. Dimension d of
 * query q is at columns[((d % 16) * n_steps + d / 16) * width + q], with n_steps and width as computed below.
 */
static inline size_t thr_dots_steps(size_t n_dims) {
    return THR_CEIL_DIV(n_dims, THR_DOT_SUMS);
}

static inline size_t thr_dots_width(size_t n_queries) {
    return THR_ROUND_UP(n_queries, THR_DOTS_COLUMNS);
}

static inline size_t thr_dots_packed(size_t n_queries, size_t n_dims) {
    return THR_DOT_SUMS * thr_dots_steps(n_dims) * thr_dots_width(n_queries);
}

/* Pack n_queries contiguous queries of n_dims floats; columns has room for thr_dots_packed floats. */
void thr_kernel_dots_pack(float *columns, const float *queries, size_t n_queries, size_t n_dims);

/* n_rows rows of n_dims floats at arbitrary, possibly unaligned addresses. */
typedef struct thr_dots {
    const float *columns;
    const float *const *rows;
    size_t n_queries, n_rows, n_dims;
} thr_dots;

/* out[q * stride + i] = dot_f32 of query q and row i. */
typedef void (*thr_dots_kernel)(float *out, size_t stride, const thr_dots *dots);
