/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - a head in the memory of a GPU, and queries that run there.
 *
 * A head is uploaded once: weights, scales, bias, order, permutations, the hash table and its lists; plane codes when
 * the first query screens by them (store/store.h). A query's answer has the same bits as the CPU's: codes and counts
 * are integers, logits and sums add in the CPU's order, and the CPU takes logarithms. Of several devices the first is
 * used.
 *
 * A query is one sequence of operations (device/head_ops.h) between one upload and one download, without synchronising
 * in between, so only the device has the number of candidates. The scan of plane codes runs before, and brings its
 * words back to the host.
 *
 * Threads: any number of queries may use one copy; they take turns.
 */
#pragma once

#include "device/choice.h"
#include "head/workspace.h"

typedef struct thr_head_device thr_head_device;

/*
 * Copy a thr_head to the first of the devices; both must outlive the thr_head_device.
 *
 * Returns THR_OK; THR_ENOMEM for memory of the host or the device (err names which); THR_EDEVICE.
 */
thr_status thr_head_device_create(void *head, const thr_devices *devices, void **device, thr_error *err);
void thr_head_device_free(void *device);

/* Device memory in bytes: the head, plane codes with their scans' memory, and the queries' buffers. */
typedef struct thr_head_device_size {
    uint64_t head_bytes, code_bytes, workspace_bytes;
} thr_head_device_size;
thr_head_device_size thr_head_device_get_size(thr_head_device *device);

/* States processed at once at most; the limit in bytes on their logits, counts and words allows one state always. */
enum { THR_HEAD_DEVICE_STATES = 1024 };
void thr_head_device_limit(thr_head_device *device, size_t bytes); /* for tests; the default is 256 MiB */

/*
 * Answer the plan's states, which the workspace has. THR_OK; the errors of thr_head_score; THR_EINVAL for an always-in
 * word out of range; THR_ENOMEM, also for memory of the device; THR_EDEVICE.
 */
thr_status thr_head_device_query(thr_head_device *device, thr_head_workspace *workspace, const thr_head_plan *plan,
                                 thr_error *err);

/*
 * The same on the context's GPU if the head's policy selects it (device/policy.h). *done: whether it was answered; if
 * not, and the status is THR_OK, the CPU should answer.
 */
thr_status thr_head_query_device(thr_head *head, thr_head_workspace *workspace, const thr_head_plan *plan, bool *done,
                                 thr_error *err);
