/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radius_plan.h - how one query's rows within a radius are found: by a screen with a margin, or by scoring all vectors.
 */
#ifndef THR_SCAN_RADIUS_PLAN_H
#define THR_SCAN_RADIUS_PLAN_H

#include "scan/worker.h"

enum {
    THR_RADIUS_BLOCKS = 64, /* screened, at most, before the survivors are looked at */
    THR_RADIUS_ROWS = THR_RADIUS_BLOCKS * THR_BLOCK_ITEMS,
};

/* What is asked. */
typedef struct thr_radius {
    float least_score;
    bool certain;               /* nothing may be missed */
    double screen_z, rescore_z; /* margins at the screen and after rescoring, in standard errors */
} thr_radius;

/* A radius of a least score, with a probability of 1 - recall to miss a row that just reaches it. */
thr_radius thr_scan_radius_make(float least_score, double recall);

typedef struct thr_radius_plan {
    bool exact;               /* by scoring all vectors */
    bool certified;           /* nothing will be missed, and exact scores decide */
    float screened;           /* what estimates must reach, in the collector's units */
    double rescored, margin;  /* and those of all planes: rescored - margin * factor of the record */
    thr_scan_query rescoring; /* the query for these */
} thr_radius_plan;

/*
 * Make the plan of a query that thr_scan_query_prepare made; query becomes the one for the screen. lane is for a
 * sample: its collector has room for 2 * THR_RADIUS_ROWS rows and 64, and is empty and without a threshold afterwards.
 */
thr_radius_plan thr_scan_radius_plan_make(const thr_job *job, const thr_radius *radius, thr_scan_query *query,
                                          thr_lane *lane);

#endif
