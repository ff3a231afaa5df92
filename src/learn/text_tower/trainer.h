/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - the state of a running training: pairs, weights, the optimiser's state, and its progress. */
#pragma once

#include "nn/bags.h"
#include "nn/match_loss.h"
#include "text_tower/backward.h"
#include "text_tower/batch.h"
#include "text_tower/vectors/vector_pairs.h"
#include "text_tower/pair_quality.h"
#include "training/trainer.h"

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

/* What a training was asked for: pairs of texts, or vectors. */
typedef struct thr_text_task {
    const thr_tower_train_options *options;
    const char *pairs_path;
    thr_vector_source vectors;
} thr_text_task;

typedef struct thr_text_trainer {
    thr_trainer base;
    thr_text_task task;
    thr_tower_train_options options; /* completed by the data */
    /* The data: texts, */
    thr_lexicon lexicon;
    thr_pairs pairs, valid_pairs;
    thr_vector_pairs vectors; /* or vectors */
    thr_text_model model;     /* a view of the weights */
    thr_text_model as_floats; /* a view of the same weights with float sides: what the first epochs train */
    thr_trainer_scratch scratch;
} thr_text_trainer;

/* How a training learns from texts, or from vectors. */
typedef struct thr_text_trainer_kind {
    thr_trainer_kind base;
    float dense_share; /* of the rate, for dense weights once signs replace floats: a larger rate destroys planes that
                          start as a good quantiser; the loss falls, but fewer items are found */
    /* Assemble a batch of n pairs; get_input returns a side of it. pairs are those of texts. THR_OK or THR_ENOMEM. */
    thr_status (*gather)(thr_text_trainer *trainer, const thr_pairs *pairs, const uint32_t *numbers, size_t n,
                         const thr_batch_mode *mode, thr_error *err);
    thr_side_input (*get_input)(thr_text_trainer *trainer, thr_side side, size_t n);
    void (*learn_dense)(thr_text_trainer *trainer, const thr_optimiser *adam); /* step the dense weights */
    /* AUC or recall of the validation pairs. THR_OK or THR_ENOMEM. */
    thr_status (*measure)(thr_text_trainer *trainer, thr_scored_pairs *pairs, double *quality, thr_error *err);
} thr_text_trainer_kind;

/*
 * Read the pairs, choose the trigrams of texts, draw the initial weights; the task is a thr_text_task. THR_EFORMAT for
 * too few pairs; what thr_text_pairs_read or thr_text_vector_pairs_read returns.
 */
extern const thr_text_trainer_kind thr_texts_trainer, thr_vectors_trainer;

static inline const thr_text_trainer_kind *thr_text_kind_of(const thr_text_trainer *trainer) {
    return (const thr_text_trainer_kind *)trainer->base.kind;
}

/* What both kinds share: the start of `start`, its end after the data is there, and other functions of the kind. */
void thr_text_trainer_take_task(thr_text_trainer *trainer, const thr_text_task *task);
thr_status thr_text_trainer_check_split(const thr_text_trainer *trainer, const char *name, thr_error *err);
thr_status thr_text_trainer_make(thr_text_trainer *trainer, thr_error *err);
void thr_text_trainer_end(void *trainer);
thr_model_source thr_text_trainer_model(const void *trainer);
void thr_text_trainer_identify(const thr_text_trainer *trainer, thr_checksum *sum);
thr_status thr_text_trainer_step_on_cpu(void *trainer, const uint32_t *numbers, double *loss, thr_error *err);

/*
 * Mean log loss of the validation pairs, and their AUC, or recall for vectors. THR_OK; THR_ERANGE when they or any
 * weight are not finite; THR_ENOMEM.
 */
thr_status thr_text_trainer_validate(void *trainer, thr_tower_epoch *epoch, thr_error *err);

/* The number of epochs that train floats before signs replace them. */
uint32_t thr_text_trainer_float_epochs(const thr_text_trainer *trainer);

/* The model that the current epoch trains. */
static inline const thr_text_model *thr_trainer_model(const thr_text_trainer *trainer) {
    return trainer->base.state.epoch < thr_text_trainer_float_epochs(trainer) ? &trainer->as_floats : &trainer->model;
}

/*
 * Initialise planes that approximate the floats learned so far; call it before the epoch is counted. THR_OK; THR_ERANGE
 * when an activation is not finite; THR_ENOMEM.
 */
thr_status thr_text_trainer_init_planes(thr_text_trainer *trainer, thr_error *err);

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

/*
 * Embed n pairs into the trainer's passes by a view of its model. pairs are those of texts; unused for vectors. THR_OK;
 * THR_ERANGE when an activation is not finite; THR_ENOMEM.
 */
thr_status thr_text_trainer_forward(thr_text_trainer *trainer, const thr_text_model *model, const thr_pairs *pairs,
                                    const uint32_t *numbers, size_t n, const thr_batch_mode *mode, thr_error *err);
