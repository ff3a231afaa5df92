/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - posting lists in the memory of a GPU, and the searches that run there.
 *
 * Lists are copied once and stay. What a store finds is what thr_lists_search_run finds, row for row and bit for bit:
 * sums are integers, and values are made of them by the same operations. Of several devices the first is used.
 *
 * A batch of queries goes one of two ways (device/hit_ops.h). Tile by tile, sums are in shared memory, and every tile
 * looks for every list; list by list, sums are as long as the catalogue, and nothing is looked for. The second is for
 * many lists that are short.
 *
 * Threads: any number of searches may use a store; they take turns.
 */
#ifndef THR_HITS_DEVICE_COPY_H
#define THR_HITS_DEVICE_COPY_H

#include "device/choice.h"
#include "lists/search_lists.h"

typedef struct thr_hit_store thr_hit_store;

/*
 * Copy lists, and the rows of places (NULL: places are rows), to the first of the devices. They and the devices must
 * live as long as the store.
 *
 * THR_OK; THR_ENOMEM where memory of the host or the device lacks (err says which); THR_EDEVICE.
 */
thr_status thr_hit_store_create(thr_context *context, const thr_devices *devices, const thr_lists *lists,
                                const uint32_t *rows, thr_hit_store **store, thr_error *err);
void thr_hit_store_free(thr_hit_store *store);

/* Bytes of the device: the lists, and what searches have asked for so far, with values and filters. */
typedef struct thr_hit_store_size {
    uint64_t list_bytes, workspace_bytes;
} thr_hit_store_size;
thr_hit_store_size thr_hit_store_get_size(thr_hit_store *store);

/* Which way batches go; AUTO chooses by what a batch adds and looks for. For tests and measurements. */
typedef enum thr_hit_way { THR_HIT_WAY_AUTO, THR_HIT_WAY_LISTS, THR_HIT_WAY_TILES } thr_hit_way;
void thr_hit_store_force(thr_hit_store *store, thr_hit_way way);

/* Who searches. */
typedef struct thr_hit_caller {
    void *arg;
    /* What was found for query q; called in order of the queries, by the thread that searches. */
    void (*answer)(void *arg, uint64_t q, const thr_hit_found *found);
    /*
     * NULL: values are made of sums alone. Else of score gain + bias, too, where an item's score is found by its code
     * (thr_hit_dense_op): scan becomes the codes and query q. Codes are on the store's device, and what their stream
     * was told is done; rows are places.
     */
    void (*scan)(void *arg, uint64_t q, thr_device_scan *scan, float *gain, float *bias);
} thr_hit_caller;

/*
 * Find the best k of the items that the catalogue's filter lets through, for every query; k >= 1. The catalogue has the
 * store's lists; its multipliers and offsets are copied if values_number differs from the last search's.
 *
 * THR_OK; what thr_lists_search_run returns, for the first query that fails: *failed is its number, and the queries
 * before it have been answered. Else *failed is UINT64_MAX. THR_ENOMEM, also for memory of the device; THR_EDEVICE.
 */
thr_status thr_hit_store_search(thr_hit_store *store, const thr_lists_catalogue *catalogue,
                                const thr_hits_queries *queries, size_t k, const thr_hit_caller *caller,
                                uint64_t *failed, thr_error *err);

#endif
