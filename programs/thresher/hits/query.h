/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - queries of posting lists as text: features separated by spaces, each with a weight after its last
 * colon.
 *
 *     category=12:1.5 brand=7 time=12:30      weights 1.5, 1 and 30
 *
 * A line's first word may be the fingerprint of the model that its weights are of: `#model=0123456789abcdef`.
 */
#pragma once

#include "hits/dictionary.h"
#include "hits/parts.h"

/* A batch of queries. Zeroed before the first; prog_hits_batch_clear keeps the memory. */
typedef struct prog_hits_batch {
    char *text;         /* all words, each with a zero byte */
    size_t *words;      /* where in text each begins */
    uint32_t *numbers;  /* of the words in the dictionary */
    uint32_t *features; /* of the first part that has the word; UINT32_MAX if none has */
    uint32_t *own;      /* of one part: prog_hits_batch_of */
    prog_dictionary dictionary;
    float *weights;
    size_t n, capacity, text_size, text_capacity;
    uint64_t *offsets; /* n_queries + 1 */
    size_t n_queries, queries_capacity;
} prog_hits_batch;

/* One of them: features i to i + n of all. A view. */
typedef struct prog_hits_query {
    const char *text;
    const size_t *words;
    const uint32_t *features;
    const float *weights;
    size_t n;
} prog_hits_query;

static inline const char *prog_hits_query_word(const prog_hits_query *query, size_t i) {
    return query->text + query->words[i];
}

/* The prefix of a model's lines, and the number of hexadecimal digits after it. */
#define PROG_HITS_MODEL_WORD "#model="
enum { PROG_HITS_MODEL_DIGITS = 16 };

/*
 * Add the query of a line, called name in messages; *model becomes its fingerprint, or 0. Returns PROG_DONE, or an exit
 * code after printing an error.
 */
int prog_hits_batch_add(prog_hits_batch *batch, const prog_hits_parts *parts, const char *name, const char *line,
                        size_t length, uint64_t *model);

/* All queries with the features of a part, for a search of it. A view. */
thr_hits_queries prog_hits_batch_of(prog_hits_batch *batch, const prog_hits_parts *parts, size_t part);
void prog_hits_batch_clear(prog_hits_batch *batch);
prog_hits_query prog_hits_batch_query(const prog_hits_batch *batch, size_t i);
void prog_hits_batch_free(prog_hits_batch *batch);

/* Whether the word ends in a colon and a weight; *colon is that colon. */
bool prog_hits_weight(const char *word, const char **colon, float *weight);
