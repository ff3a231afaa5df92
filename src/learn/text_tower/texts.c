/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c - how a training learns from pairs of texts: reading them, initial weights, batches. */
#include <math.h>

#include "base/error.h"
#include "text_tower/device/learner.h"
#include "text_tower/model_file.h"
#include "text_tower/pair_quality.h"

static thr_status read_pairs(thr_text_trainer *trainer, const char *pairs_path, thr_error *err) {
    thr_context *context = trainer->base.context;
    const thr_tower_train_options *options = &trainer->options;
    const bool own = options->run.valid_path == NULL;
    THR_TRY(thr_text_pairs_read(context, pairs_path, &options->format, options->config.max_words, &trainer->lexicon,
                                &trainer->pairs, err));
    thr_gram_count *counts = NULL;
    size_t n_counts = 0;
    /* Count trigrams before reading the validation file: its words must not enter the vocabulary. */
    THR_TRY(thr_words_lexicon_count(context, &trainer->lexicon, &counts, &n_counts, err));
    const thr_status status =
        thr_words_grams_choose(context, counts, n_counts, options->config.max_grams, &trainer->model.grams, err);
    thr_release(context, counts);
    THR_TRY(status);
    if (!own)
        THR_TRY(thr_text_pairs_read(context, options->run.valid_path, &options->format, options->config.max_words,
                                    &trainer->lexicon, &trainer->valid_pairs, err));
    THR_TRY(thr_training_split_make(context, trainer->pairs.split, trainer->pairs.n, own ? options->run.valid_share : 0,
                                    trainer->valid_pairs.n, &trainer->base.split, err));
    THR_TRY(thr_text_trainer_check_split(trainer, pairs_path, err));
    return thr_words_lexicon_spell(context, &trainer->lexicon, &trainer->model.grams, err);
}

/*
 * Matrices B start at a tenth of Glorot's limit: while the reconstruction is noise, so is the residual, and the planes
 * after the first would learn late.
 */
static const double REBUILD_SHARE = 0.1;

/*
 * Initial weights after Glorot and Bengio (2010); biases are 0. The fan-in of windows counts all trigrams, although few
 * occur at once: rows of rare trigrams stay near their initial values, which must not be noise.
 */
static void draw_weights(thr_text_trainer *trainer) {
    const thr_tower_config *config = &trainer->model.config;
    uint64_t rng = trainer->options.run.seed;
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        thr_training_weights_draw(&rng,
                                  sqrt(6.0 / (THR_WINDOW_WORDS * (double)trainer->model.grams.n + config->n_pooled)),
                                  trainer->base.tables[i].values, trainer->base.tables[0].n);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_tensor_list list = thr_text_model_tensors(config, side);
        for (size_t p = 0; p < list.n; p++) {
            const thr_tensor_shape *shape = &list.shapes[p];
            const double limit = sqrt(6.0 / (shape->n_rows + shape->n_columns));
            if (shape->n_rows > 1)
                thr_training_weights_draw(&rng, thr_text_is_rebuild(p) ? REBUILD_SHARE * limit : limit,
                                          trainer->base.tensors[side][p], thr_tensor_size(shape));
        }
    }
}

static thr_status start(void *base, const void *task, thr_error *err) {
    thr_text_trainer *trainer = base;
    thr_text_trainer_take_task(trainer, task);
    const thr_status status = read_pairs(trainer, trainer->task.pairs_path, err);
    trainer->base.n_refused = trainer->pairs.n_refused + trainer->valid_pairs.n_refused;
    THR_TRY(status);
    THR_TRY(thr_text_trainer_make(trainer, err));
    draw_weights(trainer);
    return THR_OK;
}

static void add_pairs(thr_checksum *sum, const thr_pairs *pairs) {
    for (size_t side = 0; side < THR_N_SIDES && pairs->n != 0; side++) {
        const thr_text_list *list = &pairs->texts[side];
        thr_checksum_add(sum, list->offsets, (pairs->n + 1) * sizeof *list->offsets);
        thr_checksum_add(sum, list->words.items, list->offsets[pairs->n] * sizeof *list->words.items);
    }
}

static void identify(const void *base, thr_checksum *sum) {
    const thr_text_trainer *trainer = base;
    thr_text_trainer_identify(trainer, sum);
    add_pairs(sum, &trainer->pairs);
    add_pairs(sum, &trainer->valid_pairs);
    thr_words_lexicon_add_to_sum(sum, &trainer->lexicon);
}

/* Assemble a batch of texts and embed its words. */
static thr_status gather(thr_text_trainer *trainer, const thr_pairs *pairs, const uint32_t *numbers, size_t n,
                         const thr_batch_mode *mode, thr_error *err) {
    thr_context *context = trainer->base.context;
    const thr_tower_config *config = &trainer->model.config;
    thr_batch *batch = &trainer->scratch.batch;
    const thr_batch_source source = {config, &trainer->lexicon, pairs, numbers, n};
    THR_TRY(thr_text_batch_fill(context, &source, mode, batch, err));
    for (size_t i = 0; i < thr_model_n_tables(config); i++) {
        const thr_bags bags = thr_batch_bags(&batch->tables[i]);
        thr_nn_bags_forward(context, trainer->base.tables[i].values, thr_model_n_columns(config), &bags,
                            batch->tables[i].vectors);
    }
    return THR_OK;
}

static thr_side_input get_input(thr_text_trainer *trainer, thr_side side, size_t n) {
    thr_batch *batch = &trainer->scratch.batch;
    return (thr_side_input){n, &batch->texts[side], thr_batch_table(&trainer->model.config, batch, side)->vectors};
}

static void learn_dense(thr_text_trainer *trainer, const thr_optimiser *adam) {
    thr_weights *dense = &trainer->base.dense;
    thr_nn_optimiser_step(trainer->base.context->kernels, adam, dense->values, dense->gradients, dense->slots,
                          dense->n);
}

static thr_status measure(thr_text_trainer *trainer, thr_scored_pairs *pairs, double *quality, thr_error *err) {
    return thr_text_scored_pairs_auc(trainer->base.context, pairs, quality, err);
}

/* A GPU rounds sums differently. A training of less than half a minute on the CPU stays there and keeps its bits. */
static const thr_device_copier learners = {
    .copy = thr_text_device_learner_open, .free = thr_text_device_learner_close, .wake_ups = 60};

const thr_text_trainer_kind thr_texts_trainer = {.base = {.size = sizeof(thr_text_trainer),
                                                          .model_kind = &thr_text_model_kind,
                                                          .what = "a model of text towers",
                                                          .given = "pairs or options",
                                                          .copier = &learners,
                                                          .examples_a_second = 20e3,
                                                          .start = start,
                                                          .end = thr_text_trainer_end,
                                                          .model = thr_text_trainer_model,
                                                          .identify = identify,
                                                          .step = thr_text_trainer_step_on_cpu,
                                                          .learner_step = thr_text_device_learner_step,
                                                          .validate = thr_text_trainer_validate},
                                                 .dense_share = 0.1f,
                                                 .gather = gather,
                                                 .get_input = get_input,
                                                 .learn_dense = learn_dense,
                                                 .measure = measure};
