/* SPDX-License-Identifier: Apache-2.0 */
/* cell_blocks.c - finds the rows of cells, and keeps the blocks of passes as bitmaps. */
#include "cells/cell_blocks.h"

#include "base/blocks.h"
#include "base/error.h"
#include "select/bitmap.h"

#include <string.h>

thr_cell_rows thr_cells_rows_of(const thr_cells_corpus *corpus, size_t segment, uint32_t cell) {
    const thr_cell_table *table = &corpus->tables[segment];
    const uint64_t first_row = corpus->scan->segments[segment].first_row;
    return (thr_cell_rows){first_row + table->cells[cell].first, first_row + thr_cell_end(table, cell)};
}

uint64_t thr_cells_count_rows(const thr_cell_rows *rows, const uint64_t *filter) {
    return filter == NULL ? rows->end_row - rows->first_row
                          : thr_select_bitmap_count_range(filter, rows->first_row, rows->end_row);
}

size_t thr_cells_count(const thr_cells_corpus *corpus) {
    size_t n = 0;
    for (size_t i = 0; i < corpus->n_tables; i++)
        n += corpus->tables[i].n;
    return n;
}

bool thr_cells_segment_has_cells(const thr_cells_corpus *corpus, size_t segment) {
    return segment < corpus->n_tables && corpus->tables[segment].n > 0;
}

thr_status thr_cells_blocks_reserve(thr_context *context, uint64_t n, thr_cells_blocks *blocks, thr_error *err) {
    static const char what[] = "a search of cells";
    const size_t n_words = thr_bitmap_words(n);
    blocks->n = n;
    THR_TRY(thr_alloc(context, n_words, sizeof *blocks->pending, &blocks->pending, what, err));
    return thr_alloc(context, n_words, sizeof *blocks->visited, &blocks->visited, what, err);
}

void thr_cells_blocks_free(thr_context *context, thr_cells_blocks *blocks) {
    THR_RELEASE(context, blocks->pending, blocks->visited);
    *blocks = (thr_cells_blocks){0};
}

void thr_cells_blocks_clear(thr_cells_blocks *blocks) {
    const size_t n_words = thr_bitmap_words(blocks->n);
    memset(blocks->pending, 0, n_words * sizeof *blocks->pending);
    memset(blocks->visited, 0, n_words * sizeof *blocks->visited);
    blocks->n_pending = 0;
}

void thr_cells_blocks_add(thr_cells_blocks *blocks, uint64_t first, uint64_t end) {
    for (uint64_t b = first; b < end; b++) {
        const uint64_t bit = UINT64_C(1) << b % THR_WORD_BITS, word = b / THR_WORD_BITS;
        if (((blocks->pending[word] | blocks->visited[word]) & bit) == 0) {
            blocks->pending[word] |= bit;
            blocks->n_pending++;
        }
    }
}

void thr_cells_blocks_add_cell(thr_cells_blocks *blocks, const thr_cell_rows *rows) {
    thr_cells_blocks_add(blocks, rows->first_row / THR_BLOCK_ITEMS, thr_blocks_of(rows->end_row));
}

void thr_cells_blocks_add_segments_without_cells(thr_cells_blocks *blocks, const thr_cells_corpus *corpus) {
    for (size_t i = 0; i < corpus->scan->n_segments; i++)
        if (!thr_cells_segment_has_cells(corpus, i)) {
            const thr_segment *segment = &corpus->scan->segments[i];
            const uint64_t first = segment->first_row / THR_BLOCK_ITEMS;
            thr_cells_blocks_add(blocks, first, first + thr_bitmap_words(segment->n_items));
        }
}

thr_status thr_cells_blocks_begin_pass(thr_context *context, const thr_scan_corpus *whole, thr_cells_blocks *blocks,
                                       thr_search_options *options, thr_cells_subset *part, thr_error *err) {
    THR_TRY(thr_cells_subset_make(context, whole, blocks->pending, blocks->n, options->filter, part, err));
    for (size_t i = 0; i < thr_bitmap_words(blocks->n); i++) {
        blocks->visited[i] |= blocks->pending[i];
        blocks->pending[i] = 0;
    }
    blocks->n_read += blocks->n_pending;
    blocks->n_pending = 0;
    if (options->filter != NULL) {
        options->filter = part->filter;
        options->filter_bits = part->corpus.n_rows;
    }
    return THR_OK;
}
