/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - what a thr_rank_model is, and its two kinds of files. */
#ifndef THR_RANK_MODEL_H
#define THR_RANK_MODEL_H

#include <thresher/rank.h>

#include "base/memory.h"

struct thr_rank_model {
    thr_context *context;
    double *weights; /* finite */
    uint32_t n_features;
};

/* Memory for a model; its weights are 0. THR_EDIM for no features; THR_ENOMEM. */
thr_status thr_rank_model_make(thr_context *context, uint64_t n_features, thr_rank_model **model, thr_error *err);

/* THR_OK, or THR_ERANGE naming the feature. name: of a file, or NULL. */
thr_status thr_rank_model_check(const thr_rank_model *model, const char *name, thr_error *err);

/* tensors.c: .safetensors. */
thr_status thr_rank_tensors_read(thr_context *context, const char *path, thr_rank_model **model, thr_error *err);
thr_status thr_rank_tensors_write(const thr_rank_model *model, const char *path, thr_error *err);

/* liblinear.c: LIBLINEAR's text; size bytes of it, name for messages. */
thr_status thr_rank_text_read(thr_context *context, const char *name, const char *text, size_t size,
                              thr_rank_model **model, thr_error *err);
thr_status thr_rank_text_write(const thr_rank_model *model, const char *path, thr_error *err);

#endif
