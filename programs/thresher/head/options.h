/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - options of a head's queries, shared by head query and translate. */
#pragma once

#include "cli/program.h"

typedef struct prog_head_values {
    size_t normaliser;
    uint64_t frequent, threshold, shortlist;
} prog_head_values;

extern const char *const prog_normalisers[]; /* thr_head_normaliser */

/* Entries of an option table; values is the member of that type in the command's struct. */
#define PROG_HEAD_OPTIONS(type, values)                                                                                \
    {PROG_COUNT_OPTION("frequent", "N", offsetof(type, values.frequent),                                               \
                       "most frequent words that are candidates (default: 1000, or all if fewer; with planes "         \
                       "none)"),                                                                                       \
     .most = UINT32_MAX - 1},                                                                                          \
        {PROG_COUNT_OPTION("threshold", "N", offsetof(type, values.threshold),                                         \
                           "with wta: bands in which a word must share the state's hashes (default: 2)"),              \
         .least = 1, .most = UINT32_MAX - 1},                                                                          \
        {PROG_COUNT_OPTION("shortlist", "N", offsetof(type, values.shortlist),                                         \
                           "with planes: words of the best estimates that are candidates (default: 100 + 16 for "      \
                           "each word to find)"),                                                                      \
         .least = 1, .most = UINT32_MAX - 1},                                                                          \
    {                                                                                                                  \
        PROG_CHOICE_OPTION("normaliser", "candidates|exact|sampled", prog_normalisers,                                 \
                           offsetof(type, values.normaliser),                                                          \
                           "words over which probabilities sum to 1: candidates; exact, all words, which are all "     \
                           "scored; sampled, all words, estimated by a sample"),                                       \
            .fallback = "candidates"                                                                                   \
    }

/*
 * Copy the given values to a query's options, whose screen is set; the others keep their defaults. Prints notes on
 * options of other screens.
 */
void prog_head_take_options(const program *run, const prog_head_values *values, thr_head_query_options *query);
