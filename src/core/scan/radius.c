/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radius.c - finds all rows within a radius. The screen's threshold does not change during the pass, so survivors are
 * rescored and refined in batches of some thousands: no memory but the answer's grows.
 */
#include "scan/radius.h"

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"
#include "scan/margins/bounds.h"
#include "scan/margins/margin.h"
#include "scan/margins/noise.h"
#include "scan/radius_plan.h"

#include <math.h>
#include <string.h>

typedef struct radius_search {
    thr_scan *scan;
    const thr_job *job;
    const thr_matrix *queries;
    thr_radius radius;
    size_t group_size;
    thr_found *found; /* one per query */
} radius_search;

/* Queries that scan the codes together, each with a lane; or one query, with the lanes of all threads. */
typedef struct radius_group {
    const radius_search *search;
    thr_scan_group screen;
    const thr_radius_plan *plans;
    thr_lane *lanes;
} radius_group;

/* ------------------------------------------------------------------------------------------------ answers */

static size_t keep_at_least(thr_candidate *items, size_t n, double least) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((double)items[i].score >= least)
            items[kept++] = items[i];
    return kept;
}

/*
 * Rescore n items by all planes, and keep those that may reach the least score. Without vectors keep all:
 * accept_survivors compares their estimates with the least score.
 */
static size_t rescore(const radius_search *s, const thr_radius_plan *plan, thr_candidate *items, size_t n) {
    const thr_scan_corpus *corpus = s->job->corpus;
    thr_scan_rescore(&plan->rescoring, items, n);
    if (corpus->keep == THR_DTYPE_NONE)
        return n;
    return keep_at_least(items, n,
                         s->radius.certain
                             ? thr_scan_rescore_bound(&plan->rescoring, s->radius.least_score, s->job->kept_error,
                                                      thr_scan_largest_factor(corpus, items, n))
                             : plan->rescored);
}

/* Rescore and refine the rows in the lane's collector, and append those within the radius to the lane's part. */
static thr_status accept_survivors(const radius_search *s, const thr_radius_plan *plan, thr_lane *lane,
                                   thr_error *err) {
    const thr_scan_corpus *corpus = s->job->corpus;
    const bool vectors = corpus->keep != THR_DTYPE_NONE;
    thr_candidate *items = lane->collector.items;
    size_t n = lane->collector.n;
    lane->collector.n = 0;
    lane->n_read += plan->exact ? 0 : n;
    if (!plan->exact && thr_is_nested(corpus))
        n = rescore(s, plan, items, n);
    if (!plan->exact && vectors)
        thr_scan_refine(&plan->rescoring, lane, items, n);
    for (size_t i = 0; !vectors && i < n; i++)
        items[i].score = thr_scan_estimate_score(&plan->rescoring, items[i].score);
    thr_found *accepted = &lane->accepted;
    THR_TRY(thr_scan_found_append(s->job->context, accepted, items,
                                  keep_at_least(items, n, (double)s->radius.least_score), err));
    if (s->radius.most > 0 && accepted->n > s->radius.most + THR_RADIUS_ROWS)
        accepted->n = thr_select_candidates_keep(accepted->items, accepted->n, (size_t)s->radius.most);
    return THR_OK;
}

/* Add all allowed rows if 0 is within the radius: a query of length 0 scores 0 with every row. */
static thr_status find_all_rows(const radius_search *s, thr_lane *lane, thr_error *err) {
    const uint64_t *filter = s->job->options->filter;
    for (uint64_t row = 0; row < s->job->corpus->n_rows && s->radius.least_score <= 0; row++)
        if (filter == NULL || (filter[row / 64] >> row % 64 & 1) != 0) {
            const thr_candidate item = {.row = row};
            THR_TRY(thr_scan_found_append(s->job->context, &lane->accepted, &item, 1, err));
        }
    return THR_OK;
}

/* Merge the parts of n_lanes lanes into one query's answer. */
static thr_status finish(const radius_search *s, uint64_t q, thr_lane *lanes, size_t n_lanes, thr_error *err) {
    thr_found *found = &s->found[q];
    size_t n = 0;
    for (size_t i = 0; i < n_lanes; i++)
        n += lanes[i].accepted.n;
    THR_TRY(thr_scan_found_reserve(s->job->context, found, found->n + n, err));
    for (size_t i = 0; i < n_lanes; i++) {
        THR_TRY(thr_scan_found_append(s->job->context, found, lanes[i].accepted.items, lanes[i].accepted.n, err));
        lanes[i].accepted.n = 0;
    }
    thr_select_candidates_sort(found->items, found->n);
    thr_scan_clamp_estimates(s->job, found->items, found->n);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ the pass */

/* Scan some blocks; each query of the group has a lane. */
static thr_status pass_blocks(const radius_group *g, thr_lane *lanes, thr_block_range blocks, thr_error *err) {
    const thr_scan_corpus *corpus = g->search->job->corpus;
    const uint32_t n = g->screen.n;
    uint64_t step = THR_RADIUS_BLOCKS;
    bool screen = false, exact = false;
    for (uint32_t q = 0; q < n; q++) {
        screen = screen || !g->screen.queries[q].skips_screen;
        exact = exact || g->plans[q].exact;
    }
    if (exact && n > 1 && thr_shared_blocks(corpus) < step)
        step = thr_shared_blocks(corpus);
    for (uint64_t first = blocks.first, end; first < blocks.end; first = end) {
        end = blocks.end - first < step ? blocks.end : first + step;
        const thr_block_range range = {first, end};
        if (screen)
            thr_scan_screen_blocks(&g->screen, lanes, range);
        for (uint32_t q = 0; q < n; q++) {
            if (g->plans[q].exact)
                thr_scan_exact_blocks(&g->screen.queries[q], &lanes[q], range);
            if (lanes[q].collector.n > THR_RADIUS_ROWS || end == blocks.end)
                THR_TRY(accept_survivors(g->search, &g->plans[q], &lanes[q], err));
        }
    }
    return THR_OK;
}

static thr_status run_piece(void *arg, size_t piece, uint32_t worker, thr_error *err) {
    const radius_group *g = arg;
    const radius_search *s = g->search;
    thr_block_range blocks = {(uint64_t)piece * THR_PIECE_BLOCKS, ((uint64_t)piece + 1) * THR_PIECE_BLOCKS};
    blocks.end = blocks.end < s->job->n_blocks ? blocks.end : s->job->n_blocks;
    return pass_blocks(g, &g->lanes[worker], blocks, err);
}

/*
 * A check leaves at most THR_RADIUS_ROWS rows, and at most as many arrive before the next one; the collector then needs
 * room for one more block. Its capacity is twice `wanted` and more.
 */
static thr_status start_lanes(const radius_search *s, thr_lane *lanes, size_t n, float threshold, thr_error *err) {
    for (size_t i = 0; i < n; i++)
        THR_TRY(thr_select_collector_start(&lanes[i].collector, s->job->context, THR_RADIUS_ROWS + THR_BLOCK_ITEMS,
                                           threshold, err));
    return THR_OK;
}

/* Prepare a query and its plan. Rows that need no pass go to the lane's part. */
static thr_status start_query(const radius_search *s, uint64_t q, thr_lane *lane, thr_scan_query *query,
                              thr_radius_plan *plan, thr_error *err) {
    const thr_job *job = s->job;
    if (s->radius.margin != NULL) {
        *query = s->radius.margin->screen;
        query->corpus = job->corpus;
        query->filter = job->options->filter;
    } else {
        thr_scan_query_prepare(job, s->queries, q, lane, query);
    }
    THR_TRY(start_lanes(s, lane, 1, -INFINITY, err));
    if (query->norm == 0 && job->corpus->metric != THR_METRIC_L2) {
        *plan = (thr_radius_plan){.certified = job->corpus->keep != THR_DTYPE_NONE, .rescoring = *query};
        query->skips_screen = true;
        THR_TRY(find_all_rows(s, lane, err));
    } else {
        *plan = thr_scan_radius_plan_make(job, &s->radius, query, lane);
        query->skips_screen = plan->exact;
        lane->n_read += plan->exact ? job->n_allowed : 0;
    }
    if (job->options->certified != NULL)
        job->options->certified[q] = plan->certified;
    return THR_OK;
}

/* Search n queries from q on, with a lane each, or one query on all n_lanes. */
static thr_status search_group(const radius_search *s, uint64_t q, uint32_t n, thr_lane *lanes, uint32_t n_lanes,
                               thr_error *err) {
    thr_scan_query queries[THR_GROUP] = {{.corpus = NULL}};
    thr_radius_plan plans[THR_GROUP];
    for (uint32_t i = 0; i < (n == 1 ? n_lanes : n); i++)
        lanes[i].accepted.n = 0; /* a search that failed may have left some */
    for (uint32_t i = 0; i < n; i++) {
        THR_TRY(start_query(s, q + i, &lanes[i], &queries[i], &plans[i], err));
        THR_TRY(start_lanes(s, &lanes[i], n == 1 ? n_lanes : 1,
                            plans[i].exact ? s->radius.least_score : plans[i].screened, err));
    }
    radius_group g = {s, thr_scan_group_make(s->job, queries, n, lanes), plans, lanes};
    if (n_lanes > 1) {
        THR_TRY(thr_parallel_try(s->job->context,
                                 (size_t)((s->job->n_blocks + THR_PIECE_BLOCKS - 1) / THR_PIECE_BLOCKS), run_piece, &g,
                                 err));
        return finish(s, q, lanes, n_lanes, err);
    }
    THR_TRY(pass_blocks(&g, lanes, (thr_block_range){0, s->job->n_blocks}, err));
    for (uint32_t i = 0; i < n; i++)
        THR_TRY(finish(s, q + i, &lanes[i], 1, err));
    return THR_OK;
}

static thr_status run_group(void *arg, size_t group, uint32_t worker, thr_error *err) {
    const radius_search *s = arg;
    const uint64_t q = (uint64_t)group * s->group_size, left = s->queries->n_rows - q;
    const size_t first = (size_t)worker * s->group_size;
    return search_group(s, q, (uint32_t)(left < s->group_size ? left : s->group_size), &s->scan->lanes[first], 1, err);
}

static thr_status run(radius_search *s, thr_error *err) {
    if (s->group_size == 0) {
        for (uint64_t row = 0; row < s->queries->n_rows; row++)
            THR_TRY(search_group(s, row, 1, s->scan->lanes, s->scan->context->n_threads, err));
        return THR_OK;
    }
    return thr_parallel_try(s->scan->context, (size_t)THR_CEIL_DIV(s->queries->n_rows, s->group_size), run_group, s,
                            err);
}

thr_status thr_scan_radius(thr_scan *scan, const thr_scan_corpus *corpus, const thr_matrix *queries, float least_score,
                           const thr_search_options *options, thr_found *found, thr_error *err) {
    thr_context *context = scan->context;
    const thr_answers answers = {.k = 1};
    thr_job job = thr_scan_job_make(context, corpus, options, &answers);
    radius_search s = {.scan = scan,
                       .job = &job,
                       .queries = queries,
                       .radius = thr_scan_radius_make(least_score, (double)options->recall),
                       .found = found};
    job.measures_queries = !job.exact;
    job.kept_error = job.measures_queries && s.radius.certain ? thr_scan_kept_error(corpus) : 0;
    s.group_size = thr_scan_group_size(context, queries->n_rows);
    const size_t n_lanes = thr_scan_lanes(context, queries->n_rows);
    THR_TRY(thr_scan_make_room(scan, corpus, n_lanes, (uint32_t)THR_MAX(s.group_size, 1), THR_RADIUS_ROWS, err));
    const thr_status status = run(&s, err);
    for (size_t i = 0; i < n_lanes; i++)
        thr_scan_found_free(context, &scan->lanes[i].accepted);
    return status;
}

/* The job of one query of a search: it measures the query, and certifies nothing. */
static thr_job job_of_one(const thr_job *job, thr_search_options *options) {
    thr_job alone = *job;
    *options = *job->options;
    options->certified = NULL;
    alone.options = options;
    alone.measures_queries = true;
    return alone;
}

thr_status thr_scan_radius_part(const thr_job *job, const thr_matrix *query, const thr_radius *radius, thr_lane *lanes,
                                uint32_t n_lanes, thr_found *found, thr_error *err) {
    const radius_search s = {.job = job, .queries = query, .radius = *radius, .group_size = 1, .found = found};
    return search_group(&s, 0, 1, lanes, n_lanes, err);
}

thr_status thr_scan_radius_one(const thr_job *job, const thr_matrix *query, const thr_radius *radius, thr_lane *lanes,
                               uint32_t n_lanes, thr_found *found, thr_error *err) {
    thr_search_options options;
    const thr_job alone = job_of_one(job, &options);
    return thr_scan_radius_part(&alone, query, radius, lanes, n_lanes, found, err);
}

thr_status thr_scan_radius_begin(const thr_job *job, const thr_matrix *query, const thr_radius *radius, thr_lane *lane,
                                 thr_scan_query *screen, thr_radius_plan *plan, thr_error *err) {
    thr_search_options options;
    const thr_job alone = job_of_one(job, &options);
    const radius_search s = {.job = &alone, .queries = query, .radius = *radius, .group_size = 1};
    lane->accepted.n = 0;
    THR_TRY(start_query(&s, 0, lane, screen, plan, err));
    return start_lanes(&s, lane, 1, plan->screened, err);
}

thr_status thr_scan_radius_accept(const thr_job *job, const thr_radius *radius, const thr_radius_plan *plan,
                                  thr_lane *lane, thr_error *err) {
    const radius_search s = {.job = job, .radius = *radius, .group_size = 1};
    return accept_survivors(&s, plan, lane, err);
}

thr_status thr_scan_radius_finish(const thr_job *job, const thr_radius *radius, const thr_radius_plan *plan,
                                  thr_lane *lane, thr_found *found, thr_error *err) {
    const radius_search s = {.job = job, .radius = *radius, .group_size = 1, .found = found};
    THR_TRY(accept_survivors(&s, plan, lane, err));
    return finish(&s, 0, lane, 1, err);
}
