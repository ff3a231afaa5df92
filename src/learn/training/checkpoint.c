/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - writing, checking and reading a checkpoint's file. */
#include "training/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "base/files/checksum.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/files/out.h"

enum {
    N_STATE = sizeof(thr_training_state) / sizeof(uint64_t),
    N_SLOTS = THR_N_TRAINED * THR_WEIGHTS_SLOTS,
    OWN_METADATA = 3,
    STATE_TEXT = 16 * N_STATE + 1
};

/* An array of the optimiser's state: slot0.dense, slot1.dense, ... */
typedef struct slot_array {
    char name[16];
    float *data;
    size_t n;
} slot_array;

/* The tensors and metadata that a checkpoint's file is written from, with the strings they point to. */
typedef struct checkpoint_image {
    slot_array slots[N_SLOTS];
    thr_tensor tensors[THR_IMAGE_TENSORS_MAX + N_SLOTS];
    const char *metadata[THR_IMAGE_METADATA_MAX + OWN_METADATA][2];
    char state[STATE_TEXT], training[17], checksum[17];
} checkpoint_image;

static thr_status find_path(const thr_trainer *trainer, char **path, thr_error *err) {
    return thr_path_append(trainer->context, trainer->path, ".checkpoint", path, err);
}

thr_status thr_training_checkpoint_check_place(const thr_trainer *trainer, const thr_training_files *files,
                                               thr_error *err) {
    thr_context *context = trainer->context;
    const char *key = trainer->kind->model_kind->key, *what = trainer->kind->what;
    char *path = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_check_path(trainer->path, "the model to write", err));
    for (size_t i = 0; i < THR_TRAINING_INPUTS; i++)
        THR_TRY(thr_out_check_input(trainer->path, files->inputs[i], err));
    THR_TRY_OUT(find_path(trainer, &path, err));
    THR_TRY_OUT(thr_out_check_place(context, trainer->path, err));
    THR_TRY_OUT(thr_tensors_check_place(context, trainer->path, key, what, err));
    if (!trainer->options->resume)
        status = thr_tensors_check_place(context, path, key, what, err);
out:
    thr_release(context, path);
    return status;
}

/* ------------------------------------------------------------------------------------------------ contents */

static size_t list_slots(const thr_trainer *trainer, slot_array slots[N_SLOTS]) {
    static const char *const names[THR_N_TRAINED] = {"query", "item", "dense", "hits"};
    size_t n = 0;
    for (size_t w = 0; w < THR_N_TRAINED; w++)
        for (size_t s = 0; s < THR_WEIGHTS_SLOTS && trainer->weights[w].n != 0; s++, n++) {
            slots[n] = (slot_array){.data = trainer->weights[w].slots[s], .n = trainer->weights[w].n};
            (void)snprintf(slots[n].name, sizeof slots[n].name, "slot%zu.%s", s, names[w]);
        }
    return n;
}

/* Checksum of what must be the same on resumption: options, and the examples as they were read. */
static uint64_t identify(const thr_trainer *trainer) {
    const thr_training_options *options = trainer->options;
    const thr_split *split = &trainer->split;
    const uint32_t numbers[] = {options->batch, options->n_epochs};
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    thr_checksum_add(sum, numbers, sizeof numbers);
    thr_checksum_add(sum, &options->rate, sizeof options->rate);
    thr_checksum_add(sum, &options->seed, sizeof options->seed);
    thr_checksum_add(sum, split->train, split->n_train * sizeof *split->train);
    thr_checksum_add(sum, split->valid, split->n_valid * sizeof *split->valid);
    trainer->kind->identify(trainer, sum);
    return thr_checksum_end(sum);
}

/* Checksum of the optimiser's arrays and the training state. The model's fingerprint covers the weights. */
static uint64_t checksum_of(const slot_array *slots, size_t n_slots, const char *state) {
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    for (size_t i = 0; i < n_slots; i++)
        thr_checksum_add(sum, slots[i].data, slots[i].n * sizeof(float));
    thr_checksum_add(sum, state, STATE_TEXT);
    return thr_checksum_end(sum);
}

static void fill_image(const thr_model_image *model, const thr_trainer *trainer, checkpoint_image *own,
                       thr_tensors_image *image) {
    const size_t n_slots = list_slots(trainer, own->slots);
    memcpy(own->tensors, model->tensors, model->n_tensors * sizeof *own->tensors);
    for (size_t i = 0; i < n_slots; i++) {
        const slot_array *slot = &own->slots[i];
        own->tensors[model->n_tensors + i] = (thr_tensor){.name = slot->name,
                                                          .dtype = THR_DTYPE_F32,
                                                          .n_axes = 1,
                                                          .shape = {slot->n},
                                                          .data = slot->data,
                                                          .n_bytes = slot->n * sizeof(float)};
    }
    uint64_t state[N_STATE];
    memcpy(state, &trainer->state, sizeof state);
    for (size_t i = 0; i < N_STATE; i++)
        (void)snprintf(own->state + 16 * i, sizeof own->state - 16 * i, "%016" PRIx64, state[i]);
    (void)snprintf(own->training, sizeof own->training, "%016" PRIx64, identify(trainer));
    memcpy(own->metadata, model->metadata, model->n_metadata * sizeof *own->metadata);
    (void)snprintf(own->checksum, sizeof own->checksum, "%016" PRIx64, checksum_of(own->slots, n_slots, own->state));
    const char *const more[OWN_METADATA][2] = {{"checkpoint.state", own->state},
                                               {"checkpoint.training", own->training},
                                               {"checkpoint.checksum", own->checksum}};
    memcpy(own->metadata + model->n_metadata, more, sizeof more);
    *image = (thr_tensors_image){own->tensors, model->n_tensors + n_slots, (const char *const(*)[2])own->metadata,
                                 model->n_metadata + OWN_METADATA};
}

thr_status thr_training_checkpoint_save(const thr_trainer *trainer, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_model_source model = trainer->kind->model(trainer);
    char *path = NULL;
    thr_model_image *of_model = NULL;
    checkpoint_image *own = NULL;
    thr_tensors_image image;
    thr_status status = THR_OK;
    THR_TRY_OUT(find_path(trainer, &path, err));
    THR_TRY_OUT(thr_training_image_make(context, &model, &of_model, err));
    THR_TRY_OUT(thr_alloc(context, 1, sizeof *own, &own, "a checkpoint", err));
    fill_image(of_model, trainer, own, &image);
    THR_TRY_OUT(thr_tensors_write(context, path, &image, err));
out:
    THR_RELEASE(context, own, of_model, path);
    return status;
}

/* ------------------------------------------------------------------------------------------------ read */

static thr_status mismatch(const char *path, const char *what, thr_error *err) {
    return thr_fail(
        err, THR_EMISMATCH,
        "%s: the checkpoint belongs to a training with other %s: use the same ones, or delete it and start over", path,
        what);
}

static thr_status damaged(const char *path, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: the checkpoint is damaged: delete it and start over", path);
}

/* Copy the weights to the trainer's, where the tensors of its model are; lists of words must be its own. */
static thr_status take_tensors(const thr_trainer *trainer, const thr_model_image *model, const thr_tensors *tensors,
                               const char *path, thr_error *err) {
    for (size_t i = 0; i < model->n_tensors; i++) {
        const thr_tensor *ours = &model->tensors[i], *theirs = NULL;
        if (thr_tensors_expect(tensors, ours->name, ours->dtype, ours->n_axes, ours->shape, &theirs, NULL) != THR_OK ||
            (ours->dtype != THR_DTYPE_F32 && memcmp(theirs->data, ours->data, ours->n_bytes) != 0))
            return mismatch(path, trainer->kind->given, err);
        if (ours->dtype == THR_DTYPE_F32)
            memcpy((void *)(uintptr_t)ours->data, theirs->data, ours->n_bytes);
    }
    return THR_OK;
}

/* Read the model's weights and compare them with their fingerprint. */
static thr_status take_model(const thr_trainer *trainer, const thr_tensors *tensors, const char *path, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_model_kind *kind = trainer->kind->model_kind;
    const thr_model_source source = trainer->kind->model(trainer);
    thr_model_image *model = NULL;
    uint64_t fingerprint = 0;
    thr_status status = THR_OK;
    THR_TRY(thr_training_image_check_kind(tensors, path, kind, err));
    if (thr_training_image_read_fingerprint(tensors, path, kind, &fingerprint, NULL) != THR_OK)
        return damaged(path, err);
    THR_TRY(thr_training_image_begin(context, &source, &model, err));
    for (size_t i = 0; i < model->n_metadata; i++)
        if (strcmp(thr_tensors_metadata(tensors, model->metadata[i][0]), model->metadata[i][1]) != 0)
            THR_TRY_OUT(mismatch(path, "dimensions, bits or switches", err));
    THR_TRY_OUT(take_tensors(trainer, model, tensors, path, err));
    status = thr_training_image_check_whole(context, &source, path, fingerprint, err);
    if (status == THR_ECORRUPT)
        status = damaged(path, err);
out:
    thr_release(context, model);
    return status;
}

static thr_status take_slots(const thr_trainer *trainer, const thr_tensors *tensors, const char *path,
                             const char *state, thr_error *err) {
    const char *checksum = thr_tensors_metadata(tensors, "checkpoint.checksum");
    slot_array slots[N_SLOTS];
    const size_t n_slots = list_slots(trainer, slots);
    char found[17];
    for (size_t i = 0; i < n_slots; i++) {
        const slot_array *slot = &slots[i];
        const uint64_t shape = slot->n;
        const thr_tensor *tensor = NULL;
        THR_TRY(thr_tensors_expect(tensors, slot->name, THR_DTYPE_F32, 1, &shape, &tensor, err));
        memcpy(slot->data, tensor->data, tensor->n_bytes);
    }
    (void)snprintf(found, sizeof found, "%016" PRIx64, checksum_of(slots, n_slots, state));
    return checksum != NULL && strcmp(checksum, found) == 0 ? THR_OK : damaged(path, err);
}

/* Read the optimiser's arrays and the state. */
static thr_status take_state(thr_trainer *trainer, const thr_tensors *tensors, const char *path, thr_error *err) {
    const char *state = thr_tensors_metadata(tensors, "checkpoint.state");
    const char *training = thr_tensors_metadata(tensors, "checkpoint.training");
    char expected[17], digits[17] = "";
    if (state == NULL || training == NULL || strlen(state) != STATE_TEXT - 1)
        return thr_fail(err, THR_EFORMAT, "%s: not a checkpoint of this version: start over", path);
    (void)snprintf(expected, sizeof expected, "%016" PRIx64, identify(trainer));
    if (strcmp(training, expected) != 0)
        return mismatch(path, trainer->kind->given, err);
    THR_TRY(take_slots(trainer, tensors, path, state, err));
    uint64_t numbers[N_STATE];
    for (size_t i = 0; i < N_STATE; i++) {
        memcpy(digits, state + 16 * i, 16);
        numbers[i] = strtoull(digits, NULL, 16);
    }
    memcpy(&trainer->state, numbers, sizeof numbers);
    if (trainer->state.position > thr_trainer_steps(trainer))
        return damaged(path, err);
    if (trainer->state.best_epoch != 0 && access(trainer->path, R_OK) != 0)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: the best model so far, of epoch %" PRIu64 ", is missing: restore it or start over",
                        trainer->path, trainer->state.best_epoch);
    return THR_OK;
}

thr_status thr_training_checkpoint_read(thr_trainer *trainer, thr_error *err) {
    char *path = NULL;
    thr_tensors *tensors = NULL;
    thr_status status = THR_OK;
    THR_TRY(find_path(trainer, &path, err));
    if (access(path, F_OK) != 0)
        THR_TRY_OUT(thr_fail(err, THR_ENOTFOUND, "%s: there is no checkpoint to resume from: start over", path));
    THR_TRY_OUT(thr_tensors_open(trainer->context, path, &tensors, err));
    THR_TRY_OUT(take_model(trainer, tensors, path, err));
    THR_TRY_OUT(take_state(trainer, tensors, path, err));
out:
    thr_tensors_free(tensors);
    thr_release(trainer->context, path);
    return status;
}

void thr_training_checkpoint_delete(const thr_trainer *trainer) {
    char *path = NULL;
    if (find_path(trainer, &path, NULL) == THR_OK)
        (void)unlink(path);
    thr_release(trainer->context, path);
}
