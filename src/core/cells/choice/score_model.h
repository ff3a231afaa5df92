/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score_model.h - how many of a cell's items may reach a score: a model of scores within cells, fitted to each query.
 *
 * With c a cell's centroid and r = x - c, an item's score is the score of the centroid plus <q, r> (L2: plus 2 <q -
 * c, r> - |r|^2). The model takes the scores of a cell's items as normally distributed. Their mean is computed from
 * the centroid's score. Their standard deviation is |q| x size x *spread*. The spread, one number per query, is the
 * share of the residuals' length along the query. A cell's size is the mean of the largest |r| and the root mean square
 * of |r|, because items far from the centroid decide how many reach a high score. (L2: 2 |q - c| takes the place of
 * |q|, and the deviation of |r|^2 is an independent part.)
 *
 * The spread is fitted to the number of items above a high score that were found in visited cells. So the model fits
 * the tail of the distribution, for queries of any kind. Cells differ in their spread, and the unvisited ones resemble
 * the visited ones with a low mean score. So the spread is also fitted to the visited cells whose mean is more than 0,
 * 1, 2 and 3 standard deviations below the score, and the largest of these spreads is used. (Compare adaptive partition
 * scanning in Quake, OSDI 2025, which models cells as balls cut by a plane.)
 *
 * The lengths of items vary, so residuals along the centroid are longer than across it, and the shortest or longest
 * item of a cell can be the best one of very many queries. So the item at the cell's end in the query's direction is
 * modelled by its own numbers: its product with the centroid's direction is stored, and only the rest of its score is
 * spread.
 */
#pragma once

#include "base/normal.h"

#include <stdbool.h>
#include <stddef.h>

/* One cell and one query. */
typedef struct thr_cell_score_model {
    double n;         /* items that may be found */
    double mean;      /* of their scores */
    double slope;     /* standard deviation of scores, per unit of spread */
    double deviation; /* the part of it that does not depend on the spread */
    struct {
        double n, mean, slope; /* n: 1, or the share of the cell's items that pass the filter */
    } end;                     /* the item at the cell's end */
} thr_cell_score_model;

/* In standard deviations: less than 2^-29 of all items are farther above their mean, which counts as none. */
enum { THR_CELLS_FAR = 6 };

/* A standard deviation with the rounding error of scores. */
static inline double thr_cells_rounded_deviation(double mean, double deviation, double score) {
    return deviation + 0x1p-20 * (fabs(mean) + fabs(score));
}

/* Whether a score is far above a mean. Most cells are far below the scores in question, so nothing is divided here. */
static inline bool thr_cells_is_far(double mean, double deviation, double score) {
    return score - mean > THR_CELLS_FAR * thr_cells_rounded_deviation(mean, deviation, score);
}

/* How many standard deviations, which include the rounding error, a score is above a mean. */
static inline double thr_cells_deviations(double mean, double deviation, double score) {
    const double error = thr_cells_rounded_deviation(mean, deviation, score);
    return error > 0 ? (score - mean) / error : -THR_CELLS_FAR;
}

/* How many standard deviations a score is above the mean of a cell's items, without the one at its end. */
static inline double thr_cells_deviations_of(const thr_cell_score_model *model, double spread, double score) {
    const double slope = model->slope * spread, constant = model->deviation;
    const double deviation = constant > 0 ? sqrt(slope * slope + constant * constant) : slope;
    return thr_cells_deviations(model->mean, deviation, score);
}

/* The share of a cell's items that reach a score, 0 to 1, without the item at its end. */
static inline double thr_cells_share_above(const thr_cell_score_model *model, double spread, double score) {
    if (thr_cells_is_far(model->mean, model->slope * spread + model->deviation, score))
        return 0;
    return thr_normal_tail(thr_cells_deviations_of(model, spread, score));
}

/* The number of a cell's items that are expected to reach a score. */
static inline double thr_cells_expected_above(const thr_cell_score_model *model, double spread, double score) {
    const double deviation = model->end.slope * spread;
    const double others = (model->n - model->end.n) * thr_cells_share_above(model, spread, score);
    if (thr_cells_is_far(model->end.mean, deviation, score))
        return others;
    return others + model->end.n * thr_normal_tail(thr_cells_deviations(model->end.mean, deviation, score));
}

/* A cell that was visited, with the number of its items that reached a score. */
typedef struct thr_cell_visited {
    thr_cell_score_model model;
    double found;
} thr_cell_visited;

/*
 * The largest of the spreads at which the model predicts as many items as were found: in all n cells, and in those
 * whose mean is more than 0, 1, 2 and 3 standard deviations below the score. The result is at least half the spread of
 * isotropic residuals, 1 / (2 sqrt(n_dims)), and at most 1. Reorders cells.
 */
double thr_cells_fit_spread(thr_cell_visited *cells, size_t n, double score, double n_dims);

/*
 * The spread at which the model predicts as many items as were found in all n cells, without regard to the far ones. It
 * expects about as many items elsewhere as there are, while thr_cells_fit_spread expects too many. The result is at
 * least a fifth of the spread of isotropic residuals, and at most 1.
 */
double thr_cells_fit_mean_spread(const thr_cell_visited *cells, size_t n, double score, double n_dims);
