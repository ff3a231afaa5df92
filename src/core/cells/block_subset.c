/* SPDX-License-Identifier: Apache-2.0 */
/* block_subset.c - builds a scan corpus from runs of blocks. */
#include "cells/block_subset.h"

#include "base/error.h"
#include "base/minmax.h"
#include "select/bitmap.h"

/* A view of a segment's items from `item` on, a multiple of 64; at most n of them. */
static thr_segment slice(const thr_scan_corpus *whole, const thr_segment *from, uint64_t item, uint64_t n) {
    const uint32_t n_dims = whole->quantiser->n_dims;
    const thr_record_shape records =
        thr_record_shape_of(n_dims, whole->quantiser->item_bits, whole->lead, from->lead_offsets);
    const uint64_t block = item / THR_BLOCK_ITEMS, left = from->n_items - item;
    thr_segment part = *from;
    part.n_items = (uint32_t)THR_MIN(left, n);
    part.first_item += (uint32_t)item;
    part.codes += block * thr_block_size(n_dims, whole->lead);
    if (part.block_norms != NULL)
        part.block_norms += block;
    if (part.factors != NULL)
        part.factors += item;
    if (part.offsets != NULL)
        part.offsets += item;
    if (part.leads != NULL)
        part.leads += item * (part.lead_offsets ? 2 : 1);
    if (part.records != NULL)
        part.records += item * thr_record_size(records);
    if (part.vectors != NULL)
        part.vectors = (const char *)part.vectors + item * thr_row_size(whole);
    if (part.scales != NULL)
        part.scales += item;
    if (part.inverse_norms != NULL)
        part.inverse_norms += item;
    if (part.halves != NULL)
        part.halves += item;
    return part;
}

static const char WHAT[] = "visited cells";

thr_status thr_cells_subset_reserve(thr_context *context, size_t n_segments, uint64_t n_blocks, thr_cells_subset *part,
                                    thr_error *err) {
    THR_TRY(
        thr_grow(context, &part->segments, &part->segments_capacity, n_segments, sizeof *part->segments, WHAT, err));
    THR_TRY(thr_grow(context, &part->runs, &part->runs_capacity, n_segments, sizeof *part->runs, WHAT, err));
    return thr_grow(context, &part->filter, &part->filter_capacity, (size_t)n_blocks, sizeof *part->filter, WHAT, err);
}

static thr_status add_run(thr_context *context, const thr_scan_corpus *whole, thr_block_range run,
                          const uint64_t *filter, thr_cells_subset *part, thr_error *err) {
    while (run.first < run.end) {
        const uint64_t row = run.first * THR_BLOCK_ITEMS, at = part->corpus.n_rows / THR_BLOCK_ITEMS;
        const thr_segment *from = thr_scan_segment_of(whole, row);
        THR_TRY(thr_cells_subset_reserve(context, part->n_segments + 1, at + (run.end - run.first), part, err));
        thr_segment *segment = &part->segments[part->n_segments];
        *segment = slice(whole, from, row - from->first_row, (run.end - run.first) * THR_BLOCK_ITEMS);
        const uint64_t n_blocks = thr_bitmap_words(segment->n_items);
        segment->first_row = part->corpus.n_rows;
        part->runs[part->n_segments++] = (thr_block_range){run.first, run.first + n_blocks};
        part->corpus.n_rows += n_blocks * THR_BLOCK_ITEMS;
        for (uint64_t i = 0; filter != NULL && i < n_blocks; i++)
            part->filter[at + i] = filter[run.first + i];
        run.first += n_blocks;
    }
    return THR_OK;
}

thr_status thr_cells_subset_make(thr_context *context, const thr_scan_corpus *whole, const uint64_t *blocks,
                                 uint64_t n_blocks, const uint64_t *filter, thr_cells_subset *part, thr_error *err) {
    part->corpus = *whole;
    part->corpus.n_rows = 0;
    part->n_segments = 0;
    for (uint64_t first = 0;;) {
        first = thr_select_bitmap_next_row(blocks, first, n_blocks);
        if (first == n_blocks)
            break;
        uint64_t end = first + 1;
        while (end < n_blocks && (blocks[end / THR_WORD_BITS] >> end % THR_WORD_BITS & 1) != 0)
            end++;
        THR_TRY(add_run(context, whole, (thr_block_range){first, end}, filter, part, err));
        first = end;
    }
    part->corpus.segments = part->segments;
    part->corpus.n_segments = part->n_segments;
    if (part->n_segments > 0) {
        const thr_segment *last = &part->segments[part->n_segments - 1];
        part->corpus.n_rows = last->first_row + last->n_items;
    }
    return THR_OK;
}

void thr_cells_subset_free(thr_context *context, thr_cells_subset *part) {
    THR_RELEASE(context, part->segments, part->runs, part->filter);
    *part = (thr_cells_subset){.n_segments = 0};
}

uint64_t thr_cells_subset_to_whole(const thr_cells_subset *part, uint64_t row) {
    const thr_segment *segment = thr_scan_segment_of(&part->corpus, row);
    return part->runs[segment - part->segments].first * THR_BLOCK_ITEMS + (row - segment->first_row);
}

uint64_t thr_cells_subset_from_whole(const thr_cells_subset *part, uint64_t row) {
    const uint64_t block = row / THR_BLOCK_ITEMS;
    size_t low = 0, high = part->n_segments;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (part->runs[mid].first <= block)
            low = mid;
        else
            high = mid;
    }
    return part->segments[low].first_row + (row - part->runs[low].first * THR_BLOCK_ITEMS);
}
