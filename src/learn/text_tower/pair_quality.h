/* SPDX-License-Identifier: Apache-2.0 */
/* pair_quality.h - quality of embeddings: AUC, recall and log loss of matching pairs against others. */
#pragma once

#include "nn/match_loss.h"
#include "text_tower/model.h"

typedef struct thr_scored_pairs {
    size_t n;
    uint32_t n_dims;
    float *embeddings[THR_N_SIDES];     /* n x n_dims */
    const float *teachers[THR_N_SIDES]; /* n x the loss's n_teacher_dims; NULL without a teacher */
    /* whether each pair matches; NULL: all do, and items of other pairs are the negatives */
    const uint8_t *good;
    uint64_t n_good, n_bad; /* set by thr_text_scored_pairs_auc */
} thr_scored_pairs;

/* ROC AUC of the cosines. THR_OK; THR_EINVAL when all pairs are good or all are bad; THR_ENOMEM. */
thr_status thr_text_scored_pairs_auc(thr_context *context, thr_scored_pairs *pairs, double *auc, thr_error *err);

/*
 * Recall among the pairs, for the first 1,000 queries: the share of the best ten items by the teachers' cosines, or of
 * the queries' own items without teachers, that are among the best ten by the embeddings' cosines. At least 1 pair.
 * THR_OK or THR_ENOMEM.
 */
thr_status thr_text_scored_pairs_recall(thr_context *context, const thr_scored_pairs *pairs, size_t n_teacher_dims,
                                        double *recall, thr_error *err);

/*
 * The mean log loss over blocks of `block` pairs. An incomplete last block is dropped, unless it is the only one; it
 * may then have fewer negatives. At least 2 pairs. THR_OK or THR_ENOMEM.
 */
thr_status thr_text_scored_pairs_loss(thr_context *context, const thr_scored_pairs *pairs, const thr_match_loss *loss,
                                      size_t block, double *mean, thr_error *err);
