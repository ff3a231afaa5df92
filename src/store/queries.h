/* SPDX-License-Identifier: Apache-2.0 */
/* queries.h - queries and filters on their way to a device. */
#ifndef THR_STORE_QUERIES_H
#define THR_STORE_QUERIES_H

#include "scan/worker.h"
#include "store/impl.h"

/* A search on devices, a batch of its queries at a time. */
typedef struct thr_collecting {
    thr_store *store;
    const thr_job *job;
    thr_scan_query *const *queries; /* those that have a direction */
    thr_lane *const *lanes;
    uint32_t n; /* of a batch; one where there are margins */
} thr_collecting;

/* The filter's words of a part, once a search; a batch's queries, where they do not travel with the operations. */
thr_status thr_store_send_filter(const thr_collecting *c, thr_store_part *part, thr_error *err);
thr_status thr_store_send_queries(const thr_collecting *c, thr_store_part *part, thr_error *err);

/* Queries [first, first + n) of the batch, at most THR_SCREEN_QUERIES of them, against a run of the part's codes. */
void thr_store_make_scan(const thr_collecting *c, const thr_store_part *part, const thr_device_codes *codes,
                         uint32_t first, uint32_t n, thr_device_scan *scan);

/*
 * How many of the batch's queries are multiplied at once on tensor cores; 0: they are not, for they are too few or too
 * long. THR_KERNEL=tile takes them wherever it can be done, THR_KERNEL=xor never.
 */
uint32_t thr_store_batch_size(const thr_collecting *c, const thr_store_part *part);

/*
 * The batch's queries from first on against a run of codes, as many as size, which first is a multiple of, says or are
 * left; what they are compared with is not touched.
 */
void thr_store_make_batch(const thr_collecting *c, const thr_store_part *part, const thr_device_codes *codes,
                          uint32_t first, uint32_t size, thr_batch_op *op);

#endif
