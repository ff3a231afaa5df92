/* SPDX-License-Identifier: Apache-2.0 */
/* recode.c - learns a quantiser from the live items, and rewrites all segments with its codes. */
#include "base/error.h"
#include "index/calibration/code_error.h"
#include "index/change/change.h"

static thr_status learn(thr_commit *c, thr_error *err) {
    const thr_index_build_options defaults = thr_index_complete_build(NULL);
    thr_reader *reader = NULL;
    thr_row_source source = {.context = c->context};
    float *vectors = NULL;
    uint64_t n = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_index_sample_items(c->index, defaults.sample_rows, &vectors, &n, err));
    const thr_matrix rows = thr_matrix_f32(vectors, n, c->index->manifest.quantiser.n_dims);
    THR_TRY_OUT(thr_reader_from_matrix(c->context, &rows, &reader, err));
    THR_TRY_OUT(thr_index_row_source_open(c->context, reader, &source, err));
    THR_TRY_OUT(thr_index_commit_learn(c, &source, err));
out:
    thr_index_row_source_close(&source);
    thr_reader_free(reader);
    thr_release(c->context, vectors);
    return status;
}

thr_status thr_index_commit_recode(thr_commit *commit, thr_error *err) {
    const thr_index *index = commit->index;
    if (index->manifest.model.codes)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: its codes are a model's, so no quantiser is learned: train a model and build it again",
                        index->dir);
    if (index->manifest.keep == THR_DTYPE_NONE)
        return thr_fail(err, THR_EUNSUPPORTED,
                        "%s: keeps no vectors to make codes from: build it again, with vectors kept", index->dir);
    if (index->n_segments == 0 || index->manifest.n_items == 0)
        return THR_OK;
    THR_TRY(learn(commit, err));
    return thr_index_commit_rewrite(commit, 0, index->n_segments, err);
}
