/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_part.h - a pass over a part's codes: what reaches the thresholds of some queries, and the best of that.
 *
 * Nothing is waited for: the part's stream is told what to do.
 */
#ifndef THR_STORE_SCREEN_PART_H
#define THR_STORE_SCREEN_PART_H

#include "store/queries.h"

/* What is wanted of a part, the same for all queries of a search. */
typedef struct thr_part_plan {
    uint64_t n_allowed;
    uint32_t wanted;    /* rows it has to find: the survivors, or all allowed ones */
    uint32_t n_samples; /* tiles; 0: none */
    uint32_t capacity;  /* places a query */
} thr_part_plan;

/* What a batch has on a part's device. */
typedef struct thr_part_memory {
    uint32_t *samples;
    uint64_t *thresholds;
    thr_device_item *items, *chosen, *host_chosen;
    uint32_t *counts, *host_counts; /* of items, then of chosen ones */
} thr_part_memory;

/* Queries [first, first + n) of a batch. */
typedef struct thr_query_run {
    uint32_t first, n;
} thr_query_run;

/* Room for a batch; THR_ENOMEM. */
thr_status thr_store_get_memory(const thr_collecting *c, thr_store_part *part, const thr_part_plan *plan,
                                thr_part_memory *m, thr_error *err);

/* Step by step (chunks.h), queries whose counts are 0 before: to their items. */
thr_status thr_store_emit_step(const thr_collecting *c, thr_store_part *part, const thr_part_plan *plan,
                               const thr_part_memory *m, thr_query_run queries, uint32_t step, thr_error *err);

/* A whole pass, whatever the counts are before. */
thr_status thr_store_emit(const thr_collecting *c, thr_store_part *part, const thr_part_plan *plan,
                          const thr_part_memory *m, thr_query_run queries, thr_error *err);

/* The best of what was let through, chosen and brought to the host, with the counts of all queries. */
thr_status thr_store_choose(const thr_collecting *c, thr_store_part *part, const thr_part_plan *plan,
                            const thr_part_memory *m, thr_query_run queries, thr_error *err);

/* Only brought: something else has chosen. */
thr_status thr_store_bring(const thr_collecting *c, thr_store_part *part, const thr_part_plan *plan,
                           const thr_part_memory *m, thr_query_run queries, thr_error *err);

/* Items that have come to a collector; those of empty buckets are left out. */
void thr_store_push(const thr_store_part *part, thr_collector *collector, const thr_device_item *items, size_t n);

#endif
