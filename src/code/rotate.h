/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate.h - a random rotation of vectors of any number of dimensions in O(d log d), after RaBitQ (Gao, Long 2024) with
 * the randomised Hadamard transform in place of a dense matrix.
 *
 * Lengths and inner products stay what they are, up to rounding; every component of a rotated vector is about normal,
 * whatever the vector's were. Only additions, subtractions and multiplications by stored numbers, in a fixed order: the
 * same bits on every machine.
 *
 * Threads: a rotation is immutable and may be shared.
 */
#ifndef THR_CODE_ROTATE_H
#define THR_CODE_ROTATE_H

#include "base/memory.h"

typedef struct thr_rotation thr_rotation;

/* The rotation of n_dims (at least 1) dimensions that belongs to seed, to be freed. THR_OK; THR_ENOMEM. */
thr_status thr_code_rotation_create(thr_context *context, uint32_t n_dims, uint64_t seed, thr_rotation **rotation,
                                    thr_error *err);

/* NULL is allowed. */
void thr_code_rotation_free(thr_context *context, const thr_rotation *rotation);

/* Rotate n_dims floats in place; finite, and no longer than 2^120, so that no sum on the way overflows. */
void thr_code_rotation_apply(const thr_rotation *rotation, float *x);

#endif
