/* SPDX-License-Identifier: Apache-2.0 */
/* init_components.h - the first weights of a model of vectors. */
#pragma once

#include "text_tower/vectors/vector_pairs.h"

/* n of the items, by number. */
typedef struct thr_vector_sample {
    const thr_vector_pairs *pairs;
    const uint32_t *numbers;
    size_t n;
} thr_vector_sample;

/*
 * Fill weight, the pairs' n_dims x n_out, so that x W is a random rotation of the sample's principal components about
 * 0, which keep lengths best; with n_out above n_dims, W is random. THR_OK or THR_ENOMEM.
 */
thr_status thr_text_init_components(thr_context *context, const thr_vector_sample *sample, uint64_t seed, size_t n_out,
                                    float *weight, thr_error *err);
