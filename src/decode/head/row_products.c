/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_products.c - two ways to multiply rows with states. For one state memory bandwidth is the limit, so rows are read
 * as stored. For several states rows are decoded to floats once; with many states dots_f32 then runs at nearly peak
 * speed.
 */
#include "head/row_products.h"

#include <string.h>

#include "base/half.h"
#include "base/minmax.h"

static const char *row_of(const thr_head_contents *c, size_t w) {
    return (const char *)c->weights + w * thr_head_row_size(c);
}

static size_t word_of(thr_head_words some, size_t i) {
    return some.words != NULL ? some.words[i] : some.first + i;
}

/* The number of consecutive words from the i-th on. */
static size_t run_of(thr_head_words some, size_t i) {
    size_t n = 1;
    if (some.words == NULL || some.words[some.n - 1] - some.words[i] == some.n - 1 - i)
        return some.n - i;
    while (i + n < some.n && some.words[i + n] == some.words[i] + n)
        n++;
    return n;
}

/* ------------------------------------------------------------------------------------------------ weight formats */

/* Decode n consecutive rows from word w on. */
static void decode_rows(const thr_head_contents *c, const thr_kernels *kernels, size_t w, size_t n, float *out) {
    const uint16_t *halves = (const uint16_t *)(const void *)row_of(c, w);
    const int8_t *bytes = (const int8_t *)row_of(c, w);
    if (c->dtype == THR_DTYPE_F16)
        kernels->f16_to_f32(out, halves, n * c->n_dims);
    else if (c->dtype == THR_DTYPE_BF16)
        for (size_t i = 0; i < n * c->n_dims; i++)
            out[i] = thr_bf16_to_f32(halves[i]);
    else if (c->dtype == THR_DTYPE_I8)
        for (size_t i = 0; i < n * c->n_dims; i++)
            out[i] = (float)bytes[i];
    else
        memcpy(out, row_of(c, w), n * thr_head_row_size(c));
}

/* The kernel for rows as stored. */
static thr_rows_kernel dot_of(const thr_head_contents *c, const thr_kernels *kernels) {
    return c->dtype == THR_DTYPE_F16    ? kernels->dot_f16
           : c->dtype == THR_DTYPE_BF16 ? kernels->dot_bf16
           : c->dtype == THR_DTYPE_I8   ? kernels->dot_i8
                                        : kernels->dot_f32;
}

/* Multiply products of integers by their words' scales. */
static void scale(const thr_head_contents *c, thr_head_words some, size_t n_states, float *out, size_t stride) {
    for (size_t i = 0; c->scales != NULL && i < some.n; i++)
        for (size_t j = 0; j < n_states; j++)
            out[j * stride + i] *= c->scales[word_of(some, i)];
}

/* ------------------------------------------------------------------------------------------------ products */

/* Up to this many states are multiplied one by one: packed, most columns would be zeros. */
enum { FEW_STATES = 4 };

/* Rows decoded at a time: they fit the second-level cache, and are whole blocks of dots_f32. */
enum { PIECE_FLOATS = 32768, PIECE_ROWS = 12, MOST_ROWS = 60, CACHE_LINE = 64 };

static size_t piece_of(const thr_head_contents *c) {
    const size_t n = PIECE_FLOATS / c->n_dims / PIECE_ROWS * PIECE_ROWS;
    return n < PIECE_ROWS ? PIECE_ROWS : n > MOST_ROWS ? MOST_ROWS : n;
}

size_t thr_head_packed_floats(const thr_head_contents *c, size_t n) {
    return n <= FEW_STATES ? 0 : thr_dots_packed(n, c->n_dims);
}

thr_head_states thr_head_pack(const thr_head_contents *c, const float *rows, size_t n, float *columns) {
    if (n > FEW_STATES)
        thr_kernel_dots_pack(columns, rows, n, c->n_dims);
    return (thr_head_states){rows, columns, n};
}

size_t thr_head_products_floats(const thr_head_contents *c) {
    return piece_of(c) * c->n_dims;
}

/* Products for a few states: one uses rows as stored, several use decoded rows. */
static void few_products(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some,
                         const thr_head_states *states, float *workspace, float *out, size_t stride) {
    const size_t piece = piece_of(c);
    const bool decoded = states->n > 1 && c->dtype != THR_DTYPE_F32;
    for (size_t i = 0, n; i < some.n; i += n) {
        const void *rows = row_of(c, word_of(some, i));
        n = run_of(some, i);
        n = THR_MIN(n, piece);
        if (decoded) {
            decode_rows(c, kernels, word_of(some, i), n, workspace);
            rows = workspace;
        }
        for (size_t j = 0; j < states->n; j++)
            (decoded ? kernels->dot_f32 : dot_of(c, kernels))(
                out + j * stride + i, states->rows + j * c->n_dims, rows,
                decoded ? c->n_dims * sizeof *workspace : thr_head_row_size(c), n, c->n_dims);
    }
}

enum { AHEAD = 4 }; /* a shortlist's rows are scattered: prefetch this many ahead */

static void fetch_row(const thr_head_contents *c, size_t w) {
    const char *row = row_of(c, w);
    const size_t size = thr_head_row_size(c);
    for (size_t i = 0; i < size; i += CACHE_LINE)
        __builtin_prefetch(row + i);
}

/* Rows that are floats are read in place, others are decoded into the workspace. */
static void many_products(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some,
                          const thr_head_states *states, float *workspace, float *out, size_t stride) {
    const float *rows[MOST_ROWS];
    const size_t piece = piece_of(c);
    for (size_t first = 0; first < some.n; first += piece) {
        const size_t n = THR_MIN(some.n - first, piece);
        for (size_t i = 0; i < n; i++) {
            const size_t w = word_of(some, first + i);
            if (some.words != NULL && first + i + AHEAD < some.n)
                fetch_row(c, word_of(some, first + i + AHEAD));
            rows[i] = c->dtype == THR_DTYPE_F32 ? (const float *)(const void *)row_of(c, w) : workspace + i * c->n_dims;
            if (c->dtype != THR_DTYPE_F32)
                decode_rows(c, kernels, w, 1, workspace + i * c->n_dims);
        }
        const thr_dots dots = {states->columns, rows, states->n, n, c->n_dims};
        kernels->dots_f32(out + first, stride, &dots);
    }
}

void thr_head_products(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some,
                       const thr_head_states *states, float *workspace, float *out, size_t stride) {
    (states->n > FEW_STATES ? many_products : few_products)(c, kernels, some, states, workspace, out, stride);
    scale(c, some, states->n, out, stride);
}
