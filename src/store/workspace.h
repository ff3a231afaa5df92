/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - the memory of searches on a part's device.
 *
 * Codes are placed before searches ask for memory, and leave some free. If a search needs more, fewer codes stay
 * resident: they are placed again, and the search repeats from its beginning. It is then as slow as with codes in
 * chunks, but it does not fail.
 */
#ifndef THR_STORE_WORKSPACE_H
#define THR_STORE_WORKSPACE_H

#include "store/impl.h"

/* Make a buffer at least `size` bytes long. If it grows, its contents are lost. THR_ENOMEM; THR_EDEVICE. */
thr_status thr_store_grow(thr_store *store, thr_store_part *part, thr_buffer_name name, size_t size, void *memory_out,
                          thr_error *err);

void thr_store_free_buffers(const thr_backend *backend, thr_store_part *part);

/* Bytes of device memory in a part's buffers. */
uint64_t thr_store_buffer_bytes(const thr_store_part *part);

/* The work of a search, or of a step of it, on devices. It is repeated from its beginning after codes were moved. */
typedef thr_status (*thr_store_work)(void *arg, thr_error *err);

/*
 * Run work while no other search uses the store, and move codes for as long as it fails for lack of memory. target: the
 * one whose codes the store holds. THR_ENOMEM where no resident codes are left to move; and the statuses of work.
 */
thr_status thr_store_run_locked(thr_store *store, const thr_scan_target *target, thr_store_work work, void *arg,
                                thr_error *err);

#endif
