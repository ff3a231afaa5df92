/* SPDX-License-Identifier: Apache-2.0 */
/*
 * best.c - finds the exact best k rows: in the cells whose bounds reach the k-th best score found so far.
 *
 * A query first reads the cells whose centroids score best, until it has k rows. If too many blocks are in cells that
 * can hold better rows, or rows that tie with the k-th, it searches the whole corpus. Otherwise it reads these cells,
 * the largest bounds first, in passes that grow, while the k-th score rises.
 */
#include "cells/bounded/slots.h"

#include "base/error.h"
#include "base/minmax.h"
#include "cells/choice/queue.h"
#include "parallel/pool.h"
#include "scan/margins/margin.h"

#include <math.h>
#include <string.h>

/*
 * The cells with the first k rows may have about one in so many of all blocks, so that little is lost if the whole
 * corpus is searched after all. The next pass reads about as many.
 */
enum { FIRST_ONE_IN = 32 };

typedef struct best_search {
    thr_bounded_search common;
    const thr_answers *answers;
    thr_job whole; /* a search of all rows */
} best_search;

/* A query in progress. */
typedef struct best_query {
    const best_search *search;
    thr_matrix query;
    thr_bounded_slot *slot;
    thr_lane *lane;
    float least;     /* all rows of the answer reach this score */
    uint64_t n_read; /* rows */
} best_query;

/* Search the blocks of slot->part; slot->ids and slot->scores receive the best k rows. */
static thr_status search_part(best_query *b, const thr_search_options *options, thr_error *err) {
    const best_search *s = b->search;
    const thr_scan_corpus *part = &b->slot->part.corpus;
    uint64_t n_read = 0;
    const thr_answers answers = {.k = s->answers->k,
                                 .ids = b->slot->ids,
                                 .scores = b->slot->scores,
                                 .n_read = &n_read,
                                 .least_scores = &b->least};
    const thr_job job = thr_scan_job_of_part(&s->whole, part, options, &answers);
    thr_margin margin;
    THR_TRY(thr_cells_bounded_is_on_all_lanes(&s->common)
                ? thr_scan_run(s->common.scan, &job, &b->query, err)
                : thr_scan_search_one(&job, &b->query, b->lane, &margin, err));
    b->n_read += n_read;
    return THR_OK;
}

/* Search the pending blocks, and keep the best k rows of all passes. */
static thr_status run_pass(best_query *b, thr_error *err) {
    const best_search *s = b->search;
    thr_bounded_slot *slot = b->slot;
    thr_found *found = &slot->found;
    const size_t k = (size_t)s->answers->k;
    thr_search_options options = *s->common.options;
    THR_TRY(thr_cells_blocks_begin_pass(s->whole.context, s->whole.corpus, &slot->blocks, &options, &slot->part, err));
    if (slot->part.n_segments == 0)
        return THR_OK;
    THR_TRY(search_part(b, &options, err));
    for (size_t i = 0; i < k && slot->ids[i] != THR_NO_ID; i++)
        found->items[found->n++] =
            (thr_candidate){.row = thr_cells_subset_to_whole(&slot->part, slot->ids[i]), .score = slot->scores[i]};
    thr_select_candidates_sort(found->items, found->n);
    found->n = THR_MIN(found->n, k);
    if (found->n == k)
        b->least = fmaxf(b->least, found->items[k - 1].score);
    return THR_OK;
}

/* Add the cells with the best centroids until they have k rows. Returns false if that takes too many blocks. */
static bool add_first_cells(const best_query *b) {
    const best_search *s = b->search;
    const thr_bounded_workspace *w = s->common.workspace;
    thr_bounded_slot *slot = b->slot;
    const double sign = slot->query.metric == THR_METRIC_L2 ? -1 : 1;
    for (size_t c = 0; c < w->n_cells; c++)
        slot->keys[c] = sign * (double)slot->centroid_scores[c];
    thr_cells_queue queue = thr_cells_queue_make(slot->queued, w->n_cells, slot->keys, (double)-INFINITY);
    for (uint64_t n = 0; n < s->answers->k;) {
        if (queue.n == 0 || slot->blocks.n_pending > w->n_blocks / FIRST_ONE_IN)
            return false;
        const thr_cell_rows *rows = &w->cells[thr_cells_queue_pop(&queue)].rows;
        n += thr_cells_count_rows(rows, s->common.options->filter);
        thr_cells_blocks_add_cell(&slot->blocks, rows);
    }
    return true;
}

/* Whether the cells with the largest bound, which no search can skip, have too many blocks. */
static bool too_many_have_the_largest_bound(const best_query *b) {
    const thr_bounded_workspace *w = b->search->common.workspace;
    double largest = (double)b->least;
    for (size_t c = 0; c < w->n_cells; c++)
        largest = fmax(largest, b->slot->bounds[c]);
    return thr_cells_bounded_too_many_reach(w, b->slot, largest);
}

/*
 * Read the cells with the best centroids, and the segments without cells. *can_skip receives whether the cells whose
 * bounds then reach the k-th score have few enough blocks; if not, the query searches the whole corpus.
 */
static thr_status read_first_cells(best_query *b, bool *can_skip, thr_error *err) {
    const thr_bounded_workspace *w = b->search->common.workspace;
    thr_bounded_slot *slot = b->slot;
    *can_skip = false;
    if (!thr_cells_bounded_begin_query(&b->search->common, &b->query, (double)b->least, slot) ||
        too_many_have_the_largest_bound(b) || !add_first_cells(b))
        return THR_OK;
    thr_cells_blocks_add_segments_without_cells(&slot->blocks, b->search->common.corpus);
    if (thr_cells_bounded_are_too_many(w, slot->blocks.n_pending))
        return THR_OK;
    THR_TRY(run_pass(b, err));
    *can_skip = !thr_cells_bounded_too_many_reach(w, slot, (double)b->least);
    return THR_OK;
}

/* Read the cells whose bounds reach the k-th score, in passes that grow. */
static thr_status read_best_cells(best_query *b, thr_error *err) {
    const thr_bounded_workspace *w = b->search->common.workspace;
    thr_bounded_slot *slot = b->slot;
    thr_cells_queue queue = thr_cells_queue_make(slot->queued, w->n_cells, slot->bounds, (double)b->least);
    bool more = true;
    for (uint64_t n = w->n_blocks / FIRST_ONE_IN; more; n *= 2) {
        while (queue.n > 0 && slot->blocks.n_pending <= n &&
               slot->bounds[thr_cells_queue_first(&queue)] >= (double)b->least)
            thr_cells_blocks_add_cell(&slot->blocks, &w->cells[thr_cells_queue_pop(&queue)].rows);
        more = slot->blocks.n_pending > n;
        THR_TRY(run_pass(b, err));
    }
    return THR_OK;
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
    thr_bounded_workspace *w = s->common.workspace;
    best_query b = {.search = s,
                    .query = thr_query_of(s->common.queries, q),
                    .slot = &w->slots[worker],
                    .lane = &s->common.scan->lanes[worker],
                    .least = thr_select_answers_least(s->answers, q)};
    bool can_skip;
    b.slot->found.n = 0;
    THR_TRY(read_first_cells(&b, &can_skip, err));
    w->fallback.is_needed[q] = !can_skip;
    w->fallback.least[q] = b.least;
    if (can_skip) {
        THR_TRY(read_best_cells(&b, err));
        put_answer(&b, q);
    }
    return THR_OK;
}

/* Copy the answers of the queries that searched the whole corpus to their places among all. */
static void put_fallback_answers(const best_search *s) {
    const thr_bounded_fallback *fallback = &s->common.workspace->fallback;
    const thr_answers *to = s->answers;
    const size_t k = (size_t)to->k;
    for (size_t i = 0; i < fallback->n; i++) {
        const size_t q = (size_t)fallback->numbers[i];
        memcpy(to->ids + q * k, fallback->ids + i * k, k * sizeof *to->ids);
        if (to->scores != NULL)
            memcpy(to->scores + q * k, fallback->scores + i * k, k * sizeof *to->scores);
        if (to->certified != NULL)
            to->certified[q] = 1;
        if (to->n_read != NULL)
            to->n_read[q] = s->whole.n_allowed;
    }
}

static thr_status search_whole(const best_search *s, const thr_matrix *queries, const thr_answers *answers,
                               thr_error *err) {
    thr_job job = s->whole;
    job.answers = answers;
    return thr_scan_run(s->common.scan, &job, queries, err);
}

/* Search the whole corpus for the queries that could skip too little, from the scores that their answers reach. */
static thr_status search_fallback(const best_search *s, thr_error *err) {
    static const char what[] = "answers";
    const thr_bounded_search *c = &s->common;
    thr_context *context = c->workspace->context;
    thr_bounded_fallback *f = &c->workspace->fallback;
    thr_matrix queries;
    thr_answers answers = *s->answers;
    THR_TRY(thr_cells_bounded_collect_fallback(c, &queries, err));
    if (f->n == 0)
        return THR_OK;
    answers.least_scores = f->least;
    if (f->n == c->queries->n_rows)
        return search_whole(s, &queries, &answers, err);
    const size_t n = f->n * (size_t)answers.k;
    THR_TRY(thr_grow(context, &f->ids, &f->ids_capacity, n, sizeof *f->ids, what, err));
    THR_TRY(thr_grow(context, &f->scores, &f->scores_capacity, n, sizeof *f->scores, what, err));
    for (size_t i = 0; i < f->n; i++)
        f->least[i] = f->least[f->numbers[i]];
    answers = (thr_answers){.k = answers.k, .ids = f->ids, .scores = f->scores, .least_scores = f->least};
    THR_TRY(search_whole(s, &queries, &answers, err));
    put_fallback_answers(s);
    return THR_OK;
}

static thr_status reserve(thr_bounded_workspace *w, size_t n_queries, size_t k, thr_error *err) {
    thr_bounded_fallback *f = &w->fallback;
    for (uint32_t i = 0; i < w->n_slots; i++) {
        thr_bounded_slot *slot = &w->slots[i];
        THR_TRY(thr_grow(w->context, &slot->ids, &slot->ids_capacity, k, sizeof *slot->ids, "answers", err));
        THR_TRY(thr_grow(w->context, &slot->scores, &slot->scores_capacity, k, sizeof *slot->scores, "answers", err));
        THR_TRY(thr_scan_found_reserve(w->context, &slot->found, 2 * k, err));
    }
    return thr_grow(w->context, &f->least, &f->least_capacity, n_queries, sizeof *f->least, "queries", err);
}

thr_status thr_cells_best(const thr_bounded_search *search, const thr_answers *answers, thr_error *err) {
    thr_bounded_workspace *w = search->workspace;
    const thr_scan_corpus *corpus = search->corpus->scan;
    best_search s = {.common = *search,
                     .answers = answers,
                     .whole = thr_scan_job_make(w->context, corpus, search->options, answers)};
    const double share =
        thr_cells_bounded_is_on_all_lanes(search) ? THR_BOUNDED_SHARE_ALONE : THR_BOUNDED_SHARE_OF_VECTORS;
    if (answers->k > corpus->n_rows / FIRST_ONE_IN)
        return search_whole(&s, search->queries, answers, err);
    THR_TRY(thr_cells_bounded_prepare(search, s.whole.n_survivors, share, err));
    THR_TRY(reserve(w, (size_t)search->queries->n_rows, (size_t)answers->k, err));
    THR_TRY(thr_cells_bounded_run_queries(search, search_query, &s, err));
    return search_fallback(&s, err);
}
