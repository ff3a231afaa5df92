/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_lists.h - the members of a copy of posting lists on a device. */
#pragma once

#include "device/arrays.h"
#include "device/buffer.h"
#include "hits/device/copy.h"

#include <pthread.h>

enum { THR_HIT_STORE_QUERIES = 256 }; /* most queries of a batch */

/* The buffers of searches: device memory, then from the first HOST one on pinned memory of the host. */
typedef enum thr_hit_buffer_name {
    THR_HIT_BUFFER_MULTIPLIERS,
    THR_HIT_BUFFER_OFFSETS,
    THR_HIT_BUFFER_FILTER,
    THR_HIT_BUFFER_ENTRIES,
    THR_HIT_BUFFER_QUERIES,
    THR_HIT_BUFFER_SUMS,
    THR_HIT_BUFFER_CHANGES,
    THR_HIT_BUFFER_SAMPLES,
    THR_HIT_BUFFER_THRESHOLDS,
    THR_HIT_BUFFER_COUNTS, /* of items and chosen items, and rows whose values are not finite */
    THR_HIT_BUFFER_ITEMS,
    THR_HIT_BUFFER_CHOSEN,
    THR_HIT_BUFFER_TERMS,
    THR_HIT_BUFFER_HOST_CHOSEN,
    THR_HIT_BUFFER_HOST_TERMS,
    THR_HIT_BUFFER_HOST_COUNTS,
    THR_HIT_N_BUFFERS
} thr_hit_buffer_name;

struct thr_hit_store {
    thr_context *context;
    thr_device_arrays arrays; /* that `hits` points to */
    const thr_lists *lists;
    thr_device_hits hits;
    thr_hit_way way;

    pthread_mutex_t mutex; /* guards what follows; held while the device works for a search */
    thr_device_buffer buffers[THR_HIT_N_BUFFERS];
    uint64_t values_id; /* of the values on the device; 0: none */
    thr_lists_query query;
    thr_hit_entry *entries; /* of the current batch */
    size_t entries_capacity;
    thr_hit_device_query queries[THR_HIT_STORE_QUERIES];
    uint32_t n_unknown[THR_HIT_STORE_QUERIES], n_chosen[THR_HIT_STORE_QUERIES];
    thr_candidate *best; /* of one query */
    size_t best_capacity;
};

/* thr_device_buffer_grow for one of the buffers. */
thr_status thr_hits_store_grow(thr_hit_store *store, thr_hit_buffer_name name, size_t size, void *memory_out,
                               thr_error *err);
