/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_slice.h - a pass over a slice's codes: emits the rows that reach the queries' thresholds, and selects the
 * best.
 *
 * The functions enqueue work on the slice's stream and do not wait for it. Those with a status return THR_OK;
 * THR_ENOMEM; THR_EDEVICE.
 */
#pragma once

#include "store/queries.h"

/* The numbers of rows to find on a slice, the same for all queries of a search. */
typedef struct thr_slice_plan {
    uint64_t n_allowed;
    uint32_t wanted;    /* rows to find: the survivors, or all allowed rows if fewer */
    uint32_t n_samples; /* sampled tiles; 0: no sample */
    uint32_t capacity;  /* rows that the buffer of a query holds; others that pass are only counted */
} thr_slice_plan;

/* A batch's memory on a slice's device, and on the host. */
typedef struct thr_slice_memory {
    uint32_t *samples;
    uint64_t *thresholds;
    thr_device_item *items, *chosen, *host_chosen;
    uint32_t *counts, *host_counts; /* of items, then of chosen items */
} thr_slice_memory;

/* Queries [first, first + n) of a batch. */
typedef struct thr_query_run {
    uint32_t first, n;
} thr_query_run;

/* Allocate the memory of a batch. */
thr_status thr_store_get_memory(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                                thr_slice_memory *m, thr_error *err);

/*
 * Enqueue one step (chunks.h) of the pass: rows that reach the thresholds are appended to the queries' items and
 * counted. The caller clears the counts before the first step.
 */
thr_status thr_store_emit_step(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                               const thr_slice_memory *m, thr_query_run queries, uint32_t step, thr_error *err);

/* Clear the counts and enqueue all steps of the pass. */
thr_status thr_store_emit(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                          const thr_slice_memory *m, thr_query_run queries, thr_error *err);

/* Enqueue the selection of the best emitted rows, and thr_store_download_chosen. */
thr_status thr_store_choose(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                            const thr_slice_memory *m, thr_query_run queries, thr_error *err);

/* Enqueue the copy of chosen items to the host, with the counts of all queries. */
thr_status thr_store_download_chosen(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                                     const thr_slice_memory *m, thr_query_run queries, thr_error *err);

/* Offer n items to a collector. */
void thr_store_push(const thr_store_slice *slice, thr_collector *collector, const thr_device_item *items, size_t n);
