/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.h - dual towers as safetensors.
 *
 * Tensors: query.words and item.words (u8, each word ends with a line feed), query.embeddings and item.embeddings (f32,
 * words x n_embedding), each side's tensors, such as "query.hidden.weight" (f32), and hits.words and hits.fields (f32).
 * training/model_image.h has the metadata. Opening a model reads all of it and verifies the fingerprint.
 */
#pragma once

#include "dual_tower/model.h"
#include "training/model_image.h"

extern const thr_model_kind thr_dual_model_kind;

/* The model as its file holds it. */
thr_model_source thr_dual_source(const thr_dual_model *model);

/* Whether a file's tensors are those of a dual tower. */
bool thr_dual_is_in(const thr_tensors *tensors);

/*
 * Find the model in a file's tensors. *model starts zeroed; it owns its words, the rest are views of the tensors. The
 * caller frees the words, also after an error. THR_OK; THR_EFORMAT; THR_EVERSION; THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_dual_read(thr_context *context, const thr_tensors *tensors, const char *name, thr_dual_model *model,
                         uint64_t *fingerprint, thr_error *err);
void thr_dual_words_free(thr_context *context, thr_dual_model *model);
