/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scores.h - the scores of a batch's ads (HitMatch (9)), the loss over them, and its gradients. Each request is
 * computed by one thread with its own sums, so the bits do not depend on the number of threads.
 */
#pragma once

#include "nn/rank_loss.h"
#include "dual_tower/batch.h"

/* A batch, its activations, scores and gradients. Grows as needed; starts zeroed. */
typedef struct thr_dual_scores {
    thr_dual_batch batch;
    thr_dual_pass passes[THR_N_SIDES];
    float *scores;    /* of the batch's ads */
    double *losses;   /* of its requests */
    float *d_scores;  /* the gradient of the mean loss by the scores, */
    float *d_history; /* by the weights of the histories' words, */
    float *d_users;   /* and by the users' vectors */
    /* A thread's: for every word of items its slot in the current request, or 0. All are 0 between calls. */
    uint32_t *slots;
    float *weights, *sums; /* of every slot: what it adds to an ad with the feature, and the gradient by it */
    double *rank_scratch;
    size_t scores_capacity, losses_capacity, d_scores_capacity, d_history_capacity, d_users_capacity;
    size_t weights_capacity, sums_capacity, rank_capacity;
} thr_dual_scores;

/*
 * Assemble a batch of these requests and score its ads. With a loss (not NULL), also the loss of every request; if
 * learn, the gradients of their mean. THR_OK or THR_ENOMEM.
 */
thr_status thr_dual_scores_run(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                               const thr_rank_loss *loss, bool learn, thr_dual_scores *scores, thr_error *err);
void thr_dual_scores_free(thr_context *context, thr_dual_scores *scores);
