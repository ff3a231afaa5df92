/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - the weights of a ranking model, and the readers and writers of its two file formats. */
#pragma once

#include <thresher/rank.h>

#include "base/memory.h"

struct thr_rank_model {
    thr_context *context;
    double *weights; /* n_features of them, finite */
    uint32_t n_features;
};

/* Allocate a model with weights 0. THR_OK; THR_EDIM without features; THR_ENOMEM. */
thr_status thr_rank_model_make(thr_context *context, uint64_t n_features, thr_rank_model **model, thr_error *err);

/*
 * Check that all weights are finite. name: the file's, for messages, or NULL. THR_OK; THR_ERANGE (err names the
 * feature).
 */
thr_status thr_rank_model_check(const thr_rank_model *model, const char *name, thr_error *err);

/*
 * tensors.c: safetensors. Reading returns THR_OK; THR_EFORMAT; THR_EVERSION; THR_ECORRUPT; what opening the file
 * returns; THR_ENOMEM. Writing returns THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM.
 */
thr_status thr_rank_tensors_read(thr_context *context, const char *path, thr_rank_model **model, thr_error *err);
thr_status thr_rank_tensors_write(const thr_rank_model *model, const char *path, thr_error *err);

/*
 * liblinear.c: LIBLINEAR's text of `size` bytes; name is for messages. Returns THR_OK; THR_EFORMAT; THR_EUNSUPPORTED
 * for a model that does not rank; THR_ECORRUPT if it is cut short; THR_ENOMEM.
 */
thr_status thr_rank_text_read(thr_context *context, const char *name, const char *text, size_t size,
                              thr_rank_model **model, thr_error *err);
thr_status thr_rank_text_write(const thr_rank_model *model, const char *path, thr_error *err);
