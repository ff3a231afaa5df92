/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_products.h - products of rows of weights with states, for every storage format.
 *
 * A product has the bits that the kernel dot_f32 specifies for the row as floats, however it is computed; for I8, for
 * the row's integers, times its scale.
 */
#pragma once

#include "head/file.h"
#include "kernel/kernel.h"

/* A set of words: n of them, ascending; or n consecutive words from `first` on. */
typedef struct thr_head_words {
    const uint32_t *words; /* NULL: consecutive from first on */
    size_t first, n;
} thr_head_words;

/* States that are multiplied together, n_dims floats each, and their form packed for dots_f32 (heads.h). */
typedef struct thr_head_states {
    const float *rows, *columns;
    size_t n;
} thr_head_states;

/* Floats of n packed states, and the function that packs them. */
size_t thr_head_packed_floats(const thr_head_contents *c, size_t n);
thr_head_states thr_head_pack(const thr_head_contents *c, const float *rows, size_t n, float *columns);

/* Floats of the workspace that thr_head_products needs. */
size_t thr_head_products_floats(const thr_head_contents *c);

/*
 * Write the product of word i and state j to out[j * stride + i], reading each row once. workspace:
 * thr_head_products_floats floats.
 */
void thr_head_products(const thr_head_contents *c, const thr_kernels *kernels, thr_head_words some,
                       const thr_head_states *states, float *workspace, float *out, size_t stride);
