/* SPDX-License-Identifier: Apache-2.0 */
#include "device/upload.h"

#include <string.h>

#include "base/error.h"
#include "base/minmax.h"

thr_status thr_device_upload_start(const thr_backend *backend, thr_device *device, thr_device_upload *upload,
                                   size_t size, const char *what, thr_error *err) {
    void *memory = NULL;
    upload->used = 0;
    upload->on_host.pinned = true;
    /* a reserve, so that slightly larger arrays need no reallocation */
    const size_t wanted = size <= upload->on_device.size && size <= upload->on_host.size ? size : size + size / 4;
    THR_TRY(thr_device_buffer_grow(backend, device, &upload->on_device, wanted, what, &memory, err));
    return thr_device_buffer_grow(backend, device, &upload->on_host, wanted, what, &memory, err);
}

void *thr_device_upload_take(thr_device_upload *upload, size_t size, void *on_device) {
    char *const there = (char *)upload->on_device.memory + upload->used;
    char *const here = (char *)upload->on_host.memory + upload->used;
    memcpy(on_device, &there, sizeof there);
    upload->used += THR_ROUND_UP(size, THR_UPLOAD_ALIGN);
    return here;
}

void thr_device_upload_put(thr_device_upload *upload, const void *from, size_t size, void *on_device) {
    void *const to = thr_device_upload_take(upload, size, on_device);
    if (size > 0)
        memcpy(to, from, size);
}

void thr_device_upload_put_sizes(thr_device_upload *upload, const size_t *from, size_t n, void *on_device) {
    uint32_t *const to = thr_device_upload_take(upload, n * sizeof *to, on_device);
    for (size_t i = 0; i < n; i++)
        to[i] = (uint32_t)from[i];
}

thr_status thr_device_upload_send(const thr_backend *backend, thr_stream *stream, const thr_device_upload *upload,
                                  thr_error *err) {
    return backend->upload(stream, upload->on_device.memory, upload->on_host.memory, upload->used, err);
}

void thr_device_upload_free(const thr_backend *backend, thr_device *device, thr_device_upload *upload) {
    thr_device_buffers_free(backend, device, &upload->on_host, 1);
    thr_device_buffers_free(backend, device, &upload->on_device, 1);
}
