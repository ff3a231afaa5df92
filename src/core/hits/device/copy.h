/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - a copy of posting lists in the memory of a GPU, and the searches that run there.
 *
 * Lists are copied once. A store returns the same results as thr_lists_search_run, bit for bit: sums are integers, and
 * values are computed from them by the same operations. Of several devices only the first is used.
 *
 * A batch of queries goes one of two ways (device/hit_ops.h). Tile by tile, sums are in shared memory, and every tile
 * searches every list for its elements. List by list, device memory holds a sum for every item, and no search is
 * needed; this suits many short lists.
 *
 * Threads: any number of searches may use a store; they take turns.
 */
#pragma once

#include "device/choice.h"
#include "lists/search_lists.h"

typedef struct thr_hit_store thr_hit_store;

/*
 * Copy lists, and the row of each place (NULL: places are rows), to the first device. Lists, rows and devices must
 * outlive the store.
 *
 * THR_OK; THR_ENOMEM where the host or the device lacks memory (err names it); THR_EDEVICE.
 */
thr_status thr_hits_store_create(thr_context *context, const thr_devices *devices, const thr_lists *lists,
                                 const uint32_t *rows, thr_hit_store **store, thr_error *err);
void thr_hits_store_free(thr_hit_store *store);

/* Bytes of device memory: of the lists, and of searches so far with values and filters. */
typedef struct thr_hit_store_size {
    uint64_t list_bytes, workspace_bytes;
} thr_hit_store_size;
thr_hit_store_size thr_hits_store_get_size(thr_hit_store *store);

/* How batches are computed; AUTO chooses by estimated costs. For tests and measurements. */
typedef enum thr_hit_way { THR_HIT_WAY_AUTO, THR_HIT_WAY_LISTS, THR_HIT_WAY_TILES } thr_hit_way;
void thr_hits_store_force(thr_hit_store *store, thr_hit_way way);

/* The callbacks of a search. */
typedef struct thr_hit_caller {
    void *arg;
    const thr_hits *hits; /* checked after each batch was made from its lists: kernels rely on them. NULL: unchecked */
    /* Receive the items found for query q. Called in order of the queries, on the searching thread. */
    void (*answer)(void *arg, uint64_t q, const thr_lists_found *found);
    /*
     * NULL: values are computed from sums alone. Otherwise from scores too, gain * estimate by an item's code + bias
     * (thr_hit_dense_op): fill in *scan, the codes and query q. The codes must be on the store's device, and all work
     * enqueued on their stream must be complete; rows are places.
     */
    void (*describe)(void *arg, uint64_t q, thr_device_scan *scan, float *gain, float *bias);
} thr_hit_caller;

/*
 * Find the best k of the items that the corpus's filter lets through, for every query; k >= 1. The corpus has the
 * store's lists; its multipliers and offsets are copied if values_id differs from the last search's.
 *
 * THR_OK; what thr_lists_search_run returns, for the first query that fails: *failed is its number, and the queries
 * before it have been answered. Else *failed is UINT64_MAX. THR_ENOMEM, also for memory of the device; THR_EDEVICE.
 */
thr_status thr_hits_store_search(thr_hit_store *store, const thr_lists_corpus *corpus, const thr_hits_queries *queries,
                                 size_t k, const thr_hit_caller *caller, uint64_t *failed, thr_error *err);
