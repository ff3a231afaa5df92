/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory with the lifetime of the problem's copy. */
#include <string.h>

#include "base/error.h"
#include "rank/device/gpu_arrays.h"

thr_status thr_rank_device_alloc(thr_rank_gpu_problem *d, size_t n, size_t size, void *memory_out, thr_error *err) {
    void *memory = NULL;
    size_t bytes = 0;
    if (!thr_mul_size(n, size, &bytes))
        return thr_fail(err, THR_ENOMEM, "%zu numbers of a ranking on a device: too many", n);
    if (d->n_arrays == THR_RANK_DEVICE_ARRAYS)
        return thr_fail(err, THR_ENOMEM, "a ranking has more than %d arrays on a device", (int)THR_RANK_DEVICE_ARRAYS);
    THR_TRY(d->backend->alloc(d->device, bytes, &memory, "a ranking", err));
    d->arrays[d->n_arrays++] = memory;
    memcpy(memory_out, &memory, sizeof memory);
    return THR_OK;
}

thr_status thr_rank_device_upload(thr_rank_gpu_problem *d, const void *from, size_t n, size_t size, void *memory_out,
                                  thr_error *err) {
    void *memory = NULL;
    THR_TRY(thr_rank_device_alloc(d, n, size, &memory, err));
    memcpy(memory_out, &memory, sizeof memory);
    return d->backend->upload(d->stream, memory, from, n * size, err);
}
