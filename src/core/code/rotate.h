/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate.h - a random rotation of vectors of any number of dimensions in O(d log d), after RaBitQ (Gao, Long 2024)
 * with the randomised Hadamard transform in place of a dense matrix.
 *
 * Preserves lengths and inner products up to rounding. Each component of a rotated vector is approximately normal,
 * whatever the input. It uses only additions, subtractions and multiplications by stored numbers, in a fixed order:
 * the same bits on every machine.
 *
 * Threads: a rotation is immutable and may be shared.
 */
#pragma once

#include "base/memory.h"

typedef struct thr_rotation thr_rotation;

/* Create the rotation of n_dims (at least 1) dimensions from a seed. The caller frees it. THR_OK; THR_ENOMEM. */
thr_status thr_code_rotation_create(thr_context *context, uint32_t n_dims, uint64_t seed, thr_rotation **rotation,
                                    thr_error *err);

/* NULL is allowed. */
void thr_code_rotation_free(thr_context *context, const thr_rotation *rotation);

/* Rotate n_dims floats in place. They must be finite and their length at most 2^120, so that no sum overflows. */
void thr_code_rotation_apply(const thr_rotation *rotation, float *x);
