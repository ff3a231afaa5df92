/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All is quadratic in the number of ads, which is small: 30 a request in the paper. Weights are computed as they are
 * needed, from three numbers an ad.
 */
#include "nn/rank_loss.h"

#include <math.h>

#include "kernel/elementwise.h"
#include "nn/logarithm.h"

void thr_rank_discounts(double *out, size_t n) {
    const double ln2 = thr_logarithm(2);
    for (size_t r = 0; r < n; r++)
        out[r] = ln2 / thr_logarithm((double)r + 2);
}

/* What a weight is made of: of every ad its gain / maxDCG, its value's share, its discount; and its gradient. */
typedef struct ads {
    double *gains, *values, *discounts, *gradients;
} ads;

enum { NUMBERS = sizeof(ads) / sizeof(double *) };

size_t thr_rank_loss_scratch(size_t n) {
    return NUMBERS * n;
}

/*
 * Of a list with n_worse ads below the best ones, the gain of an ad with `worse` below it. Both powers are divided by
 * the larger one, so that none overflows.
 */
static double find_gain(size_t worse, size_t n_worse) {
    const double none = ldexp(1.0, -(int)n_worse);
    return (ldexp(1.0, (int)worse - (int)n_worse) - none) / (1.0 - none);
}

/* Gains, divided by the DCG of the best order, which is the list's own. There are two levels at least. */
static void find_gains(const thr_rank_list *list, const double *discounts, double *gains) {
    size_t n_worse = 0, end = list->n;
    double most = 0;
    for (size_t i = list->n; i-- > 0;) {
        if (i + 1 < list->n && list->levels[i] != list->levels[i + 1])
            end = i + 1;
        gains[i] = (double)(list->n - end); /* for now the number of worse ones */
    }
    n_worse = (size_t)gains[0];
    for (size_t i = 0; i < list->n; i++) {
        gains[i] = find_gain((size_t)gains[i], n_worse);
        most += gains[i] * discounts[i];
    }
    for (size_t i = 0; i < list->n; i++)
        gains[i] /= most;
}

static void find_values(const thr_rank_list *list, double *values) {
    float most = 0;
    for (size_t i = 0; list->values != NULL && i < list->n; i++)
        most = list->values[i] > most ? list->values[i] : most;
    for (size_t i = 0; i < list->n; i++)
        values[i] = list->values != NULL && most > 0 ? (double)list->values[i] / (double)most : 0;
}

static void find_discounts(const thr_rank_list *list, const float *scores, const double *by_rank, double *discounts) {
    for (size_t i = 0; i < list->n; i++) {
        size_t rank = 0;
        for (size_t j = 0; j < list->n; j++)
            rank += scores[j] > scores[i] || (scores[j] == scores[i] && j < i);
        discounts[i] = by_rank[rank];
    }
}

static double find_weight(const thr_rank_loss *loss, const ads *a, size_t i, size_t j) {
    const double places = fabs(a->discounts[i] - a->discounts[j]);
    const double ndcg = fabs(a->gains[i] - a->gains[j]) * places;
    if (loss->loss == THR_DUAL_LOSS_NDCG)
        return ndcg;
    const double apart = fabs(a->values[i] - a->values[j]);
    const double value = loss->value == THR_DUAL_VALUE_SWAP ? apart * places : apart;
    return loss->loss == THR_DUAL_LOSS_PRODUCT ? ndcg * value : ndcg + value;
}

/* log(1 + exp(-x)), and minus its derivative: with e = exp(-|x|) nothing overflows. */
static double logistic(double x, double *slope) {
    const double e = (double)thr_exp_one((float)-fabs(x));
    *slope = (x > 0 ? e : 1.0) / (1.0 + e);
    return (isfinite(e) ? thr_logarithm(1.0 + e) : e) + (x > 0 ? 0.0 : -x);
}

static double sum_pairs(const thr_rank_loss *loss, const thr_rank_list *list, const float *scores, const ads *a) {
    double sum = 0;
    for (size_t i = 0; i < list->n; i++)
        for (size_t j = i + 1; j < list->n; j++) {
            if (list->levels[i] == list->levels[j])
                continue;
            double slope = 0;
            const double weight = find_weight(loss, a, i, j);
            sum += weight * logistic((double)scores[i] - (double)scores[j], &slope);
            a->gradients[i] -= weight * slope;
            a->gradients[j] += weight * slope;
        }
    return sum;
}

double thr_rank_loss_run(const thr_rank_loss *loss, const thr_rank_list *list, const float *scores, float *d_scores,
                         double *scratch) {
    const size_t n = list->n;
    const ads a = {scratch, scratch + n, scratch + 2 * n, scratch + 3 * n};
    for (size_t i = 0; i < n; i++)
        a.gradients[i] = 0;
    double sum = 0;
    if (n > 1 && list->levels[n - 1] != 0) {
        find_gains(list, loss->discounts, a.gains);
        find_values(list, a.values);
        find_discounts(list, scores, loss->discounts, a.discounts);
        sum = sum_pairs(loss, list, scores, &a);
    }
    for (size_t i = 0; d_scores != NULL && i < n; i++)
        d_scores[i] = (float)a.gradients[i];
    return sum;
}
