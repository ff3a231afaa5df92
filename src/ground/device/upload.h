/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload.h - arrays that the host writes one after the other into pinned memory, and uploads in one copy.
 *
 * Threads: one at a time.
 */
#pragma once

#include "device/buffer.h"

/* Starts zeroed. */
typedef struct thr_device_upload {
    thr_device_buffer on_host, on_device; /* their memory, which grows */
    size_t used;
} thr_device_upload;

enum { THR_UPLOAD_ALIGN = 16 };

/*
 * Begin arrays of `size` bytes in all, each rounded up to THR_UPLOAD_ALIGN. The last copy must have ended. what: for
 * messages. THR_OK; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_device_upload_start(const thr_backend *backend, thr_device *device, thr_device_upload *upload,
                                   size_t size, const char *what, thr_error *err);

/* Reserve `size` bytes. Returns where the host writes them; on_device gets the address on the device. */
void *thr_device_upload_take(thr_device_upload *upload, size_t size, void *on_device);

/* The same with a copy of `from`; of sizes, narrowed to 32 bits. */
void thr_device_upload_put(thr_device_upload *upload, const void *from, size_t size, void *on_device);
void thr_device_upload_put_sizes(thr_device_upload *upload, const size_t *from, size_t n, void *on_device);

/* Enqueue the copy of all. THR_OK; THR_EDEVICE. */
thr_status thr_device_upload_send(const thr_backend *backend, thr_stream *stream, const thr_device_upload *upload,
                                  thr_error *err);

void thr_device_upload_free(const thr_backend *backend, thr_device *device, thr_device_upload *upload);
