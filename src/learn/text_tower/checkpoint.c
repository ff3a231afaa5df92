/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - describing and reading the checkpoint of a text tower's training (training/checkpoint.h). */
#include <stdio.h>
#include <string.h>

#include "base/files/checksum.h"
#include "base/error.h"
#include "training/checkpoint.h"
#include "text_tower/model_file.h"
#include "text_tower/trainer.h"

static void add_pairs(thr_checksum *sum, const thr_pairs *pairs) {
    for (size_t side = 0; side < THR_N_SIDES && pairs->n != 0; side++) {
        const thr_text_list *list = &pairs->texts[side];
        thr_checksum_add(sum, list->offsets, (pairs->n + 1) * sizeof *list->offsets);
        thr_checksum_add(sum, list->words.items, list->offsets[pairs->n] * sizeof *list->words.items);
    }
}

/* Checksum of what must be the same on resumption: options, and the pairs as they were read. */
static uint64_t identify(const thr_text_trainer *trainer) {
    const thr_tower_train_options *options = &trainer->options;
    const uint32_t numbers[] = {options->batch, options->n_negatives, (uint32_t)options->estimator, options->n_epochs};
    const float rates[] = {options->gamma, options->rate, options->word_dropout, options->float_share};
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, rates, sizeof rates);
    thr_checksum_add(sum, &options->seed, sizeof options->seed);
    thr_training_checkpoint_sum_split(sum, &trainer->split);
    if (thr_model_reads_vectors(&options->config)) {
        const float teacher[] = {options->teacher_share, options->teacher_gamma, options->noise};
        thr_checksum_add(sum, teacher, sizeof teacher);
        thr_text_vector_pairs_sum(sum, &trainer->vectors);
    } else {
        add_pairs(sum, &trainer->pairs);
        add_pairs(sum, &trainer->valid_pairs);
        thr_words_lexicon_add_to_sum(sum, &trainer->lexicon);
    }
    return thr_checksum_end(sum);
}

static bool is_same_config(const thr_tower_config *a, const thr_tower_config *b) {
    return a->n_dims == b->n_dims && a->n_pooled == b->n_pooled && a->query_bits == b->query_bits &&
           a->item_bits == b->item_bits && a->max_grams == b->max_grams && a->max_words == b->max_words &&
           a->shared_words == b->shared_words && a->shared_steps == b->shared_steps &&
           a->plain_weights == b->plain_weights && a->n_inputs == b->n_inputs;
}

static thr_status take_weights(thr_text_trainer *trainer, const thr_text_model *model, const char *path,
                               thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    if (!is_same_config(config, &model->config))
        return thr_training_checkpoint_mismatch(path, "dimensions, bits or switches", err);
    if (model->grams.n != trainer->model.grams.n ||
        (model->grams.n != 0 &&
         memcmp(model->grams.keys, trainer->model.grams.keys, model->grams.n * sizeof *model->grams.keys) != 0))
        return thr_training_checkpoint_mismatch(path, "pairs", err);
    for (size_t t = 0; t < thr_model_n_tables(config); t++)
        memcpy(trainer->tables[t].values, model->tables[t], trainer->tables[0].n * sizeof(float));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        for (size_t p = 0; p < thr_text_model_n_tensors(config, side); p++) {
            const thr_tensor_shape shape = thr_text_model_tensor_shape(config, p);
            memcpy(trainer->dense.values + (trainer->model.tensors[side][p] - trainer->dense.values),
                   model->tensors[side][p], (size_t)shape.n_rows * shape.n_columns * sizeof(float));
        }
    }
    return THR_OK;
}

/* Read the weights and compare them with their fingerprint. */
static thr_status take_model(void *user, const thr_tensors *tensors, const char *path, thr_error *err) {
    thr_text_trainer *trainer = user;
    thr_context *context = trainer->context;
    thr_text_model model = {0};
    const thr_model_source source = thr_text_model_source(&model);
    uint64_t fingerprint = 0;
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_text_model_read(context, tensors, path, &model, &fingerprint, err));
    status = thr_training_image_check_whole(context, &source, path, fingerprint, err);
    if (status == THR_ECORRUPT)
        status = thr_training_checkpoint_damaged(path, err);
    if (status == THR_OK)
        status = take_weights(trainer, &model, path, err);
out:
    thr_words_grams_free(context, &model.grams);
    return status;
}

_Static_assert(THR_WEIGHTS_SLOTS *(1 + THR_N_SIDES) <= THR_CHECKPOINT_SLOTS_MAX, "slots of a checkpoint");

thr_checkpoint thr_text_checkpoint_describe(void *user) {
    thr_text_trainer *trainer = user;
    thr_checkpoint c = {.state = &trainer->state,
                        .n_steps = trainer->split.n_train / trainer->options.batch,
                        .training = identify(trainer),
                        .what = "pairs or options",
                        .take = take_model,
                        .trainer = trainer};
    thr_training_checkpoint_add_slots(&c, "dense", &trainer->dense);
    static const char *const names[THR_N_SIDES] = {"words0", "words1"};
    for (size_t i = 0; i < thr_model_n_tables(&trainer->model.config); i++)
        thr_training_checkpoint_add_slots(&c, names[i], &trainer->tables[i]);
    return c;
}
