/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - the pass over all blocks: computes a first threshold from a sample of blocks, then screens every block, for
 * one query on all threads or for a group of queries on one thread. Rows are ordered by (score, row), so both give the
 * same answer.
 */
#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"
#include "scan/job.h"
#include "scan/way.h"
#include "select/sampled_threshold.h"

#include <math.h>

enum { FIRST_BLOCKS = 4 }; /* give a threshold if no sample does */

/*
 * Compute a first threshold for each query from the scores of evenly spaced blocks. With hits there is no sample: each
 * block would be in another window, and the sums of a whole window are computed at once.
 */
static void first_thresholds(const thr_job *job, const thr_scan_group *group, thr_lane *lanes, float *thresholds) {
    const uint64_t n_sampled = job->corpus->hits != NULL ? 0 : thr_sample_blocks(job->n_blocks);
    size_t n[THR_GROUP] = {0};
    for (uint64_t i = 0; i < n_sampled; i++) {
        const uint64_t block = thr_select_sample_place(i, n_sampled, job->n_blocks);
        for (uint32_t q = 0; q < group->n; q++)
            if (!group->queries[q].skips_screen) {
                lanes[q].collector.n = 0;
                lanes[q].collector.threshold = -INFINITY;
            }
        thr_scan_screen_blocks(group, lanes, (thr_block_range){block, block + 1});
        for (uint32_t q = 0; q < group->n; q++)
            for (size_t j = 0; j < lanes[q].collector.n && !group->queries[q].skips_screen; j++)
                lanes[q].sample[n[q]++] = lanes[q].collector.items[j].score;
    }
    for (uint32_t q = 0; q < group->n; q++)
        thresholds[q] = fmaxf(thr_select_sampled_threshold(lanes[q].sample, n[q], job->n_allowed, job->n_survivors),
                              lanes[q].floor);
}

/* Rows of sparse blocks wait in a queue (refine.c), so with a filter rows do not ascend. */
static thr_status start_collector(const thr_job *job, thr_lane *lane, float threshold, thr_error *err) {
    THR_TRY(thr_select_collector_start(&lane->collector, job->context, job->n_survivors, threshold, err));
    lane->collector.ascending = job->options->filter == NULL;
    return THR_OK;
}

/* A group of queries with a lane each, or one query with the lanes of all threads. */
typedef struct block_pass {
    const thr_job *job;
    const thr_scan_group *group;
    thr_lane *lanes;
} block_pass;

/*
 * Exact scores of several queries are computed step by step: all queries score a step of blocks while its vectors are
 * in cache.
 */
static void pass_blocks(const thr_job *job, const thr_scan_group *group, thr_lane *lanes, thr_block_range blocks) {
    if (!job->exact) {
        thr_scan_screen_blocks(group, lanes, blocks);
        return;
    }
    const uint64_t most = group->n == 1 ? blocks.end - blocks.first : thr_shared_blocks(job->corpus);
    for (thr_block_range step = blocks; step.first < blocks.end; step.first = step.end) {
        step.end = blocks.end - step.first < most ? blocks.end : step.first + most;
        for (uint32_t q = 0; q < group->n; q++)
            if (!group->queries[q].skips_screen)
                thr_scan_exact_blocks(&group->queries[q], &lanes[q], step);
    }
}

static void run_piece(void *arg, size_t piece, uint32_t worker) {
    const block_pass *p = arg;
    thr_block_range blocks = {(uint64_t)piece * THR_PIECE_BLOCKS, ((uint64_t)piece + 1) * THR_PIECE_BLOCKS};
    blocks.end = THR_MIN(blocks.end, p->job->n_blocks);
    pass_blocks(p->job, p->group, &p->lanes[worker], blocks);
}

/*
 * Pass over all blocks on one lane without a first threshold: in a small corpus, with hits, or after a sampled
 * threshold that was too high. The first few blocks give a threshold that most rows of the others do not reach.
 */
static void pass_without_threshold(const thr_job *job, const thr_scan_group *group, thr_lane *lane) {
    const uint64_t first = THR_MIN(job->n_blocks, FIRST_BLOCKS);
    pass_blocks(job, group, lane, (thr_block_range){0, first});
    thr_select_collector_finish(&lane->collector);
    pass_blocks(job, group, lane, (thr_block_range){first, job->n_blocks});
}

/* Run a group of one query over all blocks; the merged and finished result is in the first lane's collector. */
static thr_status pass_one(const thr_job *job, const thr_scan_group *group, thr_lane *lanes, uint32_t n_lanes,
                           float threshold, thr_error *err) {
    for (uint32_t i = 0; i < n_lanes; i++)
        THR_TRY(start_collector(job, &lanes[i], threshold, err));
    block_pass p = {job, group, lanes};
    const size_t n_pieces = (size_t)THR_CEIL_DIV(job->n_blocks, THR_PIECE_BLOCKS);
    if (n_lanes > 1)
        thr_parallel_for(job->context, n_pieces, run_piece, &p);
    else if (threshold == -INFINITY)
        pass_without_threshold(job, group, lanes);
    else
        pass_blocks(job, group, lanes, (thr_block_range){0, job->n_blocks});
    lanes[0].collector.ascending = false;
    for (uint32_t i = 1; i < n_lanes; i++)
        thr_select_collector_merge(&lanes[0].collector, &lanes[i].collector);
    thr_select_collector_finish(&lanes[0].collector);
    return THR_OK;
}

/*
 * Whether enough rows reach a sampled threshold. If not, it was too high, unless it is the lane's floor, below which no
 * row is wanted.
 */
static bool enough(const thr_collector *collector, float threshold, float floor) {
    return threshold <= floor || collector->n >= collector->wanted;
}

thr_status thr_scan_collect_first(const thr_job *job, const thr_scan_query *query, thr_lane *lane, thr_error *err) {
    THR_TRY(thr_select_collector_start(&lane->collector, job->context, job->n_candidates, -INFINITY, err));
    for (uint64_t row = 0; row < job->corpus->n_rows && lane->collector.n < job->n_candidates; row++)
        if (query->filter == NULL || (query->filter[row / 64] >> row % 64 & 1) != 0) {
            thr_select_collector_reserve(&lane->collector);
            thr_collector_push(&lane->collector, row, 0.0f, 0);
        }
    return THR_OK;
}

thr_scan_group thr_scan_group_make(const thr_job *job, const thr_scan_query *queries, uint32_t n, thr_lane *lanes) {
    thr_scan_group group = {.queries = queries, .n = n};
    const thr_query_code *codes[THR_GROUP];
    if (job->exact)
        return group;
    for (uint32_t i = 0; i < n; i++)
        codes[i] = &queries[i].code;
    const thr_way way =
        thr_scan_way_choose(job->context, job->corpus->quantiser->n_dims, job->corpus->lead, job->query_bits, n);
    thr_code_query_group_make(&group.codes, way, codes, n, lanes->group_memory);
    group.codes.codes = NULL; /* it pointed to this function's array; screen.c reads the codes from `queries` */
    return group;
}

float thr_scan_first_threshold(const thr_job *job, const thr_scan_query *query, thr_lane *lane) {
    const thr_scan_group alone = thr_scan_group_make(job, query, 1, lane);
    float threshold;
    first_thresholds(job, &alone, lane, &threshold);
    return threshold;
}

/* One query on all lanes; once more from the lane's floor if the sampled threshold was too high. */
static thr_status collect_one(const thr_job *job, const thr_scan_group *group, thr_lane *lanes, uint32_t n_lanes,
                              float threshold, thr_error *err) {
    THR_TRY(pass_one(job, group, lanes, n_lanes, threshold, err));
    return enough(&lanes->collector, threshold, lanes->floor) ? THR_OK
                                                              : pass_one(job, group, lanes, n_lanes, lanes->floor, err);
}

/* Several queries, each with a lane. A query whose sampled threshold was too high passes once more, alone. */
static thr_status collect_group(const thr_job *job, const thr_scan_group *group, thr_lane *lanes,
                                const float *thresholds, thr_error *err) {
    const thr_scan_query *queries = group->queries;
    for (uint32_t i = 0; i < group->n; i++)
        if (!queries[i].skips_screen)
            THR_TRY(start_collector(job, &lanes[i], thresholds[i], err));
    pass_blocks(job, group, lanes, (thr_block_range){0, job->n_blocks});
    for (uint32_t i = 0; i < group->n; i++) {
        if (queries[i].skips_screen)
            continue;
        thr_select_collector_finish(&lanes[i].collector);
        if (enough(&lanes[i].collector, thresholds[i], lanes[i].floor))
            continue;
        const thr_scan_group alone = thr_scan_group_make(job, &queries[i], 1, &lanes[i]);
        THR_TRY(pass_one(job, &alone, &lanes[i], 1, lanes[i].floor, err));
    }
    return THR_OK;
}

thr_status thr_scan_collect(const thr_job *job, thr_scan_query *queries, size_t n, thr_lane *lanes, uint32_t n_lanes,
                            thr_error *err) {
    float thresholds[THR_GROUP];
    bool all_skip_screen = true;
    for (size_t i = 0; i < n; i++) {
        queries[i].skips_screen =
            queries[i].norm == 0 && job->corpus->metric != THR_METRIC_L2 && job->corpus->hits == NULL;
        all_skip_screen = all_skip_screen && queries[i].skips_screen;
        thresholds[i] = lanes[i].floor;
        if (queries[i].skips_screen)
            THR_TRY(thr_scan_collect_first(job, &queries[i], &lanes[i], err));
    }
    if (all_skip_screen)
        return THR_OK;
    const thr_scan_group group = thr_scan_group_make(job, queries, (uint32_t)n, lanes);
    if (!job->exact)
        first_thresholds(job, &group, lanes, thresholds);
    return n == 1 ? collect_one(job, &group, lanes, n_lanes, thresholds[0], err)
                  : collect_group(job, &group, lanes, thresholds, err);
}
