/* SPDX-License-Identifier: Apache-2.0 */
/* model_codes.c - screens by the codes of a model, and refines by the vectors that it encoded. */
#include "index/search/model_codes.h"

#include "base/error.h"

enum { AT_ONCE = 256 }; /* queries */

thr_status thr_index_embed_queries(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                   thr_matrix *embedded, thr_error *err) {
    thr_search_memory *m = plan->memory;
    m->embedder.encoder = &index->model.encoder;
    THR_TRY(thr_index_embed(&m->embedder, THR_SIDE_QUERY, queries, embedded, err));
    return thr_scan_check_queries(m->scan, &index->corpus, embedded, err);
}

/* The rows of a query's candidates, which a THR_NO_ID may end. */
static uint64_t count_rows(const uint64_t *rows, size_t n) {
    size_t i = 0;
    while (i < n && rows[i] != THR_NO_ID)
        i++;
    return i;
}

/* Some queries: plan->n_found candidates each by their codes, and the best k of these by the vectors. */
static thr_status rerank_some(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                              const thr_answers *answers, thr_error *err) {
    const size_t n = (size_t)plan->n_found;
    thr_search_memory *m = plan->memory;
    thr_matrix embedded;
    thr_answers best = *answers;
    THR_TRY(thr_index_embed_queries(index, plan, queries, &embedded, err));
    THR_TRY(thr_grow(m->context, &m->candidates, &m->candidates_capacity, (size_t)queries->n_rows * n,
                     sizeof *m->candidates, "candidates", err));
    const thr_answers candidates = {.k = n, .ids = m->candidates};
    THR_TRY(thr_index_scan(index, plan, &embedded, &candidates, err));
    for (uint64_t q = 0; answers->n_read != NULL && q < queries->n_rows; q++)
        answers->n_read[q] = count_rows(m->candidates + q * n, n);
    best.n_read = NULL;
    return thr_scan_rerank(m->scan, &index->vectors, queries, m->candidates, n, &best, err);
}

static thr_status screen_and_rerank(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                    const thr_answers *answers, thr_error *err) {
    for (uint64_t first = 0; first < queries->n_rows; first += AT_ONCE) {
        thr_matrix some = *queries;
        some.data = (const char *)queries->data + first * queries->stride;
        some.n_rows = queries->n_rows - first < AT_ONCE ? queries->n_rows - first : AT_ONCE;
        const thr_answers answer = {.k = answers->k,
                                    .ids = answers->ids + first * answers->k,
                                    .scores = answers->scores == NULL ? NULL : answers->scores + first * answers->k,
                                    .n_read = answers->n_read == NULL ? NULL : answers->n_read + first,
                                    .least_scores =
                                        answers->least_scores == NULL ? NULL : answers->least_scores + first};
        THR_TRY(rerank_some(index, plan, &some, &answer, err));
    }
    return THR_OK;
}

thr_status thr_index_search_model_codes(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                        const thr_answers *answers, thr_error *err) {
    thr_matrix embedded;
    if (plan->reranks)
        return screen_and_rerank(index, plan, queries, answers, err);
    THR_TRY(thr_index_embed_queries(index, plan, queries, &embedded, err));
    return thr_index_scan(index, plan, &embedded, answers, err);
}
