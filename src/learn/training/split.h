/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - the split of examples into training and validation. */
#pragma once

#include "base/memory.h"

/* Example numbers, ascending. Starts zeroed. */
typedef struct thr_split {
    uint32_t *train, *valid;
    uint32_t *order; /* train, shuffled for the current epoch */
    size_t n_train, n_valid;
} thr_split;

/*
 * Split n examples by their hashes, so that examples of equal hash go to the same part: about `share` of them validate,
 * the others train. If n_separate is not 0, all n train, and the n_separate examples of a validation file validate.
 * THR_OK or THR_ENOMEM.
 */
thr_status thr_training_split_make(thr_context *context, const uint64_t *hashes, size_t n, float share,
                                   size_t n_separate, thr_split *split, thr_error *err);
void thr_training_split_free(thr_context *context, thr_split *split);
