/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_loss.h - LambdaRank over the ads of one request (HitMatch (2) to (6), errata 6).
 *
 *   L = sum over pairs (i, j), i the better ad, of log(1 + exp(-(s_i - s_j))) w_ij
 *
 * w_ij is |dNDCG_ij|, or that combined with |dValue_ij| by product or sum (thr_dual_loss, thr_dual_value). Ads of one
 * level are equally good and form no pair.
 *
 * With p_i the number of ads that are worse than i (D - i if all differ) and r_i the rank of ad i by score, from 0,
 * ties in list order,
 *   gain_i = (2^p_i - 1) / (2^p_1 - 1), 1 for the best ad (without the division, gains would span 2^29 for 30 ads)
 *   discount_i = 1 / log2(r_i + 2)
 *   |dNDCG_ij| = |gain_i - gain_j| |discount_i - discount_j| / maxDCG
 *   |dValue_ij| = |v_i - v_j|, or |v_i - v_j| |discount_i - discount_j|, v a value / the request's largest
 *
 * Differentiation treats the weights as constants: they are piecewise constant in the scores.
 */
#pragma once

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
    const uint32_t *levels; /* levels[0] is 0; each next level is the same or one more (worse) */
    const float *values;    /* at least 0; NULL: all 0 */
} thr_rank_list;

/* out[r] = 1 / log2(r + 2) for n ranks, the same bits everywhere. */
void thr_nn_rank_discounts(double *out, size_t n);

/* The terms of the weights that do not depend on scores: gain_i / maxDCG and v_i, 0 if there is no pair. */
void thr_nn_rank_loss_terms(const thr_rank_loss *loss, const thr_rank_list *list, double *gains, double *values);

/*
 * Return the loss: pair losses are floats, summed in double by i, then by j. d_scores receives its gradient; NULL:
 * not computed. scratch: thr_nn_rank_loss_scratch doubles. A score that is not finite and occurs in a pair makes the
 * loss not finite.
 */
double thr_nn_rank_loss_run(const thr_kernels *kernels, const thr_rank_loss *loss, const thr_rank_list *list,
                            const float *scores, float *d_scores, double *scratch);
size_t thr_nn_rank_loss_scratch(size_t n);
