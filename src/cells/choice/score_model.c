/* SPDX-License-Identifier: Apache-2.0 */
/* score_model.c - the misses expected by the scores of the rows found. */
#include "cells/choice/score_model.h"

#include "base/normal.h"

#include <pthread.h>

enum {
    HALVINGS = 8,   /* of the range of spreads, in logarithms: fitted within 2 % in up to 1,000 dimensions */
    FAR_LEVELS = 4, /* far cells are those whose mean is more than 0, 1, 2 or 3 standard deviations below the score */
};

static const double LEAST_MEAN_SPREAD = 0.2; /* of that of isotropic residuals; means of many items have .3 or more */

/* How many standard deviations, which include the rounding error, a score is above a mean. */
static double deviations(double mean, double deviation, double score) {
    const double error = thr_cells_rounded_deviation(mean, deviation, score);
    return error > 0 ? (score - mean) / error : -THR_CELLS_FAR;
}

static double deviations_of(const thr_cell_score_model *model, double spread, double score) {
    const double slope = model->slope * spread, constant = model->deviation;
    const double deviation = constant > 0 ? sqrt(slope * slope + constant * constant) : slope;
    return deviations(model->mean, deviation, score);
}

/* ------------------------------------------------------------------------------------------------ tails */

/*
 * Tails at multiples of 1 / TAILS_PER_UNIT. The last exceeds all numbers of deviations that are not far, FAR x sqrt(2):
 * thr_cells_is_far adds the two parts of a deviation, deviations_of takes the root of the sum of their squares.
 */
enum { TAILS_PER_UNIT = 64, LAST_TAIL = 9 * TAILS_PER_UNIT };
static double tails[LAST_TAIL + 1];
static pthread_once_t tails_are_set = PTHREAD_ONCE_INIT;

static void set_tails(void) {
    for (size_t i = 0; i <= LAST_TAIL; i++)
        tails[i] = thr_normal_tail((double)i / TAILS_PER_UNIT);
}

/* thr_normal_tail within THR_CELLS_QUICK_ERROR, by linear interpolation; 0 and 1 beyond the table. */
static inline double quick_tail(double z) {
    const double x = fabs(z) * TAILS_PER_UNIT;
    if (!(x < LAST_TAIL))
        return z < 0 ? 1 : 0 * z; /* NaN stays NaN */
    const size_t i = (size_t)x;
    const double above = tails[i] + (tails[i + 1] - tails[i]) * (x - (double)i);
    return z < 0 ? 1 - above : above;
}

typedef double tail_function(double z);

static inline double share_above(const thr_cell_score_model *model, double spread, double score, tail_function *tail) {
    if (thr_cells_is_far(model->mean, model->slope * spread + model->deviation, score))
        return 0;
    return tail(deviations_of(model, spread, score));
}

static inline double expected_above(const thr_cell_score_model *model, double spread, double score,
                                    tail_function *tail) {
    const double deviation = model->end.slope * spread;
    const double others = (model->n - model->end.n) * share_above(model, spread, score, tail);
    if (thr_cells_is_far(model->end.mean, deviation, score))
        return others;
    return others + model->end.n * tail(deviations(model->end.mean, deviation, score));
}

double thr_cells_share_above(const thr_cell_score_model *model, double spread, double score) {
    return share_above(model, spread, score, thr_normal_tail);
}

double thr_cells_expected_above(const thr_cell_score_model *model, double spread, double score) {
    return expected_above(model, spread, score, thr_normal_tail);
}

void thr_cells_prepare_quick(void) {
    (void)pthread_once(&tails_are_set, set_tails);
}

double thr_cells_quick_expected_above(const thr_cell_score_model *model, double spread, double score) {
    return expected_above(model, spread, score, quick_tail);
}

/* ------------------------------------------------------------------------------------------------ spreads */

/* The sum of the items that the model expects to reach a score, of as many cells as it takes to reach `enough`. */
static inline double expected_in(const thr_cell_visited *cells, size_t n, double spread, double score, double enough,
                                 tail_function *tail) {
    double sum = 0;
    for (size_t i = 0; i < n && sum < enough; i++)
        sum += expected_above(&cells[i].model, spread, score, tail);
    return sum;
}

/*
 * Whether the model expects at least so many items to reach a score. The first cells usually have most of them. Tails
 * are computed only where quick ones leave it open.
 */
static bool are_expected(const thr_cell_visited *cells, size_t n, double spread, double score, double wanted) {
    const double most = wanted * (1 + THR_CELLS_QUICK_ERROR), least = wanted * (1 - THR_CELLS_QUICK_ERROR);
    const double quick = expected_in(cells, n, spread, score, most, quick_tail);
    if (quick > most || quick < least)
        return quick > most;
    return expected_in(cells, n, spread, score, wanted, thr_normal_tail) >= wanted;
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
    if (are_expected(cells, n, low, score, found))
        return low;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        const double middle = sqrt(low * high);
        if (are_expected(cells, n, middle, score, found))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Move the cells whose mean is more than z standard deviations below the score to the front, and count them. */
static size_t far_cells(thr_cell_visited *cells, size_t n, double spread, double score, double z) {
    size_t n_far = 0;
    for (size_t i = 0; i < n; i++)
        if (deviations_of(&cells[i].model, spread, score) > z) {
            const thr_cell_visited far = cells[i];
            cells[i] = cells[n_far];
            cells[n_far++] = far;
        }
    return n_far;
}

double thr_cells_fit_mean_spread(const thr_cell_visited *cells, size_t n, double score, double n_dims) {
    thr_cells_prepare_quick();
    return fit(cells, n, score, LEAST_MEAN_SPREAD / sqrt(n_dims));
}

double thr_cells_fit_spread(thr_cell_visited *cells, size_t n, double score, double n_dims) {
    thr_cells_prepare_quick();
    const double all = fit(cells, n, score, 0.5 / sqrt(n_dims));
    double largest = all;
    for (int z = 0; z < FAR_LEVELS; z++) {
        n = far_cells(cells, n, all, score, z);
        largest = fit(cells, n, score, largest);
    }
    return largest;
}
