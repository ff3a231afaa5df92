/* SPDX-License-Identifier: Apache-2.0 */
/* cell_search.c - plans a search, and runs it on the CPU or on devices. */
#include "cells/cell_search.h"

#include "base/blocks.h"
#include "base/error.h"
#include "cells/device_search.h"
#include "cells/group_search.h"
#include "scan/margins/margin.h"
#include "scan/radius_plan.h"

#include <math.h>

enum {
    LEAST_K = 2,       /* misses are estimated for at least as many of the best rows */
    LEAST_IP_K = 4,    /* the same by inner product */
    LEAST_WANTED = 20, /* rows that a pass finds, at least: the spread is fitted to them */
};

/*
 * With 1/64, searches for negated items on books100d find .83 of the ten best where .9 is promised. With 1/20 they find
 * .95 where .95 is, but .96 where .99 is, so the share grows if fewer than ORDER_MISSES are allowed.
 */
static const double ORDER_SHARE = 0.05, ORDER_MISSES = 0.1, LARGEST_ORDER_SHARE = 0.1;

bool thr_cells_may_be_skipped(const thr_cells_corpus *corpus, const thr_search_options *options,
                              const thr_answers *answers) {
    return thr_cells_count(corpus) > 0 && !options->exact && answers->certified == NULL && options->recall > 0 &&
           options->recall < 1 && thr_scan_has_margins(corpus->scan);
}

/*
 * The number of best rows whose misses a search estimates. By inner product the best item is often a long one of a far
 * cell, which no estimate from its score alone expects. By cosine and L2 the best item of a mean of two items, or of
 * a - b + c, has a rival in another cell that scores nearly as much, while all others score far less.
 */
static uint64_t estimated_k(const thr_scan_corpus *scan, uint64_t k) {
    const uint64_t least = scan->metric == THR_METRIC_IP ? LEAST_IP_K : LEAST_K;
    return k < least ? least : k;
}

/* The least share of all rows after which the order of cells alone may end a search that may miss this share. */
static double order_share(double misses) {
    return fmin(fmax(ORDER_SHARE, ORDER_SHARE * ORDER_MISSES / misses), LARGEST_ORDER_SHARE);
}

/*
 * The plan of a search, without plan->whole and plan->cell_rows. By inner product the misses allowed are those of all
 * rows whose misses are estimated; else those of the k wanted, so that for k = 1 a rival counts in full.
 */
static thr_cells_plan plan_of(thr_context *context, const thr_cells_corpus *corpus, const thr_search_options *options,
                              uint64_t k) {
    const double misses = 1 - (double)options->recall;
    const bool ip = corpus->scan->metric == THR_METRIC_IP;
    const uint64_t k_estimated = estimated_k(corpus->scan, k);
    thr_cells_plan plan = {.context = context,
                           .corpus = corpus,
                           .options = *options,
                           .n_cells = thr_cells_count(corpus),
                           .n_blocks = thr_blocks_of(corpus->scan->n_rows),
                           .k = k_estimated,
                           .wanted = k > LEAST_WANTED ? k : LEAST_WANTED,
                           .allowed_misses = misses * THR_CELLS_UNVISITED_SHARE * (double)(ip ? k_estimated : k),
                           .order_share = order_share(misses)};
    /* As many survivors as are refined at once. If they are too few, margins cause a second pass. */
    plan.options.n_candidates = plan.options.n_survivors = thr_scan_first_refined(plan.wanted);
    plan.options.recall = (float)(1 - misses * (1 - THR_CELLS_UNVISITED_SHARE));
    return plan;
}

thr_status thr_cells_search(thr_scan *scan, thr_cells_workspace *workspace, const thr_cells_corpus *corpus,
                            const thr_matrix *queries, const thr_search_options *options, const thr_answers *answers,
                            thr_error *err) {
    thr_context *context = workspace->context;
    thr_cells_job job = {.plan = plan_of(context, corpus, options, answers->k),
                         .workspace = workspace,
                         .scan = scan,
                         .queries = queries,
                         .answers = answers};
    const thr_answers wanted = {.k = job.plan.wanted};
    job.plan.whole = thr_scan_job_make(context, corpus->scan, &job.plan.options, &wanted);
    const bool on_devices = thr_cells_can_use_devices(&job.plan);
    const uint32_t n_slots = on_devices ? thr_cells_device_slots(&job) : thr_cells_group_slots(&job);
    THR_TRY(thr_scan_make_room(scan, corpus->scan, n_slots, 1, thr_scan_most_survivors(&job.plan.whole), err));
    THR_TRY(thr_cells_workspace_prepare(workspace, &job.plan, n_slots, err));
    return on_devices ? thr_cells_search_on_devices(&job, n_slots, err)
                      : thr_cells_search_in_groups(&job, n_slots, err);
}
