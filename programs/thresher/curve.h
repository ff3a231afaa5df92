/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - the learning curve of a training, as CSV and as a plot. */
#ifndef THRESHER_PROGRAM_CURVE_H
#define THRESHER_PROGRAM_CURVE_H

#include <stdbool.h>
#include <stdio.h>

#include <thresher/thresher.h>

typedef struct prog_curve {
    const char *path; /* NULL: none is wanted */
} prog_curve;

/* Begin the file, or with more go on with it. */
int prog_curve_open(prog_curve *curve, const char *path, bool more);
void prog_curve_add(prog_curve *curve, const thr_tower_epoch *epoch);

/* Plot what stands in the file. */
int prog_curve_close(prog_curve *curve);

#endif
