/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - the model whose vectors an index holds: copies its file into the index, and opens the copy.
 *
 * Invariant: the manifest's bytes, checksum and fingerprint are those of the copy that the build opened, so a model
 * that does not belong to the index is detected.
 */
#pragma once

#include "base/files/file.h"
#include "index/build/directory.h"
#include "index/build/row_source.h"
#include "index/model/encoder.h"

/* The model of a build. The map keeps the file open from before it is read until it is copied. */
typedef struct thr_index_model_source {
    const char *path; /* borrowed */
    thr_map map;
    thr_encoder encoder;
    thr_encoder_shape shape; /* n_inputs is 0, or the dimensions of the rows */
} thr_index_model_source;

/*
 * Open the model at path, whose item side has made the rows of source, or will encode them if it is a model of vectors
 * that gives codes.
 *
 * THR_EDIM if the rows have other dimensions; THR_EINVAL if the metric is not the model's; and what opening the model
 * returns.
 */
thr_status thr_index_model_source_open(thr_context *context, const char *path, const thr_row_source *rows,
                                       thr_metric metric, thr_index_model_source *source, thr_error *err);

/*
 * Copy the file into a build's directory, flush it and give it its name. THR_ECHANGED; THR_ENOSPACE; THR_EIO;
 * THR_ENOMEM.
 */
thr_status thr_index_model_copy(const thr_index_model_source *source, const thr_build_dir *dir,
                                thr_manifest_model *listed, thr_error *err);

/* Accepts a closed source, and one whose map has fd -1. */
void thr_index_model_source_close(thr_index_model_source *source);

/* The model of an open index. */
typedef struct thr_index_model {
    thr_context *context;
    char *path;
    thr_map map; /* for verification */
    thr_encoder encoder;
} thr_index_model;

/*
 * Open the model that a manifest names. THR_ENOTFOUND; THR_ECORRUPT; THR_EMISMATCH for another model; THR_EVERSION;
 * THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_model_open(thr_context *context, const char *dir, const thr_manifest *manifest,
                                thr_index_model *model, thr_error *err);

/* Accepts an all-zero model, and leaves one. */
void thr_index_model_close(thr_index_model *model);

/* Return THR_ECORRUPT: the file's bytes are not those that the build copied. */
thr_status thr_index_model_damaged(const char *path, thr_error *err);
