/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrays.h - the arrays of an object's copy on a device: a table lists them, one call allocates and uploads them.
 *
 * Threads: one at a time.
 */
#pragma once

#include "device/choice.h"

/* An array of the host, and the variable that gets its address on the device. */
typedef struct thr_device_array {
    const void *from;   /* NULL: only allocate */
    size_t count, size; /* elements, and bytes of one; count 0: the address is NULL */
    void *to;
} thr_device_array;

enum { THR_DEVICE_ARRAYS = 160 };

/* The memory of all arrays so far, and the stream that fills it. Starts zeroed. */
typedef struct thr_device_arrays {
    const thr_backend *backend;
    thr_device *device; /* the first one */
    thr_stream *stream;
    const char *what; /* for messages: "a head" */
    void *memory[THR_DEVICE_ARRAYS];
    uint32_t n;
    uint64_t bytes;
} thr_device_arrays;

/* Open a stream of the first device. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_device_arrays_start(thr_device_arrays *arrays, const thr_devices *devices, const char *what,
                                   thr_error *err);

/*
 * Allocate the arrays of a table and enqueue their uploads: what they read must stay until the stream was waited for,
 * also after an error. Each array has an allocation of its own, so that a checker finds accesses beyond its end.
 * THR_OK; THR_ENOMEM, also beyond THR_DEVICE_ARRAYS arrays; THR_EDEVICE.
 */
thr_status thr_device_arrays_put(thr_device_arrays *arrays, const thr_device_array *table, size_t n, thr_error *err);

/* Wait for the stream, close it and free all arrays. backend and device stay. */
void thr_device_arrays_free(thr_device_arrays *arrays);
