/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - device memory, and pinned memory of the host, that grows with the largest work so far and is kept. */
#pragma once

#include "device/device.h"

/* Starts zeroed, with pinned set. */
typedef struct thr_device_buffer {
    void *memory;
    size_t size;
    bool pinned; /* memory of the host */
} thr_device_buffer;

/* Mark the buffers from first_pinned on as memory of the host. */
void thr_device_buffers_start(thr_device_buffer *buffers, size_t n, size_t first_pinned);
void thr_device_buffers_free(const thr_backend *backend, thr_device *device, thr_device_buffer *buffers, size_t n);

/* Bytes of device memory. */
uint64_t thr_device_buffers_size(const thr_device_buffer *buffers, size_t n);

/*
 * Make a buffer at least `size` bytes long and write its address to memory_out. If it grows, its contents are lost.
 * what: whose memory, for messages. THR_OK; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_device_buffer_grow(const thr_backend *backend, thr_device *device, thr_device_buffer *buffer,
                                  size_t size, const char *what, void *memory_out, thr_error *err);
