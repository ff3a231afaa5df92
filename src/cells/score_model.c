/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/score_model.h"

#include <math.h>

enum { HALVINGS = 12 };

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

double thr_cells_share_above(const thr_cell_score_model *model, double spread, double score) {
    const double slope = model->slope * spread, deviation = model->deviation;
    const double error = sqrt(slope * slope + deviation * deviation) + ROUNDING * (fabs(model->mean) + fabs(score));
    const double above = score - model->mean;
    if (above > FAR * error)
        return 0;
    return error > 0 ? tail(above / error) : 1;
}

double thr_cells_fit_spread(const thr_cell_score_model *models, size_t n, double score, double found, double n_dims) {
    double low = 0.5 / sqrt(n_dims), high = 1;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        const double middle = sqrt(low * high);
        double expected = 0;
        for (size_t c = 0; c < n && expected < found; c++)
            expected += models[c].n * thr_cells_share_above(&models[c], middle, score);
        if (expected < found)
            low = middle;
        else
            high = middle;
    }
    return high;
}
