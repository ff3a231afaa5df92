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

enum { N_STATE = sizeof(thr_training_state) / sizeof(uint64_t), OWN_METADATA = 3, STATE_TEXT = 16 * N_STATE + 1 };

/* The tensors and metadata that a checkpoint's file is written from, with the strings the metadata points to. */
typedef struct checkpoint_image {
    thr_tensor tensors[THR_IMAGE_TENSORS_MAX + THR_CHECKPOINT_SLOTS_MAX];
    const char *metadata[THR_IMAGE_METADATA_MAX + OWN_METADATA][2];
    char state[STATE_TEXT], training[17], checksum[17];
} checkpoint_image;

static thr_status find_path(thr_context *context, const char *model_path, char **path, thr_error *err) {
    return thr_path_append(context, model_path, ".checkpoint", path, err);
}

thr_status thr_training_checkpoint_check_place(thr_context *context, const thr_model_place *place, thr_error *err) {
    char *path = NULL;
    thr_status status = THR_OK;
    THR_TRY(thr_check_path(place->model_path, "the model to write", err));
    for (size_t i = 0; i < sizeof place->inputs / sizeof place->inputs[0]; i++)
        THR_TRY(thr_out_check_input(place->model_path, place->inputs[i], err));
    THR_TRY_OUT(find_path(context, place->model_path, &path, err));
    THR_TRY_OUT(thr_out_check_place(context, place->model_path, err));
    THR_TRY_OUT(thr_tensors_check_place(context, place->model_path, place->kind, place->what, err));
    if (!place->resume)
        status = thr_tensors_check_place(context, path, place->kind, place->what, err);
out:
    thr_release(context, path);
    return status;
}

/* Checksum of the optimiser's arrays and the training state. The model's fingerprint covers the weights. */
static uint64_t checksum_of(const thr_checkpoint *checkpoint, const char *state) {
    thr_checksum_room sum_memory;
    thr_checksum *sum = thr_checksum_start(&sum_memory);
    for (size_t i = 0; i < checkpoint->n_slots; i++)
        thr_checksum_add(sum, checkpoint->slots[i].data, checkpoint->slots[i].n * sizeof(float));
    thr_checksum_add(sum, state, STATE_TEXT);
    return thr_checksum_end(sum);
}

static void fill_image(const thr_model_image *model, const thr_checkpoint *checkpoint, checkpoint_image *own,
                       thr_tensors_image *image) {
    memcpy(own->tensors, model->tensors, model->n_tensors * sizeof *own->tensors);
    for (size_t i = 0; i < checkpoint->n_slots; i++) {
        const thr_slot_array *slot = &checkpoint->slots[i];
        own->tensors[model->n_tensors + i] = (thr_tensor){.name = slot->name,
                                                          .dtype = THR_DTYPE_F32,
                                                          .n_axes = 1,
                                                          .shape = {slot->n},
                                                          .data = slot->data,
                                                          .n_bytes = slot->n * sizeof(float)};
    }
    uint64_t state[N_STATE];
    memcpy(state, checkpoint->state, sizeof state);
    for (size_t i = 0; i < N_STATE; i++)
        (void)snprintf(own->state + 16 * i, sizeof own->state - 16 * i, "%016" PRIx64, state[i]);
    (void)snprintf(own->training, sizeof own->training, "%016" PRIx64, checkpoint->training);
    memcpy(own->metadata, model->metadata, model->n_metadata * sizeof *own->metadata);
    (void)snprintf(own->checksum, sizeof own->checksum, "%016" PRIx64, checksum_of(checkpoint, own->state));
    const char *const more[OWN_METADATA][2] = {{"checkpoint.state", own->state},
                                               {"checkpoint.training", own->training},
                                               {"checkpoint.checksum", own->checksum}};
    memcpy(own->metadata + model->n_metadata, more, sizeof more);
    *image = (thr_tensors_image){own->tensors, model->n_tensors + checkpoint->n_slots,
                                 (const char *const(*)[2])own->metadata, model->n_metadata + OWN_METADATA};
}

void thr_training_checkpoint_add_slots(thr_checkpoint *checkpoint, const char *name, const thr_weights *weights) {
    for (size_t s = 0; s < THR_WEIGHTS_SLOTS; s++) {
        thr_slot_array *slot = &checkpoint->slots[checkpoint->n_slots++];
        *slot = (thr_slot_array){.data = weights->slots[s], .n = weights->n};
        (void)snprintf(slot->name, sizeof slot->name, "slot%zu.%s", s, name);
    }
}

void thr_training_checkpoint_sum_split(thr_checksum *sum, const thr_split *split) {
    thr_checksum_add(sum, split->train, split->n_train * sizeof *split->train);
    thr_checksum_add(sum, split->valid, split->n_valid * sizeof *split->valid);
}

thr_status thr_training_checkpoint_save(thr_context *context, const char *model_path, const thr_model_source *model,
                                        const thr_checkpoint *checkpoint, thr_error *err) {
    char *path = NULL;
    thr_model_image *of_model = NULL;
    checkpoint_image *own = NULL;
    thr_tensors_image image;
    thr_status status = THR_OK;
    THR_TRY_OUT(find_path(context, model_path, &path, err));
    THR_TRY_OUT(thr_training_image_make(context, model, &of_model, err));
    THR_TRY_OUT(thr_alloc(context, 1, sizeof *own, &own, "a checkpoint", err));
    fill_image(of_model, checkpoint, own, &image);
    THR_TRY_OUT(thr_tensors_write(context, path, &image, err));
out:
    THR_RELEASE(context, own, of_model, path);
    return status;
}

thr_status thr_training_checkpoint_mismatch(const char *path, const char *what, thr_error *err) {
    return thr_fail(
        err, THR_EMISMATCH,
        "%s: the checkpoint belongs to a training with other %s: use the same ones, or delete it and start over", path,
        what);
}

thr_status thr_training_checkpoint_damaged(const char *path, thr_error *err) {
    return thr_fail(err, THR_ECORRUPT, "%s: the checkpoint is damaged: delete it and start over", path);
}

static thr_status take_slots(const thr_tensors *tensors, const char *path, const thr_checkpoint *checkpoint,
                             const char *state, thr_error *err) {
    const char *checksum = thr_tensors_metadata(tensors, "checkpoint.checksum");
    char found[17];
    for (size_t i = 0; i < checkpoint->n_slots; i++) {
        const thr_slot_array *slot = &checkpoint->slots[i];
        const uint64_t shape = slot->n;
        const thr_tensor *tensor = NULL;
        THR_TRY(thr_tensors_expect(tensors, slot->name, THR_DTYPE_F32, 1, &shape, &tensor, err));
        memcpy(slot->data, tensor->data, tensor->n_bytes);
    }
    (void)snprintf(found, sizeof found, "%016" PRIx64, checksum_of(checkpoint, state));
    return checksum != NULL && strcmp(checksum, found) == 0 ? THR_OK : thr_training_checkpoint_damaged(path, err);
}

/* Read the optimiser's arrays and the state. */
static thr_status take_state(const thr_tensors *tensors, const char *path, const char *model_path,
                             const thr_checkpoint *checkpoint, thr_error *err) {
    const char *state = thr_tensors_metadata(tensors, "checkpoint.state");
    const char *training = thr_tensors_metadata(tensors, "checkpoint.training");
    char expected[17], digits[17] = "";
    if (state == NULL || training == NULL || strlen(state) != STATE_TEXT - 1)
        return thr_fail(err, THR_EFORMAT, "%s: not a checkpoint of this version: start over", path);
    (void)snprintf(expected, sizeof expected, "%016" PRIx64, checkpoint->training);
    if (strcmp(training, expected) != 0)
        return thr_training_checkpoint_mismatch(path, checkpoint->what, err);
    THR_TRY(take_slots(tensors, path, checkpoint, state, err));
    uint64_t numbers[N_STATE];
    for (size_t i = 0; i < N_STATE; i++) {
        memcpy(digits, state + 16 * i, 16);
        numbers[i] = strtoull(digits, NULL, 16);
    }
    memcpy(checkpoint->state, numbers, sizeof numbers);
    if (checkpoint->state->position > checkpoint->n_steps)
        return thr_training_checkpoint_damaged(path, err);
    if (checkpoint->state->best_epoch != 0 && access(model_path, R_OK) != 0)
        return thr_fail(err, THR_ENOTFOUND,
                        "%s: the best model so far, of epoch %" PRIu64 ", is missing: restore it or start over",
                        model_path, checkpoint->state->best_epoch);
    return THR_OK;
}

thr_status thr_training_checkpoint_read(thr_context *context, const char *model_path, const thr_checkpoint *checkpoint,
                                        thr_error *err) {
    char *path = NULL;
    thr_tensors *tensors = NULL;
    thr_status status = THR_OK;
    THR_TRY(find_path(context, model_path, &path, err));
    if (access(path, F_OK) != 0)
        THR_TRY_OUT(thr_fail(err, THR_ENOTFOUND, "%s: there is no checkpoint to resume from: start over", path));
    THR_TRY_OUT(thr_tensors_open(context, path, &tensors, err));
    THR_TRY_OUT(checkpoint->take(checkpoint->trainer, tensors, path, err));
    THR_TRY_OUT(take_state(tensors, path, model_path, checkpoint, err));
out:
    thr_tensors_free(tensors);
    thr_release(context, path);
    return status;
}

void thr_training_checkpoint_delete(thr_context *context, const char *model_path) {
    char *path = NULL;
    if (find_path(context, model_path, &path, NULL) == THR_OK)
        (void)unlink(path);
    thr_release(context, path);
}
