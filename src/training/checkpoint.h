/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the file of a checkpoint, whatever is learned: a model's file with the optimisers' state beside
 * the weights, and in the metadata what the training is and where it stands, numbers as 16 hexadecimal digits. All of
 * it is under checksums, for what is learned from here on must be what would have been learned.
 */
#ifndef THR_TRAINING_CHECKPOINT_H
#define THR_TRAINING_CHECKPOINT_H

#include "base/checksum.h"
#include "training/loop.h"
#include "training/model_image.h"
#include "training/weights.h"

enum { THR_CHECKPOINT_SLOTS_MAX = 8 };

/* An optimiser's array, by name. */
typedef struct thr_slot_array {
    char name[32];
    float *data;
    size_t n;
} thr_slot_array;

/* What stands in it beside the model. */
typedef struct thr_checkpoint {
    thr_slot_array slots[THR_CHECKPOINT_SLOTS_MAX];
    size_t n_slots;
    thr_training_state *state;
    uint64_t training; /* a checksum of what must not change: options, and what is learned from */
    const char *what;  /* that is, in words: "pairs or options" */
} thr_checkpoint;

/* Add an array's slots, as "slot0.NAME" and so on. */
void thr_training_checkpoint_add_slots(thr_checkpoint *checkpoint, const char *name, const thr_weights *weights);

/* What trainings of every kind have in their checksum. */
void thr_training_checkpoint_sum_split(thr_checksum *sum, const thr_split *split);

/*
 * What hinders a model, and its checkpoint, from being written, before an epoch: a place that cannot be written to,
 * one of the inputs (some may be NULL), or another file. kind is the key of such models' metadata; what is the expected
 * kind, for the message.
 */
typedef struct thr_model_place {
    const char *model_path, *kind, *what;
    const char *inputs[3];
    bool resume; /* the checkpoint is to be gone on from */
} thr_model_place;
thr_status thr_training_checkpoint_check_place(thr_context *context, const thr_model_place *place, thr_error *err);

/* Of the model at model_path. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_training_checkpoint_save(thr_context *context, const char *model_path, const thr_model_image *model,
                                        const thr_checkpoint *checkpoint, thr_error *err);

/* *path is the caller's to release, also after an error. THR_OK; THR_ENOTFOUND; what thr_io_tensors_open returns. */
thr_status thr_training_checkpoint_open(thr_context *context, const char *model_path, char **path,
                                        thr_tensors **tensors, thr_error *err);

/*
 * The arrays and the state, once the model in it has been looked at. n_steps: of an epoch. THR_OK; THR_EFORMAT;
 * THR_ECORRUPT; THR_EMISMATCH for another training; THR_ENOTFOUND where the best model so far is gone.
 */
thr_status thr_training_checkpoint_take(const thr_tensors *tensors, const char *path, const char *model_path,
                                        uint64_t n_steps, const thr_checkpoint *checkpoint, thr_error *err);

thr_status thr_training_checkpoint_mismatch(const char *path, const char *what, thr_error *err); /* THR_EMISMATCH */
thr_status thr_training_checkpoint_damaged(const char *path, thr_error *err);                    /* THR_ECORRUPT */

void thr_training_checkpoint_delete(thr_context *context, const char *model_path);

#endif
