/* SPDX-License-Identifier: Apache-2.0 */
#include "device/buffer.h"

#include <string.h>

#include "base/error.h"

void thr_device_buffers_start(thr_device_buffer *buffers, size_t n, size_t first_pinned) {
    for (size_t i = first_pinned; i < n; i++)
        buffers[i].pinned = true;
}

static void release(const thr_backend *backend, thr_device *device, thr_device_buffer *buffer) {
    (buffer->pinned ? backend->release_pinned : backend->release)(device, buffer->memory);
    *buffer = (thr_device_buffer){.pinned = buffer->pinned};
}

void thr_device_buffers_free(const thr_backend *backend, thr_device *device, thr_device_buffer *buffers, size_t n) {
    for (size_t i = 0; i < n; i++)
        release(backend, device, &buffers[i]);
}

uint64_t thr_device_buffers_size(const thr_device_buffer *buffers, size_t n) {
    uint64_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += buffers[i].pinned ? 0 : buffers[i].size;
    return size;
}

thr_status thr_device_buffer_grow(const thr_backend *backend, thr_device *device, thr_device_buffer *buffer,
                                  size_t size, const char *what, void *memory_out, thr_error *err) {
    if (buffer->size < size) {
        release(backend, device, buffer);
        THR_TRY((buffer->pinned ? backend->alloc_pinned : backend->alloc)(device, size, &buffer->memory, what, err));
        buffer->size = size;
    }
    memcpy(memory_out, &buffer->memory, sizeof buffer->memory);
    return THR_OK;
}
