/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.c - estimates the scores of a block's items from the distances of their codes. */
#include "base/minmax.h"
#include "scan/estimate.h"

#include "code/encode.h"

#include <math.h>

/* Call the kernel that estimates the scores of a block's items from codes with factors. */
static uint64_t screen_factors(const thr_scan_query *query, const uint32_t *distances, const thr_segment *segment,
                               uint64_t block, const thr_score_line *line, float *scores) {
    const thr_kernels *kernels = query->kernels;
    const uint64_t at = block * THR_BLOCK_ITEMS;
    if (segment->records != NULL)
        return kernels->screen_leads(scores, distances, segment->leads + at * (segment->lead_offsets ? 2 : 1),
                                     segment->lead_offsets, line);
    return kernels->screen_factors(scores, distances, segment->factors + at,
                                   segment->offsets == NULL ? NULL : segment->offsets + at, line);
}

/* A threshold before the base is added. No estimate below it reaches the given threshold after the addition rounds. */
static float threshold_before(float threshold, float base) {
    const float least = threshold - base, slack = (fabsf(threshold) + fabsf(base)) * 0x1p-22f;
    return least - slack;
}

/* Clear the bits of scores below a threshold. */
static uint64_t clear_below(uint64_t mask, const float *scores, float threshold) {
    for (uint64_t left = mask; left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        if (!(scores[i] >= threshold))
            mask ^= UINT64_C(1) << i;
    }
    return mask;
}

int32_t thr_scan_origin_margin(const thr_scan_query *query, double distance) {
    if (query->random_margin == 0 && query->own_margin == 0)
        return 0;
    const double random = query->random_margin * THR_MIN(distance, query->across);
    const double margin = sqrt(random * random + query->own_margin * query->own_margin);
    const int32_t most = INT32_MAX - query->code.total;        /* exceeded for damaged centroids only */
    return margin < (double)most ? (int32_t)margin + 1 : most; /* rounded up, without a call of ceil */
}

/* Set the line to an origin, unless it is the line's already, and set its threshold. */
static void set_line(const thr_scan_query *query, const thr_segment_origins *origins, uint32_t origin, float threshold,
                     thr_origin_line *line) {
    const thr_origin_term term = query->origins[origins->first + origin];
    if (line->origin != origin)
        *line = (thr_origin_line){origin,
                                  term.base,
                                  {query->code.total + thr_scan_origin_margin(query, (double)term.distance),
                                   query->gain, query->offset_weight, 0}};
    line->line.threshold = threshold_before(threshold, term.base);
}

/* With origins: estimate one run of items after the other. All items of a run have the same origin. */
static uint64_t estimate_by_origin(const thr_scan_query *query, const uint32_t *distances, const thr_segment *segment,
                                   uint64_t block, float threshold, thr_origin_line *line, float *scores) {
    const thr_segment_origins *origins = segment->origins;
    const uint32_t first = segment->first_item + (uint32_t)(block * THR_BLOCK_ITEMS), end = first + THR_BLOCK_ITEMS;
    uint32_t origin = origins->of_block[first / THR_BLOCK_ITEMS];
    uint64_t reached = 0;
    for (uint32_t from = first, to; from < end; from = to, origin++) {
        float some[THR_BLOCK_ITEMS];
        to = origin + 1 < origins->n && origins->starts[origin + 1] < end ? origins->starts[origin + 1] : end;
        set_line(query, origins, origin, threshold, line);
        const uint64_t run = ~UINT64_C(0) >> (THR_BLOCK_ITEMS - (to - from)) << (from - first),
                       mask = run & screen_factors(query, distances, segment, block, &line->line, some);
        for (uint32_t i = from - first; mask != 0 && i < to - first; i++)
            scores[i] = some[i] + line->base;
        reached |= mask;
    }
    return clear_below(reached, scores, threshold);
}

uint64_t thr_scan_estimate_block(const thr_scan_query *query, const uint32_t *distances, const thr_segment *segment,
                                 uint64_t block, float threshold, thr_origin_line *by_origin, float *scores) {
    const thr_kernels *kernels = query->kernels;
    const thr_query_code *code = &query->code;
    const thr_score_line line = {code->total, query->gain, query->offset_weight, threshold};
    if (query->origins != NULL)
        return estimate_by_origin(query, distances, segment, block, threshold, by_origin, scores);
    if (segment->records != NULL || segment->factors != NULL)
        return screen_factors(query, distances, segment, block, &line, scores);
    uint32_t squares[THR_BLOCK_ITEMS];
    kernels->code_squares(squares, segment->codes + block * thr_block_size(code->n_dims, code->item_bits), 1,
                          code->n_dims, code->item_bits);
    return kernels->screen_cosine(scores, distances, squares, code->total, threshold);
}
