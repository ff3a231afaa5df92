/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - what a head on a device is made of, for the files that fill it and ask it. */
#ifndef THR_HEAD_DEVICE_IMPL_H
#define THR_HEAD_DEVICE_IMPL_H

#include "head/device/copy.h"

#include <pthread.h>

/* Memory that grows with what queries ask for, and stays. */
typedef struct thr_head_device_memory {
    void *memory;
    size_t size;
} thr_head_device_memory;

/* What queries need beside the head. Of the device, but for the last ones, pinned memory of the host. */
typedef enum thr_head_device_buffer {
    THR_HEAD_BUFFER_STATES,
    THR_HEAD_BUFFER_ALWAYS,
    THR_HEAD_BUFFER_FOUND, /* by plane codes */
    THR_HEAD_BUFFER_CODES, /* of states */
    THR_HEAD_BUFFER_COUNTS,
    THR_HEAD_BUFFER_MARKS,
    THR_HEAD_BUFFER_WORDS,
    THR_HEAD_BUFFER_LOGITS,
    THR_HEAD_BUFFER_TILES,
    THR_HEAD_BUFFER_REACHED,
    THR_HEAD_BUFFER_ANSWERS,
    THR_HEAD_BUFFER_HOST_IN,
    THR_HEAD_BUFFER_HOST_ANSWERS,
    THR_HEAD_N_BUFFERS
} thr_head_device_buffer;

enum { THR_HEAD_DEVICE_SECTIONS = 7 };

struct thr_head_device {
    const thr_head *head;
    const thr_devices *devices;
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    void *sections[THR_HEAD_DEVICE_SECTIONS]; /* the head; NULL for what it has not, as it stands here */
    const void *weights;
    const float *scales, *bias;
    const uint32_t *order, *places, *listed;
    const void *slots;
    uint32_t n_sections;
    uint64_t head_bytes;

    pthread_mutex_t
        codes_mutex; /* of what follows: plane codes on the device, from the first query on that wants them */
    struct thr_store *store;
    thr_scan_target target;

    pthread_mutex_t mutex; /* of what follows; held while the device works for a query */
    size_t limit;
    thr_head_device_memory buffers[THR_HEAD_N_BUFFERS];
    thr_candidate *best; /* of one state */
    size_t best_capacity;
};

/* Room for at least size bytes; what it held is lost when it has to grow. */
thr_status thr_head_device_grow(thr_head_device *device, thr_head_device_buffer name, size_t size, void *memory_out,
                                thr_error *err);

/* The head's plane codes with those on the device. */
thr_status thr_head_device_codes(thr_head_device *device, const thr_scan_target **target, thr_error *err);

#endif
