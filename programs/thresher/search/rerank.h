/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerank.h - sort the items found by a ranking model, whose features are the search's score and columns of a file with
 * one row per item.
 */
#pragma once

#include "cli/program.h"
#include "input/items.h"

/* Values of the command line. */
typedef struct prog_rerank_values {
    const char *model, *columns, *features, *items;
    uint64_t depth; /* 0: not given */
} prog_rerank_values;

typedef struct prog_rerank {
    const prog_rerank_values *values;
    const prog_items *items;
    thr_rank_model *model; /* NULL: compute features, keep the order */
    uint32_t n_features;   /* 0: nothing to do */
    uint32_t n_columns;    /* of the file */
    int64_t *sources;      /* of each feature: a column from 0, or -1, the search's score */
    float *table;          /* by row, n_columns each */
    float *rows, *moved;   /* of an answer's items, n_features each; moved: in the new order */
    double *scores;
    float *found; /* the search's scores, in the new order */
    size_t *places;
} prog_rerank;

/* Check the options: PROG_WRONG_WORDS after printing an error. k is the number of items shown. */
int prog_rerank_check(const program *run, const prog_rerank_values *values, uint64_t k, const char *output);

/*
 * Read the model and the columns; most is the largest number of items of an answer. values and items are borrowed.
 * Returns PROG_DONE, or an exit code after printing an error. Zeroed before; freed in any case.
 */
int prog_rerank_open(prog_rerank *r, program *run, const prog_rerank_values *values, const prog_items *items,
                     uint64_t most);

/*
 * Sort an answer of n items. Afterwards r->rows has their features and r->found the search's scores, in the new order.
 */
int prog_rerank_answer(prog_rerank *r, uint64_t n, uint64_t *ids, float *scores);

void prog_rerank_free(prog_rerank *r);
