/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.c - a dual tower's tensors and configuration, written to and read from a safetensors file. */
#include "dual_tower/model_file.h"

#include <stddef.h>

#include "base/error.h"

static const char *const sides[THR_N_SIDES] = {"query", "item"};

static const thr_config_field fields[] = {
    {"n_embedding", offsetof(thr_dual_config, n_embedding), false},
    {"n_hidden", offsetof(thr_dual_config, n_hidden), false},
    {"n_dims", offsetof(thr_dual_config, n_dims), false},
    {"n_products", offsetof(thr_dual_config, n_products), false},
    {"hits", offsetof(thr_dual_config, hits), true},
};
const thr_model_kind thr_dual_model_kind = {
    "thresher.dual", "dual tower", NULL, 1, fields, sizeof fields / sizeof *fields};

static void fill_image(const void *source, thr_model_image *image) {
    const thr_dual_model *model = source;
    const thr_dual_config *config = &model->config;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_dual_vocabulary *words = &model->words[side];
        thr_training_image_add_tensor(image, sides[side], "words", THR_DTYPE_U8, words->text, 1, words->n_text);
        thr_training_image_add_tensor(image, sides[side], "embeddings", THR_DTYPE_F32, model->embeddings[side],
                                      thr_dual_n_words(words), config->n_embedding);
        const thr_tensor_list list = thr_dual_tensors(model, side);
        thr_training_image_add_side(image, sides[side], &list, model->tensors[side]);
    }
    if (config->hits) {
        const thr_dual_vocabulary *words = &model->words[THR_SIDE_QUERY];
        thr_training_image_add_tensor(image, "hits", "words", THR_DTYPE_F32, model->hit_words, 1,
                                      thr_dual_n_words(words));
        thr_training_image_add_tensor(image, "hits", "fields", THR_DTYPE_F32, model->hit_fields, 1,
                                      thr_dual_n_fields(words));
    }
    thr_training_image_add_config(image, &thr_dual_model_kind, config);
}

thr_model_source thr_dual_source(const thr_dual_model *model) {
    return (thr_model_source){model, fill_image};
}

bool thr_dual_is_in(const thr_tensors *tensors) {
    return thr_tensors_metadata(tensors, thr_dual_model_kind.key) != NULL;
}

static thr_status read_words(thr_context *context, const thr_tensors *tensors, const char *name, thr_side side,
                             thr_dual_vocabulary *words, thr_error *err) {
    const thr_tensor *tensor = thr_tensors_find(tensors, side == THR_SIDE_QUERY ? "query.words" : "item.words");
    if (tensor == NULL || tensor->dtype != THR_DTYPE_U8 || tensor->n_axes != 1)
        return thr_fail(err, THR_EFORMAT, "%s: has no list of %s words", name, sides[side]);
    return thr_dual_vocabulary_make(context, tensor->data, tensor->n_bytes, side, name, words, err);
}

static thr_status read_weights(const thr_tensors *tensors, const char *name, thr_dual_model *model, thr_error *err) {
    const thr_dual_config *config = &model->config;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_shape embeddings = {"embeddings", thr_dual_n_words(&model->words[side]), config->n_embedding};
        THR_TRY(thr_training_image_read_floats(tensors, name, sides[side], &embeddings, &model->embeddings[side], err));
        const thr_tensor_list list = thr_dual_tensors(model, side);
        THR_TRY(thr_training_image_read_side(tensors, name, sides[side], &list, model->tensors[side], err));
    }
    if (!config->hits)
        return THR_OK;
    const thr_dual_vocabulary *words = &model->words[THR_SIDE_QUERY];
    const thr_tensor_shape of_words = {"words", 1, thr_dual_n_words(words)};
    const thr_tensor_shape of_fields = {"fields", 1, thr_dual_n_fields(words)};
    THR_TRY(thr_training_image_read_floats(tensors, name, "hits", &of_words, &model->hit_words, err));
    return thr_training_image_read_floats(tensors, name, "hits", &of_fields, &model->hit_fields, err);
}

thr_status thr_dual_read(thr_context *context, const thr_tensors *tensors, const char *name, thr_dual_model *model,
                         uint64_t *fingerprint, thr_error *err) {
    thr_dual_config *config = &model->config;
    THR_TRY(thr_training_image_check_kind(tensors, name, &thr_dual_model_kind, err));
    THR_TRY(thr_training_image_read_config(tensors, name, &thr_dual_model_kind, config, err));
    if (thr_dual_check(config, NULL) != THR_OK)
        return thr_fail(err, THR_EFORMAT, "%s: its configuration is out of range", name);
    THR_TRY(thr_training_image_read_fingerprint(tensors, name, &thr_dual_model_kind, fingerprint, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        THR_TRY(read_words(context, tensors, name, side, &model->words[side], err));
    THR_TRY(read_weights(tensors, name, model, err));
    const thr_model_source source = thr_dual_source(model);
    return thr_training_image_check_whole(context, &source, name, *fingerprint, err);
}

void thr_dual_words_free(thr_context *context, thr_dual_model *model) {
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_dual_vocabulary_free(context, &model->words[side]);
}
