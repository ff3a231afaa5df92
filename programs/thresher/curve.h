/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - the learning curve of a training, as CSV and as a plot. */
#ifndef THRESHER_PROGRAM_CURVE_H
#define THRESHER_PROGRAM_CURVE_H

#include <stdbool.h>
#include <stdio.h>

#include <thresher/thresher.h>

typedef struct prog_curve {
    thr_context *context;
    const char *path; /* NULL: none */
    bool is_to_begin; /* the first epoch begins the file */
    int rc;           /* of beginning it */
} prog_curve;

/*
 * Check the file, which the first epoch begins or, with more, continues. Refuses an existing file that is not a curve,
 * or not its plot, and the names of the model and its checkpoint.
 */
int prog_curve_open(prog_curve *curve, thr_context *context, const char *path, const char *model, bool more);
void prog_curve_add(prog_curve *curve, const thr_tower_epoch *epoch);

/* Plot the file, if an epoch has begun it. */
int prog_curve_close(prog_curve *curve);

#endif
