/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_products.h - products of rows of weights with states: all there is to know of what they are kept as.
 *
 * A product has the bits that kernel dot_f32 states of the row as floats, however it comes about; of I8 those of the
 * row's integers, times its scale.
 */
#ifndef THR_HEAD_ROW_PRODUCTS_H
#define THR_HEAD_ROW_PRODUCTS_H

#include "head/file.h"
#include "kernel/kernel.h"

/* Some words: n of them, ascending; or those from first on. */
typedef struct thr_head_words {
    const uint32_t *words; /* NULL: first, first + 1, ... */
    size_t first, n;
} thr_head_words;

/* States that meet rows together, n_dims floats each, and packed for dots_f32 (heads.h). */
typedef struct thr_head_states {
    const float *rows, *columns;
    size_t n;
} thr_head_states;

/* Floats that n packed states take, and what packs them. */
size_t thr_head_packed_floats(const thr_head_contents *c, size_t n);
thr_head_states thr_head_pack(const thr_head_contents *c, const float *rows, size_t n, float *columns);

/* Floats of room that products take. */
size_t thr_head_products_floats(const thr_head_contents *c);

/* The product of word i and state j to out[j * stride + i]. Rows are read once. room: thr_head_products_floats. */
void thr_head_products(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some,
                       const thr_head_states *states, float *workspace, float *out, size_t stride);

#endif
