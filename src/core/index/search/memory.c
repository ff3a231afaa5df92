/* SPDX-License-Identifier: Apache-2.0 */
#include "index/search/memory.h"

#include "base/error.h"

void thr_index_memory_free(void *piece) {
    thr_search_memory *m = piece;
    thr_scan_free(m->scan);
    thr_cells_workspace_free(m->cells);
    thr_cells_bounded_workspace_free(m->bounded);
    thr_index_feature_scores_free(m->lists);
    thr_index_embedder_close(&m->embedder);
    THR_RELEASE(m->context, m->filter, m->candidates, m->tail_rows, m->tail_scores, m->all_scores, m->merged, m);
}

/* thr_idle_make: called if no piece is idle. */
static thr_status make(thr_context *context, void **piece, thr_error *err) {
    thr_search_memory *m = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *m, &m, "a search", err));
    m->context = m->embedder.context = context;
    const thr_status status = thr_scan_create(context, &m->scan, err);
    THR_RETURN_MADE(status, m, piece, thr_index_memory_free);
}

/* Measure the noise of a root's codes, unless an earlier search has measured it. Threads may call this at once. */
static thr_status measure_noise(thr_index *root, thr_scan *scan, thr_error *err) {
    thr_status status = THR_OK;
    if (atomic_load(&root->noise_measured))
        return THR_OK;
    (void)pthread_mutex_lock(&root->noise_mutex);
    if (!atomic_load(&root->noise_measured)) {
        status = thr_scan_measure_noise(scan, &root->corpus, &root->noise, err);
        atomic_store(&root->noise_measured, status == THR_OK);
    }
    (void)pthread_mutex_unlock(&root->noise_mutex);
    return status;
}

thr_status thr_index_memory_take(thr_index *index, thr_search_memory **memory, thr_error *err) {
    void *piece;
    *memory = NULL;
    THR_TRY(thr_idle_take(&index->root->searches, make, &piece, err));
    thr_search_memory *m = piece;
    const thr_status status = measure_noise(index->root, m->scan, err);
    if (status == THR_OK)
        *memory = m;
    else
        thr_idle_put(&index->root->searches, m);
    return status;
}

void thr_index_memory_return(thr_index *index, thr_search_memory *memory) {
    thr_idle_put(&index->root->searches, memory);
}
