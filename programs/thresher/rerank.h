/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerank.h - what a search found, put in the order of a ranking model: the model's features are the search's own score
 * and columns of a file that has a row an item.
 */
#ifndef THRESHER_PROGRAM_RERANK_H
#define THRESHER_PROGRAM_RERANK_H

#include "program.h"

/* What the command line says of it. */
typedef struct prog_rerank_values {
    const char *model, *columns, *features, *items;
    uint64_t depth; /* 0: not given */
} prog_rerank_values;

typedef struct prog_rerank {
    const prog_rerank_values *values;
    const thr_index *index;
    thr_rank_model *model; /* NULL: features are told, the order stays */
    uint32_t n_features;   /* 0: nothing is asked */
    uint32_t n_columns;    /* of the file */
    int64_t *sources;      /* of a feature: a column from 0, or -1, the search's score */
    float *table;          /* by the index's rows, n_columns each */
    float *rows, *moved;   /* of an answer's items, n_features each; moved: in the new order */
    double *scores;
    float *found; /* the search's scores, in the new order */
    size_t *places;
} prog_rerank;

/* Words that are wrong together: PROG_WRONG_WORDS, said. k is what is to be shown. */
int prog_rerank_check(const program *run, const prog_rerank_values *values, uint64_t k, const char *output);

/*
 * Read the model and the columns; most is how many items an answer has. values are borrowed. PROG_DONE, or an exit code
 * after having said what is wrong. Zeroed before; freed in any case.
 */
int prog_rerank_open(prog_rerank *r, program *run, const prog_rerank_values *values, const thr_index *index,
                     uint64_t most);

/* An answer of n items: their features are r->rows then, their old scores r->found, in the order that ids have. */
int prog_rerank_answer(prog_rerank *r, uint64_t n, uint64_t *ids, float *scores);

void prog_rerank_free(prog_rerank *r);

#endif
