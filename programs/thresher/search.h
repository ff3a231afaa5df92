/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - one run of `index search`: queries from a file, by name or as texts, batch by batch, to where results go.
 */
#ifndef THRESHER_PROGRAM_SEARCH_H
#define THRESHER_PROGRAM_SEARCH_H

#include "filter.h"
#include "program.h"
#include "rerank.h"
#include "results.h"
#include "search_features.h"

/* What the command line says. */
typedef struct prog_search_values {
    const char *dir;
    const char *queries;
    uint64_t k;    /* 0: not given */
    double radius; /* NaN: not given */
    prog_list like;
    prog_list text;
    double recall;
    uint64_t survivors;
    uint64_t candidates;
    double extra;
    bool exact;
    uint64_t query_bits;
    const char *filter;
    prog_features_values features;
    prog_rerank_values rerank;
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
    prog_features features;
    prog_rerank rerank;
    prog_results results;
    float least_score;        /* by radius: what the library is asked for; */
    thr_radius_result *found; /* and what a batch's answers are */
    uint64_t n_found;         /* so far */
    uint64_t k;               /* else what it is asked for; */
    uint64_t depth;           /* what of it is put in order, without an item itself; */
    uint64_t width;           /* what is shown at most; */
    uint64_t *ids;            /* batch x k; by radius one answer, */
    float *scores;            /* which has so much */
    uint64_t room;            /* room */
    uint64_t batch;           /* queries at once */
    uint8_t *certified;       /* batch: whether an answer is certainly the exact one; NULL: not asked */
    uint64_t n_certified;     /* so far */
    float *vectors;           /* of --like and --text */
    uint64_t *like;           /* ids of --like */
    double open_s;            /* seconds until the first search */
    double search_s;          /* seconds in thr_index_search */
    double started_s;         /* the clock at the start */
} prog_search;

/* Whether all within a radius are asked for, and not the best k. */
bool prog_search_by_radius(const prog_search_values *values);

/* All answer PROG_DONE or an exit code after having said what is wrong. */
int prog_search_prepare(prog_search *s);
int prog_search_file(prog_search *s);
int prog_search_like(prog_search *s);
int prog_search_texts(prog_search *s);

/* Search the first n of s->vectors. */
int prog_search_vectors(prog_search *s, size_t n);

/* Lines of texts as the index's model encodes queries; name is how the command line calls them. */
int prog_search_encode(const prog_search *s, const char *name, thr_reader *texts, thr_reader **rows);

/* The same parts of a search by radius; and a batch's answer to a query, n items of it, to ids and scores. */
int prog_search_prepare_radius(prog_search *s);
int prog_search_take_found(prog_search *s, uint64_t query, uint64_t *n);

/* Free everything; search may be partly prepared. An answer that is not committed is thrown away. */
void prog_search_free(prog_search *s);

#endif
