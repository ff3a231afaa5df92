/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - the start of a training: reading the files, vocabularies, memory and initial weights. */
#include <math.h>

#include "base/error.h"
#include "base/minmax.h"
#include "dual_tower/device/learner.h"
#include "dual_tower/model_file.h"

/* ------------------------------------------------------------------------------------------------ files */

static thr_status read_files(thr_dual_trainer *t, const char *requests_path, const char *items_path, thr_error *err) {
    thr_context *context = t->base.context;
    const thr_dual_train_options *options = &t->options;
    const bool own = options->run.valid_path == NULL;
    THR_TRY(thr_dual_items_read(context, items_path, &t->lexicon, &t->items, err));
    THR_TRY(thr_dual_requests_read(context, requests_path, &t->items, &t->lexicon, &t->requests, err));
    if (!own)
        THR_TRY(
            thr_dual_requests_read(context, options->run.valid_path, &t->items, &t->lexicon, &t->valid_requests, err));
    return thr_training_split_make(context, t->requests.split, t->requests.n, own ? options->run.valid_share : 0,
                                   t->valid_requests.n, &t->base.split, err);
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
    const size_t n_train = count_informative(&t->requests, t->base.split.train, t->base.split.n_train);
    const size_t n_valid = count_informative(thr_dual_trainer_valid(t), t->base.split.valid, t->base.split.n_valid);
    if (t->base.split.n_train >= t->options.run.batch && n_train > 0 && n_valid > 0)
        return THR_OK;
    return thr_fail(
        err, THR_EFORMAT,
        "%s: %zu requests to learn from and %zu to validate with, of which %zu and %zu have an ad that is "
        "better than others: at least a batch of %u and one of each are needed; use smaller batches or more",
        requests_path, t->base.split.n_train, t->base.split.n_valid, n_train, n_valid, t->options.run.batch);
}

/* For every word, count the training requests whose user, or any of whose ads, has it. */
static thr_status count_words(const thr_dual_trainer *t, thr_side side, uint32_t **counts, thr_error *err) {
    const thr_dual_requests *requests = &t->requests;
    const thr_dual_items *items = &t->items;
    const size_t n_words = t->lexicon.words[side].n_words;
    uint32_t *seen = NULL; /* for every word the last request that had it, + 1 */
    THR_TRY(thr_alloc_zero(t->base.context, n_words, sizeof **counts, counts, "counts of words", err));
    THR_TRY(thr_alloc_zero(t->base.context, n_words, sizeof *seen, &seen, "counts of words", err));
    for (size_t i = 0; i < t->base.split.n_train; i++) {
        const uint32_t r = t->base.split.train[i];
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
    thr_release(t->base.context, seen);
    return THR_OK;
}

static thr_status choose_words(thr_dual_trainer *t, thr_error *err) {
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        uint32_t *counts = NULL;
        thr_status status = count_words(t, side, &counts, err);
        if (status == THR_OK)
            status = thr_dual_vocabulary_choose(t->base.context, &t->lexicon.words[side], counts, t->options.min_count,
                                                side, &t->model.words[side], err);
        thr_release(t->base.context, counts);
        THR_TRY(status);
    }
    return thr_dual_map_make(t->base.context, &t->lexicon, t->model.words, &t->map, err);
}

/* ------------------------------------------------------------------------------------------------ weights */

/* Allocate weights, gradients and the optimisers' state; the model's tensors are views of them. */
static thr_status make_weights(thr_dual_trainer *t, thr_error *err) {
    thr_dual_model *model = &t->model;
    const thr_tensor_list lists[THR_N_SIDES] = {thr_dual_tensors(model, THR_SIDE_QUERY),
                                                thr_dual_tensors(model, THR_SIDE_ITEM)};
    THR_TRY(thr_training_make_dense(&t->base, lists, err));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const size_t n_table = (size_t)thr_dual_n_words(&model->words[side]) * model->config.n_embedding;
        THR_TRY(thr_training_weights_make(t->base.context, n_table, false, &t->base.tables[side], err));
        model->embeddings[side] = t->base.tables[side].values;
        for (size_t p = 0; p < lists[side].n; p++)
            model->tensors[side][p] = t->base.tensors[side][p];
    }
    if (!model->config.hits)
        return THR_OK;
    const thr_dual_vocabulary *users = &model->words[THR_SIDE_QUERY];
    THR_TRY(thr_training_weights_make(t->base.context, (size_t)thr_dual_n_words(users) + thr_dual_n_fields(users),
                                      false, &t->base.hits, err));
    model->hit_words = t->base.hits.values;
    model->hit_fields = t->base.hits.values + thr_dual_n_words(users);
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
    uint64_t rng = t->options.run.seed;
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        thr_training_weights_draw(&rng, EMBEDDING_LIMIT, t->base.tables[side].values, t->base.tables[side].n);
        if (optimiser.kind == THR_OPTIMISER_FTRL)
            place(&optimiser, t->base.tables[side].values, t->base.tables[side].slots[0], t->base.tables[side].n);
        const thr_tensor_list list = thr_dual_tensors(&t->model, side);
        for (size_t p = 0; p < list.n; p++) {
            const thr_tensor_shape *shape = &list.shapes[p];
            if (p != THR_DUAL_HIDDEN_BIAS && p != THR_DUAL_OUTPUT_BIAS)
                thr_training_weights_draw(&rng, sqrt(6.0 / (shape->n_rows + shape->n_columns)),
                                          t->base.tensors[side][p], thr_tensor_size(shape));
        }
    }
}

static thr_status start(void *base, const void *given, thr_error *err) {
    thr_dual_trainer *t = base;
    const thr_dual_task *task = given;
    t->options = *task->options;
    t->base.options = &t->options.run;
    t->model.config = t->options.config;
    THR_TRY(read_files(t, task->requests_path, task->items_path, err));
    THR_TRY(check_requests(t, task->requests_path, err));
    const size_t most = THR_MAX(t->requests.most_ads, t->valid_requests.most_ads);
    THR_TRY(thr_alloc(t->base.context, most, sizeof *t->discounts, &t->discounts, "discounts", err));
    thr_nn_rank_discounts(t->discounts, most);
    THR_TRY(choose_words(t, err));
    THR_TRY(make_weights(t, err));
    draw_weights(t);
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

static void end(void *base) {
    thr_dual_trainer *t = base;
    thr_context *context = t->base.context;
    thr_dual_lexicon_free(context, &t->lexicon);
    thr_dual_items_free(context, &t->items);
    thr_dual_requests_free(context, &t->requests);
    thr_dual_requests_free(context, &t->valid_requests);
    thr_dual_map_free(context, &t->map);
    thr_release(context, t->discounts);
    thr_dual_words_free(context, &t->model);
    thr_dual_scores_free(context, &t->scores);
    free_back(context, &t->back);
}

/* ------------------------------------------------------------------------------------------------ kind */

static thr_model_source model_of(const void *base) {
    return thr_dual_source(&((const thr_dual_trainer *)base)->model);
}

static void add_requests(thr_checksum *sum, const thr_dual_requests *requests) {
    const size_t n = requests->n;
    if (n == 0)
        return;
    thr_checksum_add(sum, requests->word_offsets, (n + 1) * sizeof *requests->word_offsets);
    thr_checksum_add(sum, requests->words, requests->word_offsets[n] * sizeof *requests->words);
    thr_checksum_add(sum, requests->x, requests->word_offsets[n] * sizeof *requests->x);
    thr_checksum_add(sum, requests->ad_offsets, (n + 1) * sizeof *requests->ad_offsets);
    thr_checksum_add(sum, requests->ads, (size_t)requests->ad_offsets[n] * sizeof *requests->ads);
    thr_checksum_add(sum, requests->levels, (size_t)requests->ad_offsets[n] * sizeof *requests->levels);
    thr_checksum_add(sum, requests->values, (size_t)requests->ad_offsets[n] * sizeof *requests->values);
}

static void identify(const void *base, thr_checksum *sum) {
    const thr_dual_trainer *t = base;
    const thr_dual_train_options *options = &t->options;
    const uint32_t numbers[] = {options->min_count, (uint32_t)options->loss, (uint32_t)options->value,
                                (uint32_t)options->optimiser};
    const float rates[] = {options->embedding_rate, options->hits_rate, options->l1, options->l2};
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, rates, sizeof rates);
    add_requests(sum, &t->requests);
    add_requests(sum, &t->valid_requests);
    thr_checksum_add(sum, t->items.offsets, (t->items.n + 1) * sizeof *t->items.offsets);
    thr_checksum_add(sum, t->items.words, t->items.offsets[t->items.n] * sizeof *t->items.words);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_words_lexicon_add_to_sum(sum, &t->lexicon.words[side]);
}

static const thr_device_copier learners = {.copy = thr_dual_device_open, .free = thr_dual_device_close, .wake_ups = 1};

const thr_trainer_kind thr_dual_trainer_kind = {.size = sizeof(thr_dual_trainer),
                                                .model_kind = &thr_dual_model_kind,
                                                .what = "a dual tower",
                                                .given = "requests, items or options",
                                                .copier = &learners,
                                                .examples_a_second = 10e3,
                                                .start = start,
                                                .end = end,
                                                .model = model_of,
                                                .identify = identify,
                                                .step = thr_dual_step_on_cpu,
                                                .learner_step = thr_dual_device_step,
                                                .validate = thr_dual_validate};
