/* SPDX-License-Identifier: Apache-2.0 */
/* model_file.c - a text tower's tensors and configuration, written to and read from a safetensors file. */
#include "text_tower/model_file.h"

#include <stddef.h>

#include "base/error.h"

static const char *const sides[THR_N_SIDES] = {"query", "item"};

/* The configuration's numbers: names and offsets. */
static const thr_config_field fields[] = {
    {"n_dims", offsetof(thr_tower_config, n_dims), false},
    {"n_pooled", offsetof(thr_tower_config, n_pooled), false},
    {"query_bits", offsetof(thr_tower_config, query_bits), false},
    {"item_bits", offsetof(thr_tower_config, item_bits), false},
    {"max_grams", offsetof(thr_tower_config, max_grams), false},
    {"max_words", offsetof(thr_tower_config, max_words), false},
    {"shared_words", offsetof(thr_tower_config, shared_words), true},
    {"shared_steps", offsetof(thr_tower_config, shared_steps), true},
    {"plain_weights", offsetof(thr_tower_config, plain_weights), true},
};
static const thr_config_field vector_fields[] = {
    {"n_inputs", offsetof(thr_tower_config, n_inputs), false},
    {"n_dims", offsetof(thr_tower_config, n_dims), false},
    {"query_bits", offsetof(thr_tower_config, query_bits), false},
    {"item_bits", offsetof(thr_tower_config, item_bits), false},
    {"shared_steps", offsetof(thr_tower_config, shared_steps), true},
    {"plain_weights", offsetof(thr_tower_config, plain_weights), true},
};
const thr_model_kind thr_text_model_kind = {
    "thresher.tower", "model of texts", NULL, 1, fields, sizeof fields / sizeof *fields};
const thr_model_kind thr_vector_model_kind = {
    "thresher.tower", "model of vectors", "vectors", 1, vector_fields, sizeof vector_fields / sizeof *vector_fields};

static void fill_image(const void *source, thr_model_image *image) {
    const thr_text_model *model = source;
    const thr_tower_config *config = &model->config;
    const size_t n_columns = thr_model_n_columns(config);
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        thr_training_image_add_tensor(image, config->shared_words ? "" : sides[i], "words", THR_DTYPE_F32,
                                      model->tables[i], model->grams.n, n_columns);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_list list = thr_text_model_tensors(config, side);
        thr_training_image_add_side(image, sides[side], &list, model->tensors[side]);
    }
    if (!thr_model_reads_vectors(config))
        thr_training_image_add_tensor(image, "", "grams", THR_DTYPE_U64, model->grams.keys, 1, model->grams.n);
    thr_training_image_add_config(
        image, thr_model_reads_vectors(config) ? &thr_vector_model_kind : &thr_text_model_kind, config);
}

thr_model_source thr_text_model_source(const thr_text_model *model) {
    return (thr_model_source){model, fill_image};
}

static thr_status read_weights(const thr_tensors *tensors, const char *name, thr_text_model *model, thr_error *err) {
    const thr_tower_config *config = &model->config;
    const thr_tensor_shape words = {"words", model->grams.n, (uint32_t)thr_model_n_columns(config)};
    for (size_t i = 0; i < THR_N_SIDES && !thr_model_reads_vectors(config); i++)
        THR_TRY(thr_training_image_read_floats(tensors, name, config->shared_words ? "" : sides[i], &words,
                                               &model->tables[i], err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_list list = thr_text_model_tensors(config, side);
        THR_TRY(thr_training_image_read_side(tensors, name, sides[side], &list, model->tensors[side], err));
    }
    return THR_OK;
}

static thr_status read_grams(thr_context *context, const thr_tensors *tensors, const char *name, thr_text_model *model,
                             thr_error *err) {
    const thr_tensor *grams = thr_tensors_find(tensors, "grams");
    if (grams == NULL || grams->dtype != THR_DTYPE_U64 || grams->n_axes != 1 || grams->shape[0] < 1 ||
        grams->shape[0] > model->config.max_grams)
        return thr_fail(err, THR_EFORMAT, "%s: has no list of letter trigrams", name);
    THR_TRY(thr_training_image_check_place(grams, name, err));
    const thr_status status = thr_words_grams_make(context, grams->data, (uint32_t)grams->shape[0], &model->grams, err);
    if (status == THR_EDUPLICATE)
        return thr_fail(err, THR_ECORRUPT, "%s: a letter trigram is repeated: fetch or train it again", name);
    return status;
}

thr_status thr_text_model_read(thr_context *context, const thr_tensors *tensors, const char *name,
                               thr_text_model *model, uint64_t *fingerprint, thr_error *err) {
    *model = (thr_text_model){0};
    thr_tower_config *config = &model->config;
    const bool vectors = thr_tensors_metadata(tensors, "input") != NULL;
    const thr_model_kind *kind = vectors ? &thr_vector_model_kind : &thr_text_model_kind;
    THR_TRY(thr_training_image_check_kind(tensors, name, kind, err));
    THR_TRY(thr_training_image_read_config(tensors, name, kind, config, err));
    config->n_pooled = vectors ? config->n_inputs : config->n_pooled;
    if (thr_text_model_check(config, NULL) != THR_OK || vectors != thr_model_reads_vectors(config))
        return thr_fail(err, THR_EFORMAT, "%s: its configuration is out of range", name);
    THR_TRY(thr_training_image_read_fingerprint(tensors, name, kind, fingerprint, err));
    if (!vectors)
        THR_TRY(read_grams(context, tensors, name, model, err));
    return read_weights(tensors, name, model, err);
}
