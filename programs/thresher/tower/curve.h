/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - the learning curve of a training, as CSV and as a plot. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <thresher/thresher.h>

typedef struct prog_curve {
    thr_context *context;
    const char *path;     /* NULL: none */
    bool is_to_begin;     /* the first epoch begins the file */
    int rc;               /* of beginning it */
    const char *quality;  /* what epoch.valid_quality is, "AUC"; and ... */
    const char *examples; /* ... what the examples are called: set after prog_curve_open */
} prog_curve;

/*
 * Check the file, which the first epoch begins or, with more, continues. Refuses an existing file that is not a curve,
 * or not its plot, and the names of the model and its checkpoint.
 */
int prog_curve_open(prog_curve *curve, thr_context *context, const char *path, const char *model, bool more);

/* on_epoch of a training, whose user is a prog_curve: print a line and add it to the file. */
void prog_curve_on_epoch(void *curve, const thr_tower_epoch *epoch);

/*
 * After the training, which ended with status: plot the file, if an epoch has begun it, and print the training's error.
 * Returns whether there is a model; *rc is the exit code, also that of a plot that failed.
 */
bool prog_curve_end(prog_curve *curve, thr_status status, const thr_error *err, int *rc);
