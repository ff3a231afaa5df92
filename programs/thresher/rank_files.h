/* SPDX-License-Identifier: Apache-2.0 */
/* rank_files.h - what the commands of `rank` share: the options that say how FILE is read, and reading it. */
#ifndef THRESHER_PROGRAM_RANK_FILES_H
#define THRESHER_PROGRAM_RANK_FILES_H

#include "program.h"

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
            "read FILE.thr-cache where it was made of FILE as it is now, else make it: the next time is faster")       \
    }

/*
 * Before the work: output, which may be NULL, is none of the files beside FILE: the sizes of its queries, and with
 * --cache its cache. PROG_DONE, or an exit code, said.
 */
int prog_rank_check_output(const char *output, const char *path, const prog_rank_values *values);

/* The rows of a file, and in *seconds how long they took. PROG_DONE, or an exit code, said. */
int prog_rank_open(program *run, const char *path, const prog_rank_values *values, bool comments, thr_ranking **ranking,
                   double *seconds);

/* Say where a cache was asked for and could not be written. */
void prog_rank_tell_cache(const thr_ranking *ranking);

/* n doubles; NULL, said, where there is no memory. */
double *prog_rank_numbers(uint64_t n);

/* Say where rows have fewer features than a model: what is not there counts as 0. */
void prog_rank_tell_width(const char *path, const thr_ranking *ranking, const char *model_path,
                          const thr_rank_model *model);

#endif
