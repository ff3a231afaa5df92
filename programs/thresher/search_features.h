/* SPDX-License-Identifier: Apache-2.0 */
/* search_features.h - the features of the queries of `index search`: a line a query, in step with their vectors. */
#ifndef THRESHER_PROGRAM_SEARCH_FEATURES_H
#define THRESHER_PROGRAM_SEARCH_FEATURES_H

#include "hits_explain.h"

/* What the command line says of them. */
typedef struct prog_features_values {
    const char *features;
    size_t value;
    const char *multipliers, *offsets, *target;
    bool explain;
} prog_features_values;

typedef struct prog_features {
    const prog_features_values *values;
    thr_hits *hits; /* the index's, NULL where nothing is asked of them */
    thr_reader *lines;
    thr_hits_target *target;
    prog_hits_query *queries; /* of a batch, */
    uint64_t batch;           /* of so many at most, */
    thr_hits_queries view;    /* all of them */
    uint64_t *offsets;
    uint32_t *features;
    float *weights;
    size_t capacity;
    uint32_t *n_unknown;  /* of each, */
    uint64_t all_unknown; /* and of all so far */
    prog_explainer explainer;
} prog_features;

/*
 * What options need, which borrow it; batch queries are asked at once. dir is the index's name. All answer PROG_DONE,
 * or an exit code after having said what is wrong. Zeroed before; freed in any case.
 */
int prog_features_open(prog_features *f, program *run, const prog_features_values *values, thr_index *index,
                       const char *dir, uint64_t batch, thr_search_options *options);

/* The lines of the next n queries. */
int prog_features_next(prog_features *f, uint64_t n);

/* After the search of a batch: count what was unknown; explain the answer to query q of it, where that is asked. */
void prog_features_count(prog_features *f, uint64_t n);
int prog_features_explain(prog_features *f, uint64_t q, prog_answer *answer);

/* No line is left. */
int prog_features_end(prog_features *f);
void prog_features_free(prog_features *f);

#endif
