/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.h - dual towers as safetensors.
 *
 * Tensors: query.words and item.words (u8, each word ends with a line feed), query.embeddings and item.embeddings (f32,
 * words x n_embedding), each side's parts, such as "query.hidden.weight" (f32), and hits.words and hits.fields (f32).
 * training/model_image.h has the metadata. Opening a model reads all of it and verifies the fingerprint.
 */
#ifndef THR_DUAL_TOWER_MODEL_FILE_H
#define THR_DUAL_TOWER_MODEL_FILE_H

#include "dual_tower/model.h"
#include "training/model_image.h"

#define THR_DUAL_KIND "thresher.dual" /* the metadata key that identifies the kind */

/* Describe the model's file; tensors are views of the model, which must outlive *image. */
void thr_dual_image(const thr_dual_model *model, thr_model_image *image);

/* Write the model's file. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_dual_save(thr_context *context, const thr_dual_model *model, const char *path, thr_error *err);

/* Whether a file's tensors are those of a dual tower. */
bool thr_dual_is_in(const thr_tensors *tensors);

/*
 * Find the model in a file's tensors. *model starts zeroed; it owns its words, the rest are views of the tensors. The
 * caller frees the words, also after an error. THR_OK; THR_EFORMAT; THR_EVERSION; THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_dual_read(thr_context *context, const thr_tensors *tensors, const char *name, thr_dual_model *model,
                         uint64_t *fingerprint, thr_error *err);
void thr_dual_words_free(thr_context *context, thr_dual_model *model);

#endif
