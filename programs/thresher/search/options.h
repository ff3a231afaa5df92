/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the values of `index search`, and its preparation and report for an index and for a collection. */
#pragma once

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
    bool follow;
    const char *output;
} prog_search_values;

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
