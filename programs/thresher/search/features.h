/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - features of queries, a line a query, from a file or the command line, with targets, bids and
 * explanations. For `hits search`, and for `index search` beside the queries' vectors.
 */
#pragma once

#include "hits/explain.h"

/* Values of the command line. */
typedef struct prog_features_values {
    size_t value; /* thr_hits_value */
    const char *multipliers, *offsets, *target;
    bool explain;
} prog_features_values;

extern const char *const prog_value_forms[];

/* Entries of an option table; at: the offset of the values in the command's struct; sum: what s is, in the help. */
#define PROG_FEATURES_OPTIONS(at, sum)                                                                                 \
    {PROG_CHOICE_OPTION("value", "sum|sigmoid", prog_value_forms, (at) + offsetof(prog_features_values, value),        \
                        "the value that ranks items: sum, s x multiplier + offset; sigmoid, multiplier / (1 + "        \
                        "exp(-s)) + offset. s is " sum),                                                               \
     .fallback = "sum"},                                                                                               \
        {PROG_FILE_OPTION("multipliers", (at) + offsetof(prog_features_values, multipliers),                           \
                          "one bid per item: .tsv of items and numbers, 1 for items not listed; or a column of "       \
                          "numbers (.npy, .fvecs) in order of items (default: those of the build)")},                  \
        {PROG_FILE_OPTION("offsets", (at) + offsetof(prog_features_values, offsets),                                   \
                          "one offset per item, in the same formats, 0 for items not listed")},                        \
        {PROG_TEXT_OPTION("target", "WORDS", (at) + offsetof(prog_features_values, target),                            \
                          "items that may be found, by their features: an expression with AND, OR, NOT and "           \
                          "parentheses, such as 'category=12 AND NOT (brand=7 OR brand=9)'. Features are compared "    \
                          "as words, not as numbers")},                                                                \
    {                                                                                                                  \
        PROG_FLAG_OPTION("explain", (at) + offsetof(prog_features_values, explain),                                    \
                         "show which of the query's features each item has, and their weights")                        \
    }

typedef struct prog_features {
    const prog_features_values *values;
    prog_hits_parts parts;     /* of 0: not used */
    thr_hits_target **targets; /* of each part; or NULL */
    const char *name;          /* name of the source of lines, for messages; NULL: queries have no features */
    thr_reader *lines;         /* or ... */
    const prog_list *texts;    /* ... these */
    const thr_dual *dual;      /* if not NULL, lines are users' words, which this model converts to weights */
    char *weighed;             /* such a line of features */
    size_t weighed_capacity;
    uint64_t n_lines;         /* read so far */
    uint64_t model;           /* fingerprint of the model that made the weights, or 0 */
    uint64_t model_line;      /* the line that names it, from 1 */
    prog_hits_batch batch;    /* the lines read last */
    prog_hits_query query;    /* the query being answered */
    uint64_t n_unknown;       /* features so far that no item has */
    uint64_t n_unmatched;     /* queries that have only such features */
    uint64_t first_unmatched; /* the first of them, from 0 */
    uint64_t n_empty;         /* queries without any feature */
    uint64_t first_empty;     /* the first of them, from 0 */
    prog_explainer explainer;
} prog_features;

/* All return PROG_DONE, or an exit code after printing an error. Zeroed before; freed in any case. */

/* Open the target and the values, if given. parts, which may be none, are borrowed. */
int prog_features_open(prog_features *f, program *run, const prog_features_values *values,
                       const prog_hits_parts *parts);

/*
 * Set the source of lines: a file, or texts of the command line; name is for messages. dual NULL: lines are features.
 */
int prog_features_from(prog_features *f, program *run, const char *file, const char *name, const prog_list *texts,
                       const thr_dual *dual);

/*
 * Read the lines of the next queries: at most `most` of them; or one for each of n rows of numbers, if there are lines.
 */
int prog_features_next(prog_features *f, uint64_t most);
int prog_features_of_rows(prog_features *f, uint64_t n);

/* The features of the last batch for a search of a part, until the next call; and the part's target, or NULL. */
thr_hits_queries prog_features_view(prog_features *f, size_t part);
const thr_hits_target *prog_features_target(const prog_features *f, size_t part);

/* "queries.txt: line 3": the line that names the model. */
typedef struct prog_line {
    char text[256];
} prog_line;
prog_line prog_features_model_line(const prog_features *f);

/* Add to an answer the unknown features of query q of the last batch, and an explanation. */
int prog_features_answer(prog_features *f, uint64_t q, prog_answer *answer);

/* Check that no line is left. */
int prog_features_end(prog_features *f);

/* Print notes on unknown features. */
void prog_features_report(const prog_features *f);
void prog_features_free(prog_features *f);
