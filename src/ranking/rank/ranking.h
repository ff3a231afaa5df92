/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranking.h - the members of a thr_ranking: feature rows with labels, grouped by query.
 *
 * Invariants: view.offsets ascends strictly from 0 to n_rows; labels and values are finite; columns ascend within a row
 * and are below n_features. If the input is grouped by query, rows are used in place, those of a cached file in its
 * map. Other rows are moved: dense rows in place if the memory is writable.
 */
#pragma once

#include <thresher/ranking.h>

#include "svmlight/read.h"

struct thr_ranking {
    thr_context *context;
    thr_ranking_view view;              /* points into text and the arrays below */
    thr_svmlight text;                  /* arrays of the file, or copies of the caller's, in their original order */
    uint64_t *offsets, *queries, *rows; /* rows: the permutation, or NULL if no row moved */
    double *labels;                     /* NULL: text's are used */
    float *dense;                       /* NULL: text's are used, permuted in place or not at all */
    uint64_t *starts;
    uint32_t *columns;
    float *values;
};
