/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_file.h - the file of a checkpoint, whatever is learned: a model's file with the optimisers' state beside
 * the weights, and in the metadata what the training is and where it stands, numbers as 16 hexadecimal digits. All of
 * it is under checksums, for what is learned from here on must be what would have been learned.
 */
#ifndef THR_TOWER_CHECKPOINT_FILE_H
#define THR_TOWER_CHECKPOINT_FILE_H

#include "tower/course.h"
#include "tower/model_image.h"

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
    thr_course_state *state;
    uint64_t training; /* a checksum of what must not change: options, and what is learned from */
    const char *what;  /* that is, in words: "pairs or options" */
} thr_checkpoint;

/* Of the model at model_path. THR_OK; THR_ENOSPACE; THR_EIO; THR_ENOMEM. */
thr_status thr_checkpoint_save(thr_context *context, const char *model_path, const thr_model_image *model,
                               const thr_checkpoint *checkpoint, thr_error *err);

/* *path is the caller's to release, also after an error. THR_OK; THR_ENOTFOUND; what thr_tensors_open returns. */
thr_status thr_checkpoint_open(thr_context *context, const char *model_path, char **path, thr_tensors **tensors,
                               thr_error *err);

/*
 * The arrays and the state, once the model in it has been looked at. n_steps: of an epoch. THR_OK; THR_EFORMAT;
 * THR_ECORRUPT; THR_EMISMATCH for another training; THR_ENOTFOUND where the best model so far is gone.
 */
thr_status thr_checkpoint_take(const thr_tensors *tensors, const char *path, const char *model_path, uint64_t n_steps,
                               const thr_checkpoint *checkpoint, thr_error *err);

thr_status thr_checkpoint_mismatch(const char *path, const char *what, thr_error *err); /* THR_EMISMATCH */
thr_status thr_checkpoint_damaged(const char *path, thr_error *err);                    /* THR_ECORRUPT */

void thr_checkpoint_delete(thr_context *context, const char *model_path);

#endif
