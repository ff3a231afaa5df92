/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - reading FILE for `eval ndcg` and the commands of `rank`, and the options for it. */
#pragma once

#include "cli/program.h"

typedef struct prog_rank_values {
    bool one_query, cache;
} prog_rank_values;

/* Entries of an option table; FIELD is a prog_rank_values of the struct VALUES. */
#define PROG_RANK_OPTIONS(VALUES, FIELD)                                                                               \
    {PROG_FLAG_OPTION("one-query", offsetof(VALUES, FIELD.one_query),                                                  \
                      "treat all rows as one query if FILE has no qid and there is no FILE.query")},                   \
    {                                                                                                                  \
        PROG_FLAG_OPTION(                                                                                              \
            "cache", offsetof(VALUES, FIELD.cache),                                                                    \
            "read FILE.thr-cache if it was made from FILE as it is, else write it: the next run reads faster")         \
    }

/*
 * Check before the work that output, which may be NULL, is not FILE.query or FILE's cache (with --cache). Returns
 * PROG_DONE, or an exit code after printing an error.
 */
int prog_rank_check_output(const char *output, const char *path, const prog_rank_values *values);

/* Read the rows of a file; *seconds gets the time. Returns PROG_DONE, or an exit code after printing an error. */
int prog_rank_open(program *run, const char *path, const prog_rank_values *values, bool comments, thr_ranking **ranking,
                   double *seconds);

/* Print a note if the requested cache could not be written. */
void prog_rank_tell_cache(const thr_ranking *ranking);

/* Allocate n doubles; NULL, after printing an error, without memory. */
double *prog_rank_numbers(uint64_t n);

/* The rows of a file, and a model's scores of them. Starts zeroed. */
typedef struct prog_scored {
    thr_ranking *ranking;
    double *scores; /* by place in the ranking's view */
} prog_scored;

/*
 * Score the rows of a file by the model in another one, with a note if the rows have fewer features than the model.
 * Returns PROG_DONE, or an exit code after printing an error.
 */
int prog_rank_score(program *run, const char *model_path, const char *path, const prog_rank_values *values,
                    bool comments, prog_scored *scored);
void prog_rank_scored_free(prog_scored *scored);
