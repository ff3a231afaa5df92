/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - how a training learns from given vectors: reading them, initial weights, batches, rates of tensors. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "text_tower/init_components.h"
#include "text_tower/model_file.h"
#include "text_tower/pair_quality.h"
#include "text_tower/trainer.h"
#include "io/reader.h"

/* Read vectors; their dimensions complete the configuration. */
static thr_status read_vectors(thr_text_trainer *trainer, const thr_vector_source *source, thr_error *err) {
    thr_context *context = trainer->base.context;
    thr_tower_train_options *options = &trainer->options;
    thr_vector_pairs *vectors = &trainer->vectors;
    THR_TRY(thr_text_vector_pairs_read(context, source, vectors, err));
    options->config.n_inputs = options->config.n_pooled = vectors->n_dims;
    options->config.max_grams = options->config.max_words = 0; /* a file of vectors does not have these */
    options->config.shared_words = false;
    THR_TRY(thr_text_model_check(&options->config, err));
    const size_t n_items = vectors->n - vectors->n_valid;
    THR_TRY(thr_training_split_make(context, vectors->split, n_items, options->run.valid_share, vectors->n_valid,
                                    &trainer->base.split, err));
    for (size_t i = 0; i < vectors->n_valid; i++) /* they follow the items */
        trainer->base.split.valid[i] += (uint32_t)n_items;
    THR_TRY(thr_text_trainer_check_split(trainer, thr_io_reader_name(source->items), err));
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_TRY(thr_alloc(context, options->run.batch, vectors->n_dims * sizeof(float), &trainer->scratch.rows[side],
                          "a batch", err));
    return THR_OK;
}

/* Items that initial weights are found from. */
enum { FRAME_ROWS = 4096 };

/* Both sides start alike, and so match; biases are 0. */
static thr_status draw_weights(thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const size_t n_train = trainer->base.split.n_train;
    const thr_vector_sample sample = {&trainer->vectors, trainer->base.split.train, THR_MIN(n_train, FRAME_ROWS)};
    float *item = trainer->base.tensors[THR_SIDE_ITEM][THR_TEXT_BASE_WEIGHT];
    THR_TRY(
        thr_text_init_components(trainer->base.context, &sample, trainer->options.run.seed, config->n_dims, item, err));
    memcpy(trainer->base.tensors[THR_SIDE_QUERY][THR_TEXT_BASE_WEIGHT], item,
           (size_t)config->n_pooled * config->n_dims * sizeof *item);
    return THR_OK;
}

static thr_status start(void *base, const void *task, thr_error *err) {
    thr_text_trainer *trainer = base;
    thr_text_trainer_take_task(trainer, task);
    THR_TRY(read_vectors(trainer, &trainer->task.vectors, err));
    THR_TRY(thr_text_trainer_make(trainer, err));
    THR_TRY(draw_weights(trainer, err));
    return thr_text_trainer_init_planes(trainer, err);
}

static void identify(const void *base, thr_checksum *sum) {
    const thr_text_trainer *trainer = base;
    const thr_tower_train_options *options = &trainer->options;
    const float teacher[] = {options->teacher_share, options->teacher_gamma, options->noise};
    thr_text_trainer_identify(trainer, sum);
    thr_checksum_add(sum, teacher, sizeof teacher);
    thr_text_vector_pairs_sum(sum, &trainer->vectors);
}

static thr_status gather(thr_text_trainer *trainer, const thr_pairs *pairs, const uint32_t *numbers, size_t n,
                         const thr_batch_mode *mode, thr_error *err) {
    const thr_vector_noise noise = {mode->learn ? trainer->options.noise : 0, mode->seed};
    (void)pairs; /* of texts */
    (void)err;
    thr_text_vector_pairs_gather(&trainer->vectors, numbers, n, &noise, trainer->scratch.rows);
    return THR_OK;
}

static thr_side_input get_input(thr_text_trainer *trainer, thr_side side, size_t n) {
    return (thr_side_input){.n = n, .vectors = trainer->scratch.rows[side]};
}

/*
 * How large a tensor's weights are for vectors of length 1, relative to those of W_i and R: Adam's steps are as large
 * as its rate, whatever the weight. B maps +-1 to components of such vectors.
 */
static float scale_of(const thr_tower_config *config, size_t tensor) {
    const float component = 1.0f / sqrtf((float)config->n_inputs);
    if (thr_text_is_rebuild(tensor))
        return 2.0f * component / sqrtf((float)config->n_dims);
    return tensor == THR_TEXT_POOL_BIAS || (tensor > 0 && thr_text_is_rebuild(tensor - 1)) ? component : 1.0f;
}

/* Step the dense parameters of a model of vectors, each at a rate that fits its size. */
static void learn_dense(thr_text_trainer *trainer, const thr_optimiser *adam) {
    const thr_tower_config *config = &trainer->model.config;
    const thr_weights *dense = &trainer->base.dense;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_list list = thr_text_model_tensors(config, side);
        for (size_t p = 0; p < list.n; p++) {
            const size_t at = (size_t)(trainer->base.tensors[side][p] - dense->values);
            float *const slots[THR_WEIGHTS_SLOTS] = {dense->slots[0] + at, dense->slots[1] + at};
            thr_optimiser own = *adam;
            own.rate *= scale_of(config, p);
            thr_nn_optimiser_step(trainer->base.context->kernels, &own, dense->values + at, dense->gradients + at,
                                  slots, thr_tensor_size(&list.shapes[p]));
        }
    }
}

static thr_status measure(thr_text_trainer *trainer, thr_scored_pairs *pairs, double *quality, thr_error *err) {
    return thr_text_scored_pairs_recall(trainer->base.context, pairs, trainer->vectors.n_dims, quality, err);
}

/* The CPU makes all steps: one is as small as its transfer. */
const thr_text_trainer_kind thr_vectors_trainer = {.base = {.size = sizeof(thr_text_trainer),
                                                            .model_kind = &thr_vector_model_kind,
                                                            .what = "a model of text towers",
                                                            .given = "pairs or options",
                                                            .start = start,
                                                            .end = thr_text_trainer_end,
                                                            .model = thr_text_trainer_model,
                                                            .identify = identify,
                                                            .step = thr_text_trainer_step_on_cpu,
                                                            .validate = thr_text_trainer_validate},
                                                   .dense_share = 1,
                                                   .gather = gather,
                                                   .get_input = get_input,
                                                   .learn_dense = learn_dense,
                                                   .measure = measure};
