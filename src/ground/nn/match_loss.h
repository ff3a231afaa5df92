/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_loss.h - cosines of pairs against in-batch negatives, and the soft-max loss over them (RBE (1) to (3)).
 *
 * Row i of queries belongs to row i of items. Its negatives are items (i + shift + j) mod n_rows, j < n_negatives
 * (CNTK's CosDistanceWithNegativeSamples). loss_i = -log(exp(g c_0) / sum of exp(g c_j)), g = gamma, c the cosines.
 * A zero vector has cosine 0 with everything, and no gradient.
 *
 * With a teacher, vectors of the same rows whose cosines are to be imitated, the loss is the cross-entropy
 * -sum of y_j log p_j of p_j = exp(g c_j) / sum of exp(g c_j) with y = share * t + (1 - share) * (1, 0, 0, ...), where
 * t is the soft-max of the teacher's cosines times teacher_gamma.
 */
#pragma once

#include "kernel/kernel.h"

typedef struct thr_match_loss {
    float gamma;
    uint32_t shift;       /* at least 1 */
    uint32_t n_negatives; /* shift + n_negatives - 1 < n_rows */
    float teacher_share;  /* 0: no teacher; at most 1 */
    float teacher_gamma;
    size_t n_teacher_dims;
} thr_match_loss;

/* The embeddings of a batch of pairs, and where results go. */
typedef struct thr_match_batch {
    const float *queries, *items; /* n_rows x n_dims each */
    size_t n_rows, n_dims;
    float *cosines;                               /* n_rows, cosines of the matching pairs; NULL: not computed */
    float *d_queries, *d_items;                   /* the gradient of the mean loss; both NULL: not computed */
    const float *teacher_queries, *teacher_items; /* n_rows x n_teacher_dims; with a teacher */
} thr_match_batch;

/* Returns the mean loss over rows, summed in double in order of rows. scratch: thr_nn_match_loss_scratch floats. */
double thr_nn_match_loss_run(thr_context *context, const thr_match_loss *loss, const thr_match_batch *batch,
                             float *scratch);
size_t thr_nn_match_loss_scratch(const thr_match_loss *loss, size_t n_rows, size_t n_dims);
