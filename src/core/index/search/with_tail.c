/* SPDX-License-Identifier: Apache-2.0 */
/* with_tail.c - searches the segments and the tail of an index, and joins the answers. */
#include "index/search/with_tail.h"

#include "base/error.h"
#include "index/search/bounded.h"

#include <math.h>
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
static thr_scan_corpus tail_corpus(const thr_index *index, const thr_search_options *options,
                                   thr_search_options *tail_options) {
    thr_scan_corpus corpus = index->corpus;
    corpus.segments = &index->tail_segment;
    corpus.n_segments = 1;
    corpus.n_rows = index->n_tail;
    *tail_options = *options;
    tail_options->exact = true;
    tail_options->filter = options->filter + index->tail->first_row / 64;
    tail_options->filter_bits = index->n_tail;
    return corpus;
}

/* The options for the segments: their rows need no filter if all are live and the caller has none. */
static thr_search_options segment_options(const thr_index *index, const thr_search_options *options) {
    thr_search_options o = *options;
    if (index->segments_whole && o.filter == index->live.words)
        o.filter = NULL;
    return o;
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

static void fill_empty(const thr_answers *answers, uint64_t n_queries) {
    for (uint64_t i = 0; i < n_queries * answers->k; i++) {
        answers->ids[i] = THR_NO_ID;
        answers->scores[i] = -INFINITY;
    }
    if (answers->n_read != NULL)
        memset(answers->n_read, 0, (size_t)n_queries * sizeof *answers->n_read);
    if (answers->certified != NULL)
        memset(answers->certified, 1, (size_t)n_queries);
}

static thr_status search(thr_index *index, thr_scan *scan, const thr_matrix *queries, const thr_search_options *options,
                         const thr_answers *answers, tail_answers *m, thr_error *err) {
    const size_t n = (size_t)queries->n_rows, k = (size_t)answers->k, kt = k < index->n_tail ? k : index->n_tail;
    THR_TRY(make_room(m, n, k, kt, answers->scores != NULL, err));
    thr_answers all = *answers;
    all.scores = answers->scores != NULL ? answers->scores : m->all_scores;
    if (index->n_segments > 0) {
        const thr_search_options o = segment_options(index, options);
        THR_TRY(thr_index_scan(index->root, scan, queries, &o, NULL, &all, err));
    } else {
        THR_TRY(thr_scan_check_queries(scan, &index->corpus, queries, err));
        fill_empty(&all, n);
    }
    if (kt == 0)
        return THR_OK;
    thr_search_options tail_options;
    const thr_scan_corpus corpus = tail_corpus(index, options, &tail_options);
    const thr_answers tail = {.k = kt, .ids = m->rows, .scores = m->scores, .least_scores = answers->least_scores};
    THR_TRY(thr_scan_search(scan, &corpus, queries, &tail_options, &tail, err));
    for (size_t q = 0; q < n && answers->n_read != NULL; q++)
        answers->n_read[q] += index->n_tail;
    for (size_t q = 0; q < n; q++)
        merge_query(m, &all, &tail, q, index->tail->first_row);
    return THR_OK;
}

thr_status thr_index_search_with_tail(thr_index *index, thr_scan *scan, const thr_matrix *queries,
                                      const thr_search_options *options, const thr_answers *answers, thr_error *err) {
    void *m;
    THR_TRY(thr_idle_take(&index->root->tail_answers, make_tail_answers, &m, err));
    const thr_status status = search(index, scan, queries, options, answers, m, err);
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

static thr_status add_tail(thr_index *index, thr_scan *scan, const thr_matrix *queries, float least_score,
                           const thr_search_options *options, thr_found *found, thr_error *err) {
    thr_found *tail = NULL;
    thr_search_options tail_options;
    thr_status status = THR_OK;
    const thr_scan_corpus corpus = tail_corpus(index, options, &tail_options);
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

thr_status thr_index_radius_with_tail(thr_index *index, thr_scan *scan, const thr_matrix *queries, float least_score,
                                      const thr_search_options *options, thr_found *found, thr_error *err) {
    if (index->n_segments > 0) {
        const thr_search_options o = segment_options(index, options);
        THR_TRY(thr_index_scan_radius(index, scan, queries, least_score, &o, found, err));
    } else {
        THR_TRY(thr_scan_check_queries(scan, &index->corpus, queries, err));
        if (options->certified != NULL)
            memset(options->certified, 1, (size_t)queries->n_rows);
    }
    return index->n_tail == 0 ? THR_OK : add_tail(index, scan, queries, least_score, options, found, err);
}
