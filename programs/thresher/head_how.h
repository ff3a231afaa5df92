/* SPDX-License-Identifier: Apache-2.0 */
/* head_how.h - how a head is asked: what head query and translate share. */
#ifndef THRESHER_PROGRAM_HEAD_HOW_H
#define THRESHER_PROGRAM_HEAD_HOW_H

#include "program.h"

typedef struct prog_head_values {
    size_t normaliser;
    uint64_t frequent, threshold, shortlist;
} prog_head_values;

extern const char *const prog_normalisers[]; /* thr_head_normaliser */

/* Entries of an option table; values is the member of that type in the command's struct. */
#define PROG_HEAD_OPTIONS(type, values)                                                                                \
    {PROG_COUNT_OPTION(                                                                                                \
         "frequent", "N", offsetof(type, values.frequent),                                                             \
         "how many of the most frequent words are candidates (default: 1000, or all of fewer; with planes none)"),     \
     .most = UINT32_MAX - 1},                                                                                          \
        {PROG_COUNT_OPTION("threshold", "N", offsetof(type, values.threshold),                                         \
                           "with wta: in how many bands a state must hit a word (default: 2)"),                        \
         .least = 1, .most = UINT32_MAX - 1},                                                                          \
        {PROG_COUNT_OPTION("shortlist", "N", offsetof(type, values.shortlist),                                         \
                           "with planes: how many words of the best estimates are candidates (default: 100, and 16 "   \
                           "for each word that is wanted)"),                                                           \
         .least = 1, .most = UINT32_MAX - 1},                                                                          \
    {                                                                                                                  \
        PROG_CHOICE_OPTION("normaliser", "candidates|exact|sampled", prog_normalisers,                                 \
                           offsetof(type, values.normaliser),                                                          \
                           "over which words probabilities add up to 1: the candidates; all words, for which all "     \
                           "are scored; or all words as a sample of them estimates it"),                               \
            .fallback = "candidates"                                                                                   \
    }

/* Put into a query's options what the command was told; the rest stays. */
void prog_head_ask(const program *run, const prog_head_values *values, thr_head_query_options *query);

#endif
