/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - describing and reading the checkpoint of a dual tower's training (training/checkpoint.h). */
#include <string.h>

#include "base/files/checksum.h"
#include "base/error.h"
#include "training/checkpoint.h"
#include "dual_tower/model_file.h"
#include "dual_tower/trainer.h"

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

/* Checksum of what must be the same on resumption: options, and the files as they were read. */
static uint64_t identify(const thr_dual_trainer *t) {
    const thr_dual_train_options *options = &t->options;
    const uint32_t numbers[] = {options->min_count,      options->n_epochs,        options->batch,
                                (uint32_t)options->loss, (uint32_t)options->value, (uint32_t)options->optimiser};
    const float rates[] = {options->rate, options->embedding_rate, options->hits_rate,  options->l1,
                           options->l2,   options->adam_beta1,     options->adam_beta2, options->adam_epsilon};
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, rates, sizeof rates);
    thr_checksum_add(sum, &options->seed, sizeof options->seed);
    thr_training_checkpoint_sum_split(sum, &t->split);
    add_requests(sum, &t->requests);
    add_requests(sum, &t->valid_requests);
    thr_checksum_add(sum, t->items.offsets, (t->items.n + 1) * sizeof *t->items.offsets);
    thr_checksum_add(sum, t->items.words, t->items.offsets[t->items.n] * sizeof *t->items.words);
    for (size_t side = 0; side < THR_N_SIDES; side++)
        thr_words_lexicon_add_to_sum(sum, &t->lexicon.words[side]);
    return thr_checksum_end(sum);
}

static bool is_same_config(const thr_dual_config *a, const thr_dual_config *b) {
    return a->n_embedding == b->n_embedding && a->n_hidden == b->n_hidden && a->n_dims == b->n_dims &&
           a->n_products == b->n_products && a->hits == b->hits;
}

static thr_status take_weights(thr_dual_trainer *t, const thr_dual_model *model, const char *path, thr_error *err) {
    if (!is_same_config(&t->model.config, &model->config))
        return thr_training_checkpoint_mismatch(path, "dimensions or switches", err);
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        const thr_dual_vocabulary *ours = &t->model.words[side], *theirs = &model->words[side];
        if (ours->n_text != theirs->n_text || memcmp(ours->text, theirs->text, ours->n_text) != 0)
            return thr_training_checkpoint_mismatch(path, "requests or items", err);
        memcpy(t->tables[side].values, model->embeddings[side], t->tables[side].n * sizeof(float));
        for (size_t p = 0; p < thr_dual_n_tensors(&model->config); p++) {
            const thr_tensor_shape shape = thr_dual_tensor_shape(model, side, p);
            memcpy(t->dense.values + (t->model.tensors[side][p] - t->dense.values), model->tensors[side][p],
                   (size_t)shape.n_rows * shape.n_columns * sizeof(float));
        }
    }
    if (!model->config.hits)
        return THR_OK;
    const thr_dual_vocabulary *users = &model->words[THR_SIDE_QUERY];
    memcpy(t->hits.values, model->hit_words, thr_dual_n_words(users) * sizeof(float));
    memcpy(t->hits.values + thr_dual_n_words(users), model->hit_fields, thr_dual_n_fields(users) * sizeof(float));
    return THR_OK;
}

static thr_status take_model(void *user, const thr_tensors *tensors, const char *path, thr_error *err) {
    thr_dual_trainer *trainer = user;
    thr_dual_model model = {0};
    uint64_t fingerprint = 0;
    thr_status status = thr_dual_read(trainer->context, tensors, path, &model, &fingerprint, err);
    if (status == THR_OK)
        status = take_weights(trainer, &model, path, err);
    thr_dual_words_free(trainer->context, &model);
    return status;
}

_Static_assert(4 * THR_WEIGHTS_SLOTS <= THR_CHECKPOINT_SLOTS_MAX, "slots of a checkpoint");

thr_checkpoint thr_dual_checkpoint_describe(void *trainer) {
    thr_dual_trainer *t = trainer;
    thr_checkpoint c = {.state = &t->state,
                        .n_steps = t->split.n_train / t->options.batch,
                        .training = identify(t),
                        .what = "requests, items or options",
                        .take = take_model,
                        .trainer = t};
    thr_training_checkpoint_add_slots(&c, "dense", &t->dense);
    thr_training_checkpoint_add_slots(&c, "query", &t->tables[THR_SIDE_QUERY]);
    thr_training_checkpoint_add_slots(&c, "item", &t->tables[THR_SIDE_ITEM]);
    if (t->model.config.hits)
        thr_training_checkpoint_add_slots(&c, "hits", &t->hits);
    return c;
}
