/* SPDX-License-Identifier: Apache-2.0 */
/* pair_auc.h - how well embeddings tell pairs that belong together from others. */
#ifndef THR_TEXT_TOWER_PAIR_AUC_H
#define THR_TEXT_TOWER_PAIR_AUC_H

#include "nn/match_loss.h"
#include "text_tower/model.h"

typedef struct thr_scored_pairs {
    size_t n;
    uint32_t n_dims;
    float *embeddings[THR_N_SIDES]; /* n x n_dims */
    const uint8_t *good;            /* of every pair; NULL: all are, and items of other pairs are the bad ones */
    uint64_t n_good, n_bad;         /* filled by thr_text_scored_pairs_auc */
} thr_scored_pairs;

/* ROC AUC of cosines. THR_OK; THR_EINVAL when there are no good or no bad pairs; THR_ENOMEM. */
thr_status thr_text_scored_pairs_auc(thr_context *context, thr_scored_pairs *pairs, double *auc, thr_error *err);

/*
 * The mean log loss over blocks of so many pairs; the pairs that fill no block are left out, unless there are fewer
 * than one block: then they are it, with fewer negatives if need be. At least 2 pairs. THR_OK or THR_ENOMEM.
 */
thr_status thr_text_scored_pairs_loss(thr_context *context, const thr_scored_pairs *pairs, const thr_match_loss *loss,
                                      size_t block, double *mean, thr_error *err);

#endif
