/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn_ops.h - GPU backend operations for training (nn/ and the tower rooms have them for CPUs). Plain structs;
 * pointers are to device memory; matrices are row-major, dense, float32.
 *
 * All sums except those of products and of thr_match_op use the order of the CPU layers, and element-wise functions
 * use the same formulas, so these results equal the CPU's bit for bit. No operation adds to one address from several
 * threads: training on one device is as reproducible as cuBLAS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * out[i] = sum of the table's rows in bag i, rows[offsets[i]] to rows[offsets[i + 1] - 1], times their weights, if
 * there are any; 0 for an empty bag. Without offsets, bag i is row rows[i], and without rows, row i. Strides of rows
 * are in floats; 0: n_columns.
 */
typedef struct thr_gather_op {
    const float *table;
    const uint32_t *offsets, *rows; /* n_bags + 1 offsets */
    const float *weights;
    uint32_t n_bags, n_columns, table_row, out_row;
    float *out;
} thr_gather_op;

/*
 * Kernel matmul, with its bits: c[i][j] = ((start + a[i][0] b[0][j]) + a[i][1] b[1][j]) + ..., and then its tanh if
 * wanted. start is c[i][j] with add, else bias[j], or 0 if bias is NULL. Strides are in floats; a and b have one for
 * steps of the sum and one for rows or columns, so that either may be transposed.
 */
typedef struct thr_layer_op {
    float *c;
    const float *a, *b, *bias;
    uint32_t c_row, a_row, a_step, b_step, b_column;
    uint32_t n_rows, n_columns, n_inner;
    bool add, tanh;
} thr_layer_op;

/* One step of Adam, with the parameters of thr_adam_step (kernel/layers.h). */
typedef struct thr_device_adam {
    float scale, beta1, rest1, beta2, rest2, rate, root, epsilon, decay;
} thr_device_adam;

/* Step n contiguous weights. */
typedef struct thr_adam_op {
    float *weights, *m, *v;
    const float *gradient;
    uint64_t n;
    thr_device_adam adam;
} thr_adam_op;

/*
 * Step rows of a table: the gradient of row rows[i] is the sum of d_out's rows bags[offsets[i]] to bags[offsets[i +
 * 1] - 1]. rows has no duplicates; other rows and their moments do not change.
 */
typedef struct thr_adam_rows_op {
    float *table, *m, *v;
    const float *d_out;
    const uint32_t *rows, *offsets, *bags; /* n_rows, n_rows + 1 */
    const float *bag_weights;              /* of each bag's entry; NULL: 1 */
    uint32_t n_rows, n_columns;
    thr_device_adam adam;
} thr_adam_rows_op;

/* The same by FTRL-Proximal, with the parameters of thr_ftrl_step; m is its z, v its n, and adam is not read. */
typedef struct thr_ftrl_rows_op {
    thr_adam_rows_op rows;
    float scale, alpha, beta, l1, l2;
} thr_ftrl_rows_op;

/* Texts: text i is words[offsets[i]] to words[offsets[i + 1] - 1], indices of word vectors of 3 * n_columns floats. */
typedef struct thr_device_texts {
    const uint32_t *offsets, *words; /* offsets[0] is 0 */
    uint32_t n_texts;
} thr_device_texts;

/* pooled = tanh of the largest window in every column; where = the centre word of that window (nn/windows.h). */
typedef struct thr_windows_op {
    thr_device_texts texts;
    const float *vectors, *bias;
    uint32_t n_columns;
    float *pooled;
    uint16_t *where;
} thr_windows_op;

/*
 * Backward pass of thr_windows_op: d_pooled becomes the gradient before tanh, in place; then d_vectors of every word
 * += its gradient. Word w occurs at positions[first[w]] to positions[first[w + 1] - 1] of texts.words, ascending;
 * text_of is the text of every position. The gradients of a word are added in the order of its positions to the
 * existing value.
 */
typedef struct thr_windows_back_op {
    thr_device_texts texts;
    const uint32_t *first, *positions, *text_of; /* first: n_words + 1; positions, text_of: one per word of all texts */
    uint32_t n_words, n_columns;
    const float *pooled;
    const uint16_t *where;
    float *d_pooled, *d_vectors;
} thr_windows_back_op;

/*
 * c (n_rows x n_columns) = a b, or += with add. a is n_rows x n_inner, or the transpose of the stored matrix; so is
 * b. Uses cuBLAS, which the first product loads; THR_EDEVICE with instructions if it is missing.
 */
typedef struct thr_product_op {
    float *c;
    const float *a, *b;
    uint32_t n_rows, n_columns, n_inner;
    bool a_transposed, b_transposed, add;
} thr_product_op;

/* Set every row of x to row. */
typedef struct thr_fill_rows_op {
    float *x;
    const float *row;
    uint32_t n_rows, n_columns;
} thr_fill_rows_op;

/* sum[j] += the sum of column j, in the order of rows. */
typedef struct thr_sum_rows_op {
    float *sum;
    const float *x;
    uint32_t n_rows, n_columns;
} thr_sum_rows_op;

/* out = tanh(in), or out = last + weight sign(in) (last NULL: 0); sets *broken to 1 if an input is not finite. */
typedef struct thr_plane_op {
    const float *in, *last;
    float *out;
    float weight;
    bool as_float; /* tanh */
    uint64_t n;
    uint32_t *broken;
} thr_plane_op;

/* Gradient estimator of a plane: the values of enum thr_estimator, and tanh for a float side. */
typedef enum thr_device_estimator {
    THR_DEVICE_VARIANT,
    THR_DEVICE_STRAIGHT,
    THR_DEVICE_ANNEALED,
    THR_DEVICE_TANH
} thr_device_estimator;

/* d_in = weight d_out, propagated back through a plane; in and out as in thr_plane_op. May be in place. */
typedef struct thr_plane_back_op {
    const float *in, *out, *d_out;
    float *d_in;
    float weight, slope;
    thr_device_estimator estimator;
    uint64_t n;
} thr_plane_back_op;

/* rebuilt = tanh(rebuilt); residual = pooled - rebuilt. */
typedef struct thr_residual_op {
    const float *pooled;
    float *rebuilt, *residual;
    uint64_t n;
} thr_residual_op;

/* d_pooled += d_residual; d_residual becomes the gradient before tanh of rebuilt: -d_residual (1 - rebuilt^2). */
typedef struct thr_residual_back_op {
    const float *rebuilt;
    float *d_residual, *d_pooled;
    uint64_t n;
} thr_residual_back_op;

/*
 * The loss of nn/match_loss.h: losses[i] of every row, and the gradients of their mean. A row whose length is below
 * FLT_MIN counts as 0. scratch: n_rows * (2 * n_dims + n_negatives + 3) floats.
 */
typedef struct thr_match_op {
    const float *queries, *items;
    uint32_t n_rows, n_dims, n_negatives, shift;
    float gamma;
    double *losses;
    float *d_queries, *d_items;
    float *scratch;
} thr_match_op;

#define THR_NO_HIT_ROW UINT32_MAX

/*
 * The ads of requests: their scores (dual_tower/scores.h), the loss over each request (nn/rank_loss.h), the gradient of
 * the mean loss by the scores, and by the weights of the histories' words. Request r has ads ad_offsets[r] to
 * ad_offsets[r + 1] - 1, the best first. An ad's product with its user is added to the weights of its hits: *slots*, a
 * feature of a request each, listed for ads and for words of histories, and the other way round. Losses may differ from
 * the CPU's in the last bits of a double; nothing else does.
 */
typedef struct thr_requests_op {
    const float *users, *items; /* n_vector floats per request, an item */
    uint32_t n_requests, n_vector;
    const uint32_t *ad_offsets, *ads, *levels;
    const double *gains, *values, *discounts; /* of ads, as thr_nn_rank_loss_terms; of ranks */
    bool with_values, product, swap;          /* thr_dual_loss, thr_dual_value */

    uint32_t n_history, n_slots;
    const float *hits, *history_x;                                            /* weights of rows; of words */
    const uint32_t *history_rows, *history_fields, *history_slots;            /* rows: THR_NO_HIT_ROW: none */
    const uint32_t *slot_offsets, *slot_history, *slot_ad_offsets, *slot_ads; /* n_slots + 1 offsets */
    const uint32_t *ad_slot_offsets, *ad_slots;

    float *slots; /* scratch, and two numbers per ad */
    double *ad_discounts, *ad_losses;
    float *scores, *d_scores, *d_history;
    double *losses;
} thr_requests_op;
