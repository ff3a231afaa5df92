/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_blocks.h - the rows of cells in a scan corpus, and the blocks that the passes of a query read.
 *
 * A query adds the blocks of cells to the pending ones, which its next pass reads. A query reads a block once, even if
 * two cells share it.
 */
#pragma once

#include "cells/block_subset.h"
#include "cells/cell_search.h"

/* The rows of a cell in the scan corpus. */
typedef struct thr_cell_rows {
    uint64_t first_row, end_row;
} thr_cell_rows;

thr_cell_rows thr_cells_rows_of(const thr_cells_corpus *corpus, size_t segment, uint32_t cell);

/* The number of a cell's rows that pass a filter of the scan corpus; with NULL, of all its rows. */
uint64_t thr_cells_count_rows(const thr_cell_rows *rows, const uint64_t *filter);

/* The number of cells of all segments, and whether a segment has any. */
size_t thr_cells_count(const thr_cells_corpus *corpus);
bool thr_cells_segment_has_cells(const thr_cells_corpus *corpus, size_t segment);

/* The blocks of one query at a time. Initialise with zeros; owned. */
typedef struct thr_cells_blocks {
    uint64_t *pending, *visited; /* bitmaps of n blocks: to read in the next pass; already read */
    uint64_t n, n_pending;
    uint64_t n_read; /* blocks of all passes since this was set to 0 */
} thr_cells_blocks;

/* Allocate for a corpus of n blocks. THR_ENOMEM; free the blocks then, too. */
thr_status thr_cells_blocks_reserve(thr_context *context, uint64_t n, thr_cells_blocks *blocks, thr_error *err);
void thr_cells_blocks_free(thr_context *context, thr_cells_blocks *blocks);

/* Begin a query: no block is pending or visited. */
void thr_cells_blocks_clear(thr_cells_blocks *blocks);

/* Add to the pending blocks: blocks first to end - 1, those of a cell, or those of all segments without cells. */
void thr_cells_blocks_add(thr_cells_blocks *blocks, uint64_t first, uint64_t end);
void thr_cells_blocks_add_cell(thr_cells_blocks *blocks, const thr_cell_rows *rows);
void thr_cells_blocks_add_segments_without_cells(thr_cells_blocks *blocks, const thr_cells_corpus *corpus);

/*
 * Begin a pass: make part of the pending blocks, which count as visited from now on. options is a copy of the search's
 * options; if it has a filter, this is replaced by one for the rows of part. THR_ENOMEM.
 */
thr_status thr_cells_blocks_begin_pass(thr_context *context, const thr_scan_corpus *whole, thr_cells_blocks *blocks,
                                       thr_search_options *options, thr_cells_subset *part, thr_error *err);
