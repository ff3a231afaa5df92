/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_memory.h - the memory of searches on a slice's device.
 *
 * Codes are placed before searches allocate memory, and leave some free. If a search needs more, fewer codes stay
 * resident: they are placed again, and the search repeats from its beginning. The search is then as slow as with codes
 * in chunks, but it does not fail.
 */
#pragma once

#include "store/slices.h"

/* thr_device_buffer_grow for one of the buffers; THR_ENOMEM sets slice->lacks. */
thr_status thr_store_grow(thr_store *store, thr_store_slice *slice, thr_store_buffer_name name, size_t size,
                          void *memory_out, thr_error *err);

/* How many of n queries, at least one, fit in a batch if each needs `size` bytes for the rows that it finds. */
uint32_t thr_store_fitting(const thr_store_slice *slice, uint32_t n, uint64_t size);

/* The work of a search, or of a step of it, on devices. It is repeated from its beginning after codes were moved. */
typedef thr_status (*thr_store_work)(void *arg, thr_error *err);

/*
 * Run work while no other search uses the store, and move codes for as long as it fails for lack of memory. corpus: the
 * one whose codes the store holds. THR_ENOMEM where no resident codes are left to move; and the statuses of work.
 */
thr_status thr_store_with_lock(thr_store *store, const thr_scan_corpus *corpus, thr_store_work work, void *arg,
                               thr_error *err);
