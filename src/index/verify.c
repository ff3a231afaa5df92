/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - every byte of an index against its checksums (base/file_sum), and what can be computed from the rest
 * computed again, through the map.
 */
#include "index/index_impl.h"

#include "base/error.h"
#include "base/file_sum.h"
#include "code/encode.h"
#include "kernel/kernel.h"

#include <inttypes.h>

/*
 * A block's norm is the length of its shortest code. One that is too large makes the scan pass over items, and its
 * checksum fits all the same when it was written like that.
 */
static thr_status verify_block_norms(const thr_index *index, const thr_segment_view *view, thr_error *err) {
    const thr_segment_shape *shape = &view->shape;
    const size_t block_size = thr_block_size(shape->n_dims, shape->bits);
    for (uint32_t first = 0; first < shape->n_items; first += THR_BLOCK_ITEMS) {
        const uint32_t block = first / THR_BLOCK_ITEMS, left = shape->n_items - first;
        uint32_t squares[THR_BLOCK_ITEMS];
        index->context->kernels->code_squares(squares, view->scan.codes + block * block_size, 1, shape->n_dims,
                                              shape->bits);
        uint32_t least = squares[0];
        for (uint32_t i = 1; i < THR_BLOCK_ITEMS && i < left; i++)
            least = squares[i] < least ? squares[i] : least;
        if (view->scan.block_norms[block] != least)
            return thr_fail(err, THR_ECORRUPT,
                            "%s: section block norms: that of block %" PRIu32 " is %" PRIu32 ", its codes say %" PRIu32
                            ": build the index again",
                            view->path, block, view->scan.block_norms[block], least);
    }
    return THR_OK;
}

/* The header and table are read again too: a change that kept the file's size and time would show here. */
static thr_status verify_segment(thr_file_sum *sum, const thr_index *index, uint32_t i, thr_error *err) {
    const thr_mapped *mapped = &index->mapped[i];
    thr_segment_view again;
    THR_TRY(thr_map_check(&mapped->map, mapped->path, err));
    THR_TRY(thr_segment_parse(mapped->path, mapped->map.data, mapped->map.size, &mapped->view.shape,
                              &index->manifest.segments[i], &again, err));
    for (uint32_t s = 0; s < again.n_sections; s++)
        THR_TRY(thr_file_sum_section(sum, mapped->path, mapped->map.fd, &again.sections[s],
                                     thr_section_name(again.sections[s].kind), THR_SEGMENT_REMEDY, err));
    THR_TRY(thr_segment_check_contents(&again, err));
    return again.scan.block_norms != NULL ? verify_block_norms(index, &again, err) : THR_OK;
}

static thr_status verify_model(thr_file_sum *sum, const thr_index *index, thr_error *err) {
    const thr_index_model *model = &index->model;
    uint64_t checksum = 0;
    THR_TRY(thr_map_check(&model->map, model->path, err));
    THR_TRY(thr_file_sum_bytes(sum, model->path, model->map.fd, 0, model->map.size, &checksum, err));
    return checksum == index->manifest.model.checksum ? THR_OK : thr_index_model_damaged(model->path, err);
}

static thr_status verify_manifest(const thr_index *index, thr_error *err) {
    thr_manifest now = {0};
    uint64_t checksum = 0;
    thr_status status = thr_manifest_read(index->context, index->manifest_path, &now, &checksum, NULL, err);
    thr_manifest_free(index->context, &now);
    if (status == THR_OK && checksum != index->manifest_checksum)
        return thr_fail(err, THR_ECHANGED, "%s: the index was replaced since it was opened: open it again",
                        index->manifest_path);
    return status;
}

thr_status thr_index_verify(thr_index *index, thr_error *err) {
    thr_status status = THR_OK;
    if (index == NULL)
        return thr_fail(err, THR_EINVAL, "there is no index to verify");
    thr_file_sum sum = {.piece = NULL};
    THR_TRY(verify_manifest(index, err));
    THR_TRY(thr_file_sum_start(index->context, index->info.file_bytes, index->info.n_items, &sum, err));
    for (uint32_t i = 0; i < index->n_segments; i++)
        THR_TRY_OUT(verify_segment(&sum, index, i, err));
    if (index->hits != NULL)
        THR_TRY_OUT(thr_hits_verify(index->hits, err));
    if (index->model.path != NULL)
        THR_TRY_OUT(verify_model(&sum, index, err));
    THR_TRY_OUT(thr_progress_end(&sum.progress, index->info.n_items, err));
out:
    thr_file_sum_end(&sum);
    return status;
}
