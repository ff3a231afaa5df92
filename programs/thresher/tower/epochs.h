/* SPDX-License-Identifier: Apache-2.0 */
/* epochs.h - the epochs of a training: a line on standard error for each, and an array in its JSON. */
#pragma once

#include <stddef.h>

#include <thresher/thresher.h>

#include "cli/json.h"
#include "cli/program.h"

typedef struct prog_epochs {
    const char *quality;  /* what epoch.valid_quality is: "AUC" */
    const char *example;  /* what an example is called: "request" */
    thr_tower_epoch *all; /* for the JSON; NULL without --json */
    size_t n;
} prog_epochs;

/* Begin, with room for most epochs if they are to be printed as JSON. Release with prog_epochs_free. */
int prog_epochs_begin(prog_epochs *epochs, const program *run, uint32_t most);
void prog_epochs_free(prog_epochs *epochs);

/* on_epoch of a training, whose user is a prog_epochs. */
void prog_epochs_add(void *epochs, const thr_tower_epoch *epoch);

/* The key "epochs" of an open object. */
void prog_epochs_json(const prog_epochs *epochs, prog_json *json);

/* The exit code of a training that failed with err, after printing it. */
int prog_epochs_failed(const thr_error *err);
