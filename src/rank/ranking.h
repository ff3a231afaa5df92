/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranking.h - what a thr_ranking is made of.
 *
 * Invariants: view.offsets ascends strictly from 0 to n_rows; labels and values are finite; columns ascend within a
 * row, below n_features. Rows that were given by query are where they were read, those of a cached file within its map;
 * others were moved, dense ones in place where they could be.
 */
#ifndef THR_RANK_RANKING_H
#define THR_RANK_RANKING_H

#include <thresher/ranking.h>

#include "io/svmlight.h"

struct thr_ranking {
    thr_context *context;
    thr_ranking_view view; /* points into text and what is owned */
    thr_svmlight text;     /* the file's arrays; those of arrays given, copied, too. In the order they were given */
    uint64_t *offsets, *queries, *rows; /* rows: NULL where none was moved */
    double *labels;                     /* NULL: text's */
    float *dense;                       /* NULL: text's, moved in place or not */
    uint64_t *starts;
    uint32_t *columns;
    float *values;
};

#endif
