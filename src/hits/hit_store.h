/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hit_store.h - posting lists in the memory of a GPU, and the searches that run there.
 *
 * Lists are copied once and stay. What a store finds is what thr_hit_search_run finds, row for row and bit for bit:
 * sums are integers, and values are made of them by the same operations. Of several devices the first is used.
 *
 * A batch of queries goes one of two ways (device/hit_ops.h). Tile by tile, sums are in shared memory, and every tile
 * looks for every list; list by list, sums are as long as the catalogue, and nothing is looked for. The second is for
 * many lists that are short.
 *
 * Threads: any number of searches may use a store; they take turns.
 */
#ifndef THR_HITS_HIT_STORE_H
#define THR_HITS_HIT_STORE_H

#include "device/choice.h"
#include "hits/hit_search.h"

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

/* The best items of query q, best first; called in order of the queries, by the thread that searches. */
typedef void thr_hit_answer(void *arg, uint64_t q, const thr_candidate *best, size_t n, uint32_t n_unknown);

/*
 * The best k of the items that the target's filter lets through, of every query; k >= 1. The target's lists are the
 * store's; its multipliers and offsets are copied when values_number is not that of the search before (0: there are
 * none).
 *
 * THR_OK, and what thr_hit_search_run returns, for the first query of which that is so: *failed is its number, and
 * those before have been answered. Else *failed is UINT64_MAX. THR_ENOMEM, also for memory of the device; THR_EDEVICE.
 */
thr_status thr_hit_store_search(thr_hit_store *store, const thr_hit_target *target, uint64_t values_number,
                                const thr_hits_queries *queries, size_t k, thr_hit_answer *answer, void *arg,
                                uint64_t *failed, thr_error *err);

#endif
