/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - a copy of a corpus's codes in the memory of GPUs, and the screen that runs there.
 *
 * A store collects the same survivors as the CPU's pass: they depend on scores and row numbers alone, and scores have
 * the CPU's bits, since they are computed by correctly rounded operations in one order.
 *
 * Each device holds a slice, a run of tiles, and processes every query. Codes that do not fit a device are kept in
 * pinned memory of the host, from which every search copies them, a chunk at a time (chunks.h).
 *
 * Threads: any number of searches may use a store; their screens take turns.
 */
#pragma once

#include "device/choice.h"
#include "scan/scan.h"

typedef struct thr_store thr_store;

/*
 * Copy a corpus's codes to devices, and its records and vectors as far as they fit. corpus and devices must outlive
 * the store. Codes, factors and offsets take as many bytes as on disk, padded to tiles. They are in the memory of the
 * devices, as far as that leaves room for searches; the rest is in pinned memory of the host. The copy takes some MiB
 * more until it is done.
 *
 * Returns THR_OK; THR_ENOMEM where codes fit neither the devices nor pinned memory (err names the device and the
 * allocation); THR_EUNSUPPORTED for 2^32 items or more per device; THR_ECANCELED; THR_EDEVICE.
 */
thr_status thr_store_create(thr_context *context, const thr_devices *devices, const thr_scan_corpus *corpus,
                            thr_store **store, thr_error *err);
/* Free; NULL is allowed. No search may be using the store. */
void thr_store_free(thr_store *store);

/*
 * Memory in use. On devices: code_bytes of codes with their numbers and of buffers for chunks, row_bytes of records and
 * vectors, workspace_bytes of searches so far. On the host: host_code_bytes of pinned memory for chunks.
 */
typedef struct thr_store_size {
    uint64_t code_bytes, row_bytes, host_code_bytes, workspace_bytes;
} thr_store_size;
thr_store_size thr_store_get_size(thr_store *store);

struct thr_job;
struct thr_lane;
struct thr_scan_query;

/*
 * thr_scan_run (scan/job.h) with the screen on job->corpus->store: the same arguments, answers and errors, and
 * THR_ENOMEM for memory of a device, and THR_EDEVICE. The job is not exact, and its codes have no origins
 * (scan/origins.h): only the screens of listed.h add their bases.
 */
thr_status thr_store_run(thr_scan *scan, const struct thr_job *job, const thr_matrix *queries, thr_error *err);

/*
 * thr_scan_collect (scan/job.h) on the devices: collects the survivors of queries[i], which is prepared, in
 * lanes[i]. Not for job->exact. THR_ENOMEM, also for memory of a device; THR_EDEVICE.
 */
thr_status thr_store_collect(thr_store *store, const struct thr_job *job, struct thr_scan_query *queries, size_t n,
                             struct thr_lane *lanes, thr_error *err);

/*
 * As thr_store_collect, by values: the corpus's thr_scan_hits adds the sums of posting lists on the device. queries[i]
 * is query first + i of the search. Requires that all codes are resident on one device (thr_store_can_add_hits).
 * THR_ERANGE: a value is not finite, even of a row that the CPU's pass would not have kept.
 */
bool thr_store_can_add_hits(const thr_store *store);
thr_status thr_store_collect_values(thr_store *store, const struct thr_job *job, struct thr_scan_query *queries,
                                    uint64_t first, size_t n, struct thr_lane *lanes, thr_error *err);

/*
 * thr_scan_rescore and thr_scan_refine (scan/job.h) for the rows in the lanes' collectors. Only where every device
 * holds the records, or the vectors (thr_store_can_rescore, thr_store_can_refine). THR_ENOMEM; THR_EDEVICE.
 */
bool thr_store_can_rescore(const thr_store *store);
bool thr_store_can_refine(const thr_store *store);
thr_status thr_store_rescore(thr_store *store, const struct thr_job *job, const struct thr_scan_query *queries,
                             size_t n, struct thr_lane *lanes, thr_error *err);
thr_status thr_store_refine(thr_store *store, const struct thr_job *job, const struct thr_scan_query *queries, size_t n,
                            struct thr_lane *lanes, thr_error *err);
