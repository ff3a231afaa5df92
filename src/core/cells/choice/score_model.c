/* SPDX-License-Identifier: Apache-2.0 */
/* score_model.c - the misses expected by the scores of the rows found. */
#include "cells/choice/score_model.h"

enum {
    HALVINGS = 8,   /* of the range of spreads, in logarithms: fitted within 2 % in up to 1,000 dimensions */
    FAR_LEVELS = 4, /* far cells are those whose mean is more than 0, 1, 2 or 3 standard deviations below the score */
};

/* A share of the spread of isotropic residuals. Queries that are means of many items have .3 or more. */
static const double LEAST_MEAN_SPREAD = 0.2;

/*
 * Whether the model expects at least so many items to reach a score. Stops at the first cells that suffice, because
 * these usually have most of the items.
 */
static bool are_expected(const thr_cell_visited *cells, size_t n, double spread, double score, double wanted) {
    double sum = 0;
    for (size_t i = 0; i < n && sum < wanted; i++)
        sum += thr_cells_expected_above(&cells[i].model, spread, score);
    return sum >= wanted;
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
        if (thr_cells_deviations_of(&cells[i].model, spread, score) > z) {
            const thr_cell_visited far = cells[i];
            cells[i] = cells[n_far];
            cells[n_far++] = far;
        }
    return n_far;
}

double thr_cells_fit_mean_spread(const thr_cell_visited *cells, size_t n, double score, double n_dims) {
    return fit(cells, n, score, LEAST_MEAN_SPREAD / sqrt(n_dims));
}

double thr_cells_fit_spread(thr_cell_visited *cells, size_t n, double score, double n_dims) {
    const double all = fit(cells, n, score, 0.5 / sqrt(n_dims));
    double largest = all;
    for (int z = 0; z < FAR_LEVELS; z++) {
        n = far_cells(cells, n, all, score, z);
        largest = fit(cells, n, score, largest);
    }
    return largest;
}
