/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - what `index search` and `hits search` share: queries in batches, their answers in order to where results
 * go.
 */
#ifndef THRESHER_PROGRAM_SEARCH_H
#define THRESHER_PROGRAM_SEARCH_H

#include "rerank.h"
#include "results.h"
#include "search_features.h"

/* One search of many queries: what stays the same from batch to batch, and the sums. */
typedef struct prog_search prog_search;
struct prog_search {
    program *run;
    uint64_t n_items;       /* that are searched */
    const char *queries;    /* the file of queries, or ... */
    const prog_list *words; /* ... these of the command line, as answers show them */
    const uint64_t *like;   /* the items that the words are, which their answers leave out; or NULL */
    prog_features features;
    prog_rerank rerank;
    prog_results results;
    thr_radius_result *found; /* a batch's answers, where all within a radius are asked for */
    bool by_radius;
    uint64_t k;           /* items requested from the library, where there is no radius */
    uint64_t depth;       /* items passed to the reranker, the query's own item excluded */
    uint64_t width;       /* items shown at most */
    uint64_t *ids;        /* batch x k; by radius: one answer, with room for capacity items */
    float *scores;        /* as ids */
    uint64_t capacity;    /* of ids and scores, by radius */
    uint64_t batch;       /* queries at once */
    uint8_t *certified;   /* batch: whether an answer is certainly the exact one; NULL: not asked */
    uint64_t n_certified; /* so far, and */
    uint64_t n_found;     /* items */
    double open_s;        /* seconds until the first search, */
    double search_s;      /* in searches, */
    double started_s;     /* and the clock at the start */

    /* Search a batch: rows of numbers, or NULL where queries are features alone. Its answers are ids and scores, or
       found. */
    thr_status (*search_batch)(prog_search *s, const thr_matrix *queries, thr_error *err);
};

/* search_radius.c: a batch's answer to a query, n items of it, to ids and scores. */
int prog_search_take_found(prog_search *s, uint64_t query, uint64_t *n);

/*
 * Set k, depth and width for at most n_allowed items, and allocate a batch. With --like one more item is requested, as
 * the query's own is dropped. depth: items to rerank; 0: k. Returns PROG_DONE or an exit code, as the functions below.
 */
int prog_search_make_room(prog_search *s, uint64_t k, uint64_t depth, uint64_t n_allowed);

/* Search a batch and write its answers; queries are NULL where they are features alone, of which the next are read. */
int prog_search_batch(prog_search *s, const thr_matrix *queries);

/* At the end, or after a step that failed with rc: close the results, and note the sums. Answers rc, or a worse one. */
int prog_search_end(prog_search *s, int rc);

/* Free everything else; s may be partly prepared. */
void prog_search_free(prog_search *s);

#endif
