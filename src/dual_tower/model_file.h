/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.h - dual towers as safetensors.
 *
 * Tensors: query.words and item.words (u8, a line end behind each), query.embeddings and item.embeddings (f32, words x
 * n_embedding), each side's parts, "query.hidden.weight" (f32), and hits.words and hits.fields (f32). The metadata is
 * that of training/model_image.h. All of it is read when a model is opened, and compared with the fingerprint.
 */
#ifndef THR_DUAL_TOWER_MODEL_FILE_H
#define THR_DUAL_TOWER_MODEL_FILE_H

#include "dual_tower/model.h"
#include "training/model_image.h"

#define THR_DUAL_KIND "thresher.dual" /* the key of its metadata that says what it is */

/* Views of the model, which must live as long. */
void thr_dual_image(const thr_dual_model *model, thr_model_image *image);

/* THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_dual_save(thr_context *context, const thr_dual_model *model, const char *path, thr_error *err);

/* Are these tensors such a model's? */
bool thr_dual_is_in(const thr_tensors *tensors);

/*
 * The model in a file: its words are its own, the rest are views of the tensors. *model starts zeroed, and its words
 * are to be freed, also after an error. THR_OK; THR_EFORMAT; THR_EVERSION; THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_dual_read(thr_context *context, const thr_tensors *tensors, const char *name, thr_dual_model *model,
                         uint64_t *fingerprint, thr_error *err);
void thr_dual_words_free(thr_context *context, thr_dual_model *model);

#endif
