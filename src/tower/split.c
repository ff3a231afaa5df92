/* SPDX-License-Identifier: Apache-2.0 */
#include "tower/split.h"

#include "base/error.h"

thr_status thr_split(thr_context *context, const uint64_t *hashes, size_t n, float share, uint32_t **train,
                     size_t *n_train, uint32_t **valid, size_t *n_valid, thr_error *err) {
    const uint64_t bound = (uint64_t)((double)share * 0x1p32);
    *train = *valid = NULL;
    *n_train = *n_valid = 0;
    for (size_t i = 0; i < n; i++)
        *n_valid += (hashes[i] >> 32) < bound;
    THR_TRY(thr_alloc(context, *n_valid, sizeof **valid, valid, "the order of examples", err));
    const thr_status status = thr_alloc(context, n - *n_valid, sizeof **train, train, "the order of examples", err);
    if (status != THR_OK) {
        thr_release(context, *valid);
        *valid = NULL;
        return status;
    }
    *n_valid = 0;
    for (size_t i = 0; i < n; i++) {
        if ((hashes[i] >> 32) < bound)
            (*valid)[(*n_valid)++] = (uint32_t)i;
        else
            (*train)[(*n_train)++] = (uint32_t)i;
    }
    return THR_OK;
}
