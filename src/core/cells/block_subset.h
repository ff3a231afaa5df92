/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_subset.h - a scan corpus, the *part*, made of some blocks of the *whole* corpus, with rows numbered without
 * gaps. Every kind of scan (sampled thresholds, margins, second passes) works on it as on a whole index.
 */
#pragma once

#include "base/memory.h"
#include "scan/job.h"

/* Initialise with zeros. Owns its arrays; corpus borrows all other data from the whole corpus. */
typedef struct thr_cells_subset {
    thr_scan_corpus corpus;
    thr_segment *segments; /* one for each run of adjacent blocks */
    thr_block_range *runs; /* by segment: its blocks, numbered in the whole corpus */
    uint64_t *filter;      /* a bitmap of the part's rows */
    size_t n_segments, segments_capacity, runs_capacity, filter_capacity;
} thr_cells_subset;

/* Allocate for n_segments runs with n_blocks blocks in all; smaller parts then allocate nothing. THR_ENOMEM. */
thr_status thr_cells_subset_reserve(thr_context *context, size_t n_segments, uint64_t n_blocks, thr_cells_subset *part,
                                    thr_error *err);

/*
 * Select the blocks of 64 rows whose bit is set in blocks, a bitmap of n_blocks bits. With a filter of the whole
 * corpus's rows, part->filter becomes the filter of the selected rows; with NULL it is not written. THR_ENOMEM.
 */
thr_status thr_cells_subset_make(thr_context *context, const thr_scan_corpus *whole, const uint64_t *blocks,
                                 uint64_t n_blocks, const uint64_t *filter, thr_cells_subset *part, thr_error *err);
void thr_cells_subset_free(thr_context *context, thr_cells_subset *part);

/* Convert a row number of the part to that of the whole corpus, and back. The row must be in the part. */
uint64_t thr_cells_subset_to_whole(const thr_cells_subset *part, uint64_t row);
uint64_t thr_cells_subset_from_whole(const thr_cells_subset *part, uint64_t row);
