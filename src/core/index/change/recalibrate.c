/* SPDX-License-Identifier: Apache-2.0 */
/* recalibrate.c - calibrates the segments of a commit that has learned a quantiser, before they are published. */
#include "base/error.h"
#include "index/calibration/calibrate.h"
#include "index/change/change.h"

thr_status thr_index_commit_calibrate(thr_commit *commit, thr_error *err) {
    thr_manifest *m = &commit->manifest;
    const thr_index_build_options defaults = thr_index_complete_build(NULL);
    thr_index *index = NULL;
    m->tuning = (thr_tuning){.n_queries = 0};
    m->n_items = 0;
    for (uint32_t i = 0; i < m->n_segments; i++)
        m->n_items += m->segments[i].n_items;
    if (m->n_items != m->n_rows || m->n_items < THR_TUNE_LEAST_ITEMS)
        return THR_OK;
    THR_TRY(thr_index_open_unpublished(commit->context, commit->index->dir, m, &index, err));
    const thr_status status = thr_index_tune_by_items(index, NULL, NULL, defaults.calibration_queries, &m->tuning, err);
    thr_index_free(index);
    return status;
}
