/* SPDX-License-Identifier: Apache-2.0 */
/* with_tail.c - searches the segments and the tail of an index, and joins the answers. */
#include "index/search/with_tail.h"

#include "base/error.h"
#include "base/minmax.h"
#include "index/search/sources.h"

/* The tail as an index of its own, whose rows are numbered from 0, and the options to search it. */
static thr_scan_corpus tail_corpus(const thr_index *index, const thr_search_plan *plan,
                                   thr_search_options *tail_options) {
    thr_scan_corpus corpus = index->corpus;
    corpus.segments = &index->tail_segment;
    corpus.n_segments = 1;
    corpus.n_rows = index->n_tail;
    *tail_options = plan->options;
    tail_options->exact = true;
    tail_options->filter = plan->tail_filter + index->tail->first_row / 64;
    tail_options->filter_bits = index->n_tail;
    return corpus;
}

/* ------------------------------------------------------------------------------------------------ the best k */

/* Memory for the tail's answers, kt of each query, and for one query's of both. */
static thr_status make_room(thr_search_memory *m, size_t n_queries, size_t k, size_t kt, bool scores, thr_error *err) {
    static const char what[] = "answers";
    thr_context *c = m->context;
    THR_TRY(thr_grow(c, &m->tail_rows, &m->tail_capacity, n_queries * kt, sizeof *m->tail_rows, what, err));
    THR_TRY(thr_grow(c, &m->tail_scores, &m->tail_scores_capacity, n_queries * kt, sizeof *m->tail_scores, what, err));
    THR_TRY(thr_grow(c, &m->merged, &m->merged_capacity, k + kt, sizeof *m->merged, what, err));
    return scores ? THR_OK
                  : thr_grow(c, &m->all_scores, &m->all_capacity, n_queries * k, sizeof *m->all_scores, what, err);
}

/* Append query q's answer to n items. */
static size_t append(const thr_answers *answers, size_t q, uint64_t first_row, thr_candidate *items, size_t n) {
    const uint64_t *rows = answers->ids + q * answers->k;
    for (size_t i = 0; i < answers->k && rows[i] != THR_NO_ID; i++)
        items[n++] = (thr_candidate){.row = first_row + rows[i], .score = answers->scores[q * answers->k + i]};
    return n;
}

thr_status thr_index_search_with_tail(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                      const thr_answers *answers, thr_error *err) {
    const size_t n_queries = (size_t)queries->n_rows, k = (size_t)answers->k, kt = THR_MIN(k, index->n_tail);
    thr_search_memory *m = plan->memory;
    THR_TRY(make_room(m, n_queries, k, kt, answers->scores != NULL, err));
    thr_answers all = *answers;
    all.scores = answers->scores != NULL ? answers->scores : m->all_scores;
    THR_TRY(thr_index_search_segments(index, plan, queries, &all, err));
    if (kt == 0)
        return THR_OK;
    thr_search_options options;
    const thr_scan_corpus corpus = tail_corpus(index, plan, &options);
    const thr_answers tail = {
        .k = kt, .ids = m->tail_rows, .scores = m->tail_scores, .least_scores = answers->least_scores};
    const thr_job job = thr_scan_job_make(m->context, &corpus, &options, &tail);
    THR_TRY(thr_scan_run(m->scan, &job, queries, err));
    for (size_t q = 0; q < n_queries; q++) {
        const size_t n = append(&tail, q, index->tail->first_row, m->merged, append(&all, q, 0, m->merged, 0));
        thr_select_candidates_sort(m->merged, n);
        thr_select_answers_put(&all, q, m->merged, THR_MIN(n, k));
        if (answers->n_read != NULL)
            answers->n_read[q] += job.n_allowed;
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ radius */

static thr_status append_found(const thr_index *index, thr_found *found, thr_found *tail, thr_error *err) {
    for (size_t i = 0; i < tail->n; i++)
        tail->items[i].row += index->tail->first_row;
    THR_TRY(thr_scan_found_append(index->context, found, tail->items, tail->n, err));
    thr_select_candidates_sort(found->items, found->n);
    return THR_OK;
}

thr_status thr_index_radius_with_tail(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                      float least_score, thr_found *found, thr_error *err) {
    thr_found *tail = NULL;
    thr_search_options tail_options;
    thr_status status = THR_OK;
    THR_TRY(thr_index_radius_of_segments(index, plan, queries, least_score, found, err));
    if (index->n_tail == 0)
        return THR_OK;
    const thr_scan_corpus corpus = tail_corpus(index, plan, &tail_options);
    tail_options.certified = NULL;
    THR_TRY(thr_alloc_zero(index->context, (size_t)queries->n_rows, sizeof *tail, &tail, "the result", err));
    THR_TRY_OUT(thr_scan_radius(plan->memory->scan, &corpus, queries, least_score, &tail_options, tail, err));
    for (uint64_t q = 0; q < queries->n_rows; q++)
        THR_TRY_OUT(append_found(index, &found[q], &tail[q], err));
out:
    for (uint64_t q = 0; q < queries->n_rows; q++)
        thr_scan_found_free(index->context, &tail[q]);
    thr_release(index->context, tail);
    return status;
}
