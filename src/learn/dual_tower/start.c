/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - the start of a training: reading the files, vocabularies, memory and initial weights. */
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/rng.h"
#include "dual_tower/model_file.h"
#include "dual_tower/trainer.h"
#include "training/split.h"

/* ------------------------------------------------------------------------------------------------ files */

static thr_status read_files(thr_dual_trainer *t, const char *requests_path, const char *items_path, thr_error *err) {
    thr_context *context = t->context;
    const thr_dual_train_options *options = &t->options;
    const bool own = options->valid_path == NULL;
    THR_TRY(thr_dual_items_read(context, items_path, &t->lexicon, &t->items, err));
    THR_TRY(thr_dual_requests_read(context, requests_path, &t->items, &t->lexicon, &t->requests, err));
    if (!own)
        THR_TRY(thr_dual_requests_read(context, options->valid_path, &t->items, &t->lexicon, &t->valid_requests, err));
    return thr_training_split_make(context, t->requests.split, t->requests.n, own ? options->valid_share : 0,
                                   t->valid_requests.n, &t->split, err);
}

/* Count the requests with ads both best and not best; the others have no influence on the loss or on GAUC. */
static size_t count_informative(const thr_dual_requests *requests, const uint32_t *numbers, size_t n) {
    size_t n_informative = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t end = (size_t)requests->ad_offsets[numbers[i] + 1];
        n_informative += requests->levels[end - 1] != 0;
    }
    return n_informative;
}

static thr_status check_requests(const thr_dual_trainer *t, const char *requests_path, thr_error *err) {
    const size_t n_train = count_informative(&t->requests, t->split.train, t->split.n_train);
    const size_t n_valid = count_informative(thr_dual_trainer_valid(t), t->split.valid, t->split.n_valid);
    if (t->split.n_train >= t->options.batch && n_train > 0 && n_valid > 0)
        return THR_OK;
    return thr_fail(
        err, THR_EFORMAT,
        "%s: %zu requests to learn from and %zu to validate with, of which %zu and %zu have an ad that is "
        "better than others: at least a batch of %u and one of each are needed; use smaller batches or more",
        requests_path, t->split.n_train, t->split.n_valid, n_train, n_valid, t->options.batch);
}

/* For every word, count the training requests whose user, or any of whose ads, has it. */
static thr_status count_words(const thr_dual_trainer *t, thr_side side, uint32_t **counts, thr_error *err) {
    const thr_dual_requests *requests = &t->requests;
    const thr_dual_items *items = &t->items;
    const size_t n_words = t->lexicon.words[side].n_words;
    uint32_t *seen = NULL; /* for every word the last request that had it, + 1 */
    THR_TRY(thr_alloc_zero(t->context, n_words, sizeof **counts, counts, "counts of words", err));
    THR_TRY(thr_alloc_zero(t->context, n_words, sizeof *seen, &seen, "counts of words", err));
    for (size_t i = 0; i < t->split.n_train; i++) {
        const uint32_t r = t->split.train[i];
        const size_t first = side == THR_SIDE_QUERY ? requests->word_offsets[r] : (size_t)requests->ad_offsets[r];
        const size_t end = side == THR_SIDE_QUERY ? requests->word_offsets[r + 1] : (size_t)requests->ad_offsets[r + 1];
        for (size_t e = first; e < end; e++) {
            const uint32_t *words = &requests->words[e];
            size_t n = 1;
            if (side == THR_SIDE_ITEM) {
                words = items->words + items->offsets[requests->ads[e]];
                n = items->offsets[requests->ads[e] + 1] - items->offsets[requests->ads[e]];
            }
            for (size_t w = 0; w < n; w++) {
                (*counts)[words[w]] += seen[words[w]] != r + 1;
                seen[words[w]] = r + 1;
            }
        }
    }
    thr_release(t->context, seen);
    return THR_OK;
}

static thr_status choose_words(thr_dual_trainer *t, thr_error *err) {
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        uint32_t *counts = NULL;
        thr_status status = count_words(t, side, &counts, err);
        if (status == THR_OK)
            status = thr_dual_vocabulary_choose(t->context, &t->lexicon.words[side], counts, t->options.min_count, side,
                                                &t->model.words[side], err);
        thr_release(t->context, counts);
        THR_TRY(status);
    }
    return thr_dual_map_make(t->context, &t->lexicon, t->model.words, &t->map, err);
}

/* ------------------------------------------------------------------------------------------------ weights */

/* Allocate weights, gradients and the optimisers' state; the model's tensors are views of them. */
static thr_status make_weights(thr_dual_trainer *t, thr_error *err) {
    thr_dual_model *model = &t->model;
    size_t n_dense = 0, at = 0;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const size_t n_table = (size_t)thr_dual_n_words(&model->words[side]) * model->config.n_embedding;
        THR_TRY(thr_training_weights_make(t->context, n_table, false, &t->tables[side], err));
        model->embeddings[side] = t->tables[side].values;
        for (size_t p = 0; p < thr_dual_n_tensors(&model->config); p++)
            n_dense += thr_training_tensor_floats(thr_dual_tensor_shape(model, side, p));
    }
    THR_TRY(thr_training_weights_make(t->context, n_dense, true, &t->dense, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++)
        for (size_t p = 0; p < thr_dual_n_tensors(&model->config); p++) {
            model->tensors[side][p] = t->dense.values + at;
            t->d_tensors[side][p] = t->dense.gradients + at;
            at += thr_training_tensor_floats(thr_dual_tensor_shape(model, side, p));
        }
    if (!model->config.hits)
        return THR_OK;
    const thr_dual_vocabulary *users = &model->words[THR_SIDE_QUERY];
    THR_TRY(thr_training_weights_make(t->context, (size_t)thr_dual_n_words(users) + thr_dual_n_fields(users), false,
                                      &t->hits, err));
    model->hit_words = t->hits.values;
    model->hit_fields = t->hits.values + thr_dual_n_words(users);
    return THR_OK;
}

/*
 * Initialise FTRL-Proximal's state, which represents a weight by z alone: w corresponds to z = -w (beta / alpha + l2) -
 * sign(w) l1.
 */
static void place(const thr_optimiser *ftrl, const float *weights, float *z, size_t n) {
    for (size_t i = 0; i < n; i++)
        z[i] = -weights[i] * (ftrl->beta1 / ftrl->rate + ftrl->l2) - copysignf(ftrl->l1, weights[i]);
}

/* Embeddings start near 0, so that rare words have little influence. */
static const double EMBEDDING_LIMIT = 0.05;

/* Initial dense weights after Glorot and Bengio (2010); biases and hit weights start at 0. */
static void draw_weights(thr_dual_trainer *t) {
    const thr_optimiser optimiser = thr_dual_table_optimiser(t);
    uint64_t rng = t->options.seed;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        thr_training_weights_draw(&rng, EMBEDDING_LIMIT, t->tables[side].values, t->tables[side].n);
        if (optimiser.kind == THR_OPTIMISER_FTRL)
            place(&optimiser, t->tables[side].values, t->tables[side].slots[0], t->tables[side].n);
        for (size_t p = 0; p < thr_dual_n_tensors(&t->model.config); p++) {
            const thr_tensor_shape shape = thr_dual_tensor_shape(&t->model, side, p);
            if (p != THR_DUAL_HIDDEN_BIAS && p != THR_DUAL_OUTPUT_BIAS)
                thr_training_weights_draw(&rng, sqrt(6.0 / (shape.n_rows + shape.n_columns)),
                                          t->dense.values + (t->model.tensors[side][p] - t->dense.values),
                                          (size_t)shape.n_rows * shape.n_columns);
        }
    }
}

thr_status thr_dual_trainer_start(thr_context *context, const char *requests_path, const char *items_path,
                                  const char *path, const thr_dual_train_options *options, thr_dual_trainer *trainer,
                                  thr_error *err) {
    trainer->context = context;
    thr_training_device_start(&trainer->device, context, &thr_dual_steps, trainer, &trainer->state);
    trainer->options = *options;
    trainer->path = path;
    trainer->model.config = options->config;
    THR_TRY(read_files(trainer, requests_path, items_path, err));
    THR_TRY(check_requests(trainer, requests_path, err));
    const size_t a = trainer->requests.most_ads, b = trainer->valid_requests.most_ads, most = THR_MAX(a, b);
    THR_TRY(thr_alloc(context, most, sizeof *trainer->discounts, &trainer->discounts, "discounts", err));
    thr_nn_rank_discounts(trainer->discounts, most);
    THR_TRY(choose_words(trainer, err));
    THR_TRY(make_weights(trainer, err));
    draw_weights(trainer);
    return THR_OK;
}

static void free_back(thr_context *context, thr_dual_back *back) {
    float *const all[] = {back->d_vectors, back->d_outputs, back->d_products,  back->d_hidden,
                          back->d_inputs,  back->scratch,   back->hit_weights, back->ones};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        thr_release(context, all[i]);
    thr_nn_bags_transposed_free(context, &back->ads);
    thr_nn_bags_transposed_free(context, &back->words);
    THR_RELEASE(context, back->hit_offsets, back->hit_rows);
}

void thr_dual_trainer_free(thr_dual_trainer *trainer) {
    thr_context *context = trainer->context;
    thr_training_device_end(&trainer->device);
    thr_dual_lexicon_free(context, &trainer->lexicon);
    thr_dual_items_free(context, &trainer->items);
    thr_dual_requests_free(context, &trainer->requests);
    thr_dual_requests_free(context, &trainer->valid_requests);
    thr_dual_map_free(context, &trainer->map);
    thr_training_split_free(context, &trainer->split);
    thr_release(context, trainer->discounts);
    thr_dual_words_free(context, &trainer->model);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_training_weights_free(context, &trainer->tables[side]);
    thr_training_weights_free(context, &trainer->dense);
    thr_training_weights_free(context, &trainer->hits);
    thr_dual_scores_free(context, &trainer->scores);
    free_back(context, &trainer->back);
    *trainer = (thr_dual_trainer){0};
}
