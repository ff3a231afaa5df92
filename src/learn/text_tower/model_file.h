/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.h - text towers as safetensors.
 *
 * Tensors: grams (u64), words or query.words and item.words (f32, trigrams x 3 x n_pooled), and each side's tensors,
 * such as "query.base.weight" (f32). A model of vectors has tensors only. training/model_image.h has the metadata.
 * thr_text_model_read does not read the weights; thr_training_image_check_whole verifies them.
 */
#pragma once

#include "text_tower/model.h"
#include "training/model_image.h"

extern const thr_model_kind thr_text_model_kind, thr_vector_model_kind;

/* The model as its file holds it. */
thr_model_source thr_text_model_source(const thr_text_model *model);

/*
 * Find the model in a file's tensors, as views; name is for messages. THR_OK; THR_EFORMAT when it is no such model;
 * THR_EVERSION; THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_text_model_read(thr_context *context, const thr_tensors *tensors, const char *name,
                               thr_text_model *model, uint64_t *fingerprint, thr_error *err);
