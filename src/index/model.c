/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - copies a model's file into a build's directory, and opens and checks the copy. */
#include "index/model.h"

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/out.h"
#include "text_tower/model.h"

#include <inttypes.h>
#include <unistd.h>

enum { PIECE_BYTES = 4 << 20 };

/* Whether a side's embeddings are codes: sums of planes with the weights 1, 1/2, 1/4, ... */
static bool gives_codes(const thr_tower_config *config, uint32_t bits) {
    return bits >= 1 && bits <= THR_MAX_BITS && (bits == 1 || !config->plain_weights);
}

uint32_t thr_index_model_query_bits(const thr_index_model *model) {
    const thr_tower_config config = thr_tower_get_info(model->tower).config;
    return gives_codes(&config, config.query_bits) ? config.query_bits : THR_MAX_BITS;
}

/* ------------------------------------------------------------------------------------------------ build */

/* Fill in the properties that a build needs, for a model of texts or a dual one. */
static thr_status describe_texts(thr_context *context, thr_index_model_source *source, thr_error *err) {
    THR_TRY(thr_tower_open(context, source->path, &source->tower, err));
    const thr_tower_info info = thr_tower_get_info(source->tower);
    source->item_bits = info.config.item_bits;
    source->codes = gives_codes(&info.config, info.config.item_bits);
    source->n_inputs = source->codes ? info.config.n_inputs : 0;
    source->fingerprint = info.fingerprint;
    source->n_dims = info.config.n_dims;
    return THR_OK;
}

static thr_status describe_dual(thr_context *context, thr_index_model_source *source, thr_error *err) {
    thr_dual *dual = NULL;
    THR_TRY(thr_dual_open(context, source->path, &dual, err));
    const thr_dual_info info = thr_dual_get_info(dual);
    thr_dual_free(dual);
    source->fingerprint = info.fingerprint;
    source->n_dims = info.n_vector;
    return THR_OK;
}

static thr_status check_source(const thr_index_model_source *source, const thr_row_source *rows, thr_metric metric,
                               thr_error *err) {
    const thr_metric wanted = source->dual ? THR_METRIC_IP : THR_METRIC_COSINE;
    if (source->n_inputs != 0 && source->n_inputs != rows->shape.n_dims)
        return thr_fail(err, THR_EDIM,
                        "%s: vectors of %" PRIu32 " dimensions, but the model %s encodes those of %" PRIu32, rows->name,
                        rows->shape.n_dims, source->path, source->n_inputs);
    if (source->n_inputs != 0)
        return THR_OK;
    if (metric != wanted)
        return thr_fail(err, THR_EINVAL, "the metric %s with a model: vectors of %s are learned for %s: choose that",
                        thr_metric_name(metric), source->path, thr_metric_name(wanted));
    if (source->n_dims != rows->shape.n_dims)
        return thr_fail(err, THR_EDIM,
                        "%s: vectors of %" PRIu32 " dimensions, but those of the model %s have %" PRIu32
                        ": give the vectors that its item side makes",
                        rows->name, rows->shape.n_dims, source->path, source->n_dims);
    return THR_OK;
}

thr_status thr_index_model_source_open(thr_context *context, const char *path, const thr_row_source *rows,
                                       thr_metric metric, thr_index_model_source *source, thr_error *err) {
    *source = (thr_index_model_source){.path = path};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_map_open(path, &source->map, err));
    THR_TRY_OUT(thr_dual_probe(context, path, &source->dual, err));
    THR_TRY_OUT(source->dual ? describe_dual(context, source, err) : describe_texts(context, source, err));
    status = check_source(source, rows, metric, err);
out:
    if (status != THR_OK)
        thr_index_model_source_close(source);
    return status;
}

void thr_index_model_source_close(thr_index_model_source *source) {
    thr_map_close(&source->map);
    thr_tower_free(source->tower);
    source->tower = NULL;
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
                                   .codes = source->codes,
                                   .n_inputs = source->n_inputs,
                                   .dual = source->dual,
                                   .build = dir->build,
                                   .file_bytes = source->map.size,
                                   .fingerprint = source->fingerprint};
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

static thr_status check_fingerprint(const thr_index_model *model, const thr_manifest *manifest, uint64_t fingerprint,
                                    thr_error *err) {
    if (fingerprint == manifest->model.fingerprint)
        return THR_OK;
    return thr_fail(err, THR_EMISMATCH,
                    "%s: this model's fingerprint is %016" PRIx64
                    ", that of the one the index was built with %016" PRIx64 ": restore that or build the index again",
                    model->path, fingerprint, manifest->model.fingerprint);
}

static thr_status check_texts(const thr_index_model *model, const thr_manifest *manifest, thr_error *err) {
    const thr_tower_info info = thr_tower_get_info(model->tower);
    THR_TRY(check_fingerprint(model, manifest, info.fingerprint, err));
    if (info.config.n_dims != manifest->quantiser.n_dims ||
        manifest->model.codes != gives_codes(&info.config, info.config.item_bits) ||
        (manifest->model.codes && info.config.n_inputs != manifest->model.n_inputs) ||
        (manifest->model.codes && info.config.item_bits != manifest->quantiser.item_bits))
        return thr_fail(err, THR_EMISMATCH,
                        "%s: gives items %" PRIu32 " dimensions of %" PRIu32 " bits, the index has %" PRIu32
                        " of %" PRIu32 ": build the index again",
                        model->path, info.config.n_dims, info.config.item_bits, manifest->quantiser.n_dims,
                        manifest->quantiser.item_bits);
    return THR_OK;
}

static thr_status check_dual(const thr_index_model *model, const thr_manifest *manifest, thr_error *err) {
    const thr_dual_info info = thr_dual_get_info(model->dual);
    THR_TRY(check_fingerprint(model, manifest, info.fingerprint, err));
    if (info.n_vector != manifest->quantiser.n_dims)
        return thr_fail(err, THR_EMISMATCH,
                        "%s: gives items %" PRIu32 " dimensions, the index has %" PRIu32 ": build the index again",
                        model->path, info.n_vector, manifest->quantiser.n_dims);
    return THR_OK;
}

thr_status thr_index_model_open(thr_context *context, const char *dir, const thr_manifest *manifest,
                                thr_index_model *model, thr_error *err) {
    char name[THR_INDEX_FILE_NAME_SIZE];
    thr_error why = {.status = THR_OK};
    const bool dual = manifest->model.dual;
    *model = (thr_index_model){.context = context};
    thr_index_file_name_print(THR_INDEX_FILE_MODEL, manifest->model.build, name);
    THR_TRY(thr_path_join(context, dir, name, &model->path, err));
    THR_TRY(thr_map_open(model->path, &model->map, err));
    if (model->map.size != manifest->model.file_bytes)
        return thr_index_model_damaged(model->path, err);
    const thr_status status = dual ? thr_dual_open(context, model->path, &model->dual, &why)
                                   : thr_text_tower_map(context, model->path, &model->tower, &why);
    if (status != THR_OK)
        return thr_fail(err, status == THR_EFORMAT ? THR_ECORRUPT : status, "%s", why.text);
    return dual ? check_dual(model, manifest, err) : check_texts(model, manifest, err);
}

void thr_index_model_close(thr_index_model *model) {
    if (model->context == NULL)
        return;
    thr_tower_free(model->tower);
    thr_dual_free(model->dual);
    thr_map_close(&model->map);
    thr_release(model->context, model->path);
    *model = (thr_index_model){.context = NULL};
}
