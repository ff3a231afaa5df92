/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - an array of weights that is learned: its gradient and the optimiser's state beside it. */
#ifndef THR_TOWER_WEIGHTS_H
#define THR_TOWER_WEIGHTS_H

#include "base/memory.h"
#include "tower/model.h"

enum { THR_WEIGHTS_SLOTS = 2 };

/* Starts zeroed. */
typedef struct thr_weights {
    size_t n;
    float *values;
    float *gradients; /* NULL: of tables, whose rows' gradients are used as they are made (bags.h) */
    float *slots[THR_WEIGHTS_SLOTS];
} thr_weights;

/* n weights and their slots, zeroed, and gradients where they are wanted. THR_OK or THR_ENOMEM. */
thr_status thr_weights_make(thr_context *context, size_t n, bool gradients, thr_weights *weights, thr_error *err);
void thr_weights_free(thr_context *context, thr_weights *weights);

/* The floats that a part takes where parts stand one behind the other. */
size_t thr_part_floats(thr_part_shape shape);

/* Draw n weights, uniform in [-limit, limit). */
void thr_weights_draw(uint64_t *rng, double limit, float *out, size_t n);

#endif
