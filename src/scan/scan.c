/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One search: a first threshold from a sample, one pass over all blocks on all threads, a merge, the exact scores of
 * what is left. Many queries are spread over the threads whole; one query is spread by its blocks. Either way the
 * answer is decided by (score, row) alone.
 */
#include "scan/scan.h"

#include "base/error.h"
#include "code/encode.h"
#include "parallel/pool.h"
#include "scan/lane.h"
#include "select/histogram.h"

#include <math.h>
#include <string.h>

struct thr_scan {
    thr_context *context;
    uint32_t n_lanes, n_dims; /* n_dims the lanes have room for */
    thr_lane lanes[];
};

/* A search as its pieces see it. */
typedef struct search {
    thr_scan *scan;
    const thr_scan_target *target;
    const thr_matrix *queries;
    const thr_search_options *options;
    uint64_t k, n_allowed; /* rows that pass the filter */
    size_t wanted;         /* candidates */
    uint64_t *rows_out;
    float *scores_out;
} search;

typedef struct block_search {
    const thr_scan_query *query;
    thr_lane *lanes;
    uint64_t n_blocks;
    bool exact;
} block_search;

thr_status thr_scan_create(thr_context *context, thr_scan **scan_out, thr_error *err) {
    thr_scan *scan = NULL;
    *scan_out = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *scan + context->n_threads * sizeof(thr_lane), &scan, "a search", err));
    scan->context = context;
    scan->n_lanes = context->n_threads;
    *scan_out = scan;
    return THR_OK;
}

static void free_lane(thr_context *context, thr_lane *lane) {
    thr_release(context, lane->vector);
    thr_release(context, lane->code_memory);
    thr_release(context, lane->distances);
    thr_release(context, lane->sample);
    lane->vector = NULL;
    lane->code_memory = NULL;
    lane->distances = NULL;
    lane->sample = NULL;
}

void thr_scan_free(thr_scan *scan) {
    if (scan == NULL)
        return;
    for (uint32_t i = 0; i < scan->n_lanes; i++) {
        free_lane(scan->context, &scan->lanes[i]);
        thr_collector_free(&scan->lanes[i].collector);
    }
    thr_release(scan->context, scan);
}

/* Every lane gets all the memory this search can ask for, so that a second search of the same shape asks for none. */
static thr_status make_room(thr_scan *scan, uint32_t n_dims, size_t wanted, thr_error *err) {
    thr_context *context = scan->context;
    const size_t tile = (size_t)THR_TILE_BLOCKS * THR_BLOCK_ITEMS;
    for (uint32_t i = 0; i < scan->n_lanes; i++) {
        thr_lane *lane = &scan->lanes[i];
        if (scan->n_dims < n_dims || lane->sample == NULL) {
            free_lane(context, lane);
            THR_TRY(thr_alloc(context, 2 * (size_t)n_dims, sizeof(float), &lane->vector, "a query", err));
            THR_TRY(thr_alloc(context, 1, thr_query_code_size(n_dims), &lane->code_memory, "a query code", err));
            THR_TRY(thr_alloc(context, 2 * tile, sizeof(uint32_t), &lane->distances, "distances", err));
            lane->more_distances = lane->distances + tile;
            THR_TRY(thr_alloc(context, (size_t)THR_SAMPLE_BLOCKS * THR_BLOCK_ITEMS, sizeof(float), &lane->sample,
                              "a sample", err));
        }
        THR_TRY(thr_collector_start(&lane->collector, context, wanted, 0, -INFINITY, err));
    }
    scan->n_dims = n_dims > scan->n_dims ? n_dims : scan->n_dims;
    return THR_OK;
}

static void run_piece(void *arg, size_t piece, uint32_t worker) {
    const block_search *b = arg;
    thr_block_range blocks = {(uint64_t)piece * THR_PIECE_BLOCKS, ((uint64_t)piece + 1) * THR_PIECE_BLOCKS};
    blocks.end = blocks.end < b->n_blocks ? blocks.end : b->n_blocks;
    (b->exact ? thr_exact_blocks : thr_screen_blocks)(b->query, &b->lanes[worker], blocks);
}

/* Scores of evenly spaced blocks, collected without a threshold and copied out. */
static float first_threshold(const search *s, const thr_scan_query *query, thr_lane *lane, uint64_t n_blocks,
                             float margin) {
    const uint64_t n_sampled = thr_sample_blocks(n_blocks);
    if (n_sampled == 0)
        return -INFINITY;
    size_t n = 0;
    for (uint64_t i = 0; i < n_sampled; i++) {
        const uint64_t block = i * n_blocks / n_sampled;
        lane->collector.n = 0;
        lane->collector.threshold = -INFINITY;
        thr_screen_blocks(query, lane, (thr_block_range){block, block + 1});
        for (size_t j = 0; j < lane->collector.n; j++)
            lane->sample[n++] = lane->collector.items[j].score;
    }
    lane->collector.n = 0;
    return thr_sampled_threshold(lane->sample, n, s->n_allowed, s->wanted) - margin;
}

/* One pass over all blocks into the first lane's collector, which is finished then. */
static thr_status pass(const search *s, const thr_scan_query *query, thr_lane *lanes, uint32_t n_lanes,
                       uint64_t n_blocks, float margin, float threshold, thr_error *err) {
    for (uint32_t i = 0; i < n_lanes; i++)
        THR_TRY(thr_collector_start(&lanes[i].collector, s->scan->context, s->wanted, margin, threshold, err));
    block_search b = {query, lanes, n_blocks, s->options->exact};
    const size_t n_pieces = (size_t)((n_blocks + THR_PIECE_BLOCKS - 1) / THR_PIECE_BLOCKS);
    if (n_lanes > 1)
        thr_parallel_for(s->scan->context, n_pieces, run_piece, &b);
    else
        for (size_t piece = 0; piece < n_pieces; piece++)
            run_piece(&b, piece, 0);
    for (uint32_t i = 1; i < n_lanes; i++)
        thr_collector_merge(&lanes[0].collector, &lanes[i].collector);
    thr_collector_finish(&lanes[0].collector);
    if (lanes[0].collector.status != THR_OK)
        return thr_fail(err, lanes[0].collector.status, "no memory for all rows within the margin: lower extra");
    return THR_OK;
}

/*
 * A sampled threshold was too high when fewer than the wanted reach it, margin added. Written as the collector computes
 * it, score - margin: the wanted-th best score less the margin is then surely not below the threshold, rounding included.
 */
static bool enough(const thr_collector *collector, float margin, float threshold) {
    size_t n = 0;
    for (size_t i = 0; i < collector->n; i++)
        n += collector->items[i].score - margin >= threshold;
    return n >= collector->wanted;
}

/* A query without direction has cosine and inner product 0 with all rows: the first allowed ones are its answer. */
static thr_status collect_first(const search *s, const thr_scan_query *query, thr_lane *lane, thr_error *err) {
    THR_TRY(thr_collector_start(&lane->collector, s->scan->context, s->wanted, 0, -INFINITY, err));
    for (uint64_t row = 0; row < s->target->n_items && lane->collector.n < s->wanted; row++)
        if (query->filter == NULL || (query->filter[row / 64] >> row % 64 & 1) != 0) {
            thr_collector_reserve(&lane->collector);
            thr_collector_push(&lane->collector, row, 0.0f);
        }
    return THR_OK;
}

static thr_status collect(const search *s, const thr_scan_query *query, thr_lane *lanes, uint32_t n_lanes,
                          thr_error *err) {
    if (query->norm == 0 && s->target->metric != THR_METRIC_L2)
        return collect_first(s, query, &lanes[0], err);
    const uint64_t n_blocks = (s->target->n_items + THR_BLOCK_ITEMS - 1) / THR_BLOCK_ITEMS;
    if (s->options->exact)
        return pass(s, query, lanes, n_lanes, n_blocks, 0, -INFINITY, err);
    /* Without vectors there is nothing to refine, so a margin would only collect rows to be dropped. */
    float margin = s->options->extra > 0 && s->target->keep != THR_DTYPE_NONE ? s->options->extra : 0;
    if (s->target->segments->factors == NULL)
        margin /= query->code.gain; /* the collector's scores are not divided by the query code's length */
    const float threshold = first_threshold(s, query, &lanes[0], n_blocks, margin);
    THR_TRY(pass(s, query, lanes, n_lanes, n_blocks, margin, threshold, err));
    if (threshold == -INFINITY || enough(&lanes[0].collector, margin, threshold))
        return THR_OK;
    return pass(s, query, lanes, n_lanes, n_blocks, margin, -INFINITY, err);
}

static void make_query(const search *s, uint64_t row, thr_lane *lane, thr_scan_query *query) {
    const thr_scan_target *target = s->target;
    const thr_kernels *kernels = s->scan->context->kernels;
    const uint32_t n_dims = target->quantiser->n_dims;
    (void)thr_matrix_to_f32(s->queries, row, 1, lane->vector);
    double norm = sqrt(kernels->sum_squares(lane->vector, n_dims));
    if (norm < 0x1p-100) {
        norm = 0; /* counts as zero everywhere: refine must say 0 too, as collect_first does */
        memset(lane->vector, 0, n_dims * sizeof *lane->vector);
    }
    *query = (thr_scan_query){.target = target,
                              .kernels = kernels,
                              .distance = kernels->distance_table,
                              .filter = s->options->filter,
                              .vector = lane->vector,
                              .norm = (float)norm};
    if (target->metric == THR_METRIC_COSINE && norm > 0)
        for (uint32_t d = 0; d < n_dims; d++)
            lane->vector[d] = (float)((double)lane->vector[d] / norm);
    const float *coded = lane->vector;
    const float *centre = target->quantiser->centre;
    double length = target->metric == THR_METRIC_COSINE ? norm > 0 : norm, shared = 0, weight = 1;
    if (centre != NULL) {
        /*
         * With u = c / |c|: <x, q> = <x - c, q - <q, u> u> + <q, u> <x - c, u> + <c, q>. Only the first needs codes; the
         * second is the item's offset times this query's weight, the last is the query's bias. For L2 it is the squared
         * distance of x - c and q - c that is wanted.
         */
        float *residual = lane->vector + n_dims;
        const double centre_length = sqrt(kernels->sum_squares(centre, n_dims));
        for (uint32_t d = 0; d < n_dims; d++)
            shared += (double)centre[d] * (double)lane->vector[d];
        const double along = target->metric == THR_METRIC_L2 ? 1 : shared / centre_length / centre_length;
        weight = target->metric == THR_METRIC_L2 ? 1 : shared / centre_length;
        for (uint32_t d = 0; d < n_dims; d++)
            residual[d] = (float)((double)lane->vector[d] - along * (double)centre[d]);
        coded = residual;
        length = sqrt(kernels->sum_squares(residual, n_dims));
    }
    thr_query_code_make(&query->code, target->quantiser, coded, length > 0x1p-100 ? length : 1, s->options->query_bits,
                        lane->code_memory);
    query->gain = (float)(length * (double)query->code.gain * (target->metric == THR_METRIC_L2 ? 2 : 1));
    query->weight = (float)weight;
    query->bias = (float)(target->metric == THR_METRIC_L2 ? -length * length : shared);
}

static thr_status search_one(const search *s, uint64_t row, thr_lane *lanes, uint32_t n_lanes, thr_error *err) {
    thr_scan_query query;
    make_query(s, row, &lanes[0], &query);
    THR_TRY(collect(s, &query, lanes, n_lanes, err));
    thr_candidate *items = lanes[0].collector.items;
    size_t n = lanes[0].collector.n;
    if (s->target->keep != THR_DTYPE_NONE && !s->options->exact)
        thr_refine(&query, &lanes[0], items, n);
    else if (!s->options->exact)
        for (size_t i = 0; i < n; i++)
            items[i].score = thr_estimate_score(&query, items[i].score);
    if (n > s->k) {
        thr_candidates_split(items, n, s->k);
        n = s->k;
    }
    thr_candidates_sort(items, n);
    for (uint64_t i = 0; i < s->k; i++) {
        s->rows_out[row * s->k + i] = i < n ? items[i].row : THR_NO_ID;
        if (s->scores_out != NULL)
            s->scores_out[row * s->k + i] = i < n ? items[i].score : -INFINITY;
    }
    return THR_OK;
}

typedef struct query_search {
    const search *search;
    thr_status *statuses; /* a lane's first failure */
} query_search;

static void run_query(void *arg, size_t row, uint32_t worker) {
    const query_search *q = arg;
    const thr_status status = search_one(q->search, row, &q->search->scan->lanes[worker], 1, NULL);
    if (status != THR_OK)
        q->statuses[worker] = status;
}

static thr_status check_queries(const search *s, thr_error *err) {
    const uint32_t n_dims = s->target->quantiser->n_dims;
    const double longest = thr_longest_row(s->target->quantiser->unit);
    float *vector = s->scan->lanes[0].vector;
    for (uint64_t row = 0; row < s->queries->n_rows; row++) {
        THR_TRY(thr_matrix_to_f32(s->queries, row, 1, vector));
        if (!(sqrt(s->scan->context->kernels->sum_squares(vector, n_dims)) <= longest))
            return thr_fail(err, THR_ERANGE,
                            "query %llu holds NaN or infinity, or is longer than 2^%d: mend it or leave it out",
                            (unsigned long long)row, s->target->quantiser->unit ? 120 : 60);
    }
    return THR_OK;
}

static uint64_t count_allowed(const thr_scan_target *target, const uint64_t *filter) {
    if (filter == NULL)
        return target->n_items;
    uint64_t n = 0;
    for (uint64_t row = 0; row < target->n_items; row += 64) {
        const uint64_t left = target->n_items - row;
        n += (uint64_t)__builtin_popcountll(filter[row / 64] & (left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1));
    }
    return n;
}

thr_status thr_scan_search(thr_scan *scan, const thr_scan_target *target, const thr_matrix *queries, uint64_t k,
                           const thr_search_options *options, uint64_t *rows_out, float *scores_out, thr_error *err) {
    search s = {scan, target, queries, options, k, count_allowed(target, options->filter), 0, rows_out, scores_out};
    /* A margin is counted from the k-th best; without vectors there is nothing to refine more for. */
    uint64_t wanted = options->n_candidates > k ? options->n_candidates : k;
    if (options->exact || options->extra >= 0 || target->keep == THR_DTYPE_NONE)
        wanted = k;
    wanted = wanted < s.n_allowed ? wanted : s.n_allowed;
    s.wanted = wanted == 0 ? 1 : (size_t)wanted;
    THR_TRY(make_room(scan, target->quantiser->n_dims, s.wanted, err));
    THR_TRY(check_queries(&s, err));
    if (queries->n_rows < scan->n_lanes || scan->n_lanes == 1) {
        for (uint64_t row = 0; row < queries->n_rows; row++)
            THR_TRY(search_one(&s, row, scan->lanes, scan->n_lanes, err));
        return THR_OK;
    }
    thr_status statuses[1024] = {THR_OK}; /* as many as a context may have threads */
    query_search q = {&s, statuses};
    thr_parallel_for(scan->context, (size_t)queries->n_rows, run_query, &q);
    for (uint32_t i = 0; i < scan->n_lanes; i++)
        if (statuses[i] != THR_OK)
            return thr_fail(err, statuses[i], "no memory for all rows within the margin: lower extra");
    return THR_OK;
}
