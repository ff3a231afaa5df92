/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - the model whose vectors an index holds: a copy of its file beside the segments, and what opens it.
 *
 * Invariant: what the manifest says of the file (bytes, checksum, fingerprint) is of the copy as it was opened by a
 * build; so an index and a model that do not belong together are told apart.
 */
#ifndef THR_INDEX_MODEL_H
#define THR_INDEX_MODEL_H

#include "base/file.h"
#include "index/build_dir.h"
#include "index/row_source.h"

#include <thresher/dual.h>
#include <thresher/tower.h>

/* A model that a build takes over. The map holds the file from before it was read until it was copied. */
typedef struct thr_index_model_source {
    const char *path; /* borrowed */
    thr_map map;
    bool dual;
    bool codes;         /* its item side gives codes, */
    uint32_t item_bits; /* of so many planes */
    uint64_t fingerprint;
} thr_index_model_source;

/*
 * Look at the model at path, whose item side has made the rows of source.
 *
 * THR_EDIM when those have other dimensions; THR_EINVAL for another metric than the model's; and what thr_tower_open
 * and thr_dual_open return.
 */
thr_status thr_index_model_source_open(thr_context *context, const char *path, const thr_row_source *rows,
                                       thr_metric metric, thr_index_model_source *source, thr_error *err);

/* Copy it into a build's directory, flushed and under its name. THR_ECHANGED; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_index_model_copy(const thr_index_model_source *source, const thr_build_dir *dir,
                                thr_manifest_model *listed, thr_error *err);

/* May be called twice, and with a map whose fd is -1. */
void thr_index_model_source_close(thr_index_model_source *source);

/* The model of an open index. */
typedef struct thr_index_model {
    thr_context *context;
    char *path;
    thr_map map;      /* for verifying */
    thr_tower *tower; /* one of texts, or */
    thr_dual *dual;
} thr_index_model;

/*
 * Open the model that a manifest names. THR_ENOTFOUND; THR_ECORRUPT; THR_EMISMATCH when it is another one;
 * THR_EVERSION; THR_EIO; THR_ENOMEM.
 */
thr_status thr_index_model_open(thr_context *context, const char *dir, const thr_manifest *manifest,
                                thr_index_model *model, thr_error *err);

/* All zero is allowed, and left. */
void thr_index_model_close(thr_index_model *model);

/* THR_ECORRUPT with a sentence for a file whose bytes are not those that were copied. */
thr_status thr_index_model_damaged(const char *path, thr_error *err);

/* Bits for the queries of an index of the model's codes: the planes of its query side, or as many as can be. */
uint32_t thr_index_model_query_bits(const thr_index_model *model);

#endif
