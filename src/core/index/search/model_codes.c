/* SPDX-License-Identifier: Apache-2.0 */
/* model_codes.c - screens by the codes of a model, and refines by the vectors that it encoded. */
#include "index/search/model_codes.h"

#include "base/error.h"
#include "index/model/embed.h"

enum { AT_ONCE = 256 }; /* queries */

typedef struct embedding_workspace {
    thr_embedder embedder;
    uint64_t *rows; /* the candidates of some queries */
    size_t capacity;
} embedding_workspace;

static thr_status make_workspace(thr_context *context, void **piece, thr_error *err) {
    embedding_workspace *made = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a search", err));
    made->embedder.context = context;
    *piece = made;
    return THR_OK;
}

void thr_index_embedding_free(void *piece) {
    embedding_workspace *w = piece;
    thr_context *context = w->embedder.context;
    thr_index_embedder_close(&w->embedder);
    thr_release(context, w->rows);
    thr_release(context, w);
}

thr_status thr_index_embed_queries(thr_index *index, thr_scan *scan, const thr_matrix *queries, void **workspace,
                                   thr_matrix *embedded, thr_error *err) {
    THR_TRY(thr_idle_take(&index->root->embedders, make_workspace, workspace, err));
    embedding_workspace *w = *workspace;
    w->embedder.encoder = &index->model.encoder;
    THR_TRY(thr_index_embed(&w->embedder, THR_SIDE_QUERY, queries, embedded, err));
    return thr_scan_check_queries(scan, &index->corpus, embedded, err);
}

/* The rows of a query's candidates, which a THR_NO_ID may end. */
static uint64_t count_rows(const uint64_t *rows, size_t n) {
    size_t i = 0;
    while (i < n && rows[i] != THR_NO_ID)
        i++;
    return i;
}

/* Some queries: plan->n_found candidates each by their codes, and the best k of these by the vectors. */
static thr_status rerank_some(thr_index *index, thr_scan *scan, const thr_search_plan *plan, const thr_matrix *queries,
                              const thr_answers *answers, thr_error *err) {
    const size_t n = (size_t)plan->n_found;
    void *workspace = NULL;
    thr_matrix embedded;
    thr_status status = thr_index_embed_queries(index, scan, queries, &workspace, &embedded, err);
    if (status == THR_OK) {
        embedding_workspace *w = workspace;
        status = thr_grow(index->context, &w->rows, &w->capacity, (size_t)queries->n_rows * n, sizeof *w->rows,
                          "candidates", err);
        const thr_answers candidates = {.k = n, .ids = w->rows};
        if (status == THR_OK)
            status = thr_index_scan(index, scan, plan, &embedded, &candidates, err);
        for (uint64_t q = 0; status == THR_OK && answers->n_read != NULL && q < queries->n_rows; q++)
            answers->n_read[q] = count_rows(w->rows + q * n, n);
        thr_answers best = *answers;
        best.n_read = NULL;
        if (status == THR_OK)
            status = thr_scan_rerank(scan, &index->vectors, queries, w->rows, n, &best, err);
    }
    if (workspace != NULL)
        thr_idle_put(&index->root->embedders, workspace);
    return status;
}

static thr_status screen_and_rerank(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                    const thr_matrix *queries, const thr_answers *answers, thr_error *err) {
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
        THR_TRY(rerank_some(index, scan, plan, &some, &answer, err));
    }
    return THR_OK;
}

thr_status thr_index_search_model_codes(thr_index *index, thr_scan *scan, const thr_search_plan *plan,
                                        const thr_matrix *queries, const thr_answers *answers, thr_error *err) {
    void *workspace = NULL;
    thr_matrix embedded;
    if (plan->reranks)
        return screen_and_rerank(index, scan, plan, queries, answers, err);
    thr_status status = thr_index_embed_queries(index, scan, queries, &workspace, &embedded, err);
    if (status == THR_OK)
        status = thr_index_scan(index, scan, plan, &embedded, answers, err);
    if (workspace != NULL)
        thr_idle_put(&index->root->embedders, workspace);
    return status;
}
