/* SPDX-License-Identifier: Apache-2.0 */
#include "device/arrays.h"

#include <string.h>

#include "base/error.h"

thr_status thr_device_arrays_start(thr_device_arrays *arrays, const thr_devices *devices, const char *what,
                                   thr_error *err) {
    arrays->backend = devices->backend;
    arrays->device = devices->devices[0];
    arrays->what = what;
    return arrays->backend->open_stream(arrays->device, &arrays->stream, err);
}

static thr_status put(thr_device_arrays *arrays, const thr_device_array *array, thr_error *err) {
    void *memory = NULL;
    size_t bytes = 0;
    if (array->count != 0) {
        if (arrays->n == THR_DEVICE_ARRAYS || !thr_mul_size(array->count, array->size, &bytes))
            return thr_fail(err, THR_ENOMEM, "%s: too many arrays, or numbers in one, for a device", arrays->what);
        THR_TRY(arrays->backend->alloc(arrays->device, bytes, &memory, arrays->what, err));
        arrays->memory[arrays->n++] = memory;
        arrays->bytes += bytes;
    }
    memcpy(array->to, &memory, sizeof memory);
    return bytes == 0 || array->from == NULL ? THR_OK
                                             : arrays->backend->upload(arrays->stream, memory, array->from, bytes, err);
}

thr_status thr_device_arrays_put(thr_device_arrays *arrays, const thr_device_array *table, size_t n, thr_error *err) {
    for (size_t i = 0; i < n; i++)
        THR_TRY(put(arrays, &table[i], err));
    return THR_OK;
}

void thr_device_arrays_free(thr_device_arrays *arrays) {
    if (arrays->backend == NULL)
        return;
    arrays->backend->close_stream(arrays->stream);
    for (uint32_t i = 0; i < arrays->n; i++)
        arrays->backend->release(arrays->device, arrays->memory[i]);
    arrays->n = 0;
    arrays->stream = NULL;
}
