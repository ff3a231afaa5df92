/* SPDX-License-Identifier: Apache-2.0 */
/* queries.h - uploads queries and filters to a device, and fills in operations that use them. */
#pragma once

#include "scan/job.h"
#include "store/slices.h"

/* A search on devices, one batch of queries at a time. */
typedef struct thr_collecting {
    thr_store *store;
    const thr_job *job;
    thr_scan_query *const *queries; /* only queries that have a direction */
    thr_lane *const *lanes;
    uint32_t n; /* queries in the batch */
} thr_collecting;

/*
 * thr_store_send_filter enqueues the upload of the filter's words of a slice, once per search; thr_store_send_queries
 * that of a batch's queries, if they are too long for operations. Both return THR_OK; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_store_send_filter(const thr_collecting *c, thr_store_slice *slice, thr_error *err);
thr_status thr_store_send_queries(const thr_collecting *c, thr_store_slice *slice, thr_error *err);

/*
 * Set up *scan to score queries [first, first + n) of the batch, at most THR_SCREEN_QUERIES, on a run of the slice's
 * codes.
 */
void thr_store_make_scan(const thr_collecting *c, const thr_store_slice *slice, const thr_device_codes *codes,
                         uint32_t first, uint32_t n, thr_device_scan *scan);

/* Count the words of a query's code; write them (thr_device_scan.words); return the query's other numbers. */
uint32_t thr_store_query_words(const thr_query_code *code);
void thr_store_put_words(const thr_query_code *code, uint32_t *words);
thr_device_query thr_store_query(const thr_scan_query *query);

/*
 * The number of queries multiplied at once on tensor cores; 0: not on tensor cores, since the queries are too few or
 * too long. THR_KERNEL=tile uses tensor cores wherever possible, THR_KERNEL=xor never.
 */
uint32_t thr_store_batch_size(const thr_collecting *c, const thr_store_slice *slice);

/*
 * Set up *op to score at most `size` of the batch's queries, from `first` on (a multiple of size), on a run of codes.
 * Leaves op's thresholds, items, counts and capacity as they are.
 */
void thr_store_make_batch(const thr_collecting *c, const thr_store_slice *slice, const thr_device_codes *codes,
                          uint32_t first, uint32_t size, thr_batch_op *op);
