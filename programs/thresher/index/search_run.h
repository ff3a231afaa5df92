/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_run.h - one run of `index search`: queries from a file, by name or as texts, batch by batch, in an index or in
 * all shards of a collection.
 */
#pragma once

#include "search/options.h"

typedef struct prog_vector_search {
    prog_search search;
    const prog_search_values *values;
    thr_index *index;   /* NULL: a collection is searched */
    thr_index *first;   /* with --follow: the index as it was opened, whose model encodes texts; else NULL */
    thr_shards *shards; /* NULL: an index is searched */
    uint32_t n_dims;
    prog_items items;       /* of the index as it was opened, or of all shards, */
    prog_items_part *parts; /* and their indexes, whose first has the model, */
    prog_hits_part *lists;  /* and posting lists */
    thr_search_options options;
    prog_filter filter;
    float least_score; /* by radius: the options for the library */
    bool explained;    /* the plan was printed */
    float *vectors;    /* of --like and --text */
    uint64_t *like;    /* ids of --like */
} prog_vector_search;

/* All return PROG_DONE, or an exit code after printing an error. */
int prog_vector_search_prepare(prog_vector_search *s);

/* Search all queries: of a file, or of --like and --text. */
int prog_vector_search_file(prog_vector_search *s);
int prog_vector_search_words(prog_vector_search *s);

/* Free everything; s may be partly prepared. */
void prog_vector_search_free(prog_vector_search *s);
