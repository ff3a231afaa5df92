/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_merge.h - moves centroids of k-means between distant groups.
 *
 * Lloyd's algorithm cannot do this: where two centroids share a cluster, and elsewhere two clusters share a centroid,
 * it leaves them so. A move merges a group with the nearest one, and divides a third group in two. Moves are made where
 * the division reduces the sum of squared distances clearly more than the merger adds to it. (Compare LBG-U, Fritzke
 * 1997.) Items of a group with two clusters are far from its centroid, and make a search expect the best items in more
 * cells.
 */
#pragma once

#include "cells/kmeans.h"

/* The groups of a sample's rows: those nearest to each of n centroids. Owns nothing. */
typedef struct thr_kmeans_groups {
    const thr_kmeans_sample *sample;
    uint32_t n;
    float *centroids;       /* n dense rows: means of the groups, or any row for a group without rows */
    const uint32_t *order;  /* n_rows: rows by group, then ascending */
    const uint32_t *starts; /* n + 1: the first place of each group in order */
} thr_kmeans_groups;

/* Move centroids. *n_moved: how many. Its bits do not depend on CPU or threads. THR_ENOMEM. */
thr_status thr_cells_split_merge(thr_context *context, const thr_kmeans_groups *groups, uint32_t *n_moved,
                                 thr_error *err);
