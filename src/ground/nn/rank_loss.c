/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All loops are quadratic in the number of ads, which is small: 30 a request in the paper. Weights are recomputed
 * from three doubles an ad when needed; double because near the end of a list small differences of large numbers
 * remain. The loss of a pair is a float, and the sum a double.
 */
#include "nn/rank_loss.h"

#include <math.h>

#include "base/minmax.h"
#include "nn/logarithm.h"

void thr_nn_rank_discounts(double *out, size_t n) {
    const double ln2 = thr_logarithm(2);
    for (size_t r = 0; r < n; r++)
        out[r] = ln2 / thr_logarithm((double)r + 2);
}

/* Terms of the weights, one of each an ad: gain / maxDCG, the value's share, the discount; and the gradient. */
typedef struct ads {
    double *gains, *values, *discounts, *gradients;
    /* Of the pairs of one ad with later ads. */
    float *weights, *losses, *slopes;
} ads;

enum { DOUBLES = 4, FLOATS = 3 };

size_t thr_nn_rank_loss_scratch(size_t n) {
    return DOUBLES * n + (FLOATS * n + 1) / 2;
}

static ads split_scratch(double *scratch, size_t n) {
    float *floats = (float *)(scratch + DOUBLES * n);
    return (ads){scratch, scratch + n, scratch + 2 * n, scratch + 3 * n, floats, floats + n, floats + 2 * n};
}

/* 2^-n */
static double half_to(size_t n) {
    return ldexp(1.0, -(int)n);
}

/*
 * The gain of an ad with `worse` ads below it, in a list with n_worse ads below the best ones. Both powers are
 * divided by the larger one, so that none overflows.
 */
static double find_gain(size_t worse, size_t n_worse, double none) {
    return (half_to(n_worse - worse) - none) / (1.0 - none);
}

/* Compute gains divided by the DCG of the best order, which is that of the list. The list has at least two levels. */
static void find_gains(const thr_rank_list *list, const double *discounts, double *gains) {
    size_t n_worse = 0, end = list->n;
    double most = 0;
    for (size_t i = list->n; i-- > 0;) {
        if (i + 1 < list->n && list->levels[i] != list->levels[i + 1])
            end = i + 1;
        gains[i] = (double)(list->n - end); /* temporarily the number of worse ads */
    }
    n_worse = (size_t)gains[0];
    const double none = half_to(n_worse);
    for (size_t i = 0; i < list->n; i++) {
        const bool same = i > 0 && list->levels[i] == list->levels[i - 1];
        gains[i] = same ? gains[i - 1] : find_gain((size_t)gains[i], n_worse, none);
        most += gains[i] * discounts[i];
    }
    for (size_t i = 0; i < list->n; i++)
        gains[i] /= most;
}

static void find_values(const thr_rank_list *list, double *values) {
    float most = 0;
    for (size_t i = 0; list->values != NULL && i < list->n; i++)
        most = THR_MAX(list->values[i], most);
    for (size_t i = 0; i < list->n; i++)
        values[i] = list->values != NULL && most > 0 ? (double)list->values[i] / (double)most : 0;
}

static void find_discounts(const thr_rank_list *list, const float *scores, const double *by_rank, double *discounts) {
    for (size_t i = 0; i < list->n; i++) {
        const float score = scores[i];
        uint32_t rank = 0;
        for (size_t j = 0; j < i; j++)
            rank += scores[j] >= score;
        for (size_t j = i + 1; j < list->n; j++)
            rank += scores[j] > score;
        discounts[i] = by_rank[rank];
    }
}

/* Compute the weights of the pairs of ad i with the ads from `first` on. */
static void find_weights(const thr_rank_loss *loss, const ads *a, size_t i, size_t first, size_t n) {
    const double gain = a->gains[i], value = a->values[i], discount = a->discounts[i];
    const bool swap = loss->value == THR_DUAL_VALUE_SWAP, product = loss->loss == THR_DUAL_LOSS_PRODUCT;
    if (loss->loss == THR_DUAL_LOSS_NDCG) {
        for (size_t j = first; j < n; j++)
            a->weights[j] = (float)(fabs(gain - a->gains[j]) * fabs(discount - a->discounts[j]));
        return;
    }
    for (size_t j = first; j < n; j++) {
        const double places = fabs(discount - a->discounts[j]), ndcg = fabs(gain - a->gains[j]) * places;
        const double apart = fabs(value - a->values[j]), worth = swap ? apart * places : apart;
        a->weights[j] = (float)(product ? ndcg * worth : ndcg + worth);
    }
}

/* The ads worse than ad i start after all ads of its level. */
static double sum_pairs(const thr_kernels *kernels, const thr_rank_loss *loss, const thr_rank_list *list,
                        const float *scores, const ads *a) {
    double sum = 0;
    size_t first = 0;
    for (size_t i = 0; i < list->n; i++) {
        while (first < list->n && list->levels[first] == list->levels[i])
            first++;
        find_weights(loss, a, i, first, list->n);
        kernels->logistic_pairs(a->losses + first, a->slopes + first, scores + first, a->weights + first,
                                list->n - first, scores[i]);
        for (size_t j = first; j < list->n; j++) {
            sum += (double)a->losses[j];
            a->gradients[i] -= (double)a->slopes[j];
            a->gradients[j] += (double)a->slopes[j];
        }
    }
    return sum;
}

void thr_nn_rank_loss_terms(const thr_rank_loss *loss, const thr_rank_list *list, double *gains, double *values) {
    const bool pairs = list->n > 1 && list->levels[list->n - 1] != 0;
    for (size_t i = 0; i < list->n; i++)
        gains[i] = values[i] = 0;
    if (pairs)
        find_gains(list, loss->discounts, gains);
    if (pairs && loss->loss != THR_DUAL_LOSS_NDCG)
        find_values(list, values);
}

double thr_nn_rank_loss_run(const thr_kernels *kernels, const thr_rank_loss *loss, const thr_rank_list *list,
                            const float *scores, float *d_scores, double *scratch) {
    const size_t n = list->n;
    const ads a = split_scratch(scratch, n);
    for (size_t i = 0; i < n; i++)
        a.gradients[i] = 0;
    double sum = 0;
    if (n > 1 && list->levels[n - 1] != 0) {
        find_gains(list, loss->discounts, a.gains);
        if (loss->loss != THR_DUAL_LOSS_NDCG)
            find_values(list, a.values);
        find_discounts(list, scores, loss->discounts, a.discounts);
        sum = sum_pairs(kernels, loss, list, scores, &a);
    }
    for (size_t i = 0; d_scores != NULL && i < n; i++)
        d_scores[i] = (float)a.gradients[i];
    return sum;
}
