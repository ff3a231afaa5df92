/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - a training of a dual tower under way: what was read, weights, the optimisers' state, and where it
 * stands.
 */
#ifndef THR_DUAL_TOWER_TRAINER_H
#define THR_DUAL_TOWER_TRAINER_H

#include "nn/optimiser.h"
#include "training/loop.h"
#include "dual_tower/scores.h"
#include "training/split.h"
#include "training/weights.h"

/* What the way back takes besides the forward pass; grows as needed. */
typedef struct thr_dual_back {
    float *d_vectors, *d_outputs, *d_products, *d_hidden, *d_inputs;
    size_t d_vectors_capacity, d_outputs_capacity, d_products_capacity, d_hidden_capacity, d_inputs_capacity;
    thr_bags_transposed ads;   /* the batch's ads seen from its items */
    thr_bags_transposed words; /* embeddings and hits' weights seen from their rows */
    float *scratch;            /* of dense layers */
    /* Histories as bags of hits' weights: a word's own and its field's. */
    size_t *hit_offsets;
    uint32_t *hit_rows;
    float *hit_weights, *ones;
    size_t hit_offsets_capacity, hit_rows_capacity, hit_weights_capacity, ones_capacity;
} thr_dual_back;

typedef struct thr_dual_trainer {
    thr_context *context;
    thr_dual_train_options options;
    const char *path; /* of the model */
    thr_dual_lexicon lexicon;
    thr_dual_items items;
    thr_dual_requests requests, valid_requests;
    thr_dual_map map;
    thr_split split;
    double *discounts; /* of the loss */
    /* The model, and what it is a view of. */
    thr_dual_model model;
    thr_weights tables[THR_N_SIDES], dense;
    float *d_parts[THR_N_SIDES][THR_DUAL_N_PARTS]; /* views of dense.gradients */
    thr_weights hits;                              /* of words, then of fields */
    thr_dual_scores scores;
    thr_dual_back back;
    thr_training_state state;
} thr_dual_trainer;

/* Read the files, choose the words, draw the first weights. *trainer starts zeroed. */
thr_status thr_dual_trainer_start(thr_context *context, const char *requests_path, const char *items_path,
                                  const char *path, const thr_dual_train_options *options, thr_dual_trainer *trainer,
                                  thr_error *err);
void thr_dual_trainer_free(thr_dual_trainer *trainer);

static inline thr_dual_data thr_dual_trainer_data(const thr_dual_trainer *trainer) {
    return (thr_dual_data){&trainer->model, &trainer->lexicon, &trainer->items, &trainer->map};
}
static inline thr_rank_loss thr_dual_trainer_loss(const thr_dual_trainer *trainer) {
    return (thr_rank_loss){trainer->options.loss, trainer->options.value, trainer->discounts};
}
static inline const thr_dual_requests *thr_dual_trainer_valid(const thr_dual_trainer *trainer) {
    return trainer->options.valid_path == NULL ? &trainer->requests : &trainer->valid_requests;
}

/* The optimisers of the step that comes next. */
thr_optimiser thr_dual_dense_optimiser(const thr_dual_trainer *trainer);
thr_optimiser thr_dual_table_optimiser(const thr_dual_trainer *trainer);
thr_optimiser thr_dual_hits_optimiser(const thr_dual_trainer *trainer);

/* The mean loss of the requests, and its gradient by all dense parts (d_dense) and by c of both sides; no step. */
thr_status thr_dual_gradient(thr_dual_trainer *trainer, const uint32_t *numbers, size_t n, double *loss,
                             thr_error *err);

/* The loss of the step, and the weights after it. THR_ERANGE when it is not finite. */
thr_status thr_dual_step(thr_dual_trainer *trainer, const uint32_t *numbers, double *loss, thr_error *err);

/* Mean loss and GAUC of the requests for validation. THR_ERANGE when they, or any weight, are not finite. */
thr_status thr_dual_evaluate(thr_dual_trainer *trainer, double *loss, double *gauc, thr_error *err);

/* THR_ERANGE, with the step and what became of the model. */
thr_status thr_dual_diverged(const thr_dual_trainer *trainer, thr_error *err);

/* To path + ".checkpoint", and back (training/checkpoint.h). */
thr_status thr_dual_checkpoint_write(thr_dual_trainer *trainer, thr_error *err);
thr_status thr_dual_checkpoint_read(thr_dual_trainer *trainer, thr_error *err);

/* Requests and their scores, for metrics (metric.h); owns its memory. Starts zeroed. */
typedef struct thr_dual_evaluation {
    uint64_t *offsets;     /* of some requests' ads, one request behind the other */
    uint32_t *n_best;      /* how many of a request's ads are as good as the best: the first */
    float *values;         /* of every ad */
    float *scores;         /* of every ad */
    double *losses;        /* of every request, where there is a loss */
    thr_dual_scores batch; /* scratch */
} thr_dual_evaluation;

/* Fill an evaluation of some requests, batch by batch; loss NULL: no losses. THR_OK or THR_ENOMEM. */
thr_status thr_dual_evaluate_all(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                                 const thr_rank_loss *loss, thr_dual_evaluation *evaluation, thr_error *err);
void thr_dual_evaluation_free(thr_context *context, thr_dual_evaluation *evaluation);

#endif
