/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - the common part of `index search` and `hits search`: search queries in batches, write answers in order. */
#pragma once

#include "search/rerank.h"
#include "output/results.h"
#include "search/features.h"

/* One search of many queries: its constants, and totals. */
typedef struct prog_search prog_search;
struct prog_search {
    program *run;
    uint64_t n_items;       /* items searched */
    const char *queries;    /* the file of queries, or ... */
    const prog_list *words; /* ... queries of the command line, as answers show them */
    const uint64_t *like;   /* the query items of --like, which their answers leave out; or NULL */
    prog_features features;
    prog_rerank rerank;
    prog_results results;
    thr_radius_result *found; /* a batch's answers of a search by radius */
    bool by_radius;
    uint64_t k;           /* items requested from the library, except by radius */
    uint64_t depth;       /* items passed to the reranker, the query's own item excluded */
    uint64_t width;       /* items shown at most */
    uint64_t *ids;        /* batch x k; by radius: one answer, with room for capacity items */
    float *scores;        /* as ids */
    uint64_t capacity;    /* of ids and scores, by radius */
    uint64_t batch;       /* queries at once */
    uint8_t *certified;   /* one flag per query of the batch: proven exact; NULL: not requested */
    uint64_t n_certified; /* so far, and */
    uint64_t n_found;     /* items */
    bool has_cells;       /* whether the index or collection has cells, */
    bool may_skip_cells;  /* and whether searches may skip some: not while a journal has changes */
    bool reads_all_cells; /* of an index with codes relative to cells: the CPU screens such searches */
    bool flush;           /* write every answer at once */
    bool skips_wrong;     /* a query with NaN or infinity gets an empty answer and a note; needs batches of 1 */
    double open_s;        /* seconds until the first search, */
    double search_s;      /* in searches, */
    double started_s;     /* and the clock at the start */

    /* Search a batch: rows of numbers, or NULL if queries have only features. Fills ids and scores, or found. */
    thr_status (*search_batch)(prog_search *s, const thr_matrix *queries, thr_error *err);
};

/*
 * radius.c: choose the batch of a search by radius, and *least_score, the library's for radius; dir, of items of
 * this metric, and output are for messages.
 */
int prog_search_prepare_radius(prog_search *s, const char *dir, thr_metric metric, double radius, const char *output,
                               float *least_score);

/* radius.c: copy the n items of a query's answer to ids and scores. */
int prog_search_take_found(prog_search *s, uint64_t query, uint64_t *n);

/*
 * Set k, depth and width for at most n_allowed items, and allocate a batch. With --like one more item is requested,
 * because the query's own is dropped. depth: items to rerank; 0: k. Returns PROG_DONE or an exit code, as the functions
 * below.
 */
int prog_search_make_room(prog_search *s, uint64_t k, uint64_t depth, uint64_t n_allowed);

/* Search a batch and write its answers. queries is NULL if queries have only features, which are read next. */
int prog_search_batch(prog_search *s, const thr_matrix *queries);

/*
 * Search all rows of a reader of rows of numbers, of the file s->queries, which must have the n_dims dimensions of the
 * items in dir.
 */
int prog_search_rows(prog_search *s, thr_reader *reader, const char *dir, uint32_t n_dims);

/* Search s->words, whose vectors of n_dims dimensions these are. */
int prog_search_words(prog_search *s, const float *vectors, uint32_t n_dims);

/* At the end, or after a step that failed with rc: close the results and print totals. Returns rc, or a worse code. */
int prog_search_end(prog_search *s, int rc);

/* Free everything else; s may be partly prepared. */
void prog_search_free(prog_search *s);
