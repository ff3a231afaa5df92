/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the values, options, preparation and report that `index search` and `shards search` share. */
#pragma once

#include <math.h>

#include "input/filter.h"
#include "search/search.h"

/* Values of the command line. */
typedef struct prog_search_values {
    const char *dir;
    const char *queries;
    prog_list like;
    prog_list text;
    const char *filter;
    bool skip_missing;
    uint64_t k;
    double radius; /* NaN: not given */
    double recall;
    uint64_t survivors;
    uint64_t candidates;
    bool exact;
    bool certify;
    uint64_t query_bits;
    const char *features;
    prog_features_values with; /* values, target and explanations of features */
    prog_rerank_values rerank;
    const char *output;
} prog_search_values;

enum { PROG_GROUP_CANDIDATES = 1, PROG_GROUP_WANTED };

/* Entries of tables; at: the offset of a prog_search_values in the command's; where: "an index", or "index". */
#define PROG_QUERIES_ARGUMENT(at, where)                                                                               \
    PROG_ARGUMENT("QUERIES", PROG_NAMES_FILE, (at) + offsetof(prog_search_values, queries),                            \
                  "rows of numbers, in any format that thresher index build reads; for " where " with a "              \
                  "model also texts, one per line: .txt, or FILE.tsv:COLUMN; or --like or --text")

#define PROG_QUERY_OPTIONS(at, where)                                                                                  \
    {PROG_LIST_OPTION("like", "NAME|ID", (at) + offsetof(prog_search_values, like),                                    \
                      "instead of QUERIES: use the vector of this item, and leave the item out of the answer; "        \
                      "repeatable")},                                                                                  \
    {                                                                                                                  \
        PROG_LIST_OPTION("text", "TEXT", (at) + offsetof(prog_search_values, text),                                    \
                         "instead of QUERIES: encode this text with the " where "'s model; repeatable")                \
    }

#define PROG_FILTER_OPTIONS(at)                                                                                        \
    {PROG_FILE_OPTION("filter", (at) + offsetof(prog_search_values, filter),                                           \
                      "items that may be found: a text of ids or names (.txt .tsv:COLUMN .csv:COLUMN), a file "        \
                      "of ids, .roaring of ids, or .npy of u1 or bool with one 0 or 1 per item")},                     \
    {                                                                                                                  \
        PROG_FLAG_OPTION("skip-missing", (at) + offsetof(prog_search_values, skip_missing),                            \
                         "skip ids and names of --filter that no item has, and count them (default: an error)")        \
    }

#define PROG_WANTED_OPTIONS(at, where)                                                                                 \
    {PROG_K_OPTION((at) + offsetof(prog_search_values, k), "items to find for every query"),                           \
     .group = PROG_GROUP_WANTED},                                                                                      \
    {                                                                                                                  \
        PROG_REAL_OPTION("radius", "S", (at) + offsetof(prog_search_values, radius),                                   \
                         "instead of -k: find all items whose cosine or inner product with the query is at least "     \
                         "S, or whose distance is at most S in " where " for l2 (scores are minus its square)"),       \
            .least_real = -INFINITY, .group = PROG_GROUP_WANTED                                                        \
    }

/* The help of counts: "" or " of all shards", " of a shard". */
#define PROG_SCREEN_OPTIONS(at, where, of_all, of_one)                                                                 \
    {PROG_REAL_OPTION("recall", "R", (at) + offsetof(prog_search_values, recall),                                      \
                      "the share of the true k best" of_all " to find, on average over queries, above 0 "              \
                      "and up to 1; above 0.999 the search is exact. Without kept vectors recall is "                  \
                      "measured against the codes: the best by all codes, which are not quite the true best. With "    \
                      "--radius: the probability of finding an item just within it; better items are found more "      \
                      "often, and with 1 every item is found"),                                                        \
     .most_real = 1.0, .fallback = "0.99"},                                                                            \
        {PROG_COUNT_OPTION("survivors", "N", (at) + offsetof(prog_search_values, survivors),                           \
                           "number of items" of_one " that pass the screen, whose other planes are read (default: "    \
                           "what the recall requires)"),                                                               \
         .least = 1},                                                                                                  \
        {PROG_COUNT_OPTION("candidates", "N", (at) + offsetof(prog_search_values, candidates),                         \
                           "number of items" of_one " that get exact scores (default: what the recall requires)"),     \
         .least = 1, .group = PROG_GROUP_CANDIDATES},                                                                  \
        {PROG_FLAG_OPTION("exact", (at) + offsetof(prog_search_values, exact),                                         \
                          "score stored vectors exactly, without codes"),                                              \
         .group = PROG_GROUP_CANDIDATES},                                                                              \
        {PROG_FLAG_OPTION(                                                                                             \
            "certify", (at) + offsetof(prog_search_values, certify),                                                   \
            "report for every answer whether it is proven to be the exact one. This makes a search read all "          \
            "cells, unless it is exact or by radius. Without --certify, --json, -o X.jsonl and -v report it "          \
            "where that reads no more cells")},                                                                        \
    {                                                                                                                  \
        PROG_COUNT_OPTION("query-bits", "1..8", (at) + offsetof(prog_search_values, query_bits),                       \
                          "bits per dimension of the query's code (default: 4; for " where                             \
                          " of model codes as many as the model's queries have)"),                                     \
            .least = 1, .most = 8                                                                                      \
    }

#define PROG_FUSED_OPTIONS(at, where)                                                                                  \
    {PROG_FILE_OPTION(                                                                                                 \
        "features", (at) + offsetof(prog_search_values, features),                                                     \
        "one line per query, as 'category=12:1.5 brand=7': features, each with a weight after "                        \
        "its last colon, else 1 (.txt, or FILE.tsv:COLUMN). The score of an item grows by the weights of "             \
        "its features")},                                                                                              \
        PROG_FEATURES_OPTIONS((at) + offsetof(prog_search_values, with),                                               \
                              "the item's score plus the weights of the query's features that the item has. "          \
                              "Without --features bids do not count"),                                                 \
        {PROG_TEXT_OPTION("rank", "MODEL", (at) + offsetof(prog_search_values, rerank.model),                          \
                          "sort the items found by a model of thresher rank train, and show its scores"),              \
         .names = PROG_NAMES_FILE},                                                                                    \
        {PROG_TEXT_OPTION("rank-columns", "NAME,...", (at) + offsetof(prog_search_values, rerank.columns),             \
                          "the model's features 1, 2, ...: \"score\", the score of the search, or columns of "         \
                          "--rank-features, by name or by number from 1")},                                            \
        {PROG_FILE_OPTION("rank-features", (at) + offsetof(prog_search_values, rerank.features),                       \
                          "features of items: .tsv or .csv, or a matrix as .npy; one row per item, in the order of "   \
                          "the " where "'s rows")},                                                                    \
        {PROG_TEXT_OPTION("rank-items", "COLUMN", (at) + offsetof(prog_search_values, rerank.items),                   \
                          "the column of --rank-features with the items' names or ids; its rows may then be in any "   \
                          "order")},                                                                                   \
    {                                                                                                                  \
        PROG_COUNT_OPTION("rank-depth", "N", (at) + offsetof(prog_search_values, rerank.depth),                        \
                          "find N items, sort them by the model, and show the best -k (default: -k)"),                 \
            .least = 1                                                                                                 \
    }

#define PROG_FOUND_OPTION(at)                                                                                          \
    {                                                                                                                  \
        PROG_RESULTS_OPTION((at) + offsetof(prog_search_values, output),                                               \
                            "; with --rank-columns also .svm, the features of the items found, with labels of 0, for " \
                            "thresher rank train")                                                                     \
    }

/* Check options that are valid alone but not together. Returns PROG_DONE, or an exit code after printing an error. */
int prog_search_values_check(const program *run, const prog_search_values *values);

/* Set the options that values give, at most n_items survivors and candidates. */
void prog_search_values_set(const prog_search_values *values, uint64_t n_items, thr_search_options *options);

/* Read --filter, if given, and set its options; the words are those of *filter, which is for prog_filter_free(). */
int prog_search_values_filter(const prog_search_values *values, program *run, const prog_items *items,
                              prog_filter *filter, thr_search_options *options);

/*
 * Queries of the command line, if any: the vectors of --like, or of --text by the model of an index. s->words is set,
 * and with --like s->like, which is *like; *like and *vectors are for free().
 */
int prog_search_values_words(const prog_search_values *values, const prog_items *items, prog_search *s, uint64_t **like,
                             float **vectors);

/*
 * fused.c: open the target and the values of posting lists, and the file of --features. parts are borrowed; how they
 * are built is for the message where there are none.
 */
int prog_search_values_features(const prog_search_values *values, prog_search *s, const prog_hits_parts *parts,
                                const char *how);

/*
 * fused.c: if there are posting lists and a dual model (may be NULL), users given as words (a file of lines, or texts;
 * the other is NULL) get the features of their histories from the model, unless --features names a file. Then check the
 * options of features.
 */
int prog_search_values_users(const prog_search_values *values, prog_search *s, const thr_dual *dual, const char *file,
                             const prog_list *texts);

/*
 * After prog_results_open, with s->has_cells and s->may_skip_cells set: allocate for -k (n_allowed as in
 * prog_search_make_room), or prepare for --radius in items of this metric. Allocate the certified flags with --certify.
 * If the output shows them, or with --verbose, allocate them also without --certify, unless that makes the search read
 * more cells. Returns as above.
 */
int prog_search_values_prepare(const prog_search_values *values, thr_metric metric, uint64_t n_allowed, prog_search *s,
                               float *least_score);

/* report.c: after prog_search_end, details, and a summary on standard output for --json with -o. what: "index". */
void prog_search_report(const prog_search_values *values, const prog_search *s, const char *what);
