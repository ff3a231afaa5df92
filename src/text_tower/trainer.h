/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - a training under way: pairs, weights, the optimiser's state, and where it stands.
 */
#ifndef THR_TEXT_TOWER_TRAINER_H
#define THR_TEXT_TOWER_TRAINER_H

#include "device/policy.h"
#include "nn/bags.h"
#include "nn/match_loss.h"
#include "text_tower/backward.h"
#include "text_tower/batch.h"
#include "training/loop.h"
#include "text_tower/device/trainer.h"
#include "training/split.h"
#include "training/weights.h"

/* What a step takes. */
typedef struct thr_trainer_scratch {
    thr_batch batch;
    thr_bags_transposed transposed;
    thr_pass passes[THR_N_SIDES];
    thr_text_backward_workspace back;
    float *d_embeddings[THR_N_SIDES];
    float *loss;
} thr_trainer_scratch;

typedef struct thr_text_trainer {
    thr_context *context;
    thr_tower_train_options options;
    const char *path; /* of the model */
    /* The data. */
    thr_lexicon lexicon;
    thr_pairs pairs, valid_pairs;
    thr_split split;
    /* The model, and the weights that it is a view of. */
    thr_text_model model;
    thr_text_model as_floats; /* the same weights, both sides floats: what the first epochs learn */
    thr_weights tables[THR_N_SIDES], dense;
    float *d_parts[THR_N_SIDES][THR_PARTS_MAX]; /* views of dense.gradients */
    thr_trainer_scratch scratch;
    thr_device_policy on_device;
    thr_device_learner *learner; /* its copy, which makes the steps; NULL: the CPU does */
    bool device_is_ahead;        /* its weights are newer than these */
    thr_training_state state;
} thr_text_trainer;

/* Read the pairs, choose the trigrams, draw the first weights. *trainer starts zeroed. */
thr_status thr_text_trainer_start(thr_context *context, const char *pairs_path, const char *path,
                                  const thr_tower_train_options *options, thr_text_trainer *trainer, thr_error *err);
void thr_text_trainer_free(thr_text_trainer *trainer);

/* So many epochs are learned as floats, before signs take their place. */
uint32_t thr_text_trainer_float_epochs(const thr_text_trainer *trainer);

/* What the epoch under way learns. */
static inline const thr_text_model *thr_trainer_model(const thr_text_trainer *trainer) {
    return trainer->state.epoch < thr_text_trainer_float_epochs(trainer) ? &trainer->as_floats : &trainer->model;
}

/* The model goes on as one of planes that are much like the floats it had; before the epoch is counted. */
thr_status thr_text_trainer_init_planes(thr_text_trainer *trainer, thr_error *err);

/* Have steps made by a GPU where the context says so; weights are there, drawn or read. THR_OK without one, too. */
thr_status thr_text_trainer_choose_device(thr_text_trainer *trainer, thr_error *err);

/*
 * The loss of the step, and the weights after it, which may be on a device. THR_ERANGE when it is not finite; with a
 * GPU that a user insists on, or whose weights are ahead, THR_EDEVICE.
 */
thr_status thr_text_trainer_step(thr_text_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err);
thr_status thr_text_trainer_step_on_cpu(thr_text_trainer *trainer, const uint32_t *numbers, double *loss,
                                        thr_error *err);

/* Weights and moments from the device, where they are ahead there; and to it, when they were changed here. */
thr_status thr_text_trainer_fetch(thr_text_trainer *trainer, thr_error *err);
thr_status thr_text_trainer_put(thr_text_trainer *trainer, thr_error *err);

/* What the step that comes next has: how its batch is read, its loss, the optimiser, and the way back through signs. */
thr_batch_mode thr_text_trainer_batch_mode(const thr_text_trainer *trainer);
thr_match_loss thr_text_trainer_match_loss(const thr_text_trainer *trainer);
thr_optimiser thr_text_trainer_optimiser(const thr_text_trainer *trainer); /* of tables */
/*
 * Of dense parameters, which begin anew with signs that follow floats: at a share of the rate, and with moments that
 * are 0 then, and corrected by the steps since.
 */
thr_optimiser thr_text_trainer_dense_optimiser(const thr_text_trainer *trainer);
thr_slope thr_text_trainer_slope(const thr_text_trainer *trainer);

/* The embeddings of n pairs, in the trainer's passes. THR_ERANGE when what they are made of is not finite. */
thr_status thr_text_trainer_forward(thr_text_trainer *trainer, const thr_pairs *pairs, const uint32_t *numbers,
                                    size_t n, const thr_batch_mode *mode, thr_error *err);

/* Mean log loss and AUC of the pairs for validation. THR_ERANGE when they, or any weight, are not finite. */
thr_status thr_text_trainer_validate(thr_text_trainer *trainer, double *loss, double *auc, thr_error *err);

/* THR_ERANGE, with the step and what became of the model. */
thr_status thr_text_trainer_diverged(const thr_text_trainer *trainer, thr_error *err);

/* Weights, the optimiser's state and where training stands, to path + ".checkpoint"; and back. */
thr_status thr_text_checkpoint_write(thr_text_trainer *trainer, thr_error *err);
thr_status thr_text_checkpoint_read(thr_text_trainer *trainer, thr_error *err);
void thr_text_checkpoint_remove(const thr_text_trainer *trainer);

#endif
