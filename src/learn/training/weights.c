/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - memory of trained weights, and their random initialisation. */
#include "training/weights.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/rng.h"
#include "kernel/elementwise.h"

/* Floats that a tensor's start is aligned to. */
enum { PART_ALIGN = 16 };

thr_status thr_training_weights_make(thr_context *context, size_t n, bool gradients, thr_weights *weights,
                                     thr_error *err) {
    weights->n = n;
    THR_TRY(thr_alloc_zero(context, n, sizeof(float), &weights->values, "weights", err));
    if (gradients)
        THR_TRY(thr_alloc_zero(context, n, sizeof(float), &weights->gradients, "gradients", err));
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
        THR_TRY(thr_alloc_zero(context, n, sizeof(float), &weights->slots[s], "the optimiser's state", err));
    return THR_OK;
}

void thr_training_weights_free(thr_context *context, thr_weights *weights) {
    THR_RELEASE(context, weights->values, weights->gradients);
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++)
        thr_release(context, weights->slots[s]);
    *weights = (thr_weights){0};
}

size_t thr_training_tensor_floats(const thr_tensor_shape *shape) {
    return THR_ROUND_UP(thr_tensor_size(shape), PART_ALIGN);
}

bool thr_training_all_finite(const float *x, size_t n) {
    const uint32_t exponent = 0x7F800000;
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++)
        found |= (thr_kernel_float_bits(x[i]) & exponent) == exponent;
    return found == 0;
}

void thr_training_weights_draw(uint64_t *rng, double limit, float *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(((double)(thr_rng_next(rng) >> 11) * 0x1p-52 - 1) * limit);
}
