/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - an array of trained weights with its gradient and the optimiser's state. */
#pragma once

#include "base/memory.h"

enum { THR_WEIGHTS_SLOTS = 2 };

/* A model has two towers; thr_side counts them from 0. */
enum { THR_N_SIDES = 2 };

typedef struct thr_tensor_shape {
    char name[32];              /* "residual2.weight" */
    uint32_t n_rows, n_columns; /* 1 x n for a bias */
} thr_tensor_shape;

/* The dense tensors of a side, in the order of its weights. */
enum { THR_SIDE_TENSORS_MAX = 31 };
typedef struct thr_tensor_list {
    size_t n;
    thr_tensor_shape shapes[THR_SIDE_TENSORS_MAX];
} thr_tensor_list;

static inline size_t thr_tensor_size(const thr_tensor_shape *shape) { /* numbers */
    return (size_t)shape->n_rows * shape->n_columns;
}

/* Starts zeroed. */
typedef struct thr_weights {
    size_t n;
    float *values;
    float *gradients; /* NULL for tables: their rows' gradients are applied as soon as they are summed (bags.h) */
    float *slots[THR_WEIGHTS_SLOTS];
} thr_weights;

/* Allocate n zeroed weights and slots, and gradients if requested. THR_OK or THR_ENOMEM. */
thr_status thr_training_weights_make(thr_context *context, size_t n, bool gradients, thr_weights *weights,
                                     thr_error *err);
void thr_training_weights_free(thr_context *context, thr_weights *weights);

/* Floats that a tensor takes in an array of tensors, with its padding. */
size_t thr_training_tensor_floats(const thr_tensor_shape *shape);

bool thr_training_all_finite(const float *x, size_t n);

/* Draw n weights, uniform in [-limit, limit). */
void thr_training_weights_draw(uint64_t *rng, double limit, float *out, size_t n);
