/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_features.h - the features of queries: a line a query, from a file or the command line; and what they are used
 * with: targets, bids and explanations. Of `hits search`, and of `index search` in step with the queries' vectors.
 */
#ifndef THRESHER_PROGRAM_SEARCH_FEATURES_H
#define THRESHER_PROGRAM_SEARCH_FEATURES_H

#include "hits_explain.h"

/* What the command line says of them. */
typedef struct prog_features_values {
    size_t value; /* thr_hits_value */
    const char *multipliers, *offsets, *target;
    bool explain;
} prog_features_values;

extern const char *const prog_value_forms[];

/* Entries of an option table; values is the member of that type in the command's struct. */
#define PROG_FEATURES_OPTIONS(type, values)                                                                            \
    {PROG_CHOICE_OPTION("value", "sum|sigmoid", prog_value_forms, offsetof(type, values.value),                        \
                        "what an item is ranked by, where s is the sum of its weights and, of an index, its score: s " \
                        "x multiplier + offset, or multiplier / (1 + exp(-s)) + offset"),                              \
     .fallback = "sum"},                                                                                               \
        {PROG_FILE_OPTION("multipliers", offsetof(type, values.multipliers),                                           \
                          "a bid an item: .tsv of items and numbers, where others have 1; or a column of numbers in "  \
                          "order of items (default: those of the build)")},                                            \
        {PROG_FILE_OPTION("offsets", offsetof(type, values.offsets),                                                   \
                          "what is added for an item, in the same way, where others have 0")},                         \
        {PROG_TEXT_OPTION(                                                                                             \
            "target", "WORDS", offsetof(type, values.target),                                                          \
            "which items may be found, by what they have: features with AND, OR, NOT and parentheses, such as "        \
            "'category=12 AND NOT (brand=7 OR brand=9)'; a feature is a word, and no numbers are compared")},          \
    {                                                                                                                  \
        PROG_FLAG_OPTION("explain", offsetof(type, values.explain),                                                    \
                         "show which of the query's features each item has, and their weights")                        \
    }

typedef struct prog_features {
    const prog_features_values *values;
    thr_hits *hits; /* NULL: nothing is asked of them */
    thr_hits_target *target;
    const char *name;       /* of what the lines are from, for messages; NULL: queries have no features */
    thr_reader *lines;      /* or ... */
    const prog_list *texts; /* ... these */
    const thr_dual *dual;   /* lines are a user's words, of which it says what they weigh; or NULL */
    char *weighed;          /* such a line of features */
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

/* All answer PROG_DONE, or an exit code after having said what is wrong. Zeroed before; freed in any case. */

/* The target and the values, where they are given. */
int prog_features_open(prog_features *f, program *run, const prog_features_values *values, thr_hits *hits);

/* Where lines are from: a file, or words of the command line, called name in messages; dual NULL: they are features. */
int prog_features_from(prog_features *f, program *run, const char *file, const char *name, const prog_list *texts,
                       const thr_dual *dual);

/* The lines of the next queries: of all that are left, most at most; or, where there are any, of n rows of numbers. */
int prog_features_next(prog_features *f, uint64_t most);
int prog_features_of_rows(prog_features *f, uint64_t n);

/* The features of the last batch, as the library takes them. */
thr_hits_queries prog_features_view(const prog_features *f);

/* "queries.txt: line 3": where the model was told. */
typedef struct prog_line {
    char text[256];
} prog_line;
prog_line prog_features_model_line(const prog_features *f);

/* What an answer shows of query q of the last batch's features: which of them no item has, and an explanation. */
int prog_features_answer(prog_features *f, uint64_t q, prog_answer *answer);

/* No line is left. */
int prog_features_end(prog_features *f);

/* Note what no item has. */
void prog_features_report(const prog_features *f);
void prog_features_free(prog_features *f);

#endif
