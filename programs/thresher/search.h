/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - one run of `index search`: queries from a file or by name, batch by batch, to where results go.
 */
#ifndef THRESHER_PROGRAM_SEARCH_H
#define THRESHER_PROGRAM_SEARCH_H

#include "filter.h"
#include "program.h"
#include "results.h"

/* What the command line says. */
typedef struct prog_search_values {
    const char *dir;
    const char *queries;
    uint64_t k;
    prog_list like;
    double recall;
    uint64_t survivors;
    uint64_t candidates;
    double extra;
    bool exact;
    uint64_t query_bits;
    const char *filter;
    const char *output;
} prog_search_values;

/* One search of many queries: what stays the same from batch to batch, and the sums. */
typedef struct prog_search {
    program *run;
    const prog_search_values *values;
    thr_index *index;
    thr_index_info info;
    thr_search_options options;
    prog_filter filter;
    prog_results results;
    uint64_t k;           /* what the library is asked for */
    uint64_t width;       /* what is shown at most */
    uint64_t batch;       /* queries at once */
    uint64_t *ids;        /* batch x k */
    float *scores;        /* batch x k */
    uint8_t *certified;   /* batch: whether an answer is certainly the exact one; NULL: not asked */
    uint64_t n_certified; /* so far */
    float *vectors;       /* of --like */
    uint64_t *like;       /* ids of --like */
    double open_s;        /* seconds until the first search */
    double search_s;      /* seconds in thr_index_search */
    double started_s;     /* the clock at the start */
} prog_search;

/* All answer PROG_DONE or an exit code after having said what is wrong. */
int prog_search_prepare(prog_search *s);
int prog_search_file(prog_search *s);
int prog_search_like(prog_search *s);

/* Free everything; search may be partly prepared. An answer that is not committed is thrown away. */
void prog_search_free(prog_search *s);

#endif
