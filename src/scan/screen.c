/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cheap pass: distances of a tile of blocks, then only what can reach the threshold is looked at closer.
 *
 * For cosine the item's code length is needed too, and costs popcounts between its own planes. It is computed only for
 * blocks in which a distance reaches the bound that the block's shortest code allows; with a threshold that few items
 * reach, that is a small part of them.
 */
#include "code/encode.h"
#include "scan/lane.h"

#include <math.h>

const thr_segment *thr_segment_of(const thr_scan_target *target, uint64_t row) {
    size_t low = 0, high = target->n_segments;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (target->segments[mid].first_row <= row)
            low = mid;
        else
            high = mid;
    }
    return &target->segments[low];
}

/* What block b of a run of blocks must reach: its largest distance. Any, while the threshold is not positive. */
static void find_bounds(const thr_scan_query *query, const thr_lane *lane, const thr_segment *segment, uint64_t first,
                        size_t n_blocks, int32_t *bounds) {
    const float threshold = lane->collector.threshold;
    if (threshold > 0)
        query->kernels->block_bounds(bounds, segment->block_norms + first, n_blocks, threshold, query->code.total);
    else
        for (size_t b = 0; b < n_blocks; b++)
            bounds[b] = INT32_MAX;
}

static void screen_cosine(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t first,
                          size_t n_blocks, const int32_t *bounds) {
    const thr_query_code *code = &query->code;
    const size_t block_size = thr_block_size(code->n_dims, code->item_bits);
    uint64_t masks[THR_TILE_BLOCKS];
    query->kernels->screen_distances(masks, lane->distances, n_blocks, bounds);
    for (size_t b = 0; b < n_blocks; b++) {
        if (masks[b] == 0 || (masks[b] &= thr_block_rows(query, segment, first + b)) == 0)
            continue;
        uint32_t squares[THR_BLOCK_ITEMS];
        float scores[THR_BLOCK_ITEMS];
        query->kernels->code_squares(squares, segment->codes + (first + b) * block_size, 1, code->n_dims,
                                     code->item_bits);
        masks[b] &= query->kernels->screen_cosine(scores, lane->distances + b * THR_BLOCK_ITEMS, squares, code->total,
                                                  lane->collector.threshold);
        if (masks[b] != 0)
            thr_collector_push_block(&lane->collector, segment->first_row + (first + b) * THR_BLOCK_ITEMS, masks[b],
                                     scores, NULL);
    }
}

static void screen_factors(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t first,
                           size_t n_blocks) {
    for (size_t b = 0; b < n_blocks; b++) {
        uint64_t mask = thr_block_rows(query, segment, first + b);
        if (mask == 0)
            continue;
        float scores[THR_BLOCK_ITEMS];
        const uint64_t at = (first + b) * THR_BLOCK_ITEMS;
        mask &=
            query->kernels->screen_factors(scores, lane->distances + b * THR_BLOCK_ITEMS, segment->factors + at,
                                           segment->offsets == NULL ? NULL : segment->offsets + at, query->code.total,
                                           query->gain, query->weight, lane->collector.threshold);
        if (mask != 0)
            thr_collector_push_block(&lane->collector, segment->first_row + at, mask, scores, NULL);
    }
}

static void screen_leads(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t first,
                         size_t n_blocks) {
    for (size_t b = 0; b < n_blocks; b++) {
        uint64_t mask = thr_block_rows(query, segment, first + b);
        if (mask == 0)
            continue;
        float scores[THR_BLOCK_ITEMS];
        const uint64_t at = (first + b) * THR_BLOCK_ITEMS;
        const uint32_t *distances = lane->distances + b * THR_BLOCK_ITEMS;
        const uint16_t *numbers = segment->leads + at * (segment->lead_offsets ? 2 : 1);
        mask &= query->kernels->screen_leads(scores, distances, numbers, segment->lead_offsets, query->code.total,
                                             query->gain, query->weight, lane->collector.threshold);
        if (mask != 0)
            thr_collector_push_block(&lane->collector, segment->first_row + at, mask, scores, distances);
    }
}

/* Whether any row of n blocks passes the filter. */
static bool any_row(const thr_scan_query *query, const thr_segment *segment, uint64_t first, size_t n) {
    if (query->filter == NULL)
        return true;
    uint64_t any = 0;
    for (size_t b = 0; b < n; b++)
        any |= thr_block_rows(query, segment, first + b);
    return any != 0;
}

static void screen_tile(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t first,
                        size_t n) {
    const size_t block_size = thr_block_size(query->code.n_dims, query->code.item_bits);
    thr_query_distances(&query->code, query->distance, segment->codes + first * block_size, n, lane->distances,
                        lane->more_distances);
    if (segment->records != NULL) {
        screen_leads(query, lane, segment, first, n);
    } else if (segment->factors != NULL) {
        screen_factors(query, lane, segment, first, n);
    } else {
        int32_t bounds[THR_TILE_BLOCKS] = {0};
        find_bounds(query, lane, segment, first, n, bounds);
        screen_cosine(query, lane, segment, first, n, bounds);
    }
}

/* Blocks [first, first + n) of a segment, a tile at a time, each read by all queries; n is at most THR_RUN_BLOCKS. */
static void screen_run(const thr_scan_query *queries, thr_lane *lanes, size_t n_queries, const thr_segment *segment,
                       uint64_t first, size_t n) {
    size_t most = THR_TILE_BYTES / thr_block_size(queries->code.n_dims, queries->code.item_bits);
    most = most < 1 ? 1 : most < THR_TILE_BLOCKS ? most : THR_TILE_BLOCKS;
    const size_t n_tiles = (n + most - 1) / most;
    if (n_tiles > 1)
        most = (n + n_tiles - 1) / n_tiles; /* tiles of about equal size */
    for (size_t done = 0, tile; done < n; done += tile) {
        tile = n - done < most ? n - done : most;
        if (!any_row(queries, segment, first + done, tile))
            continue;
        for (size_t q = 0; q < n_queries; q++)
            if (!queries[q].collected)
                screen_tile(&queries[q], &lanes[q], segment, first + done, tile);
    }
}

void thr_screen_blocks(const thr_scan_query *queries, thr_lane *lanes, size_t n_queries, thr_block_range blocks) {
    while (blocks.first < blocks.end) {
        const thr_segment *segment = thr_segment_of(queries->target, blocks.first * THR_BLOCK_ITEMS);
        const uint64_t first = blocks.first - segment->first_row / THR_BLOCK_ITEMS;
        const uint64_t in_segment = (segment->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS - first;
        uint64_t n = blocks.end - blocks.first;
        n = n < in_segment ? n : in_segment;
        n = n < THR_RUN_BLOCKS ? n : THR_RUN_BLOCKS;
        screen_run(queries, lanes, n_queries, segment, first, (size_t)n);
        blocks.first += n;
    }
}
