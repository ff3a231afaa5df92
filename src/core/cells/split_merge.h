/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_merge.h - moves centroids of k-means between distant groups.
 *
 * Lloyd's algorithm can leave two centroids in one cluster, and elsewhere one centroid for two clusters. Its steps
 * rarely correct this. A move does: it merges a group with its nearest neighbour, and splits a third group in two with
 * the centroid that this frees. A move is made only if the split reduces the sum of squared distances clearly more than
 * the merge increases it. (Compare LBG-U, Fritzke 1997.)
 *
 * Groups with two clusters slow searches down: their items are far from the centroid, so a search expects best items in
 * more cells.
 */
#pragma once

#include "cells/kmeans.h"

/* The rows of a sample in n groups, one for each centroid. Owns nothing. */
typedef struct thr_kmeans_groups {
    const thr_kmeans_sample *sample;
    uint32_t n;
    float *centroids;       /* n dense rows: the mean of each group; of a group without rows, any row of the sample */
    const uint32_t *order;  /* n_rows: row numbers by group, then ascending */
    const uint32_t *starts; /* n + 1: the rows of group g are order[starts[g]] to order[starts[g + 1] - 1] */
} thr_kmeans_groups;

/*
 * Move centroids; order and starts stay as they are. *n_moved: the number of moves. The bits of the result do not
 * depend on CPU or threads. THR_ENOMEM.
 */
thr_status thr_cells_split_merge(thr_context *context, const thr_kmeans_groups *groups, uint32_t *n_moved,
                                 thr_error *err);
