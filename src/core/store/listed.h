/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed.h - screens the blocks that each query lists, for searches that read a part of the codes (cells/).
 *
 * Reads resident codes only. Scores have the CPU's bits, so the same rows reach a threshold.
 */
#pragma once

#include "scan/job.h"
#include "store/store.h"

/* A query, the blocks that it reads, and the rows that it finds. */
typedef struct thr_store_list {
    const thr_scan_query *query; /* prepared, with a direction */
    const thr_block_range *runs; /* blocks of the store's corpus; runs do not overlap */
    size_t n_runs;
    uint64_t n_rows;          /* allowed rows in these blocks */
    float threshold;          /* find the rows whose estimates reach it, in the collector's units */
    size_t most;              /* find at least the best `most` of them */
    thr_collector *collector; /* started; receives the rows, as numbered in the corpus */
    uint64_t n_reached;       /* receives the number of rows that reach the threshold */
    bool lost;                /* receives whether more rows reach it than a device has room for */
} thr_store_list;

/* Whether all codes are resident. A search that needs more memory than there is may change this. */
bool thr_store_is_resident(thr_store *store);

/*
 * Fill in n lists, at most THR_DEVICE_QUERIES. job is a search of all rows, with their filter and query_bits. If not
 * all codes are resident, or memory does not suffice, *done is false and the results are undefined; no codes are moved
 * to make room. THR_EDEVICE.
 */
thr_status thr_store_screen_lists(thr_store *store, const thr_job *job, thr_store_list *const *lists, size_t n,
                                  bool *done, thr_error *err);
