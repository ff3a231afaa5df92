/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the file of a checkpoint, for every kind of model.
 *
 * It is a model's file with more in it: the optimiser's arrays as tensors beside the weights, and in the metadata the
 * identity of the training and its state, as 16 hexadecimal digits a number. Checksums cover everything: a resumed
 * training must learn exactly what an uninterrupted one would have learned.
 */
#pragma once

#include "base/files/checksum.h"
#include "training/model_image.h"
#include "training/split.h"
#include "training/weights.h"

enum { THR_CHECKPOINT_SLOTS_MAX = 8 };

/* A named array of an optimiser's state. */
typedef struct thr_slot_array {
    char name[32];
    float *data;
    size_t n;
} thr_slot_array;

/* The state of a training: what a checkpoint holds besides arrays. Every member has eight bytes. */
typedef struct thr_training_state {
    uint64_t epoch;                                  /* completed epochs */
    uint64_t position;                               /* completed steps of the current epoch */
    uint64_t step;                                   /* completed steps of all epochs */
    double loss;                                     /* sum over the steps of the current epoch */
    double seconds;                                  /* time those steps took */
    uint64_t best_epoch;                             /* 0: none yet */
    double best_loss, best_valid_loss, best_quality; /* of best_epoch */
    uint64_t n_learned;                              /* examples learned in completed epochs, with repetitions */
    double learning_seconds;                         /* time those took */
} thr_training_state;

/* What a checkpoint holds besides the model. */
typedef struct thr_checkpoint {
    thr_slot_array slots[THR_CHECKPOINT_SLOTS_MAX];
    size_t n_slots;
    thr_training_state *state;
    uint64_t n_steps;  /* of an epoch */
    uint64_t training; /* checksum of what must not change on resumption: options and data */
    const char *what;  /* the same in words, for messages: "pairs or options" */
    /* Check the model in the tensors of a checkpoint, and copy its weights to the trainer. */
    thr_status (*take)(void *trainer, const thr_tensors *tensors, const char *path, thr_error *err);
    void *trainer;
} thr_checkpoint;

/* Add the optimiser's arrays of some weights, named "slot0.NAME", "slot1.NAME". */
void thr_training_checkpoint_add_slots(thr_checkpoint *checkpoint, const char *name, const thr_weights *weights);

/* Add the split to a checksum of a training's identity. */
void thr_training_checkpoint_sum_split(thr_checksum *sum, const thr_split *split);

/*
 * Check, before the first epoch, that a model and its checkpoint can be written: the directory is writable, the path is
 * none of the inputs (some may be NULL), and no other kind of file is there to be overwritten. kind is the metadata key
 * of such models; what names the expected kind in messages.
 */
typedef struct thr_model_place {
    const char *model_path, *kind, *what;
    const char *inputs[6];
    bool resume; /* training resumes from the checkpoint that is there */
} thr_model_place;
thr_status thr_training_checkpoint_check_place(thr_context *context, const thr_model_place *place, thr_error *err);

/* Write the checkpoint of the model at model_path. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_training_checkpoint_save(thr_context *context, const char *model_path, const thr_model_source *model,
                                        const thr_checkpoint *checkpoint, thr_error *err);

/*
 * Read the checkpoint of the model at model_path: the model, then the optimiser's arrays and the state. THR_OK;
 * THR_ENOTFOUND without a checkpoint, or if the best model so far is gone; what thr_tensors_open returns; THR_EFORMAT;
 * THR_ECORRUPT; THR_EMISMATCH for another training's checkpoint; a status of take.
 */
thr_status thr_training_checkpoint_read(thr_context *context, const char *model_path, const thr_checkpoint *checkpoint,
                                        thr_error *err);

thr_status thr_training_checkpoint_mismatch(const char *path, const char *what, thr_error *err); /* THR_EMISMATCH */
thr_status thr_training_checkpoint_damaged(const char *path, thr_error *err);                    /* THR_ECORRUPT */

void thr_training_checkpoint_delete(thr_context *context, const char *model_path);
