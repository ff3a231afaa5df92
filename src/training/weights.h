/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - an array of weights that is learned: its gradient and the optimiser's state beside it. */
#ifndef THR_TRAINING_WEIGHTS_H
#define THR_TRAINING_WEIGHTS_H

#include "base/memory.h"

enum { THR_WEIGHTS_SLOTS = 2 };

/* Towers: thr_side counts from 0. */
enum { THR_N_SIDES = 2 };

typedef struct thr_part_shape {
    char name[32];              /* "residual2.weight" */
    uint32_t n_rows, n_columns; /* 1 x n for a bias */
} thr_part_shape;

/* Starts zeroed. */
typedef struct thr_weights {
    size_t n;
    float *values;
    float *gradients; /* NULL: of tables, whose rows' gradients are used as they are made (bags.h) */
    float *slots[THR_WEIGHTS_SLOTS];
} thr_weights;

/* n weights and their slots, zeroed, and gradients where they are wanted. THR_OK or THR_ENOMEM. */
thr_status thr_training_weights_make(thr_context *context, size_t n, bool gradients, thr_weights *weights,
                                     thr_error *err);
void thr_training_weights_free(thr_context *context, thr_weights *weights);

/* The floats that a part takes where parts stand one behind the other. */
size_t thr_training_part_floats(thr_part_shape shape);

bool thr_training_all_finite(const float *x, size_t n);

/* Draw n weights, uniform in [-limit, limit). */
void thr_training_weights_draw(uint64_t *rng, double limit, float *out, size_t n);

#endif
