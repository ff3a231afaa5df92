/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_subset.h - some blocks of a scan's target as a target of their own, whose rows are numbered without gaps.
 *
 * So whatever a scan does over an index it does over the visited cells: sampled thresholds, margins, second passes.
 */
#ifndef THR_CELLS_BLOCK_SUBSET_H
#define THR_CELLS_BLOCK_SUBSET_H

#include "base/memory.h"
#include "scan/scan.h"

/* Initialise with zeros. Owned, but for what target borrows of the whole. */
typedef struct thr_cells_subset {
    thr_scan_target target;
    thr_segment *segments; /* a run of blocks each */
    uint64_t *firsts;      /* the row of the whole target that each begins with */
    uint64_t *words;       /* the filter of the part's rows */
    size_t n_segments, segments_capacity, firsts_capacity, words_capacity;
} thr_cells_subset;

/* Make room for n_segments runs of n_blocks blocks in all, so that no part of that size allocates. THR_ENOMEM. */
thr_status thr_cells_subset_reserve(thr_context *context, size_t n_segments, uint64_t n_blocks, thr_cells_subset *part,
                                    thr_error *err);

/*
 * Select the blocks of 64 rows whose bit is set in blocks, a bitmap of n_blocks bits. With a filter of the whole
 * target's rows, part->words is the filter of the selected rows. THR_ENOMEM.
 */
thr_status thr_cells_subset_make(thr_context *context, const thr_scan_target *whole, const uint64_t *blocks,
                                 uint64_t n_blocks, const uint64_t *filter, thr_cells_subset *part, thr_error *err);
void thr_cells_subset_free(thr_context *context, thr_cells_subset *part);

/* The whole target's number of a row of the part. */
uint64_t thr_cells_subset_row(const thr_cells_subset *part, uint64_t row);

#endif
