/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - the start of a training: reading pairs, the vocabulary, memory, and initial weights. */
#include "text_tower/trainer.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "text_tower/init_components.h"

static thr_status check_split(const thr_text_trainer *trainer, const char *name, thr_error *err) {
    const uint32_t batch = trainer->options.batch;
    if (trainer->split.n_train >= 2 * (size_t)batch && trainer->split.n_valid >= 2)
        return THR_OK;
    return thr_fail(err, THR_EFORMAT,
                    "%s: %zu pairs to learn from and %zu to validate with: at least two batches of %u and two pairs "
                    "are needed; use smaller batches or more pairs",
                    name, trainer->split.n_train, trainer->split.n_valid, batch);
}

/* Read vectors; their dimensions complete the configuration. */
static thr_status read_vectors(thr_text_trainer *trainer, const thr_vector_source *source, thr_error *err) {
    thr_context *context = trainer->context;
    thr_tower_train_options *options = &trainer->options;
    thr_vector_pairs *vectors = &trainer->vectors;
    THR_TRY(thr_text_vector_pairs_read(context, source, vectors, err));
    options->config.n_inputs = options->config.n_pooled = vectors->n_dims;
    options->config.max_grams = options->config.max_words = 0; /* a file of vectors does not have these */
    options->config.shared_words = false;
    THR_TRY(thr_text_model_check(&options->config, err));
    const size_t n_items = vectors->n - vectors->n_valid;
    THR_TRY(thr_training_split_make(context, vectors->split, n_items, options->valid_share, vectors->n_valid,
                                    &trainer->split, err));
    for (size_t i = 0; i < vectors->n_valid; i++) /* they follow the items */
        trainer->split.valid[i] += (uint32_t)n_items;
    THR_TRY(check_split(trainer, thr_reader_name(source->items), err));
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_TRY(thr_alloc(context, options->batch, vectors->n_dims * sizeof(float), &trainer->scratch.rows[side],
                          "a batch", err));
    return THR_OK;
}

static thr_status read_pairs(thr_text_trainer *trainer, const char *pairs_path, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_tower_train_options *options = &trainer->options;
    const bool own = options->valid_path == NULL;
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
        THR_TRY(thr_text_pairs_read(context, options->valid_path, &options->format, options->config.max_words,
                                    &trainer->lexicon, &trainer->valid_pairs, err));
    THR_TRY(thr_training_split_make(context, trainer->pairs.split, trainer->pairs.n, own ? options->valid_share : 0,
                                    trainer->valid_pairs.n, &trainer->split, err));
    THR_TRY(check_split(trainer, pairs_path, err));
    return thr_words_lexicon_spell(context, &trainer->lexicon, &trainer->model.grams, err);
}

/* Allocate weights, gradients and the optimiser's state; the model's tensors are views of them. */
static thr_status make_weights(thr_text_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_tower_config *config = &trainer->model.config;
    const size_t n_columns = thr_model_n_columns(config);
    size_t n_dense = 0, at = 0;
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        THR_TRY(
            thr_training_weights_make(context, trainer->model.grams.n * n_columns, false, &trainer->tables[i], err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t p = 0; p < thr_text_model_n_tensors(config, side); p++)
            n_dense += thr_training_tensor_floats(thr_text_model_tensor_shape(config, p));
    THR_TRY(thr_training_weights_make(context, n_dense, true, &trainer->dense, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        trainer->model.tables[side] = trainer->tables[config->shared_words ? 0 : side].values;
        for (size_t p = 0; p < thr_text_model_n_tensors(config, side); p++) {
            trainer->model.tensors[side][p] = trainer->dense.values + at;
            trainer->d_tensors[side][p] = trainer->dense.gradients + at;
            at += thr_training_tensor_floats(thr_text_model_tensor_shape(config, p));
        }
    }
    return THR_OK;
}

static float *writable(const thr_text_trainer *trainer, const float *tensor) {
    return trainer->dense.values + (tensor - trainer->dense.values);
}

/*
 * Matrices B start at a tenth of Glorot's limit: while the reconstruction is noise, so is the residual, and the planes
 * after the first would learn late.
 */
static const double REBUILD_SHARE = 0.1;

/* Items that initial weights are found from. */
enum { FRAME_ROWS = 4096 };

/* Both sides start alike, and so match; biases are 0. */
static thr_status draw_for_vectors(thr_text_trainer *trainer, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    const size_t n_train = trainer->split.n_train;
    const thr_vector_sample sample = {&trainer->vectors, trainer->split.train, THR_MIN(n_train, FRAME_ROWS)};
    const float *item = trainer->model.tensors[THR_SIDE_ITEM][THR_TEXT_BASE_WEIGHT];
    THR_TRY(thr_text_init_components(trainer->context, &sample, trainer->options.seed, config->n_dims,
                                     writable(trainer, item), err));
    memcpy(writable(trainer, trainer->model.tensors[THR_SIDE_QUERY][THR_TEXT_BASE_WEIGHT]), item,
           (size_t)config->n_pooled * config->n_dims * sizeof *item);
    return THR_OK;
}

/*
 * Initial weights after Glorot and Bengio (2010); biases are 0. The fan-in of windows counts all trigrams, although few
 * occur at once: rows of rare trigrams stay near their initial values, which must not be noise.
 */
static void draw_weights(thr_text_trainer *trainer) {
    const thr_tower_config *config = &trainer->model.config;
    uint64_t rng = trainer->options.seed;
    for (size_t i = 0; i < thr_model_n_tables(config); i++)
        thr_training_weights_draw(&rng,
                                  sqrt(6.0 / (THR_WINDOW_WORDS * (double)trainer->model.grams.n + config->n_pooled)),
                                  trainer->tables[i].values, trainer->tables[0].n);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        for (size_t p = 0; p < thr_text_model_n_tensors(config, side); p++) {
            const thr_tensor_shape shape = thr_text_model_tensor_shape(config, p);
            const double limit = sqrt(6.0 / (shape.n_rows + shape.n_columns));
            if (shape.n_rows > 1)
                thr_training_weights_draw(&rng, thr_text_is_rebuild(p) ? REBUILD_SHARE * limit : limit,
                                          writable(trainer, trainer->model.tensors[side][p]),
                                          (size_t)shape.n_rows * shape.n_columns);
        }
    }
}

thr_status thr_text_trainer_start(thr_context *context, const thr_trainer_source *source, const char *path,
                                  const thr_tower_train_options *options, thr_text_trainer *trainer, thr_error *err) {
    trainer->context = context;
    thr_training_device_start(&trainer->device, context, &thr_text_steps, trainer, &trainer->state);
    trainer->options = *options;
    if (options->n_negatives == 0)
        trainer->options.n_negatives = options->batch - 1;
    trainer->path = path;
    const bool vectors = source->vectors.items != NULL;
    THR_TRY(vectors ? read_vectors(trainer, &source->vectors, err) : read_pairs(trainer, source->pairs_path, err));
    options = &trainer->options;
    trainer->model.config = options->config;
    THR_TRY(make_weights(trainer, err));
    trainer->as_floats = trainer->model;
    trainer->as_floats.config.query_bits = trainer->as_floats.config.item_bits = THR_FLOAT_BITS;
    if (!vectors) {
        draw_weights(trainer);
    } else {
        THR_TRY(draw_for_vectors(trainer, err));
        THR_TRY(thr_text_trainer_init_planes(trainer, err));
    }
    const thr_match_loss loss = thr_text_trainer_match_loss(trainer);
    const size_t n_dims = options->config.n_dims;
    for (size_t side = 0; side < THR_N_SIDES; side++)
        THR_TRY(thr_alloc(context, options->batch, n_dims * sizeof(float), &trainer->scratch.d_embeddings[side],
                          "gradients", err));
    THR_TRY(thr_text_backward_reserve(context, &options->config, options->batch, &trainer->scratch.back, err));
    return thr_alloc(context, thr_nn_match_loss_scratch(&loss, options->batch, n_dims), sizeof(float),
                     &trainer->scratch.loss, "a batch", err);
}

void thr_text_trainer_free(thr_text_trainer *trainer) {
    thr_context *context = trainer->context;
    thr_training_device_end(&trainer->device);
    thr_words_lexicon_free(context, &trainer->lexicon);
    thr_text_pairs_free(context, &trainer->pairs);
    thr_text_pairs_free(context, &trainer->valid_pairs);
    thr_text_vector_pairs_free(context, &trainer->vectors);
    thr_training_split_free(context, &trainer->split);
    thr_words_grams_free(context, &trainer->model.grams);
    for (size_t i = 0; i < THR_N_SIDES; i++) {
        thr_training_weights_free(context, &trainer->tables[i]);
        thr_text_pass_free(context, &trainer->scratch.passes[i]);
        THR_RELEASE(context, trainer->scratch.d_embeddings[i], trainer->scratch.rows[i]);
    }
    thr_training_weights_free(context, &trainer->dense);
    thr_text_batch_free(context, &trainer->scratch.batch);
    thr_nn_bags_transposed_free(context, &trainer->scratch.transposed);
    thr_text_backward_free(context, &trainer->scratch.back);
    thr_release(context, trainer->scratch.loss);
    *trainer = (thr_text_trainer){0};
}
