/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - the cheap pass: computes the integer distances of a tile of blocks, and from them scores.
 *
 * Cosine without factors also needs the length of an item's code, which costs popcounts between its planes. Lengths are
 * computed only for blocks where a distance is small enough to reach the threshold with the block's shortest code. If
 * few items reach the threshold, there are few such blocks.
 */
#include "code/encode.h"
#include "scan/estimate.h"
#include "scan/values.h"
#include "base/blocks.h"
#include "base/minmax.h"

#include <math.h>

/*
 * Queries looked up together on a tile: the most that a kernel call takes. Their distances fit the first-level cache.
 */
enum { LOOKED_UP = 4 };

const thr_segment *thr_scan_segment_of(const thr_scan_corpus *corpus, uint64_t row) {
    size_t low = 0, high = corpus->n_segments;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (corpus->segments[mid].first_row <= row)
            low = mid;
        else
            high = mid;
    }
    return &corpus->segments[low];
}

/*
 * The largest distance in each block of a tile at which a score can reach the threshold; no limit while the threshold
 * is not positive.
 */
static void find_bounds(const thr_scan_query *query, const thr_lane *lane, const thr_segment *segment, uint64_t first,
                        size_t n_blocks, int32_t *bounds) {
    const float threshold = lane->collector.threshold;
    if (threshold > 0)
        query->kernels->block_bounds(bounds, segment->block_norms + first, n_blocks, threshold, query->code.total);
    else
        for (size_t b = 0; b < n_blocks; b++)
            bounds[b] = INT32_MAX;
}

/* Screen blocks of codes with factors. For nested codes the collector also keeps distances, for rescoring. */
static void screen_with_factors(const thr_scan_query *query, thr_lane *lane, const uint32_t *distances,
                                const thr_segment *segment, uint64_t first, size_t n_blocks) {
    thr_origin_line line = thr_origin_line_none();
    for (size_t b = 0; b < n_blocks; b++) {
        uint64_t mask = thr_block_rows(query, segment, first + b);
        if (mask == 0)
            continue;
        float scores[THR_BLOCK_ITEMS];
        const uint32_t *own = distances + b * THR_BLOCK_ITEMS;
        mask &= thr_scan_estimate_block(query, own, segment, first + b, lane->collector.threshold, &line, scores);
        if (mask != 0)
            thr_select_collector_push_block(&lane->collector, segment->first_row + (first + b) * THR_BLOCK_ITEMS, mask,
                                            scores, segment->records == NULL ? NULL : own);
    }
}

static void screen_cosine(const thr_scan_query *query, thr_lane *lane, const uint32_t *distances,
                          const thr_segment *segment, uint64_t first, size_t n_blocks, const int32_t *bounds) {
    uint64_t masks[THR_TILE_BLOCKS];
    query->kernels->screen_distances(masks, distances, n_blocks, bounds);
    for (size_t b = 0; b < n_blocks; b++) {
        if (masks[b] == 0 || (masks[b] &= thr_block_rows(query, segment, first + b)) == 0)
            continue;
        float scores[THR_BLOCK_ITEMS];
        masks[b] &= thr_scan_estimate_block(query, distances + b * THR_BLOCK_ITEMS, segment, first + b,
                                            lane->collector.threshold, NULL, scores);
        if (masks[b] != 0)
            thr_select_collector_push_block(&lane->collector, segment->first_row + (first + b) * THR_BLOCK_ITEMS,
                                            masks[b], scores, NULL);
    }
}

/* Values depend on more than the code, so the value of every item is computed. */
static void screen_values(const thr_scan_query *query, thr_lane *lane, const uint32_t *distances,
                          const thr_segment *segment, uint64_t first, size_t n_blocks) {
    const float gain = thr_values_gain(query);
    thr_origin_line line = thr_origin_line_none();
    for (size_t b = 0; b < n_blocks; b++) {
        uint64_t mask = thr_block_rows(query, segment, first + b);
        if (mask == 0)
            continue;
        float scores[THR_BLOCK_ITEMS];
        const uint64_t row = segment->first_row + (first + b) * THR_BLOCK_ITEMS;
        const uint32_t *own = distances + b * THR_BLOCK_ITEMS;
        (void)thr_scan_estimate_block(query, own, segment, first + b, -INFINITY, &line, scores);
        mask &= thr_scan_values_of_block(query, lane, row, gain, query->bias, scores);
        if (mask != 0)
            thr_scan_values_push(lane, row, mask, scores, segment->records == NULL ? NULL : own);
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

static void screen_tile(const thr_scan_query *query, thr_lane *lane, const uint32_t *distances,
                        const thr_segment *segment, uint64_t first, size_t n) {
    if (query->corpus->hits != NULL) {
        screen_values(query, lane, distances, segment, first, n);
    } else if (segment->records != NULL || segment->factors != NULL) {
        screen_with_factors(query, lane, distances, segment, first, n);
    } else {
        int32_t bounds[THR_TILE_BLOCKS] = {0};
        find_bounds(query, lane, segment, first, n, bounds);
        screen_cosine(query, lane, distances, segment, first, n, bounds);
    }
}

enum { GROUP_STRIDE = THR_TILE_BLOCKS * THR_BLOCK_ITEMS + THR_GROUP_GAP }; /* of byte products, by query */

/*
 * Compute a tile's distances for query q and the queries computed together with it: all queries by byte products, a few
 * by look-ups, one by XOR. Return how many queries that were.
 */
static uint32_t find_distances(const thr_scan_group *group, uint32_t q, thr_lane *lanes, const uint8_t *codes,
                               size_t n) {
    const thr_query_code *code = &group->queries[q].code;
    const thr_kernels *kernels = group->queries->kernels;
    const bool table = group->codes.way == THR_WAY_TABLE;
    if (group->codes.way == THR_WAY_TILE) {
        thr_code_query_group_distances(&group->codes, kernels, codes, n, lanes->group_distances, GROUP_STRIDE,
                                       lanes->more_distances);
        return group->n;
    }
    if (!table || code->n_parts > 1) {
        thr_code_query_distances(code, table ? kernels->distance_table : kernels->distance_xor, codes, n,
                                 lanes[q].distances, lanes[q].more_distances);
        return 1;
    }
    const thr_query_part *parts[LOOKED_UP];
    uint32_t *to[LOOKED_UP];
    const uint32_t n_queries = THR_MIN(group->n - q, LOOKED_UP);
    for (uint32_t i = 0; i < n_queries; i++) {
        parts[i] = &group->queries[q + i].code.parts[0];
        to[i] = lanes[q + i].distances;
    }
    kernels->distance_tables(to, codes, n, parts, n_queries);
    return n_queries;
}

/* Screen a tile for all queries of a group while it is in cache. */
static void screen_group(const thr_scan_group *group, thr_lane *lanes, const thr_segment *segment, uint64_t first,
                         size_t n) {
    const thr_scan_query *queries = group->queries;
    const uint8_t *codes = segment->codes + first * thr_block_size(queries->code.n_dims, queries->code.item_bits);
    for (uint32_t q = 0, n_computed = 0; q < group->n; q++) {
        if (q == n_computed)
            n_computed += find_distances(group, q, lanes, codes, n);
        const uint32_t *distances =
            group->codes.way == THR_WAY_TILE ? lanes->group_distances + q * (size_t)GROUP_STRIDE : lanes[q].distances;
        if (!queries[q].skips_screen)
            screen_tile(&queries[q], &lanes[q], distances, segment, first, n);
    }
}

/* The blocks per tile, if n blocks are divided into tiles of about equal size. n is at most THR_RUN_BLOCKS. */
static size_t tile_blocks(const thr_scan_query *query, size_t n) {
    size_t most = THR_TILE_BYTES / thr_block_size(query->code.n_dims, query->code.item_bits);
    most = most < 1 ? 1 : most < THR_TILE_BLOCKS ? most : THR_TILE_BLOCKS;
    const size_t n_tiles = THR_CEIL_DIV(n, most);
    return n_tiles > 1 ? THR_CEIL_DIV(n, n_tiles) : most;
}

/* Screen blocks [first, first + n) of a segment, a tile at a time; n is at most THR_RUN_BLOCKS. */
static void screen_run(const thr_scan_group *group, thr_lane *lanes, const thr_segment *segment, uint64_t first,
                       size_t n) {
    const size_t most = tile_blocks(group->queries, n);
    for (size_t done = 0, tile; done < n; done += tile) {
        tile = THR_MIN(n - done, most);
        if (any_row(group->queries, segment, first + done, tile))
            screen_group(group, lanes, segment, first + done, tile);
    }
}

/* Screen a tile for all shares, a few at a time, while it is in cache. */
static void screen_shares_tile(const thr_scan_share *shares, uint32_t n, uint64_t at, size_t n_blocks, bool look_up) {
    const thr_query_code *code = &shares->query->code;
    const thr_kernels *kernels = shares->query->kernels;
    const uint8_t *codes =
        shares->segment->codes + (shares->first + at) * thr_block_size(code->n_dims, code->item_bits);
    const uint32_t together = look_up && code->n_parts == 1 ? LOOKED_UP : 1;
    for (uint32_t q = 0; q < n; q += together) {
        const uint32_t n_queries = THR_MIN(n - q, together);
        const thr_query_part *parts[LOOKED_UP];
        uint32_t *to[LOOKED_UP];
        for (uint32_t i = 0; i < n_queries; i++) {
            parts[i] = &shares[q + i].query->code.parts[0];
            to[i] = shares[q + i].lane->distances;
        }
        if (together > 1)
            kernels->distance_tables(to, codes, n_blocks, parts, n_queries);
        else
            thr_code_query_distances(&shares[q].query->code, look_up ? kernels->distance_table : kernels->distance_xor,
                                     codes, n_blocks, to[0], shares[q].lane->more_distances);
        for (uint32_t i = 0; i < n_queries; i++)
            screen_tile(shares[q + i].query, shares[q + i].lane, to[i], shares[q + i].segment, shares[q + i].first + at,
                        n_blocks);
    }
}

void thr_scan_screen_shares(const thr_scan_share *shares, uint32_t n, size_t n_blocks, thr_way way) {
    const thr_scan_query *query = shares->query;
    for (size_t at = 0, tile; at < n_blocks; at += tile) {
        const size_t left = THR_MIN(n_blocks - at, THR_RUN_BLOCKS);
        const size_t most = tile_blocks(query, left);
        tile = THR_MIN(left, most);
        if (any_row(query, shares->segment, shares->first + at, tile))
            screen_shares_tile(shares, n, at, tile, way != THR_WAY_XOR);
    }
}

void thr_scan_screen_blocks(const thr_scan_group *group, thr_lane *lanes, thr_block_range blocks) {
    while (blocks.first < blocks.end) {
        const thr_segment *segment = thr_scan_segment_of(group->queries->corpus, blocks.first * THR_BLOCK_ITEMS);
        const uint64_t first = blocks.first - segment->first_row / THR_BLOCK_ITEMS;
        const uint64_t in_segment = thr_blocks_of(segment->n_items) - first;
        uint64_t n = blocks.end - blocks.first;
        n = THR_MIN(n, in_segment);
        n = THR_MIN(n, THR_RUN_BLOCKS);
        screen_run(group, lanes, segment, first, (size_t)n);
        blocks.first += n;
    }
}
