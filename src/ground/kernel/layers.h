/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - kernel slots for training and encoding with models: matrix products, sums of rows, windows, optimiser
 * steps.
 *
 * As in the rest of the table, every float operation is correctly rounded and in the order stated here, so every
 * level gives the same bits. A multiplication followed by an addition is two operations, never fused.
 */
#pragma once

#include <thresher/context.h>

#define THR_LAYER_KERNEL_LIST(X)                                                                                       \
    X(matmul, thr_matmul_kernel)                                                                                       \
    X(tanh_f32, thr_map_kernel) /* error at most 2e-7; +-1 from 10 on; NaN stays unchanged */                          \
    X(exp_f32, thr_map_kernel)  /* relative error at most 2e-7; x is clamped to [-87, 88]; NaN stays unchanged */      \
    X(gather_sum, thr_gather_sum_kernel)                                                                               \
    X(gather_scaled, thr_gather_scaled_kernel)                                                                         \
    X(logistic_pairs, thr_logistic_pairs_kernel)                                                                       \
    X(window_max, thr_window_max_kernel)                                                                               \
    X(add_where, thr_add_where_kernel)                                                                                 \
    X(adam_step, thr_adam_step_kernel)                                                                                 \
    X(ftrl_step, thr_ftrl_step_kernel)

/*
 * A product C += A B: C is n_rows x n_columns, and n_inner the length of the sum. Strides are in floats. A has a
 * stride for rows and one for steps of the sum, so a transposed A needs no copy. C overlaps neither A nor B.
 */
typedef struct thr_product {
    float *c;
    const float *a, *b;
    size_t c_row, a_row, a_step, b_row;
    size_t n_rows, n_columns, n_inner;
} thr_product;

/* c[i][j] = ((c[i][j] + a[i][0] b[0][j]) + a[i][1] b[1][j]) + ..., for any blocking. */
typedef void (*thr_matmul_kernel)(const thr_product *product);

/* out[i] = f(in[i]); may be in place. The formulas are in elementwise.h. */
typedef void (*thr_map_kernel)(float *out, const float *in, size_t n);

/*
 * out = the sum of the table's rows rows[0], rows[1], ..., in this order; zeros for no rows. out is not in the table.
 * rows[n_rows] to rows[n_rows + n_ahead - 1] are hints for prefetching.
 */
typedef void (*thr_gather_sum_kernel)(float *out, const float *table, size_t n_columns, const uint32_t *rows,
                                      size_t n_rows, size_t n_ahead);

/* The same with weights: out[c] = weights[0] row[c], then + weights[1] row[c], ... */
typedef void (*thr_gather_scaled_kernel)(float *out, const float *table, size_t n_columns, const uint32_t *rows,
                                         const float *weights, size_t n_rows, size_t n_ahead);

/*
 * One ad paired with n worse ones. With x = score - scores[j] and e = exp(-|x|), both multiplied by weights[j]:
 *   losses[j] = ln(1 + exp(-x)) = ln(1 + e), minus x if x <= 0
 *   slopes[j] = the negative derivative by x = e / (1 + e), or 1 / (1 + e) if x <= 0
 * with relative errors of about 1e-7. NaN if x is NaN. The formula is in elementwise.h.
 */
typedef void (*thr_logistic_pairs_kernel)(float *losses, float *slopes, const float *scores, const float *weights,
                                          size_t n, float score);

/*
 * For every column, the largest of a text's windows and its centre word, the first on ties; nn/windows.h defines
 * windows. vectors: 3 * n_columns floats per word. n_words: at least 1.
 */
typedef void (*thr_window_max_kernel)(float *best, uint16_t *where, const float *vectors, const uint32_t *words,
                                      size_t n_words, const float *bias, size_t n_columns);

/* out[i] += in[i] for all i with where[i] == at. */
typedef void (*thr_add_where_kernel)(float *out, const float *in, const uint16_t *where, uint16_t at, size_t n);

/*
 * With g = gradient * scale:
 *   m = beta1 m + rest1 g,  v = beta2 v + rest2 (g g),  w = decay w - (rate m) / (sqrt(v) root + epsilon)
 */
typedef struct thr_adam_step {
    float scale, beta1, rest1, beta2, rest2, rate, root, epsilon, decay;
} thr_adam_step;
typedef void (*thr_adam_step_kernel)(float *w, float *m, float *v, const float *gradient, size_t n,
                                     const thr_adam_step *step);

/*
 * With g = gradient * scale, n' = n + g g, r = sqrt(n'):
 *   z = (z + g) - ((r - sqrt(n)) / alpha) w,  n = n'
 *   w = 0 where |z| <= l1, else (sign(z) l1 - z) / ((beta + r) / alpha + l2)
 */
typedef struct thr_ftrl_step {
    float scale, alpha, beta, l1, l2;
} thr_ftrl_step;
typedef void (*thr_ftrl_step_kernel)(float *w, float *z, float *n, const float *gradient, size_t n_weights,
                                     const thr_ftrl_step *step);
