/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - reads pages of an index ahead, while it does not fit in memory.
 *
 * A search touches records and vectors anywhere in a map. Where their pages are not in memory, each touch waits for the
 * disk, and the kernel reads its neighbours, too: often a MiB for 400 bytes. So a search announces the pages before it
 * touches them, and the disk reads them at once, and no others. An announcement costs a system call, which is wasted
 * where the pages are in memory. So a lane makes them only in its first passes, and while passes read from the disk.
 */
#pragma once

#include "scan/job.h"

enum { THR_PASSES_AHEAD = 2 }; /* that read ahead after one that read from the disk; each lane has its own */

/* Update the lane's state at the start of a pass; whether the pass should read ahead. Costs one getrusage. */
bool thr_scan_reads_ahead(thr_read_ahead *state);

/* Whether the next pass reads ahead, by the passes so far. Costs no system call. */
static inline bool thr_may_read_ahead(const thr_read_ahead *state) {
    return state->passes < THR_PASSES_AHEAD;
}

/* Announce the records, or the kept vectors, of n items, if the query reads ahead. Items with hits are not unpacked. */
void thr_scan_read_ahead_records(const thr_scan_query *query, const thr_candidate *items, size_t n);
void thr_scan_read_ahead_vectors(const thr_scan_query *query, const thr_candidate *items, size_t n);

/* Announce the leading planes of all items, with their factors: of a corpus that is part of an index (cells/). */
void thr_scan_read_ahead_blocks(const thr_scan_corpus *corpus);
