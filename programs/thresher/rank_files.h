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
    {.name = "one-query",                                                                                              \
     .kind = PROG_FLAG,                                                                                                \
     .help = "all rows are of one query where FILE has no qid and no FILE.query stands beside it",                     \
     .offset = offsetof(VALUES, FIELD.one_query)},                                                                     \
        {.name = "cache",                                                                                              \
         .kind = PROG_FLAG,                                                                                            \
         .help = "read FILE.thr-cache where it was made of FILE as it is now, else make it: the next time is faster",  \
         .offset = offsetof(VALUES, FIELD.cache)},

/* The rows of a file, and in *seconds how long they took. PROG_DONE, or an exit code, said. */
int prog_rank_open(program *run, const char *path, const prog_rank_values *values, bool comments, thr_ranking **ranking,
                   double *seconds);

/* n doubles; NULL, said, where there is no memory. */
double *prog_rank_numbers(uint64_t n);

/* Say where rows have fewer features than a model: what is not there counts as 0. */
void prog_rank_tell_width(const char *path, const thr_ranking *ranking, const char *model_path,
                          const thr_rank_model *model);

#endif
