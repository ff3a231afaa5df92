/* SPDX-License-Identifier: Apache-2.0 */
/* visit.c - visits blocks of cells pass by pass, and keeps the best rows. */
#include "cells/visit.h"

#include "base/error.h"
#include "scan/pages.h"

#include <math.h>

enum {
    FIRST_ROWS = 48, /* the cells visited first have this many rows for each wanted row, or more */
    FEW_ONE_IN = 20, /* a pass reads few rows if it reads fewer than one in this many of its rows */
};

/* ------------------------------------------------------------------------------------------------ memory */

thr_status thr_cells_visitor_reserve(thr_context *context, const thr_cells_capacity *capacity,
                                     thr_cells_visitor *visitor, thr_error *err) {
    static const char what[] = "a search of cells";
    const size_t n_rows = (size_t)capacity->n_pass_rows;
    const size_t n_found = 2 * (n_rows + THR_RADIUS_ROWS); /* rows kept, and those of a pass by radius */
    THR_TRY(thr_cells_chooser_reserve(context, capacity->n_dims, capacity->n_cells, &visitor->chooser, err));
    THR_TRY(thr_cells_blocks_reserve(context, capacity->n_blocks, &visitor->blocks, err));
    THR_TRY(thr_alloc(context, n_rows, sizeof(uint64_t), &visitor->ids, what, err));
    THR_TRY(thr_alloc(context, n_rows, sizeof(float), &visitor->scores, what, err));
    THR_TRY(thr_cells_subset_reserve(context, capacity->n_cells + capacity->n_segments, capacity->n_blocks,
                                     &visitor->part, err));
    THR_TRY(thr_scan_found_reserve(context, &visitor->without, n_found, err));
    return thr_scan_found_reserve(context, &visitor->found, n_found, err);
}

void thr_cells_visitor_free(thr_context *context, thr_cells_visitor *visitor) {
    thr_cells_chooser_free(context, &visitor->chooser);
    thr_cells_blocks_free(context, &visitor->blocks);
    thr_release(context, visitor->ids);
    thr_release(context, visitor->scores);
    thr_cells_subset_free(context, &visitor->part);
    thr_scan_found_free(context, &visitor->found);
    thr_scan_found_free(context, &visitor->without);
    *visitor = (thr_cells_visitor){0};
}

/* ------------------------------------------------------------------------------------------------ blocks */

/* Add the blocks of the cells that were chosen since the last call. */
static void add_chosen_cells(thr_cells_visit *s) {
    for (; s->n_cells < s->v->chooser.n_chosen; s->n_cells++)
        thr_cells_blocks_add_cell(&s->v->blocks, &s->plan->cell_rows[s->v->chooser.chosen[s->n_cells]]);
}

/*
 * Whether a query visits all blocks. With inner products, one long item can be the best one of very many queries. If
 * items without cells score nearly as much, a search for any of these queries ends before it reaches that item's cell:
 * with 1,000 words added to 12,000, 96 of 1,000 queries missed the same item at recall .99.
 */
static bool visits_all(const thr_cells_plan *plan) {
    bool some_without = false;
    for (size_t i = 0; i < plan->corpus->scan->n_segments; i++)
        some_without = some_without || !thr_cells_segment_has_cells(plan->corpus, i);
    return some_without && plan->corpus->scan->metric == THR_METRIC_IP;
}

/* Convert found rows, from number `first` on, from rows of the part to rows of the index. */
static void map_rows(thr_cells_visitor *v, size_t first) {
    for (size_t i = first; i < v->found.n; i++)
        v->found.items[i].row = thr_cells_subset_to_whole(&v->part, v->found.items[i].row);
}

/* ------------------------------------------------------------------------------------------------ passes */

thr_status thr_cells_visit_start_pass(thr_cells_visit *s, bool *has_rows, thr_error *err) {
    thr_cells_visitor *v = s->v;
    const thr_cells_plan *plan = s->plan;
    s->options = plan->options;
    THR_TRY(thr_cells_blocks_begin_pass(plan->context, plan->corpus->scan, &v->blocks, &s->options, &v->part, err));
    if (thr_may_read_ahead(&s->lane->read_ahead))
        thr_scan_read_ahead_blocks(&v->part.corpus);
    *has_rows = v->part.n_segments > 0;
    s->answers = (thr_answers){.k = plan->wanted, .ids = v->ids, .scores = v->scores};
    if (*has_rows)
        s->job = thr_scan_job_of_part(&plan->whole, &v->part.corpus, &s->options, &s->answers);
    s->lane->n_read = 0;
    return THR_OK;
}

thr_status thr_cells_visit_take_best(thr_cells_visit *s, thr_error *err) {
    thr_cells_visitor *v = s->v;
    const thr_cells_plan *plan = s->plan;
    const size_t before = v->found.n;
    for (uint64_t i = 0; i < plan->wanted && v->ids[i] != THR_NO_ID; i++) {
        const thr_candidate item = {.row = v->ids[i], .score = v->scores[i]};
        THR_TRY(thr_scan_found_append(plan->context, &v->found, &item, 1, err));
    }
    s->radius = (thr_radius){.most = plan->wanted, .screen_z = s->job.screen_z, .rescore_z = s->job.rescore_z};
    if (s->margin.noise.known) {
        s->radius.margin = &s->margin;
        if (v->found.n - before == plan->wanted) {
            const thr_reach reach = {.least = v->found.items[v->found.n - 1].score, .n = (size_t)plan->wanted};
            thr_scan_margin_reduce(&s->job, &s->margin, v->found.items + before, &reach, &s->radius);
        }
    }
    map_rows(v, before);
    return THR_OK;
}

thr_status thr_cells_visit_take_found(thr_cells_visit *s, thr_error *err) {
    thr_cells_visitor *v = s->v;
    const size_t before = v->found.n;
    THR_TRY(thr_scan_found_append(s->plan->context, &v->found, s->lane->found.items, s->lane->found.n, err));
    map_rows(v, before);
    return THR_OK;
}

/* Keep the best plan->wanted rows found, sorted. */
static void keep_best(const thr_cells_visit *s) {
    thr_found *found = &s->v->found;
    const size_t wanted = (size_t)s->plan->wanted;
    found->n = thr_select_candidates_keep(found->items, found->n, found->n < wanted ? found->n : wanted);
    thr_select_candidates_sort(found->items, found->n);
}

void thr_cells_visit_end_pass(thr_cells_visit *s) {
    s->n_read += s->lane->n_read;
    s->radius.expects_few = s->lane->n_read < s->job.n_allowed / FEW_ONE_IN; /* later cells have fewer */
    keep_best(s);
}

thr_status thr_cells_visit_run_pass(thr_cells_visit *s, thr_error *err) {
    s->lane->n_read = 0;
    if (s->least == -INFINITY) {
        THR_TRY(thr_scan_search_one(&s->job, &s->query, s->lane, &s->margin, err));
        THR_TRY(thr_cells_visit_take_best(s, err));
    } else {
        s->lane->found.n = 0;
        s->radius.least_score = s->least;
        THR_TRY(thr_scan_radius_one(&s->job, &s->query, &s->radius, s->lane, 1, &s->lane->found, err));
        THR_TRY(thr_cells_visit_take_found(s, err));
    }
    thr_cells_visit_end_pass(s);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ the visit */

/*
 * Move the rows of the segments without cells to v->without, since the models of chooser.h are fitted to rows of cells:
 * where most of the best rows have no cell, the others prove nothing about the cells.
 */
static void move_rows_without_cells(thr_cells_visitor *v) {
    const thr_found rows = v->found;
    v->found = v->without;
    v->without = rows;
    v->found.n = 0;
}

/* The k-th best score of all rows found; v->found has at least k. */
static double kth_score(const thr_cells_visitor *v, uint64_t k) {
    size_t n = 0, n_others = 0;
    float score = -INFINITY;
    while (n + n_others < k) {
        const bool other = n_others < v->without.n && v->without.items[n_others].score > v->found.items[n].score;
        score = other ? v->without.items[n_others++].score : v->found.items[n++].score;
    }
    return (double)score;
}

void thr_cells_visit_begin(const thr_cells_plan *plan, const thr_matrix *query, thr_lane *lane,
                           thr_cells_visitor *visitor, thr_cells_visit *s) {
    *s = (thr_cells_visit){.plan = plan,
                           .v = visitor,
                           .lane = lane,
                           .query = *query,
                           .n_first = (double)plan->wanted * FIRST_ROWS,
                           .least = -INFINITY};
    lane->origin_scores = NULL;
    visitor->found.n = visitor->without.n = 0;
    thr_cells_blocks_clear(&visitor->blocks);
    if (!visits_all(plan) && thr_cells_chooser_begin(plan, query, &visitor->chooser)) {
        s->stage = THR_STAGE_WITHOUT_CELLS;
        /* If all segments have cells, the origins are the centroids that the chooser has scored. */
        if (plan->corpus->scan->origins != NULL && plan->corpus->scan->origins->n == plan->n_cells)
            lane->origin_scores = visitor->chooser.centroid_scores;
        thr_cells_blocks_add_segments_without_cells(&visitor->blocks, plan->corpus);
    } else {
        s->stage = THR_STAGE_ALL;
        thr_cells_blocks_add(&visitor->blocks, 0, plan->n_blocks);
    }
}

bool thr_cells_visit_next(thr_cells_visit *s) {
    thr_cells_visitor *v = s->v;
    if (s->stage == THR_STAGE_WITHOUT_CELLS) {
        move_rows_without_cells(v);
        s->stage = THR_STAGE_CELLS;
    }
    if (s->stage == THR_STAGE_ALL || v->chooser.order.n == 0)
        return false;
    if (v->found.n < s->plan->wanted) {
        thr_cells_chooser_start(s->n_first, &v->chooser);
        s->n_first *= 2;
    } else if (thr_cells_chooser_next(s->plan, &v->found, kth_score(v, s->plan->k), &v->chooser)) {
        s->least = v->found.items[v->found.n - 1].score;
    } else {
        return false;
    }
    add_chosen_cells(s);
    return true;
}

thr_status thr_cells_visit_end(thr_cells_visit *s, thr_error *err) {
    thr_cells_visitor *v = s->v;
    if (s->stage == THR_STAGE_ALL)
        return THR_OK;
    THR_TRY(thr_scan_found_append(s->plan->context, &v->found, v->without.items, v->without.n, err));
    keep_best(s);
    return THR_OK;
}
