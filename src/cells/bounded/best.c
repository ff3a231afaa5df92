/* SPDX-License-Identifier: Apache-2.0 */
/*
 * best.c - finds the exact best k rows: in the cells whose bounds reach the k-th best score found so far.
 *
 * A query first reads the cells whose centroids score best, until it has k rows. If most of the blocks are in cells
 * that can hold better rows, or rows that tie with the k-th, it searches the whole corpus. Otherwise it reads these
 * cells, the largest bounds first, in passes that grow, while the k-th score rises.
 */
#include "cells/bounded/slots.h"

#include "base/error.h"
#include "cells/choice/queue.h"
#include "parallel/pool.h"
#include "scan/margins/margin.h"

#include <math.h>
#include <string.h>

/* The cells for the first k rows have at most one in so many of all blocks, so that they cost little in vain. */
enum { FIRST_ONE_IN = 32 };

typedef struct best_search {
    thr_scan *scan;
    thr_cells_bounded *workspace;
    const thr_cells_corpus *corpus;
    const thr_matrix *queries;
    const thr_search_options *options;
    const thr_answers *answers;
    thr_job whole;     /* a search of all rows */
    bool on_all_lanes; /* one query after the other, each on all threads */
} best_search;

/* A query in progress. */
typedef struct best_query {
    const best_search *search;
    thr_matrix query;
    thr_bounded_slot *slot;
    thr_lane *lane;
    float least;     /* rows of the answer reach this score */
    uint64_t n_read; /* rows */
} best_query;

/* Search the pending blocks, and keep the best k rows of all passes. */
static thr_status run_pass(best_query *b, thr_error *err) {
    const best_search *s = b->search;
    thr_bounded_slot *slot = b->slot;
    thr_found *found = &slot->found;
    thr_search_options options = *s->options;
    uint64_t n_read = 0;
    const size_t k = (size_t)s->answers->k;
    const thr_answers answers = {
        .k = k, .ids = slot->ids, .scores = slot->scores, .n_read = &n_read, .least_scores = &b->least};
    THR_TRY(
        thr_cells_blocks_begin_pass(s->workspace->context, s->corpus->scan, &slot->blocks, &options, &slot->part, err));
    if (slot->part.n_segments == 0)
        return THR_OK;
    if (s->on_all_lanes) {
        THR_TRY(thr_scan_search(s->scan, &slot->part.corpus, &b->query, &options, &answers, err));
    } else {
        thr_margin margin;
        const thr_job job = thr_scan_job_of_part(&s->whole, &slot->part.corpus, &options, &answers);
        THR_TRY(thr_scan_search_one(&job, &b->query, b->lane, &margin, err));
    }
    b->n_read += n_read;
    for (size_t i = 0; i < k && slot->ids[i] != THR_NO_ID; i++)
        found->items[found->n++] =
            (thr_candidate){.row = thr_cells_subset_row(&slot->part, slot->ids[i]), .score = slot->scores[i]};
    thr_select_candidates_sort(found->items, found->n);
    found->n = found->n < k ? found->n : k;
    if (found->n == k)
        b->least = fmaxf(b->least, found->items[k - 1].score);
    return THR_OK;
}

/* Add the cells with the best centroids until they have k rows. Returns false if that takes too many. */
static bool add_first_cells(const best_query *b) {
    const best_search *s = b->search;
    const thr_cells_bounded *w = s->workspace;
    thr_bounded_slot *slot = b->slot;
    const float sign = slot->query.metric == THR_METRIC_L2 ? -1.0f : 1.0f; /* centroid_scores are squared distances */
    for (size_t c = 0; c < w->n_cells; c++)
        slot->centroid_scores[c] *= sign;
    for (uint64_t n = 0; n < s->answers->k;) {
        size_t best = 0;
        for (size_t c = 1; c < w->n_cells; c++)
            best = slot->centroid_scores[c] > slot->centroid_scores[best] ? c : best;
        if (slot->centroid_scores[best] == -INFINITY || slot->blocks.n_pending > w->n_blocks / FIRST_ONE_IN)
            return false;
        slot->centroid_scores[best] = -INFINITY;
        n += thr_cells_count_rows(&w->cells[best].place, s->options->filter);
        thr_cells_blocks_add_cell(&slot->blocks, &w->cells[best].place);
    }
    return true;
}

/* Whether the cells that no search can skip are most of all: those with the largest bound. */
static bool most_have_the_largest_bound(const best_query *b) {
    const thr_cells_bounded *w = b->search->workspace;
    double largest = (double)b->least;
    for (size_t c = 0; c < w->n_cells; c++)
        largest = fmax(largest, b->slot->bounds[c]);
    return thr_cells_bounded_is_whole(w, thr_cells_bounded_count(w, b->slot, largest));
}

/* Read the cells whose bounds reach the k-th score. */
static thr_status read_best_cells(best_query *b, thr_error *err) {
    const thr_cells_bounded *w = b->search->workspace;
    thr_bounded_slot *slot = b->slot;
    thr_cells_queue queue = thr_cells_queue_make(slot->order, w->n_cells, slot->bounds, (double)b->least);
    for (uint64_t n = w->n_blocks / FIRST_ONE_IN;; n *= 2) {
        while (queue.n > 0 && slot->blocks.n_pending <= n &&
               slot->bounds[thr_cells_queue_first(&queue)] >= (double)b->least)
            thr_cells_blocks_add_cell(&slot->blocks, &w->cells[thr_cells_queue_pop(&queue)].place);
        const bool more = slot->blocks.n_pending > n;
        THR_TRY(run_pass(b, err));
        if (!more)
            return THR_OK;
    }
}

static void put_answer(const best_query *b, uint64_t q) {
    const thr_answers *answers = b->search->answers;
    thr_select_answers_put(answers, q, b->slot->found.items, b->slot->found.n);
    if (answers->certified != NULL)
        answers->certified[q] = 1;
    if (answers->n_read != NULL)
        answers->n_read[q] = b->n_read;
}

static thr_status search_query(void *arg, size_t q, uint32_t worker, thr_error *err) {
    const best_search *s = arg;
    thr_cells_bounded *w = s->workspace;
    best_query b = {.search = s,
                    .query = thr_bounded_query(s->queries, q),
                    .slot = &w->slots[worker],
                    .lane = &s->scan->lanes[worker],
                    .least = thr_select_answers_least(s->answers, q)};
    b.slot->found.n = 0;
    bool whole = !thr_cells_bounded_begin(w, s->corpus, &b.query, (double)b.least, b.slot) ||
                 most_have_the_largest_bound(&b) || !add_first_cells(&b);
    if (!whole) {
        thr_cells_blocks_add_segments_without_cells(&b.slot->blocks, s->corpus);
        whole = thr_cells_bounded_is_whole(w, b.slot->blocks.n_pending);
    }
    if (!whole) {
        THR_TRY(run_pass(&b, err));
        whole = thr_cells_bounded_is_whole(w, thr_cells_bounded_count(w, b.slot, (double)b.least));
    }
    w->rest.is_whole[q] = whole;
    w->rest.least[q] = b.least;
    if (whole)
        return THR_OK;
    THR_TRY(read_best_cells(&b, err));
    put_answer(&b, q);
    return THR_OK;
}

/* Search the whole corpus for the queries that are left, from the scores that their answers reach. */
static thr_status search_rest(const best_search *s, thr_error *err) {
    thr_cells_bounded *w = s->workspace;
    thr_bounded_rest *rest = &w->rest;
    const thr_answers *to = s->answers;
    const size_t k = (size_t)to->k;
    thr_matrix queries;
    thr_answers answers = *to;
    THR_TRY(thr_cells_bounded_collect_rest(w, s->queries, &queries, err));
    answers.least_scores = rest->least;
    if (rest->n < s->queries->n_rows) {
        THR_TRY(thr_grow(w->context, &rest->ids, &rest->ids_capacity, rest->n * k, sizeof *rest->ids, "answers", err));
        THR_TRY(thr_grow(w->context, &rest->scores, &rest->scores_capacity, rest->n * k, sizeof *rest->scores,
                         "answers", err));
        answers = (thr_answers){.k = k, .ids = rest->ids, .scores = rest->scores, .least_scores = rest->least};
        for (size_t i = 0; i < rest->n; i++)
            rest->least[i] = rest->least[rest->numbers[i]];
    }
    if (rest->n > 0)
        THR_TRY(thr_scan_search(s->scan, s->corpus->scan, &queries, s->options, &answers, err));
    for (size_t i = 0; i < rest->n && rest->n < s->queries->n_rows; i++) {
        const size_t q = (size_t)rest->numbers[i];
        memcpy(to->ids + q * k, rest->ids + i * k, k * sizeof *to->ids);
        if (to->scores != NULL)
            memcpy(to->scores + q * k, rest->scores + i * k, k * sizeof *to->scores);
        if (to->certified != NULL)
            to->certified[q] = 1;
        if (to->n_read != NULL)
            to->n_read[q] = s->whole.n_allowed;
    }
    return THR_OK;
}

static thr_status reserve(thr_cells_bounded *w, uint64_t n_queries, size_t k, thr_error *err) {
    thr_bounded_rest *rest = &w->rest;
    for (uint32_t i = 0; i < w->n_slots; i++) {
        thr_bounded_slot *slot = &w->slots[i];
        THR_TRY(thr_grow(w->context, &slot->ids, &slot->ids_capacity, k, sizeof *slot->ids, "answers", err));
        THR_TRY(thr_grow(w->context, &slot->scores, &slot->scores_capacity, k, sizeof *slot->scores, "answers", err));
        THR_TRY(thr_scan_found_reserve(w->context, &slot->found, 2 * k, err));
    }
    return thr_grow(w->context, &rest->least, &rest->least_capacity, (size_t)n_queries, sizeof *rest->least, "queries",
                    err);
}

thr_status thr_cells_best(const thr_bounded_parts *parts, const thr_matrix *queries, const thr_search_options *options,
                          const thr_answers *answers, thr_error *err) {
    thr_scan *scan = parts->scan;
    thr_cells_bounded *workspace = parts->workspace;
    const thr_cells_corpus *corpus = parts->corpus;
    thr_context *context = workspace->context;
    best_search s = {.scan = scan,
                     .workspace = workspace,
                     .corpus = corpus,
                     .queries = queries,
                     .options = options,
                     .answers = answers,
                     .whole = thr_scan_job_make(context, corpus->scan, options, answers),
                     .on_all_lanes = queries->n_rows < context->n_threads || queries->n_rows == 1};
    if (answers->k > corpus->scan->n_rows / FIRST_ONE_IN)
        return thr_scan_search(scan, corpus->scan, queries, options, answers, err);
    THR_TRY(thr_scan_make_room(scan, context->n_threads, 1, corpus->scan->quantiser->n_dims, s.whole.n_survivors, err));
    THR_TRY(thr_scan_check_queries(scan, corpus->scan, queries, err));
    THR_TRY(thr_cells_bounded_prepare(workspace, corpus, queries->n_rows,
                                      s.on_all_lanes ? THR_BOUNDED_SHARE_ALONE : THR_BOUNDED_SHARE_OF_VECTORS, err));
    THR_TRY(reserve(workspace, queries->n_rows, (size_t)answers->k, err));
    THR_TRY(thr_cells_bounded_run(workspace, queries->n_rows, s.on_all_lanes, search_query, &s, err));
    return search_rest(&s, err);
}
