/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_file.h - models as safetensors.
 *
 * Tensors: grams (u64), words or query.words and item.words (f32, trigrams x 3 x n_pooled), and each side's parts,
 * "query.base.weight" (f32). The metadata is that of training/model_image.h. Weights are not read when a model
 * is opened: the fingerprint says whether they are whole.
 */
#ifndef THR_TEXT_TOWER_MODEL_FILE_H
#define THR_TEXT_TOWER_MODEL_FILE_H

#include "text_tower/model.h"
#include "training/model_image.h"

#define THR_MODEL_KIND "thresher.tower" /* the key of its metadata that says what it is */

/* Views of the model, which must live as long. */
void thr_text_model_image(const thr_text_model *model, thr_model_image *image);

/* Whether weights, trigrams and configuration are those that the fingerprint is of. Reads all; image is scratch. */
bool thr_text_model_is_whole(const thr_text_model *model, uint64_t fingerprint, thr_model_image *image);

/* THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_text_model_save(thr_context *context, const thr_text_model *model, const char *path, thr_error *err);

/*
 * The model in a file, as views of it; name is for messages. THR_OK; THR_EFORMAT when it is no model; THR_EVERSION;
 * THR_ECORRUPT; THR_ENOMEM.
 */
thr_status thr_text_model_read(thr_context *context, const thr_tensors *tensors, const char *name,
                               thr_text_model *model, uint64_t *fingerprint, thr_error *err);

#endif
