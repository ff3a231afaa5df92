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
} prog_curve;

/*
 * Begin the file, or with more continue it. Refuses an existing file that is not a curve, or not its plot, and the
 * names of the model and its checkpoint.
 */
int prog_curve_open(prog_curve *curve, thr_context *context, const char *path, const char *model, bool more);
void prog_curve_add(prog_curve *curve, const thr_tower_epoch *epoch);

/* Plot the file. */
int prog_curve_close(prog_curve *curve);

#endif
