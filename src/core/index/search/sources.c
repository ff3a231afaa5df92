/* SPDX-License-Identifier: Apache-2.0 */
#include "index/search/sources.h"

#include "base/error.h"
#include "index/search/model_codes.h"

#include <string.h>

static thr_status search_cells(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                               const thr_answers *answers, thr_error *err) {
    thr_search_memory *m = plan->memory;
    if (m->cells == NULL)
        THR_TRY(thr_cells_workspace_make(m->context, &m->cells, err));
    return thr_index_scan_cells(index, plan, queries, answers, err);
}

/* What thr_cells_best and thr_cells_radius take. *corpus lives as long as the result. */
static thr_status begin_bounded(const thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                thr_cells_corpus *corpus, thr_bounded_search *search, thr_error *err) {
    thr_search_memory *m = plan->memory;
    *corpus = (thr_cells_corpus){&index->corpus, index->cells, index->n_segments};
    if (m->bounded == NULL)
        THR_TRY(thr_cells_bounded_workspace_make(m->context, &m->bounded, err));
    *search = (thr_bounded_search){m->scan, m->bounded, corpus, queries, &plan->options};
    return THR_OK;
}

static void fill_empty(const thr_answers *answers, uint64_t n_queries) {
    for (uint64_t q = 0; q < n_queries; q++)
        thr_select_answers_put(answers, q, NULL, 0);
    if (answers->n_read != NULL)
        memset(answers->n_read, 0, (size_t)n_queries * sizeof *answers->n_read);
    if (answers->certified != NULL)
        memset(answers->certified, 1, (size_t)n_queries);
}

thr_status thr_index_search_segments(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                     const thr_answers *answers, thr_error *err) {
    thr_cells_corpus corpus;
    thr_bounded_search search;
    switch (plan->source) {
    case THR_SOURCE_NOTHING:
        fill_empty(answers, queries->n_rows);
        return THR_OK;
    case THR_SOURCE_CELLS:
        return search_cells(index, plan, queries, answers, err);
    case THR_SOURCE_BOUNDED:
        THR_TRY(begin_bounded(index, plan, queries, &corpus, &search, err));
        return thr_cells_best(&search, answers, err);
    case THR_SOURCE_VECTORS:
    case THR_SOURCE_CODES:
        break;
    }
    return plan->encodes ? thr_index_search_model_codes(index, plan, queries, answers, err)
                         : thr_index_scan(index, plan, queries, answers, err);
}

/* The rows of all vectors or all codes. */
static thr_status radius_of_all(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                float least_score, thr_found *found, thr_error *err) {
    thr_search_options options = plan->options;
    thr_matrix embedded;
    options.exact = plan->source == THR_SOURCE_VECTORS;
    if (plan->encodes)
        THR_TRY(thr_index_embed_queries(index, plan, queries, &embedded, err));
    return thr_scan_radius(plan->memory->scan, options.exact ? &index->vectors : &index->corpus,
                           plan->encodes ? &embedded : queries, least_score, &options, found, err);
}

thr_status thr_index_radius_of_segments(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                        float least_score, thr_found *found, thr_error *err) {
    thr_cells_corpus corpus;
    thr_bounded_search search;
    if (plan->source == THR_SOURCE_NOTHING) {
        if (plan->options.certified != NULL)
            memset(plan->options.certified, 1, (size_t)queries->n_rows);
        return THR_OK;
    }
    if (plan->source != THR_SOURCE_BOUNDED)
        return radius_of_all(index, plan, queries, least_score, found, err);
    THR_TRY(begin_bounded(index, plan, queries, &corpus, &search, err));
    return thr_cells_radius(&search, least_score, found, err);
}
