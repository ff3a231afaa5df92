/* SPDX-License-Identifier: Apache-2.0 */
/* with_tail.c - searches the segments and the tail of an index, and joins the answers. */
#include "index/search/with_tail.h"

#include "base/error.h"
#include "base/minmax.h"
#include "index/search/sources.h"

#include <string.h>

/* The tail's answers, and one of the segments'. */
typedef struct tail_answers {
    thr_context *context;
    uint64_t *rows, *one_rows;
    float *scores, *one_scores, *all_scores; /* all_scores: of the segments, if the caller takes no scores */
    size_t capacity, one_capacity, all_capacity;
    size_t scores_capacity, one_scores_capacity;
} tail_answers;

static thr_status make_tail_answers(thr_context *context, void **piece, thr_error *err) {
    return thr_idle_piece(context, sizeof(tail_answers), piece, err);
}

void thr_index_tail_answers_free(void *piece) {
    tail_answers *made = piece;
    THR_RELEASE(made->context, made->rows, made->one_rows, made->scores, made->one_scores, made->all_scores, made);
}

/* ------------------------------------------------------------------------------------------------ the tail */

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

/* Memory for the tail's answers, kt of each query, and others. */
static thr_status make_room(tail_answers *m, size_t n_queries, size_t k, size_t kt, bool scores, thr_error *err) {
    static const char what[] = "answers";
    THR_TRY(thr_grow(m->context, &m->rows, &m->capacity, n_queries * kt, sizeof *m->rows, what, err));
    THR_TRY(thr_grow(m->context, &m->scores, &m->scores_capacity, n_queries * kt, sizeof *m->scores, what, err));
    THR_TRY(thr_grow(m->context, &m->one_rows, &m->one_capacity, k, sizeof *m->one_rows, what, err));
    THR_TRY(thr_grow(m->context, &m->one_scores, &m->one_scores_capacity, k, sizeof *m->one_scores, what, err));
    return scores ? THR_OK
                  : thr_grow(m->context, &m->all_scores, &m->all_capacity, n_queries * k, sizeof *m->all_scores, what,
                             err);
}

/* Merge the tail's answers into query q's. Rows of the tail are larger, so the segments' come first in a tie. */
static void merge_query(tail_answers *m, const thr_answers *all, const thr_answers *tail, size_t q,
                        uint64_t first_row) {
    const size_t k = all->k;
    uint64_t *rows = all->ids + q * k;
    float *scores = all->scores + q * k;
    const uint64_t *tail_rows = tail->ids + q * tail->k;
    const float *tail_scores = tail->scores + q * tail->k;
    size_t a = 0, b = 0;
    memcpy(m->one_rows, rows, k * sizeof *rows);
    memcpy(m->one_scores, scores, k * sizeof *scores);
    for (size_t i = 0; i < k; i++) {
        const bool from_tail = b < tail->k && tail_rows[b] != THR_NO_ID &&
                               (m->one_rows[a] == THR_NO_ID || tail_scores[b] > m->one_scores[a]);
        rows[i] = from_tail ? first_row + tail_rows[b] : m->one_rows[a];
        scores[i] = from_tail ? tail_scores[b] : m->one_scores[a];
        b += from_tail;
        a += !from_tail;
    }
}

static thr_status search(thr_index *index, thr_scan *scan, const thr_search_plan *plan, const thr_matrix *queries,
                         const thr_answers *answers, tail_answers *m, thr_error *err) {
    const size_t n = (size_t)queries->n_rows, k = (size_t)answers->k, kt = THR_MIN(k, index->n_tail);
    THR_TRY(make_room(m, n, k, kt, answers->scores != NULL, err));
    thr_answers all = *answers;
    all.scores = answers->scores != NULL ? answers->scores : m->all_scores;
    THR_TRY(thr_index_search_segments(index, scan, plan, queries, &all, err));
    if (kt == 0)
        return THR_OK;
    thr_search_options tail_options;
    const thr_scan_corpus corpus = tail_corpus(index, plan, &tail_options);
    const thr_answers tail = {.k = kt, .ids = m->rows, .scores = m->scores, .least_scores = answers->least_scores};
    const thr_job job = thr_scan_job_make(index->context, &corpus, &tail_options, &tail);
    THR_TRY(thr_scan_run(scan, &job, queries, err));
    for (size_t q = 0; q < n; q++) {
        if (answers->n_read != NULL)
            answers->n_read[q] += index->n_tail;
        merge_query(m, &all, &tail, q, index->tail->first_row);
    }
    return THR_OK;
}

thr_status thr_index_search_with_tail(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                      const thr_matrix *queries, const thr_answers *answers, thr_error *err) {
    void *m;
    THR_TRY(thr_idle_take(&index->root->tail_answers, make_tail_answers, &m, err));
    const thr_status status = search(index, scan, plan, queries, answers, m, err);
    thr_idle_put(&index->root->tail_answers, m);
    return status;
}

/* ------------------------------------------------------------------------------------------------ radius */

static thr_status append_found(const thr_index *index, thr_found *found, thr_found *tail, thr_error *err) {
    for (size_t i = 0; i < tail->n; i++)
        tail->items[i].row += index->tail->first_row;
    THR_TRY(thr_scan_found_append(index->context, found, tail->items, tail->n, err));
    thr_select_candidates_sort(found->items, found->n);
    return THR_OK;
}

thr_status thr_index_radius_with_tail(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                      const thr_matrix *queries, float least_score, thr_found *found, thr_error *err) {
    thr_found *tail = NULL;
    thr_search_options tail_options;
    thr_status status = THR_OK;
    THR_TRY(thr_index_radius_of_segments(index, scan, plan, queries, least_score, found, err));
    if (index->n_tail == 0)
        return THR_OK;
    const thr_scan_corpus corpus = tail_corpus(index, plan, &tail_options);
    tail_options.certified = NULL;
    THR_TRY(thr_alloc_zero(index->context, (size_t)queries->n_rows, sizeof *tail, &tail, "the result", err));
    THR_TRY_OUT(thr_scan_radius(scan, &corpus, queries, least_score, &tail_options, tail, err));
    for (uint64_t q = 0; q < queries->n_rows; q++)
        THR_TRY_OUT(append_found(index, &found[q], &tail[q], err));
out:
    for (uint64_t q = 0; q < queries->n_rows; q++)
        thr_scan_found_free(index->context, &tail[q]);
    thr_release(index->context, tail);
    return status;
}
