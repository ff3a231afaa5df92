/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - dividing examples into a training and a validation part by their hashes. */
#include "training/split.h"

#include "base/error.h"

thr_status thr_training_split_make(thr_context *context, const uint64_t *hashes, size_t n, float share,
                                   size_t n_separate, thr_split *split, thr_error *err) {
    const uint64_t bound = n_separate != 0 ? 0 : (uint64_t)((double)share * 0x1p32);
    size_t n_valid = n_separate;
    for (size_t i = 0; i < n; i++)
        n_valid += (hashes[i] >> 32) < bound;
    const size_t n_train = n + n_separate - n_valid;
    THR_TRY(thr_alloc(context, n_valid, sizeof *split->valid, &split->valid, "the order of examples", err));
    THR_TRY(thr_alloc(context, n_train, sizeof *split->train, &split->train, "the order of examples", err));
    THR_TRY(thr_alloc(context, n_train, sizeof *split->order, &split->order, "the order of examples", err));
    for (size_t i = 0; i < n; i++) {
        if ((hashes[i] >> 32) < bound)
            split->valid[split->n_valid++] = (uint32_t)i;
        else
            split->train[split->n_train++] = (uint32_t)i;
    }
    while (split->n_valid < n_separate) {
        split->valid[split->n_valid] = (uint32_t)split->n_valid;
        split->n_valid++;
    }
    return THR_OK;
}

void thr_training_split_free(thr_context *context, thr_split *split) {
    THR_RELEASE(context, split->train, split->valid, split->order);
    *split = (thr_split){0};
}
