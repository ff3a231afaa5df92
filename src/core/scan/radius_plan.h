/* SPDX-License-Identifier: Apache-2.0 */
/* radius_plan.h - how a radius search treats one query: a screen with a margin, or scoring all vectors. */
#pragma once

#include "scan/job.h"

enum {
    THR_RADIUS_BLOCKS = 64, /* screened, at most, between two checks of the collector */
    THR_RADIUS_ROWS = THR_RADIUS_BLOCKS * THR_BLOCK_ITEMS,
};

#define THR_SCREEN_SHARE 0.75 /* the screen's share of the allowed misses; the rescoring has the rest */

struct thr_margin;

/* The request, the same for all queries. */
typedef struct thr_radius {
    float least_score;
    bool certain;               /* recall is 1: no row may be missed */
    uint64_t most;              /* best rows to keep; a lane holds up to THR_RADIUS_ROWS more; 0: keep all */
    double screen_z, rescore_z; /* margins of the screen and of the rescoring, in standard errors */
    /*
     * NULL, or the margin of the only query, measured before on the same lane, possibly on another part of the index.
     */
    const struct thr_margin *margin;
    bool expects_few; /* few rows are expected to survive the screen, so no sample checks whether most do */
} thr_radius;

/*
 * The radius for a least score and a recall; a row that just reaches the score is missed with probability 1 - recall.
 */
thr_radius thr_scan_radius_make(float least_score, double recall);

typedef struct thr_radius_plan {
    bool exact;               /* score all vectors */
    bool certified;           /* no row is missed, and exact scores decide */
    float screened;           /* threshold of the screen's estimates, in the collector's units */
    double rescored;          /* threshold of the rescoring's estimates; -INFINITY if the noise is unknown */
    thr_scan_query rescoring; /* the query for the rescoring; it overestimates if the noise is known */
} thr_radius_plan;

/*
 * Make the plan of a query that thr_scan_query_prepare made; *query becomes the query for the screen. lane is used for
 * a sample: its collector needs capacity for 2 * THR_RADIUS_ROWS + 64 rows; afterwards it is empty and has no
 * threshold.
 */
thr_radius_plan thr_scan_radius_plan_make(const thr_job *job, const thr_radius *radius, thr_scan_query *query,
                                          thr_lane *lane);

/* The most rows that a lane's collector holds in a search: its survivors, or the rows that measuring margins needs. */
static inline size_t thr_scan_most_survivors(const thr_job *job) {
    const size_t rows = THR_RADIUS_ROWS + THR_BLOCK_ITEMS;
    return job->screen_z > 0 && job->n_survivors < rows ? rows : job->n_survivors;
}

/*
 * In radius.c: append to *found the rows of one query, a matrix of one row, that reach the radius. Takes all n_lanes
 * lanes, and leaves no rows in their collectors. THR_ENOMEM.
 */
thr_status thr_scan_radius_one(const thr_job *job, const thr_matrix *query, const thr_radius *radius, thr_lane *lanes,
                               uint32_t n_lanes, thr_found *found, thr_error *err);

/*
 * The same, but certify the query too: job->options->certified, if given, receives its flag in [0]. The caller sets
 * job->measures_queries unless the job is exact, and job->kept_error if the radius is certain.
 */
thr_status thr_scan_radius_part(const thr_job *job, const thr_matrix *query, const thr_radius *radius, thr_lane *lanes,
                                uint32_t n_lanes, thr_found *found, thr_error *err);

/*
 * As thr_scan_radius_one on one lane, but the caller screens. begin makes *screen, the query to screen, and its plan.
 * If screen->skips_screen is true, there is nothing to screen: use thr_scan_radius_one. Else the caller puts the rows
 * whose estimates reach plan->screened into the lane's collector, and finish appends those that reach the radius to
 * *found. accept, between the two, rescores the collector's rows and empties it: call it before the collector has more
 * than 2 * THR_RADIUS_ROWS rows. THR_ENOMEM.
 */
thr_status thr_scan_radius_begin(const thr_job *job, const thr_matrix *query, const thr_radius *radius, thr_lane *lane,
                                 thr_scan_query *screen, thr_radius_plan *plan, thr_error *err);
thr_status thr_scan_radius_accept(const thr_job *job, const thr_radius *radius, const thr_radius_plan *plan,
                                  thr_lane *lane, thr_error *err);
thr_status thr_scan_radius_finish(const thr_job *job, const thr_radius *radius, const thr_radius_plan *plan,
                                  thr_lane *lane, thr_found *found, thr_error *err);
