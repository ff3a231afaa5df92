/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - copies a model's file into a build's directory, and opens and checks the copy. */
#include "index/model/model.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/out.h"

#include <inttypes.h>
#include <unistd.h>

enum { PIECE_BYTES = 4 << 20 };

static const thr_encoder_kind *kind_of(bool dual) {
    return dual ? &thr_dual_tower_encoder : &thr_text_tower_encoder;
}

/* Open a model that is `whole` or whose headers alone are read. */
static thr_status open_encoder(thr_context *context, const char *path, bool dual, bool whole, thr_encoder *encoder,
                               thr_error *err) {
    const thr_encoder_kind *kind = kind_of(dual);
    THR_TRY(kind->open(context, path, whole, &encoder->model, err));
    encoder->kind = kind;
    return THR_OK;
}

static void close_encoder(thr_encoder *encoder) {
    if (encoder->kind != NULL)
        encoder->kind->free(encoder->model);
    *encoder = (thr_encoder){.kind = NULL};
}

/* ------------------------------------------------------------------------------------------------ build */

static thr_status check_source(const thr_index_model_source *source, const thr_row_source *rows, thr_metric metric,
                               thr_error *err) {
    const thr_encoder_shape *shape = &source->shape;
    if (shape->n_inputs != 0 && shape->n_inputs != rows->shape.n_dims)
        return thr_fail(err, THR_EDIM,
                        "%s: vectors of %" PRIu32 " dimensions, but the model %s encodes those of %" PRIu32, rows->name,
                        rows->shape.n_dims, source->path, shape->n_inputs);
    if (shape->n_inputs != 0)
        return THR_OK;
    if (metric != shape->metric)
        return thr_fail(err, THR_EINVAL, "the metric %s with a model: vectors of %s are learned for %s: choose that",
                        thr_metric_name(metric), source->path, thr_metric_name(shape->metric));
    if (shape->n_dims != rows->shape.n_dims)
        return thr_fail(err, THR_EDIM,
                        "%s: vectors of %" PRIu32 " dimensions, but those of the model %s have %" PRIu32
                        ": give the vectors that its item side makes",
                        rows->name, rows->shape.n_dims, source->path, shape->n_dims);
    return THR_OK;
}

thr_status thr_index_model_source_open(thr_context *context, const char *path, const thr_row_source *rows,
                                       thr_metric metric, thr_index_model_source *source, thr_error *err) {
    *source = (thr_index_model_source){.path = path};
    thr_status status = THR_OK;
    bool dual = false;
    THR_TRY_OUT(thr_map_open(path, &source->map, err));
    THR_TRY_OUT(thr_dual_tower_encoder.probe(context, path, &dual, err));
    THR_TRY_OUT(open_encoder(context, path, dual, true, &source->encoder, err));
    source->shape = source->encoder.kind->shape(source->encoder.model);
    status = check_source(source, rows, metric, err);
out:
    if (status != THR_OK)
        thr_index_model_source_close(source);
    return status;
}

void thr_index_model_source_close(thr_index_model_source *source) {
    thr_map_close(&source->map);
    close_encoder(&source->encoder);
}

/* Read through the descriptor: if the file is cut meanwhile, that returns an error instead of raising a signal. */
static thr_status copy_bytes(const thr_index_model_source *source, int fd, uint8_t *piece, thr_out *out,
                             uint64_t *checksum, thr_error *err) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    while (out->position < source->map.size) {
        const uint64_t left = source->map.size - out->position;
        size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        THR_TRY(thr_map_read(&source->map, fd, source->path, out->position, piece, &n, err));
        if (n == 0)
            break;
        thr_checksum_add(sum, piece, n);
        THR_TRY(thr_out_write(out, piece, n, err));
        thr_out_flush_hint(out);
    }
    *checksum = thr_checksum_end(sum);
    if (out->position != source->map.size || thr_map_check(&source->map, source->path, NULL) != THR_OK)
        return thr_fail(err, THR_ECHANGED, "%s: the model was changed while it was copied: build the index again",
                        source->path);
    return THR_OK;
}

thr_status thr_index_model_copy(const thr_index_model_source *source, const thr_build_dir *dir,
                                thr_manifest_model *listed, thr_error *err) {
    char *path = NULL;
    uint8_t *piece = NULL;
    int fd = -1;
    thr_out out = {.context = NULL};
    thr_status status = THR_OK;
    *listed = (thr_manifest_model){.there = true,
                                   .codes = source->shape.codes,
                                   .n_inputs = source->shape.n_inputs,
                                   .dual = source->encoder.kind == &thr_dual_tower_encoder,
                                   .build = dir->build,
                                   .file_bytes = source->map.size,
                                   .fingerprint = source->shape.fingerprint};
    THR_TRY_OUT(thr_alloc(dir->context, PIECE_BYTES, 1, &piece, "copying the model", err));
    THR_TRY_OUT(thr_index_build_dir_file_path(dir, THR_INDEX_FILE_MODEL, &path, err));
    THR_TRY_OUT(thr_out_open(dir->context, path, &out, err));
    out.directory_later = true;
    THR_TRY_OUT(thr_map_reopen(&source->map, source->path, &fd, err));
    THR_TRY_OUT(copy_bytes(source, fd, piece, &out, &listed->checksum, err));
    THR_TRY_OUT(thr_out_publish(&out, err));
out:
    if (fd >= 0)
        (void)close(fd);
    thr_out_drop(&out);
    THR_RELEASE(dir->context, path, piece);
    return status;
}

/* ------------------------------------------------------------------------------------------------ open */

thr_status thr_index_model_damaged(const char *path, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT,
                    "%s: is not the file that the index was built with, byte for byte: restore it or build the index "
                    "again",
                    path);
}

static thr_status check_shape(const thr_index_model *model, const thr_manifest *manifest, thr_error *err) {
    const thr_encoder_shape shape = model->encoder.kind->shape(model->encoder.model);
    const thr_manifest_model *listed = &manifest->model;
    if (shape.fingerprint != listed->fingerprint)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: this model's fingerprint is %016" PRIx64
                        ", that of the one the index was built with %016" PRIx64
                        ": restore that or build the index again",
                        model->path, shape.fingerprint, listed->fingerprint);
    if (shape.n_dims != manifest->quantiser.n_dims)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: gives items %" PRIu32 " dimensions, the index has %" PRIu32 ": build the index again",
                        model->path, shape.n_dims, manifest->quantiser.n_dims);
    if (shape.codes == listed->codes &&
        (!shape.codes || (shape.n_inputs == listed->n_inputs && shape.item_bits == manifest->quantiser.item_bits)))
        return THR_OK;
    return thr_fail(err, THR_EMISMATCH,
                    "%s: gives items codes of %" PRIu32 " bits, the index has %" PRIu32 ": build the index again",
                    model->path, shape.codes ? shape.item_bits : 0, listed->codes ? manifest->quantiser.item_bits : 0);
}

thr_status thr_index_model_open(thr_context *context, const char *dir, const thr_manifest *manifest,
                                thr_index_model *model, thr_error *err) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    thr_error why = {.status = THR_OK};
    *model = (thr_index_model){.context = context};
    thr_index_file_name_print(THR_INDEX_FILE_MODEL, manifest->model.build, name);
    THR_TRY(thr_path_join(context, dir, name, &model->path, err));
    THR_TRY(thr_map_open(model->path, &model->map, err));
    if (model->map.size != manifest->model.file_bytes)
        return thr_index_model_damaged(model->path, err);
    const thr_status status = open_encoder(context, model->path, manifest->model.dual, false, &model->encoder, &why);
    if (status != THR_OK)
        return thr_fail(err, status == THR_EFORMAT ? THR_ECORRUPT : status, "%s", why.text);
    return check_shape(model, manifest, err);
}

void thr_index_model_close(thr_index_model *model) {
    if (model->context == NULL)
        return;
    close_encoder(&model->encoder);
    thr_map_close(&model->map);
    thr_release(model->context, model->path);
    *model = (thr_index_model){.context = NULL};
}
