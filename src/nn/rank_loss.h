/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_loss.h - LambdaRank over the ads of one request (HitMatch (2) to (6), errata 6).
 *
 *   L = sum over pairs (i, j), i the better ad, of log(1 + exp(-(s_i - s_j))) w_ij
 *
 * w_ij is |dNDCG_ij|, or that and |dValue_ij|, multiplied or added (thr_dual_loss, thr_dual_value). Ads of one
 * level are equally good and make no pair.
 *
 * With p_i the number of ads that are worse than i (D - i where all differ) and r_i ad i's rank by the scores, from 0,
 * the first of equal ones before the others,
 *   gain_i = (2^p_i - 1) / (2^p_1 - 1), the best one's 1 (as they stand they would span 2^29 for 30 ads)
 *   discount_i = 1 / log2(r_i + 2)
 *   |dNDCG_ij| = |gain_i - gain_j| |discount_i - discount_j| / maxDCG
 *   |dValue_ij| = |v_i - v_j|, or |v_i - v_j| |discount_i - discount_j|, v a value's share of the request's largest
 * The weights are constants where the loss is derived: they change by jumps only.
 */
#ifndef THR_NN_RANK_LOSS_H
#define THR_NN_RANK_LOSS_H

#include <thresher/dual.h>

#include "kernel/kernel.h"

typedef struct thr_rank_loss {
    thr_dual_loss loss;
    thr_dual_value value;
    const double *discounts; /* of ranks 0, 1, ...; as many as the longest list has ads */
} thr_rank_loss;

/* A request's ads, best first. A view. */
typedef struct thr_rank_list {
    size_t n;
    const uint32_t *levels; /* the first is 0; an ad has that of the one before it, or one more: worse */
    const float *values;    /* 0 or more; NULL: all 0 */
} thr_rank_list;

/* out[r] = 1 / log2(r + 2) for n ranks, the same bits everywhere. */
void thr_nn_rank_discounts(double *out, size_t n);

/*
 * Returns the loss, summed in double by i, then by j; of each pair it is a float. d_scores (NULL: not wanted): its
 * gradient. scratch: thr_nn_rank_loss_scratch doubles. Scores that are not finite make a loss that is not, where they
 * are in a pair.
 */
double thr_nn_rank_loss_run(const thr_kernels *kernels, const thr_rank_loss *loss, const thr_rank_list *list,
                            const float *scores, float *d_scores, double *scratch);
size_t thr_nn_rank_loss_scratch(size_t n);

#endif
