/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_head.h - the members of a head's copy on a device. */
#pragma once

#include "device/arrays.h"
#include "device/buffer.h"
#include "head/device/copy.h"

#include <pthread.h>

/* The buffers of queries: device memory, then pinned host memory from HOST_IN on. */
typedef enum thr_head_device_buffer {
    THR_HEAD_BUFFER_STATES,
    THR_HEAD_BUFFER_ALWAYS,
    THR_HEAD_BUFFER_FOUND, /* words found by plane codes */
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

struct thr_head_device {
    const thr_head *head;
    thr_device_arrays arrays; /* of the members up to slots; NULL for parts that the head lacks */
    const void *weights;
    const float *scales, *bias;
    const uint32_t *order, *places, *listed;
    const void *slots;

    pthread_mutex_t codes_mutex; /* guards store and corpus: plane codes, uploaded by the first query that needs them */
    struct thr_store *store;
    thr_scan_corpus corpus;

    pthread_mutex_t mutex; /* guards the members below; held while the device runs a query */
    size_t limit;
    thr_device_buffer buffers[THR_HEAD_N_BUFFERS];
    thr_candidate *best; /* scratch memory, one state's best words */
    size_t best_capacity;
};

/* thr_device_buffer_grow for one of the buffers. */
thr_status thr_head_device_grow(thr_head_device *device, thr_head_device_buffer name, size_t size, void *memory_out,
                                thr_error *err);

/*
 * The scan corpus of the head's plane codes on the device; uploads them on first use. THR_OK; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_head_device_codes(thr_head_device *device, const thr_scan_corpus **corpus, thr_error *err);
