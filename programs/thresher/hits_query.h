/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_query.h - a query of posting lists as text: features parted by spaces, each with a weight behind its last colon.
 *
 *     category=12:1.5 brand=7 time=12:30      weights 1.5, 1 and 30
 *
 * A line's first word may say which model its weights are of, by its fingerprint: `#model=0123456789abcdef`.
 */
#ifndef THRESHER_PROGRAM_HITS_QUERY_H
#define THRESHER_PROGRAM_HITS_QUERY_H

#include "program.h"

/* Zeroed before the first query; its memory is used again. */
typedef struct prog_hits_query {
    char *text;         /* the words, each with a zero byte */
    const char **words; /* within text */
    uint32_t *features; /* UINT32_MAX for a word that no item has */
    float *weights;
    size_t n, capacity, text_capacity;
    uint64_t model; /* 0: not told */
} prog_hits_query;

/* What a model's lines begin with, and the hexadecimal digits behind it. */
#define PROG_HITS_MODEL_WORD "#model="
enum { PROG_HITS_MODEL_DIGITS = 16 };

/* Read one line, called name in messages. Answers PROG_DONE or an exit code after having said what is wrong. */
int prog_hits_query_read(prog_hits_query *query, const thr_hits *hits, const char *name, const char *line,
                         size_t length);
void prog_hits_query_free(prog_hits_query *query);

/*
 * hits_values.c: a number for every item, by row: of a table, FILE.tsv with an item and its number in each line, where
 * items that are not named have fallback; or of any file of numbers, one a row in their order. The caller frees it.
 */
int prog_hits_values_read(program *run, const thr_hits *hits, const char *path, float fallback, float **values);

/* Set them as a search's options name their files; NULL: those that the lists have stay, with both NULL. */
int prog_hits_values_set(program *run, thr_hits *hits, const char *multipliers, const char *offsets);

/* The same for the *n items of a table of features, before anything is built of it. */
int prog_table_values_read(program *run, const char *table, const char *path, float fallback, float **values,
                           uint64_t *n);

#endif
