/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A single state's products are bound by memory: its rows are read as they are kept. Several states meet rows that were
 * made floats once for all of them.
 */
#include "head/head_rows.h"

#include <string.h>

static const char *row_of(const thr_head_contents *c, size_t w) {
    return (const char *)c->weights + w * thr_head_row_size(c);
}

static size_t word_of(thr_head_words some, size_t i) {
    return some.words != NULL ? some.words[i] : some.first + i;
}

/* How many words from the i-th on follow each other. */
static size_t run_of(thr_head_words some, size_t i) {
    size_t n = 1;
    if (some.words == NULL || some.words[some.n - 1] - some.words[i] == some.n - 1 - i)
        return some.n - i;
    while (i + n < some.n && some.words[i + n] == some.words[i] + n)
        n++;
    return n;
}

/* ------------------------------------------------------------------------------------------------ kinds of weights */

/* n rows that follow each other, from word w on. */
static void decode_rows(const thr_head_contents *c, const thr_kernels *kernels, size_t w, size_t n, float *out) {
    if (c->dtype == THR_DTYPE_F16)
        kernels->f16_to_f32(out, (const uint16_t *)(const void *)row_of(c, w), n * c->n_dims);
    else
        memcpy(out, row_of(c, w), n * thr_head_row_size(c));
}

/* The kernel that takes rows as they are kept. */
static thr_rows_kernel dot_of(const thr_head_contents *c, const thr_kernels *kernels) {
    return c->dtype == THR_DTYPE_F16 ? kernels->dot_f16 : kernels->dot_f32;
}

/* ------------------------------------------------------------------------------------------------ rows */

const float *thr_head_rows(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some, float *room) {
    if (some.n > 0 && c->dtype == THR_DTYPE_F32 && run_of(some, 0) == some.n)
        return (const float *)(const void *)row_of(c, word_of(some, 0));
    for (size_t i = 0, n; i < some.n; i += n) {
        n = run_of(some, i);
        decode_rows(c, kernels, word_of(some, i), n, room + i * c->n_dims);
    }
    return room;
}

/* ------------------------------------------------------------------------------------------------ products */

size_t thr_head_products_room(const thr_head_contents *c, size_t n) {
    return n * c->n_dims;
}

void thr_head_products(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some, const float *states,
                       size_t n_states, float *room, float *out, size_t stride) {
    const thr_rows_kernel dot = dot_of(c, kernels);
    if (n_states == 1) {
        for (size_t i = 0, n; i < some.n; i += n) {
            n = run_of(some, i);
            dot(out + i, states, row_of(c, word_of(some, i)), thr_head_row_size(c), n, c->n_dims);
        }
        return;
    }
    const float *rows = thr_head_rows(c, kernels, some, room);
    for (size_t j = 0; j < n_states; j++)
        kernels->dot_f32(out + j * stride, states + j * c->n_dims, rows, c->n_dims * sizeof *rows, some.n, c->n_dims);
}
