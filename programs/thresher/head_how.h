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
    {.name = "frequent",                                                                                               \
     .kind = PROG_COUNT,                                                                                               \
     .value = "N",                                                                                                     \
     .most = UINT32_MAX - 1,                                                                                           \
     .help = "how many of the most frequent words are candidates (default: 1000, or all of fewer; with planes none)",  \
     .offset = offsetof(type, values.frequent)},                                                                       \
        {.name = "threshold",                                                                                          \
         .kind = PROG_COUNT,                                                                                           \
         .value = "N",                                                                                                 \
         .least = 1,                                                                                                   \
         .most = UINT32_MAX - 1,                                                                                       \
         .help = "with wta: in how many bands a state must hit a word (default: 2)",                                   \
         .offset = offsetof(type, values.threshold)},                                                                  \
        {.name = "shortlist",                                                                                          \
         .kind = PROG_COUNT,                                                                                           \
         .value = "N",                                                                                                 \
         .least = 1,                                                                                                   \
         .most = UINT32_MAX - 1,                                                                                       \
         .help = "with planes: how many words of the best estimates are candidates (default: 100, and 16 for each "    \
                 "word that is wanted)",                                                                               \
         .offset = offsetof(type, values.shortlist)},                                                                  \
        {.name = "normaliser",                                                                                         \
         .kind = PROG_CHOICE,                                                                                          \
         .value = "candidates|exact|sampled",                                                                          \
         .choices = prog_normalisers,                                                                                  \
         .fallback = "candidates",                                                                                     \
         .help = "over which words probabilities add up to 1: the candidates; all words, for which all are scored; "   \
                 "or all words as a sample of them estimates it",                                                      \
         .offset = offsetof(type, values.normaliser)},

/* Put into a query's options what the command was told; the rest stays. */
void prog_head_ask(const program *run, const prog_head_values *values, thr_head_query_options *query);

#endif
