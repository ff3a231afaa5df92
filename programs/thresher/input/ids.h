/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids.h - a whole file of ids or of their scores in memory: n_rows rows of n_columns values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <thresher/thresher.h>

typedef struct prog_ids {
    uint64_t *ids; /* THR_NO_ID fills rows that are short */
    uint64_t n_rows;
    uint64_t n_columns;
} prog_ids;

typedef struct prog_scores {
    float *scores;
    uint64_t n_rows;
    uint64_t n_columns;
} prog_scores;

/*
 * Read ids from any file of whole numbers, or from .jsonl results of thresher index search. Returns PROG_DONE, or an
 * exit code after printing an error.
 */
int prog_ids_read(prog_ids *ids, thr_context *context, const char *path);
void prog_ids_free(prog_ids *ids);

/* Read floats. With missing_ok, THR_ENOTFOUND and THR_EFORMAT print nothing, and scores->scores stays NULL. */
int prog_scores_read(prog_scores *scores, thr_context *context, const char *path, bool missing_ok);
void prog_scores_free(prog_scores *scores);
