/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scores.h - the scores of a batch's ads (HitMatch (9)), the loss over them, and its gradient by what they are
 * made of. Threads take requests, each with sums of its own, so the bits are the same for any number.
 */
#ifndef THR_DUAL_TOWER_SCORES_H
#define THR_DUAL_TOWER_SCORES_H

#include "nn/rank_loss.h"
#include "dual_tower/batch.h"

/* A batch and what was computed of it. Grows as needed; starts zeroed. */
typedef struct thr_dual_scores {
    thr_dual_batch batch;
    thr_dual_pass passes[THR_N_SIDES];
    float *scores;    /* of the batch's ads */
    double *losses;   /* of its requests */
    float *d_scores;  /* the gradient of the mean loss by the scores, ... */
    float *d_history; /* ... by the weights of the histories' words, ... */
    float *d_users;   /* ... and by the users' vectors */
    /* A worker: of every word of items the slot that the request at hand has for it, or 0; 0 between calls. */
    uint32_t *slots;
    float *weights, *sums; /* of every slot: what an ad with the word gets, and the gradient by it */
    double *rank_scratch;
    size_t scores_capacity, losses_capacity, d_scores_capacity, d_history_capacity, d_users_capacity;
    size_t weights_capacity, sums_capacity, rank_capacity;
} thr_dual_scores;

/*
 * The batch of these requests and its scores; with a loss that, too, of every request; and if learn the gradients of
 * their mean. THR_OK or THR_ENOMEM.
 */
thr_status thr_dual_scores_run(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                               const thr_rank_loss *loss, bool learn, thr_dual_scores *scores, thr_error *err);
void thr_dual_scores_free(thr_context *context, thr_dual_scores *scores);

#endif
