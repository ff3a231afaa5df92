/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - a head in the memory of a GPU, and the queries that run there.
 *
 * A head is copied once and stays: weights, scales, bias, order, permutations, the hash table and its lists; plane
 * codes when a first query screens by them (store/store.h). What a query answers is what the CPU does, to the bit:
 * codes and counts are integers, logits and sums are added up in the CPU's order, and ln is taken by the CPU. Of
 * several devices the first is used.
 *
 * A query is one stream of operations (device/head_ops.h) between one copy to the device and one from it, and nobody
 * waits between: how many candidates there are is known there alone. Only the scan of plane codes, which comes before,
 * brings its words back.
 *
 * Threads: any number of queries may use one; they take turns.
 */
#ifndef THR_HEAD_DEVICE_COPY_H
#define THR_HEAD_DEVICE_COPY_H

#include "device/choice.h"
#include "head/workspace.h"

typedef struct thr_head_device thr_head_device;

/*
 * Copy a head to the first of the devices; both must live as long.
 *
 * THR_OK; THR_ENOMEM where memory of the host or the device lacks (err says which); THR_EDEVICE.
 */
thr_status thr_head_device_create(const thr_head *head, const thr_devices *devices, thr_head_device **device,
                                  thr_error *err);
void thr_head_device_free(thr_head_device *device);

/* Bytes of the device: the head, plane codes with what their scans take, and what queries have asked for so far. */
typedef struct thr_head_device_size {
    uint64_t head_bytes, code_bytes, workspace_bytes;
} thr_head_device_size;
thr_head_device_size thr_head_device_get_size(thr_head_device *device);

/* How many states are asked at once: their logits, counts and words take no more than so many bytes, but one may. */
enum { THR_HEAD_DEVICE_STATES = 1024 };
void thr_head_device_limit(thr_head_device *device, size_t bytes); /* for tests; 256 MiB without it */

/*
 * Answer for the plan's states, which room has. Errors as thr_head_score; THR_EINVAL for an always-in word that is
 * none; THR_ENOMEM, also for memory of the device; THR_EDEVICE.
 */
thr_status thr_head_device_query(thr_head_device *device, thr_head_workspace *workspace, const thr_head_plan *plan,
                                 thr_error *err);

/*
 * The same on the context's GPU, where the head's policy has it so (device/policy.h); *done says whether there are
 * answers.
 */
thr_status thr_head_query_device(thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan, bool *done,
                                 thr_error *err);

#endif
