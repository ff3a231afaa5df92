/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the codes of a target in the memory of GPUs, and the screen that runs there.
 *
 * What a store collects is what the CPU's pass would have collected, row for row and bit for bit: the screen's
 * survivors are defined by their scores and row numbers alone, and scores by correctly rounded operations in one order.
 *
 * Several devices hold a part each, a run of tiles; all of them see every query. What a device has no room for waits in
 * pinned memory of the host, from where every search copies it, a chunk at a time (chunks.h).
 *
 * Threads: any number of searches may use a store; their screens take turns.
 */
#ifndef THR_STORE_STORE_H
#define THR_STORE_STORE_H

#include "device/choice.h"
#include "scan/scan.h"

typedef struct thr_store thr_store;

/*
 * Copy a target's codes, and what it keeps of rows where there is room; it must live as long as the store, as devices
 * must. Memory is what codes and their numbers take on disk, padded to tiles, and some MiB while it is copied: of the
 * devices, as long as some stays free for searches, and else pinned memory of the host.
 *
 * Returns THR_OK; THR_ENOMEM where neither has room (err says which device lacks what); THR_EUNSUPPORTED for 2^32
 * items a device or more; THR_ECANCELED; THR_EDEVICE.
 */
thr_status thr_store_create(thr_context *context, const thr_devices *devices, const thr_scan_target *target,
                            thr_store **store, thr_error *err);
void thr_store_free(thr_store *store);

/*
 * Device memory in use: codes with their numbers, buffers for those that are not resident, and the workspace of
 * searches so far; records and vectors; and the pinned memory of the host in which codes wait.
 */
typedef struct thr_store_size {
    uint64_t code_bytes, row_bytes, streamed_bytes, workspace_bytes;
} thr_store_size;
thr_store_size thr_store_get_size(thr_store *store);

/*
 * thr_scan_search (scan/scan.h) with target->store as the screen: its arguments, answers and errors, and THR_ENOMEM,
 * also for memory of a device, and THR_EDEVICE. Exact searches and targets without a store go to thr_scan_search.
 */
thr_status thr_store_search(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries,
                            const thr_search_options *options, const thr_answers *answers, thr_error *err);

struct thr_job;
struct thr_lane;
struct thr_scan_query;

/*
 * What thr_scan_collect does (scan/worker.h), on the devices: the survivors of queries[i], prepared and coded, go to
 * lanes[i]. Not for job->exact. THR_ENOMEM, also for memory of a device; THR_EDEVICE.
 */
thr_status thr_store_collect(thr_store *store, const struct thr_job *job, struct thr_scan_query *queries, size_t n,
                             struct thr_lane *lanes, thr_error *err);

/*
 * The same with hits, which the target's thr_scan_hits adds there: queries[i] is number first + i. It takes all codes
 * to be resident on one device. THR_ERANGE, also of rows that the CPU's pass would have left out.
 */
bool thr_store_can_add_hits(const thr_store *store);
thr_status thr_store_collect_values(thr_store *store, const struct thr_job *job, struct thr_scan_query *queries,
                                    uint64_t first, size_t n, struct thr_lane *lanes, thr_error *err);

/*
 * What thr_scan_rescore and thr_scan_refine do (lane.h), for the rows in the lanes' collectors. Only where every device
 * has what that takes, records or vectors.
 */
bool thr_store_can_rescore(const thr_store *store);
bool thr_store_can_refine(const thr_store *store);
thr_status thr_store_rescore(thr_store *store, const struct thr_job *job, const struct thr_scan_query *queries,
                             size_t n, struct thr_lane *lanes, thr_error *err);
thr_status thr_store_refine(thr_store *store, const struct thr_job *job, const struct thr_scan_query *queries, size_t n,
                            struct thr_lane *lanes, thr_error *err);

#endif
