/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refine.c - exact scores from the kept vectors: of a few candidates (refine), or of every row (the exact scan).
 *
 * Both use the same kernels on the same values, so a row's score has the same bits either way.
 */
#include "scan/cost.h"
#include "scan/pages.h"
#include "scan/values.h"
#include "base/blocks.h"

enum {
    AHEAD = 8,         /* vectors being fetched while one is scored */
    LINE = 64,         /* bytes per fetch */
    FETCH_BYTES = 256, /* of each vector; the hardware prefetcher fetches the rest */
    QUEUED = 256,      /* rows */
    SPARSE = 24,       /* a block with fewer allowed rows is scored row by row */
};

/* |q - x|^2 of the query and a kept vector, both of length 1 or close to it. */
static float square_distance(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t item) {
    const thr_scan_corpus *corpus = query->corpus;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    const size_t size = thr_row_size(corpus);
    const char *vector = (const char *)segment->vectors + item * size;
    float square, *row = lane->vector + n_dims;
    if (thr_keep_is_scaled(corpus->keep)) {
        (corpus->keep == THR_DTYPE_F16 ? query->kernels->l2_f16 : query->kernels->l2_i8)(
            &square, query->kept_vector, vector, size, 1, n_dims, segment->scales + item);
        return square;
    }
    for (uint32_t d = 0; d < n_dims; d++)
        row[d] = ((const float *)(const void *)vector)[d] * segment->inverse_norms[item];
    query->kernels->l2_f32(&square, query->vector, row, 0, 1, n_dims);
    return square;
}

/*
 * Cosines from products of the query, of length 1, with n rows from `first` on. For unit vectors the cosine is
 * 1 - |difference|^2 / 2. Near 1 this form has hardly any rounding error. It never exceeds 1, and is exactly 1
 * for a multiple of the query. So it replaces all products that differ from 1 by rounding only, unless no row reaches
 * `least`.
 */
static void to_cosines(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t first,
                       size_t n, float least, float *scores) {
    const float near = thr_near_cosine(query->corpus->quantiser->n_dims);
    const float *scales = (segment->scales != NULL ? segment->scales : segment->inverse_norms) + first;
    const float *halves = segment->halves == NULL ? NULL : segment->halves + first;
    const thr_cosine_line line = {query->kept_weight, query->kept_bias, near};
    uint64_t candidates = 0;
    if (n == THR_BLOCK_ITEMS)
        candidates = query->kernels->cosines(scores, scales, halves, &line);
    else
        for (size_t i = 0; i < n; i++) {
            scores[i] = thr_kernel_cosine_one(scores[i], scales[i], halves == NULL ? NULL : halves + i, line);
            candidates |= (uint64_t)(scores[i] >= near) << i;
        }
    for (; candidates != 0; candidates &= candidates - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(candidates);
        scores[i] = least > 1 ? 1 : 1 - 0.5f * square_distance(query, lane, segment, first + i);
    }
}

/* Exact scores of n consecutive rows from `first` on, before sums of hits. Those below `least` may be wrong. */
static void score_rows(const thr_scan_query *query, thr_lane *lane, const thr_segment *segment, uint64_t first,
                       size_t n, float least, float *scores) {
    const thr_scan_corpus *corpus = query->corpus;
    const thr_kernels *kernels = query->kernels;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    const size_t size = thr_row_size(corpus);
    const char *rows = (const char *)segment->vectors + first * size;
    const bool f16 = corpus->keep == THR_DTYPE_F16, scaled = thr_keep_is_scaled(corpus->keep);
    if (corpus->metric == THR_METRIC_L2) {
        if (scaled)
            (f16 ? kernels->l2_f16 : kernels->l2_i8)(scores, query->kept_vector, rows, size, n, n_dims,
                                                     segment->scales + first);
        else
            kernels->l2_f32(scores, query->vector, rows, size, n, n_dims);
        for (size_t i = 0; i < n; i++)
            scores[i] = 0.0f - scores[i]; /* not -scores[i], which is -0 at distance 0 */
        return;
    }
    (f16      ? kernels->dot_f16
     : scaled ? kernels->dot_i8
              : kernels->dot_f32)(scores, query->kept_vector, rows, size, n, n_dims);
    if (corpus->metric == THR_METRIC_COSINE)
        to_cosines(query, lane, segment, first, n, least, scores);
    else if (scaled)
        for (size_t i = 0; i < n; i++)
            scores[i] = scores[i] * segment->scales[first + i] + query->kept_bias;
}

/* A row of a segment. */
typedef struct row_place {
    const thr_segment *segment;
    uint64_t item;
} row_place;

/* Find a row, and fetch the beginning of its vector. */
static row_place fetch(const thr_scan_corpus *corpus, size_t size, uint64_t row) {
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    const row_place place = {segment, row - segment->first_row};
    const char *at = (const char *)segment->vectors + place.item * size;
    for (size_t i = 0; i < size && i < FETCH_BYTES; i += LINE)
        __builtin_prefetch(at + i);
    if (segment->scales != NULL)
        __builtin_prefetch(segment->scales + place.item);
    const float *numbers = segment->halves != NULL ? segment->halves : segment->inverse_norms;
    if (numbers != NULL)
        __builtin_prefetch(numbers + place.item);
    return place;
}

void thr_scan_refine(const thr_scan_query *query, thr_lane *lane, thr_candidate *items, size_t n) {
    const size_t size = thr_row_size(query->corpus);
    row_place places[AHEAD];
    thr_scan_read_ahead_vectors(query, items, n);
    for (size_t i = 0; i < n && i < AHEAD; i++)
        places[i] = fetch(query->corpus, size, items[i].row);
    for (size_t i = 0; i < n; i++) {
        const row_place place = places[i % AHEAD];
        if (i + AHEAD < n)
            places[i % AHEAD] = fetch(query->corpus, size, items[i + AHEAD].row);
        score_rows(query, lane, place.segment, place.item, 1, -INFINITY, &items[i].score);
        if (query->corpus->hits != NULL)
            items[i].score = thr_scan_value(query, &items[i], items[i].score);
    }
}

/* Rows of sparse blocks, scored in batches so that the next vectors are fetched meanwhile. */
typedef struct row_queue {
    thr_candidate items[QUEUED];
    size_t n;
} row_queue;

static thr_candidate queued_row(const thr_scan_query *query, thr_lane *lane, uint64_t row) {
    if (query->corpus->hits == NULL)
        return (thr_candidate){row, 0, 0};
    thr_scan_values_load(query, lane, row);
    return thr_values_row(lane, row);
}

static void score_queue(const thr_scan_query *query, thr_lane *lane, row_queue *rows) {
    thr_scan_refine(query, lane, rows->items, rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        if (i % THR_BLOCK_ITEMS == 0)
            thr_select_collector_reserve(&lane->collector);
        if (rows->items[i].score >= lane->collector.threshold)
            thr_collector_push(&lane->collector, rows->items[i].row, rows->items[i].score, rows->items[i].distance);
    }
    rows->n = 0;
}

void thr_scan_exact_blocks(const thr_scan_query *query, thr_lane *lane, thr_block_range blocks) {
    row_queue rows = {.n = 0};
    for (; blocks.first < blocks.end; blocks.first++) {
        const uint64_t row = blocks.first * THR_BLOCK_ITEMS;
        const thr_segment *segment = thr_scan_segment_of(query->corpus, row);
        const uint64_t first = row - segment->first_row, left = segment->n_items - first;
        uint64_t mask = thr_block_rows(query, segment, first / THR_BLOCK_ITEMS);
        if (mask == 0)
            continue;
        if (query->filter != NULL && __builtin_popcountll(mask) < SPARSE) {
            for (; mask != 0; mask &= mask - 1)
                rows.items[rows.n++] = queued_row(query, lane, row + (unsigned)__builtin_ctzll(mask));
            if (rows.n > QUEUED - SPARSE)
                score_queue(query, lane, &rows);
            continue;
        }
        float scores[THR_BLOCK_ITEMS] = {0};
        const float least = query->corpus->hits == NULL ? lane->collector.threshold : -INFINITY;
        score_rows(query, lane, segment, first, left < THR_BLOCK_ITEMS ? (size_t)left : THR_BLOCK_ITEMS, least, scores);
        if (query->corpus->hits != NULL) {
            mask &= thr_scan_values_of_block(query, lane, row, 1, 0, scores);
            if (mask != 0)
                thr_scan_values_push(lane, row, mask, scores, NULL);
            continue;
        }
        mask &= query->kernels->screen_scores(scores, lane->collector.threshold);
        if (mask != 0)
            thr_select_collector_push_block(&lane->collector, row, mask, scores, NULL);
    }
    score_queue(query, lane, &rows);
}

static double touched_blocks(const uint64_t *filter, uint64_t n_rows) {
    uint64_t n = 0;
    for (uint64_t word = 0; word < thr_blocks_of(n_rows); word++)
        n += filter[word] != 0;
    return (double)n;
}

bool thr_scan_rows_are_cheaper(const thr_scan_corpus *corpus, const uint64_t *filter, uint64_t n_allowed) {
    if (filter == NULL || corpus->keep == THR_DTYPE_NONE)
        return false;
    const double row = thr_cost_ns(THR_COST_VECTOR_OF_SOME, 1, (double)thr_row_size(corpus));
    const double block =
        thr_cost_ns(THR_COST_FILTERED_BLOCK, 1, (double)thr_block_size(corpus->quantiser->n_dims, corpus->lead));
    return (double)n_allowed * row < touched_blocks(filter, corpus->n_rows) * block;
}
