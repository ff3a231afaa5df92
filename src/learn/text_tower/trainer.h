/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - the state of a running training: pairs, weights, the optimiser's state, and its progress. */
#pragma once

#include "nn/bags.h"
#include "nn/match_loss.h"
#include "text_tower/backward.h"
#include "text_tower/batch.h"
#include "text_tower/vectors/vector_pairs.h"
#include "training/device.h"
#include "text_tower/device/trainer.h"
#include "training/split.h"
#include "training/weights.h"

/* Memory of a step. */
typedef struct thr_trainer_scratch {
    thr_batch batch;
    float *rows[THR_N_SIDES]; /* the given vectors of a batch */
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
    thr_vector_pairs vectors; /* instead of these, of a model of vectors */
    thr_split split;
    /* The model, and the weights it is a view of. */
    thr_text_model model;
    thr_text_model as_floats; /* a view of the same weights with float sides: what the first epochs train */
    thr_weights tables[THR_N_SIDES], dense;
    float *d_tensors[THR_N_SIDES][THR_TEXT_TENSORS_MAX]; /* views of dense.gradients */
    thr_trainer_scratch scratch;
    thr_training_device device;
    thr_training_state state;
} thr_text_trainer;

/* Where the pairs come from: a file of texts, or vectors. */
typedef struct thr_trainer_source {
    const char *pairs_path;
    thr_vector_source vectors; /* if it has items */
} thr_trainer_source;

/*
 * Read the pairs, choose the trigrams of texts, draw the initial weights. *trainer starts zeroed. THR_OK; THR_EFORMAT
 * for too few pairs; what thr_text_pairs_read or thr_text_vector_pairs_read returns; THR_ENOMEM.
 */
thr_status thr_text_trainer_start(thr_context *context, const thr_trainer_source *source, const char *path,
                                  const thr_tower_train_options *options, thr_text_trainer *trainer, thr_error *err);
void thr_text_trainer_free(thr_text_trainer *trainer);

/* The number of epochs that train floats before signs replace them. */
uint32_t thr_text_trainer_float_epochs(const thr_text_trainer *trainer);

/* The model that the current epoch trains. */
static inline const thr_text_model *thr_trainer_model(const thr_text_trainer *trainer) {
    return trainer->state.epoch < thr_text_trainer_float_epochs(trainer) ? &trainer->as_floats : &trainer->model;
}

/*
 * Initialise planes that approximate the floats learned so far; call it before the epoch is counted. THR_OK; THR_ERANGE
 * when an activation is not finite; THR_ENOMEM.
 */
thr_status thr_text_trainer_init_planes(thr_text_trainer *trainer, thr_error *err);

/* Run steps on a GPU if the context selects one; weights have been drawn or read. THR_OK without a GPU, too. */
thr_status thr_text_trainer_choose_device(void *trainer, thr_error *err);

/* The steps of a thr_text_trainer. */
extern const thr_step_functions thr_text_steps;
thr_status thr_text_trainer_step_on_cpu(void *trainer, const uint32_t *numbers, double *loss, thr_error *err);

/* Upload weights and moments after the host changed them, if a device runs the steps. THR_OK; THR_EDEVICE. */
thr_status thr_text_trainer_put(thr_text_trainer *trainer, thr_error *err);

/* The settings of the next step: batch, loss, optimiser, gradient of signs. */
thr_batch_mode thr_text_trainer_batch_mode(const thr_text_trainer *trainer);
thr_match_loss thr_text_trainer_match_loss(const thr_text_trainer *trainer);
thr_optimiser thr_text_trainer_optimiser(const thr_text_trainer *trainer); /* of tables */
/*
 * For dense parameters. When signs replace floats, these restart at a share of the rate with moments of 0, and the bias
 * correction counts steps from there.
 */
thr_optimiser thr_text_trainer_dense_optimiser(const thr_text_trainer *trainer);
thr_slope thr_text_trainer_slope(const thr_text_trainer *trainer);

/* The input of a side in the last batch. */
thr_side_input thr_text_trainer_input(thr_text_trainer *trainer, thr_side side, size_t n);

/*
 * Embed n pairs into the trainer's passes by a view of its model. pairs are those of texts; unused for vectors. THR_OK;
 * THR_ERANGE when an activation is not finite; THR_ENOMEM.
 */
thr_status thr_text_trainer_forward(thr_text_trainer *trainer, const thr_text_model *model, const thr_pairs *pairs,
                                    const uint32_t *numbers, size_t n, const thr_batch_mode *mode, thr_error *err);

/*
 * Mean log loss of the validation pairs, and their AUC, or recall for vectors. THR_OK; THR_ERANGE when they or any
 * weight are not finite; THR_ENOMEM.
 */
thr_status thr_text_trainer_validate(thr_text_trainer *trainer, double *loss, double *quality, thr_error *err);

/* Returns THR_ERANGE with a message that names the step and the model kept so far. */
thr_status thr_text_trainer_diverged(const thr_text_trainer *trainer, thr_error *err);

/* Describe what a checkpoint of the trainer, a thr_text_trainer, holds besides the model. */
thr_checkpoint thr_text_checkpoint_describe(void *trainer);
