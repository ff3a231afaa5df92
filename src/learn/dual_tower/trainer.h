/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - the state of a dual tower's running training: data, weights, the optimisers' state, and its progress. */
#pragma once

#include "nn/optimiser.h"
#include "dual_tower/scores.h"
#include "training/trainer.h"

/* Memory of the backward pass; grows as needed. */
typedef struct thr_dual_back {
    float *d_vectors, *d_outputs, *d_products, *d_hidden, *d_inputs;
    size_t d_vectors_capacity, d_outputs_capacity, d_products_capacity, d_hidden_capacity, d_inputs_capacity;
    thr_bags_transposed ads;   /* the batch's ads by item */
    thr_bags_transposed words; /* words by row, of embeddings and of hit weights */
    float *scratch;            /* of dense layers */
    /* Histories as bags of hit weights: a word's own and its field's. */
    size_t *hit_offsets;
    uint32_t *hit_rows;
    float *hit_weights, *ones;
    size_t hit_offsets_capacity, hit_rows_capacity, hit_weights_capacity, ones_capacity;
} thr_dual_back;

typedef struct thr_dual_trainer {
    thr_trainer base; /* hits: weights of words, then of fields */
    thr_dual_train_options options;
    thr_dual_lexicon lexicon;
    thr_dual_items items;
    thr_dual_requests requests, valid_requests;
    thr_dual_map map;
    double *discounts;    /* of the loss */
    thr_dual_model model; /* a view of the weights; it owns its words */
    thr_dual_scores scores;
    thr_dual_back back;
} thr_dual_trainer;

/* What a training was asked for. */
typedef struct thr_dual_task {
    const thr_dual_train_options *options;
    const char *requests_path, *items_path;
} thr_dual_task;

/*
 * Read the files, choose the words, draw the initial weights; the task is a thr_dual_task. Statuses as thr_dual_train;
 * THR_EFORMAT for too few requests.
 */
extern const thr_trainer_kind thr_dual_trainer_kind;

static inline thr_dual_data thr_dual_trainer_data(const thr_dual_trainer *trainer) {
    return (thr_dual_data){&trainer->model, &trainer->lexicon, &trainer->items, &trainer->map};
}
static inline thr_rank_loss thr_dual_trainer_loss(const thr_dual_trainer *trainer) {
    return (thr_rank_loss){trainer->options.loss, trainer->options.value, trainer->discounts};
}
static inline const thr_dual_requests *thr_dual_trainer_valid(const thr_dual_trainer *trainer) {
    return trainer->options.run.valid_path == NULL ? &trainer->requests : &trainer->valid_requests;
}

/* The optimisers of the next step. */
thr_optimiser thr_dual_dense_optimiser(const thr_dual_trainer *trainer);
thr_optimiser thr_dual_table_optimiser(const thr_dual_trainer *trainer);
thr_optimiser thr_dual_hits_optimiser(const thr_dual_trainer *trainer);

/*
 * The mean loss of the requests and its gradient by all dense tensors (d_tensors) and by c of both sides. Changes no
 * weights. THR_OK or THR_ENOMEM.
 */
thr_status thr_dual_gradient(thr_dual_trainer *trainer, const uint32_t *numbers, size_t n, double *loss,
                             thr_error *err);

thr_status thr_dual_step_on_cpu(void *trainer, const uint32_t *numbers, double *loss, thr_error *err);

/*
 * Mean loss and GAUC of the validation requests. THR_OK; THR_ERANGE when they or any weight are not finite; THR_ENOMEM.
 */
thr_status thr_dual_validate(void *trainer, thr_tower_epoch *epoch, thr_error *err);

thr_status thr_dual_diverged(const thr_dual_trainer *trainer, thr_error *err); /* thr_training_diverged */

/* Scored requests for metrics (metric.h); owns its memory. Starts zeroed. */
typedef struct thr_dual_evaluation {
    uint64_t *offsets;     /* of the requests' ads, concatenated */
    uint32_t *n_best;      /* of every request: the number of ads that tie for best, which come first */
    float *values;         /* of every ad */
    float *scores;         /* of every ad */
    double *losses;        /* of every request, or NULL without a loss */
    thr_dual_scores batch; /* scratch */
} thr_dual_evaluation;

/* Score the requests batch by batch; loss NULL: no losses. THR_OK or THR_ENOMEM. */
thr_status thr_dual_evaluate_all(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                                 const thr_rank_loss *loss, thr_dual_evaluation *evaluation, thr_error *err);
void thr_dual_evaluation_free(thr_context *context, thr_dual_evaluation *evaluation);
