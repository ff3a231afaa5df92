/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - the learning curve of a training, as CSV and as a plot. */
#ifndef THRESHER_PROGRAM_CURVE_H
#define THRESHER_PROGRAM_CURVE_H

#include <stdbool.h>
#include <stdio.h>

#include <thresher/thresher.h>

typedef struct prog_curve {
    thr_context *context;
    const char *path; /* NULL: none is wanted */
} prog_curve;

/*
 * Begin the file, or with more go on with it. What is there and is no curve, nor its plot, is refused, and so are the
 * names of the model that is trained and of its checkpoint.
 */
int prog_curve_open(prog_curve *curve, thr_context *context, const char *path, const char *model, bool more);
void prog_curve_add(prog_curve *curve, const thr_tower_epoch *epoch);

/* Plot what stands in the file. */
int prog_curve_close(prog_curve *curve);

#endif
