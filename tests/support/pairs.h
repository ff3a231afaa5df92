/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - rankings of any kind of labels, and RankSVM by the book: sums over all pairs, in double. */
#pragma once

#include <thresher/rank.h>
#include <thresher/ranking.h>

#include "test.h"

TEST_OWNABLE(thr_ranking)
TEST_OWNABLE(thr_rank_model)

/* Labels of a query. */
typedef enum test_labels {
    TEST_LABELS_FEW,   /* 0, 1, 2, some of them */
    TEST_LABELS_MANY,  /* of up to 100 levels: most have some rows */
    TEST_LABELS_ALL,   /* all different */
    TEST_LABELS_EQUAL, /* no pairs */
    TEST_LABELS_MIXED, /* queries of all kinds, and some of one row */
    TEST_LABELS_KINDS
} test_labels;

typedef struct test_ranking {
    thr_ranking_view view;
    uint64_t *offsets, *queries;
    double *labels;
    float *dense;
    uint64_t *starts;
    uint32_t *columns;
    float *values;
} test_ranking;

/* n_queries of up to longest rows; every third number is 0; sparse drops those. Features have scales of their own. */
test_ranking *test_ranking_make(uint64_t *rng, uint64_t n_queries, uint32_t longest, uint32_t n_features,
                                test_labels labels, bool sparse);

/* x_d of a row. */
double test_feature(const test_ranking *ranking, uint64_t row, uint32_t feature);

/* f(w); its gradient, a product with its Hessian at w, and the Hessian's diagonal. costs: of every query's pairs. */
double test_pairs_value(const test_ranking *ranking, const double *costs, const double *w);
void test_pairs_gradient(const test_ranking *ranking, const double *costs, const double *w, double *gradient);
void test_pairs_product(const test_ranking *ranking, const double *costs, const double *w, const double *v,
                        double *product);
void test_pairs_diagonal(const test_ranking *ranking, const double *costs, const double *w, double *diagonal);
uint64_t test_pairs_count(const test_ranking *ranking);
uint64_t test_pairs_right(const test_ranking *ranking, const double *w);

/*
 * The least of f: Newton's steps with the Hessian written out and solved by Cholesky, halved until f falls. Leaves w
 * there.
 */
double test_pairs_solve(const test_ranking *ranking, const double *costs, double *w);
