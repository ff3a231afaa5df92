/* SPDX-License-Identifier: Apache-2.0 */
/* backward.h - backpropagation through a side, from the gradient of its embeddings to those of its parameters. */
#pragma once

#include "text_tower/model.h"

/* The gradient estimator of the sign function. */
typedef struct thr_slope {
    thr_estimator estimator;
    float slope; /* of tanh, for the annealing estimator */
} thr_slope;

/* Scratch memory of a backward pass; starts zeroed, grows. */
typedef struct thr_text_backward_workspace {
    size_t capacity;
    float *memory;
} thr_text_backward_workspace;
thr_status thr_text_backward_reserve(thr_context *context, const thr_tower_config *config, size_t n_texts,
                                     thr_text_backward_workspace *workspace, thr_error *err);
void thr_text_backward_free(thr_context *context, thr_text_backward_workspace *workspace);

/* The gradients of a side: where they come from and where they go. */
typedef struct thr_side_gradients {
    thr_slope slope;
    float *d_embedding;                     /* n_texts x n_dims: the input; overwritten */
    float *const *d_tensors;                /* shaped like the side's tensors; gradients are added */
    float *d_vectors;                       /* of texts: shaped like the words' vectors; gradients are added */
    thr_text_backward_workspace *workspace; /* reserved for n_texts or more */
} thr_side_gradients;

/* Backpropagate the gradient of the embeddings. pass: the activations of thr_text_side_forward on the same input. */
void thr_text_side_backward(thr_context *context, const thr_text_model *model, thr_side side,
                            const thr_side_input *input, const thr_pass *pass, const thr_side_gradients *to);
