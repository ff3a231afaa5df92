/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: a model's file with the optimiser's state beside the weights, and in the metadata what the training is
 * (its options and pairs) and where it stands, numbers as 16 hexadecimal digits. All of it is under checksums, for what
 * is learned from here on must be what would have been learned.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "base/checksum.h"
#include "base/error.h"
#include "tower/model_file.h"
#include "tower/trainer.h"

static const char ENDING[] = ".checkpoint";

enum {
    N_STATE = sizeof(thr_trainer_state) / sizeof(uint64_t),
    SLOT_TENSORS = THR_TRAINER_SLOTS * (1 + THR_N_SIDES),
    OWN_METADATA = 3,
    STATE_TEXT = 16 * N_STATE + 1
};

/* What is written, and what the names in it stand in. */
typedef struct checkpoint {
    thr_model_image model;
    thr_tensor tensors[THR_MODEL_TENSORS_MAX + SLOT_TENSORS];
    char names[SLOT_TENSORS][32];
    const char *metadata[THR_MODEL_METADATA_MAX + OWN_METADATA][2];
    char state[STATE_TEXT], training[17], checksum[17];
} checkpoint;

static thr_status find_path(const thr_trainer *trainer, char **path, thr_error *err) {
    const size_t size = strlen(trainer->path) + sizeof ENDING;
    THR_TRY(thr_alloc(trainer->context, size, 1, path, "a name", err));
    (void)snprintf(*path, size, "%s%s", trainer->path, ENDING);
    return THR_OK;
}

static void add_pairs(thr_checksum *sum, const thr_pairs *pairs) {
    for (size_t side = 0; side < THR_N_SIDES && pairs->n != 0; side++) {
        const thr_text_list *list = &pairs->texts[side];
        thr_checksum_add(sum, list->offsets, (pairs->n + 1) * sizeof *list->offsets);
        thr_checksum_add(sum, list->words, list->offsets[pairs->n] * sizeof *list->words);
    }
}

/* Of what must not change between a training and its resumption: options, and the pairs as they were read. */
static uint64_t identify(const thr_trainer *trainer) {
    const thr_tower_train_options *options = &trainer->options;
    const thr_lexicon *lexicon = &trainer->lexicon;
    const uint32_t numbers[] = {options->batch, options->n_negatives, (uint32_t)options->estimator, options->n_epochs};
    const float rates[] = {options->gamma, options->rate, options->word_dropout};
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, rates, sizeof rates);
    thr_checksum_add(sum, &options->seed, sizeof options->seed);
    thr_checksum_add(sum, trainer->train, trainer->n_train * sizeof *trainer->train);
    thr_checksum_add(sum, trainer->valid, trainer->n_valid * sizeof *trainer->valid);
    add_pairs(sum, &trainer->pairs);
    add_pairs(sum, &trainer->valid_pairs);
    thr_checksum_add(sum, lexicon->starts, (lexicon->n_words + 1) * sizeof *lexicon->starts);
    thr_checksum_add(sum, lexicon->letters, lexicon->starts[lexicon->n_words] * sizeof *lexicon->letters);
    return thr_checksum_end(sum);
}

/* The optimiser's arrays, by name. */
typedef struct slot_array {
    char name[32];
    float *data;
    size_t n;
} slot_array;

static size_t list_slots(const thr_trainer *trainer, slot_array slots[SLOT_TENSORS]) {
    size_t n = 0;
    for (size_t s = 0; s < THR_TRAINER_SLOTS; s++) {
        slots[n] = (slot_array){.data = trainer->dense_slots[s], .n = trainer->n_dense};
        (void)snprintf(slots[n++].name, sizeof slots[0].name, "adam%zu.dense", s);
        for (size_t t = 0; t < thr_model_n_tables(&trainer->model.config); t++) {
            slots[n] = (slot_array){.data = trainer->table_slots[t][s], .n = trainer->n_table};
            (void)snprintf(slots[n++].name, sizeof slots[0].name, "adam%zu.words%zu", s, t);
        }
    }
    return n;
}

/* Of the optimiser's arrays and of where the training stands; what is learned stands under the model's fingerprint. */
static uint64_t checksum_of(const slot_array *slots, size_t n_slots, const char *state) {
    thr_checksum_room room;
    thr_checksum *sum = thr_checksum_start(&room);
    for (size_t i = 0; i < n_slots; i++)
        thr_checksum_add(sum, slots[i].data, slots[i].n * sizeof *slots[i].data);
    thr_checksum_add(sum, state, STATE_TEXT);
    return thr_checksum_end(sum);
}

static void picture(const thr_trainer *trainer, checkpoint *c, thr_tensors_image *image) {
    slot_array slots[SLOT_TENSORS];
    const size_t n_slots = list_slots(trainer, slots);
    thr_model_picture(&trainer->model, &c->model);
    memcpy(c->tensors, c->model.tensors, c->model.n_tensors * sizeof *c->tensors);
    for (size_t i = 0; i < n_slots; i++) {
        memcpy(c->names[i], slots[i].name, sizeof c->names[i]);
        c->tensors[c->model.n_tensors + i] = (thr_tensor){.name = c->names[i],
                                                          .dtype = THR_DTYPE_F32,
                                                          .n_axes = 1,
                                                          .shape = {slots[i].n},
                                                          .data = slots[i].data,
                                                          .n_bytes = slots[i].n * sizeof(float)};
    }
    uint64_t state[N_STATE];
    memcpy(state, &trainer->state, sizeof state);
    for (size_t i = 0; i < N_STATE; i++)
        (void)snprintf(c->state + 16 * i, sizeof c->state - 16 * i, "%016" PRIx64, state[i]);
    (void)snprintf(c->training, sizeof c->training, "%016" PRIx64, identify(trainer));
    memcpy(c->metadata, c->model.metadata, c->model.n_metadata * sizeof *c->metadata);
    (void)snprintf(c->checksum, sizeof c->checksum, "%016" PRIx64, checksum_of(slots, n_slots, c->state));
    const char *const more[OWN_METADATA][2] = {
        {"checkpoint.state", c->state}, {"checkpoint.training", c->training}, {"checkpoint.checksum", c->checksum}};
    memcpy(c->metadata + c->model.n_metadata, more, sizeof more);
    *image = (thr_tensors_image){c->tensors, c->model.n_tensors + n_slots, (const char *const(*)[2])c->metadata,
                                 c->model.n_metadata + OWN_METADATA};
}

thr_status thr_checkpoint_write(const thr_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->context;
    char *path = NULL;
    checkpoint *c = NULL;
    thr_tensors_image image;
    thr_status status = THR_OK;
    THR_TRY_OUT(find_path(trainer, &path, err));
    THR_TRY_OUT(thr_alloc(context, 1, sizeof *c, &c, "a checkpoint", err));
    picture(trainer, c, &image);
    THR_TRY_OUT(thr_tensors_write(context, path, &image, err));
out:
    thr_release(context, c);
    thr_release(context, path);
    return status;
}

static thr_status mismatch(const char *path, const char *what, thr_error *err) {
    return thr_fail(
        err, THR_EMISMATCH,
        "%s: the checkpoint is of a training with other %s: give the same ones, or delete it and begin anew", path,
        what);
}

static bool is_same_config(const thr_tower_config *a, const thr_tower_config *b) {
    return a->n_dims == b->n_dims && a->n_pooled == b->n_pooled && a->query_bits == b->query_bits &&
           a->item_bits == b->item_bits && a->max_grams == b->max_grams && a->max_words == b->max_words &&
           a->shared_words == b->shared_words && a->shared_steps == b->shared_steps &&
           a->plain_weights == b->plain_weights;
}

static thr_status take_weights(thr_trainer *trainer, const thr_model *model, const char *path, thr_error *err) {
    const thr_tower_config *config = &trainer->model.config;
    if (!is_same_config(config, &model->config))
        return mismatch(path, "dimensions, bits or switches", err);
    if (model->grams.n != trainer->model.grams.n ||
        memcmp(model->grams.keys, trainer->model.grams.keys, model->grams.n * sizeof *model->grams.keys) != 0)
        return mismatch(path, "pairs", err);
    for (size_t t = 0; t < thr_model_n_tables(config); t++)
        memcpy(trainer->tables[t], model->tables[t], trainer->n_table * sizeof(float));
    for (thr_side side = THR_SIDE_QUERY; side <= THR_SIDE_ITEM; side++) {
        for (size_t p = 0; p < thr_model_n_parts(config, side); p++) {
            const thr_part_shape shape = thr_model_part_shape(config, p);
            memcpy(trainer->dense + (trainer->model.parts[side][p] - trainer->dense), model->parts[side][p],
                   (size_t)shape.n_rows * shape.n_columns * sizeof(float));
        }
    }
    return THR_OK;
}

static thr_status damaged(const char *path, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: the checkpoint is damaged: delete it and begin anew", path);
}

static thr_status take_slots(thr_trainer *trainer, const thr_tensors *tensors, const char *path, const char *state,
                             thr_error *err) {
    const char *checksum = thr_tensors_metadata(tensors, "checkpoint.checksum");
    slot_array slots[SLOT_TENSORS];
    char found[17];
    const size_t n_slots = list_slots(trainer, slots);
    for (size_t i = 0; i < n_slots; i++) {
        const uint64_t shape = slots[i].n;
        const thr_tensor *tensor = NULL;
        THR_TRY(thr_tensors_expect(tensors, slots[i].name, THR_DTYPE_F32, 1, &shape, &tensor, err));
        memcpy(slots[i].data, tensor->data, tensor->n_bytes);
    }
    (void)snprintf(found, sizeof found, "%016" PRIx64, checksum_of(slots, n_slots, state));
    return checksum != NULL && strcmp(checksum, found) == 0 ? THR_OK : damaged(path, err);
}

static thr_status take_state(thr_trainer *trainer, const thr_tensors *tensors, const char *path, thr_error *err) {
    const char *state = thr_tensors_metadata(tensors, "checkpoint.state");
    const char *training = thr_tensors_metadata(tensors, "checkpoint.training");
    char expected[17], digits[17] = "";
    if (state == NULL || training == NULL || strlen(state) != STATE_TEXT - 1)
        return thr_fail(err, THR_EFORMAT, "%s: a model, but no checkpoint of this version: begin anew", path);
    (void)snprintf(expected, sizeof expected, "%016" PRIx64, identify(trainer));
    if (strcmp(training, expected) != 0)
        return mismatch(path, "pairs or options", err);
    THR_TRY(take_slots(trainer, tensors, path, state, err));
    uint64_t numbers[N_STATE];
    for (size_t i = 0; i < N_STATE; i++) {
        memcpy(digits, state + 16 * i, 16);
        numbers[i] = strtoull(digits, NULL, 16);
    }
    memcpy(&trainer->state, numbers, sizeof numbers);
    if (trainer->state.position > trainer->n_train / trainer->options.batch)
        return damaged(path, err);
    if (trainer->state.best_epoch != 0 && access(trainer->path, R_OK) != 0)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: the best model so far, of epoch %" PRIu64 ", is not there: restore it or begin anew",
                        trainer->path, trainer->state.best_epoch);
    return THR_OK;
}

/* The weights, all of which are read and compared with their fingerprint. */
static thr_status read_model(thr_trainer *trainer, const thr_tensors *tensors, const char *path, thr_model *model,
                             thr_error *err) {
    thr_model_image *image = NULL;
    uint64_t fingerprint = 0;
    THR_TRY(thr_model_read(trainer->context, tensors, path, model, &fingerprint, err));
    THR_TRY(thr_alloc(trainer->context, 1, sizeof *image, &image, "a model's header", err));
    const bool whole = thr_model_is_whole(model, fingerprint, image);
    thr_release(trainer->context, image);
    return whole ? take_weights(trainer, model, path, err) : damaged(path, err);
}

thr_status thr_checkpoint_read(thr_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->context;
    char *path = NULL;
    thr_tensors *tensors = NULL;
    thr_model model = {0};
    thr_status status = THR_OK;
    THR_TRY_OUT(find_path(trainer, &path, err));
    if (access(path, F_OK) != 0)
        THR_TRY_OUT(thr_fail(err, THR_ENOTFOUND, "%s: there is no checkpoint to go on from: begin anew", path));
    THR_TRY_OUT(thr_tensors_open(context, path, &tensors, err));
    THR_TRY_OUT(read_model(trainer, tensors, path, &model, err));
    THR_TRY_OUT(take_state(trainer, tensors, path, err));
out:
    thr_grams_free(context, &model.grams);
    thr_tensors_free(tensors);
    thr_release(context, path);
    return status;
}

void thr_checkpoint_remove(const thr_trainer *trainer) {
    char *path = NULL;
    if (find_path(trainer, &path, NULL) == THR_OK)
        (void)unlink(path);
    thr_release(trainer->context, path);
}
