/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - where the answers of a search go: a table or JSON on standard output, or a file by its ending.
 *
 *   .ivecs   int32 number of ids, then the ids; rows that are short are filled up with -1
 *   .jsonl   {"query":0,"ids":[...],"scores":[...],"names":[...],"certified":true,"matches":[{...}]} a line; of queries
 *            with features that no item has also "unknown":["feature",...]
 *   .trec    query Q0 item rank score thresher
 *   .svm     0 qid:query 1:number 2:number ... # docid = item, where answers have features: rows to be labelled
 *
 * "-.jsonl" and the like write to standard output.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <thresher/thresher.h>

#include "cli/json.h"
#include "cli/output.h"

typedef enum prog_format {
    PROG_FORMAT_TABLE,
    PROG_FORMAT_JSON,
    PROG_FORMAT_IVECS,
    PROG_FORMAT_TREC,
    PROG_FORMAT_SVM
} prog_format;

/* The name of an item, or NULL. */
typedef const char *prog_name_of(const void *named, uint64_t id);

typedef struct prog_results {
    prog_format format;
    prog_out out;
    bool is_file;          /* not standard output */
    prog_name_of *name_of; /* NULL: items have no names */
    const void *named;
    uint64_t n_queries; /* written so far */
} prog_results;

/* A feature of the query that an item has. */
typedef struct prog_match {
    const char *word;
    float share;
} prog_match;

/* One query's answer. */
typedef struct prog_answer {
    const char *like; /* the item whose vector is the query, or NULL */
    const char *text; /* the text of the query, or NULL */
    const uint64_t *ids;
    const float *scores;
    uint64_t n;                 /* number of ids */
    uint64_t width;             /* most ids of an answer, at least 1 */
    const uint8_t *certified;   /* whether the answer is proven exact; NULL: unknown */
    const prog_match *matches;  /* item i's are matches[match_ends[i - 1]] to matches[match_ends[i] - 1], from 0; */
    const uint64_t *match_ends; /* NULL: no explanations */
    const struct prog_hits_query *query; /* its features, or NULL */
    const float *features;               /* n x n_features, or NULL */
    uint32_t n_features;                 /* of each item */
    const float *found_scores;           /* the search's scores, if another order was applied; or NULL */
    const float *log_probs;              /* of words, or NULL: items have none */
    const char *normaliser;              /* with log_probs: the normaliser, ... */
    const uint32_t *n_candidates;        /* ... and the number of words scored */
} prog_answer;

/*
 * path: the value of -o, or NULL for standard output, where --json selects JSON instead of the table. name_of may be
 * NULL. features: answers have them, so they can be written as .svm. Returns PROG_DONE, or an exit code after printing
 * an error.
 */
int prog_results_open(prog_results *results, const struct program *run, const char *path, prog_name_of *name_of,
                      const void *named, bool features);

/* Whether the format has a place for certified. */
bool prog_results_show_certified(const prog_results *results);

int prog_results_put(prog_results *results, const prog_answer *answer);

/* Publish the file if rc is PROG_DONE, else delete it, as prog_out_close. */
int prog_results_close(prog_results *results, int rc);
