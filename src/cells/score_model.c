/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/score_model.h"

#include <math.h>

enum {
    HALVINGS = 12,
    FAR_LEVELS = 4, /* far cells are those whose mean is more than 0, 1, 2 or 3 standard deviations below the score */
};

static const double ROUNDING = 0x1p-20; /* of scores, relative */
static const double FAR = 7;            /* standard deviations; less than 2^-39 of all items are farther */

/*
 * An upper bound, at most 6 % too large, of the probability that a normal number exceeds z (Abramowitz and Stegun,
 * 7.1.13).
 */
static double tail(double z) {
    static const double EIGHT_OVER_PI = 2.5464790894703255, ROOT_OF_2_OVER_PI = 0.7978845608028654;
    const double x = fabs(z), above = ROOT_OF_2_OVER_PI * exp(-x * x / 2) / (x + sqrt(x * x + EIGHT_OVER_PI));
    return z < 0 ? 1 - above : above;
}

/* The probability that a score with this mean and deviation reaches another. */
static double chance(double mean, double deviation, double score) {
    const double error = deviation + ROUNDING * (fabs(mean) + fabs(score)), above = score - mean;
    if (above > FAR * error)
        return 0;
    return error > 0 ? tail(above / error) : 1;
}

double thr_cells_share_above(const thr_cell_score_model *model, double spread, double score) {
    const double slope = model->slope * spread, deviation = model->deviation;
    return chance(model->mean, sqrt(slope * slope + deviation * deviation), score);
}

double thr_cells_expected_above(const thr_cell_score_model *model, double spread, double score) {
    const double others = (model->n - model->end.n) * thr_cells_share_above(model, spread, score);
    return model->end.n > 0 ? others + model->end.n * chance(model->end.mean, model->end.slope * spread, score)
                            : others;
}

/* The number of items that the model expects to reach a score. */
static double expected(const thr_cell_visited *cells, size_t n, double spread, double score) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += thr_cells_expected_above(&cells[i].model, spread, score);
    return sum;
}

static double found_in(const thr_cell_visited *cells, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += cells[i].found;
    return sum;
}

/* The spread, from low to 1, at which as many items are expected as were found. */
static double fit(const thr_cell_visited *cells, size_t n, double score, double low) {
    const double found = found_in(cells, n);
    double high = 1;
    if (expected(cells, n, low, score) >= found)
        return low;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        const double middle = sqrt(low * high);
        if (expected(cells, n, middle, score) < found)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Move the cells of which the model expects less than a share to reach the score to the front, and count them. */
static size_t far_cells(thr_cell_visited *cells, size_t n, double spread, double score, double share) {
    size_t n_far = 0;
    for (size_t i = 0; i < n; i++)
        if (thr_cells_share_above(&cells[i].model, spread, score) < share) {
            const thr_cell_visited far = cells[i];
            cells[i] = cells[n_far];
            cells[n_far++] = far;
        }
    return n_far;
}

double thr_cells_fit_spread(thr_cell_visited *cells, size_t n, double score, double n_dims) {
    const double all = fit(cells, n, score, 0.5 / sqrt(n_dims));
    double largest = all;
    for (int z = 0; z < FAR_LEVELS; z++) {
        n = far_cells(cells, n, all, score, tail(z));
        largest = fit(cells, n, score, largest);
    }
    return largest;
}
