/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - a training under way: pairs, weights, the optimiser's state, and where it stands.
 */
#ifndef THR_TOWER_TRAINER_H
#define THR_TOWER_TRAINER_H

#include "nn/bags.h"
#include "nn/match_loss.h"
#include "tower/backward.h"
#include "tower/batch.h"

enum { THR_TRAINER_SLOTS = 2 };

/* Where a training stands: all that a checkpoint holds besides arrays. */
typedef struct thr_trainer_state {
    uint64_t epoch;                              /* epochs that are complete */
    uint64_t position;                           /* steps that are done in the epoch under way */
    uint64_t step;                               /* steps that are done altogether */
    double loss;                                 /* summed over the steps of the epoch under way */
    double seconds;                              /* they took */
    uint64_t best_epoch;                         /* 0: none yet */
    double best_loss, best_valid_loss, best_auc; /* of that epoch */
    uint64_t n_learned;                          /* pairs in complete epochs, each time they were met */
    double learning_seconds;                     /* they took */
} thr_trainer_state;

typedef struct thr_trainer {
    thr_context *context;
    thr_tower_train_options options;
    const char *path; /* of the model */
    thr_lexicon lexicon;
    thr_pairs pairs, valid_pairs;
    uint32_t *train, *valid, *order; /* numbers of pairs; order: train, shuffled for the epoch */
    size_t n_train, n_valid;
    /* The model, and what it is a view of. */
    thr_model model;
    float *tables[THR_N_SIDES], *table_slots[THR_N_SIDES][THR_TRAINER_SLOTS];
    size_t n_table; /* floats in each */
    float *dense, *d_dense, *dense_slots[THR_TRAINER_SLOTS];
    size_t n_dense;
    float *d_parts[THR_N_SIDES][THR_PARTS_MAX];
    /* What a step takes. */
    thr_batch batch;
    thr_bags_transposed transposed;
    thr_pass passes[THR_N_SIDES];
    thr_backward_room back;
    float *d_embeddings[THR_N_SIDES];
    float *loss_scratch;
    thr_trainer_state state;
} thr_trainer;

/* Read the pairs, choose the trigrams, draw the first weights. *trainer starts zeroed. */
thr_status thr_trainer_start(thr_context *context, const char *pairs_path, const char *path,
                             const thr_tower_train_options *options, thr_trainer *trainer, thr_error *err);
void thr_trainer_free(thr_trainer *trainer);

/* The loss of the step, and the weights after it. THR_ERANGE when it is not finite. */
thr_status thr_trainer_step(thr_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err);

/* The embeddings of n pairs, in the trainer's passes. THR_ERANGE when what they are made of is not finite. */
thr_status thr_trainer_forward(thr_trainer *trainer, const thr_pairs *pairs, const uint32_t *numbers, size_t n,
                               const thr_batch_mode *mode, thr_error *err);

/* Mean log loss and AUC of the pairs for validation. THR_ERANGE when they, or any weight, are not finite. */
thr_status thr_trainer_judge(thr_trainer *trainer, double *loss, double *auc, thr_error *err);

/* THR_ERANGE, with the step and what became of the model. */
thr_status thr_trainer_diverged(const thr_trainer *trainer, thr_error *err);

/* Weights, the optimiser's state and where training stands, to path + ".checkpoint"; and back. */
thr_status thr_checkpoint_write(const thr_trainer *trainer, thr_error *err);
thr_status thr_checkpoint_read(thr_trainer *trainer, thr_error *err);
void thr_checkpoint_remove(const thr_trainer *trainer);

#endif
