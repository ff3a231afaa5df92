/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - compares every byte of an index with its checksums, then recomputes derived values (verify.h). */
#include "index/verify/verify.h"

#include "base/error.h"

static thr_status verify_segment(thr_file_sum *sum, const thr_index *index, uint32_t i, thr_error *err) {
    const thr_mapped *mapped = &index->mapped[i];
    THR_TRY(thr_section_file_verify(&mapped->view.file, &mapped->map, sum, err));
    THR_TRY(thr_index_segment_check_contents(&mapped->view, err));
    THR_TRY(thr_index_verify_codes(index, i, sum, err));
    THR_TRY(thr_index_verify_vectors(index, i, sum, err));
    THR_TRY(thr_index_verify_code_vectors(index, i, sum, err));
    return thr_index_verify_cells(index, i, sum, err);
}

static thr_status verify_model(thr_file_sum *sum, const thr_index *index, thr_error *err) {
    const thr_index_model *model = &index->model;
    uint64_t checksum = 0;
    THR_TRY(thr_map_check(&model->map, model->path, err));
    THR_TRY(thr_file_sum_bytes(sum, model->path, &model->map, 0, model->map.size, &checksum, err));
    return checksum == index->manifest.model.checksum ? THR_OK : thr_index_model_damaged(model->path, err);
}

/* Opening has checked it; it may have changed since. */
static thr_status verify_live(thr_file_sum *sum, const thr_index *index, thr_error *err) {
    const thr_live *live = &index->live;
    uint64_t checksum = 0;
    THR_TRY(thr_map_check(&live->map, live->path, err));
    THR_TRY(thr_file_sum_bytes(sum, live->path, &live->map, 0, live->map.size, &checksum, err));
    return checksum == index->manifest.live.checksum
               ? THR_OK
               : thr_fail(err, THR_ECORRUPT, "%s: its checksum is not the MANIFEST's: " THR_SEGMENT_REMEDY, live->path);
}

static thr_status verify_manifest(const thr_index *index, thr_error *err) {
    thr_manifest now = {0};
    uint64_t checksum = 0;
    thr_status status = thr_index_manifest_read(index->context, index->manifest_path, &now, &checksum, NULL, err);
    thr_index_manifest_free(index->context, &now);
    if (status == THR_OK && checksum != index->manifest_checksum)
        return thr_fail(err, THR_ECHANGED, "%s: the index was replaced since it was opened: open it again",
                        index->manifest_path);
    return status;
}

thr_status thr_index_verify(thr_index *index, thr_error *err) {
    thr_status status = THR_OK;
    if (index == NULL)
        return thr_fail(err, THR_EINVAL, "index is NULL: nothing to verify");
    thr_file_sum sum = {.piece = NULL};
    THR_TRY(verify_manifest(index, err));
    THR_TRY(thr_file_sum_start(index->context, index->info.file_bytes, index->info.n_items, &sum, err));
    for (uint32_t i = 0; i < index->n_segments; i++)
        THR_TRY_OUT(verify_segment(&sum, index, i, err));
    if (index->live.path != NULL)
        THR_TRY_OUT(verify_live(&sum, index, err));
    if (index->hits != NULL)
        THR_TRY_OUT(thr_hits_verify(index->hits, err));
    THR_TRY_OUT(thr_index_verify_ids(index, &sum, err));
    if (index->tail != NULL)
        THR_TRY_OUT(thr_index_verify_journal(index, err));
    if (index->hits != NULL)
        THR_TRY_OUT(thr_index_verify_features(index, err));
    if (index->model.path != NULL)
        THR_TRY_OUT(verify_model(&sum, index, err));
    THR_TRY_OUT(thr_progress_end(&sum.progress, index->info.n_items, err));
out:
    thr_file_sum_end(&sum);
    return thr_index_check_after(index, status, err);
}
