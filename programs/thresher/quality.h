/* SPDX-License-Identifier: Apache-2.0 */
/* quality.h - how well scores rank the rows of queries: what eval ndcg and rank eval share. */
#ifndef THRESHER_PROGRAM_QUALITY_H
#define THRESHER_PROGRAM_QUALITY_H

#include "program.h"

typedef struct prog_quality_values {
    uint64_t k;
    size_t convention, gain, ties;
} prog_quality_values;

extern const char *const prog_conventions[]; /* thr_convention */
extern const char *const prog_gains[];       /* thr_gain */
extern const char *const prog_ties[];

/* Entries of an option table; values is the member of that type in the command's struct. */
#define PROG_QUALITY_OPTIONS(type, values)                                                                             \
    {.letter = 'k',                                                                                                    \
     .kind = PROG_COUNT,                                                                                               \
     .value = "N",                                                                                                     \
     .fallback = "10",                                                                                                 \
     .help = "ranks that count for NDCG, ERR and precision; 0: all",                                                   \
     .offset = offsetof(type, values.k)},                                                                              \
        {PROG_CHOICE_OPTION("convention", "NAME", prog_conventions, offsetof(type, values.convention),                 \
                            "whose NDCG. letor counts queries without a gain, or of fewer than -k rows, as 0, and "    \
                            "discounts by 1, 1, then 1 / log2(rank); the others by 1 / log2(1 + rank). lightgbm and "  \
                            "xgboost count queries without a gain as 1, xgboost-minus as 0; in MAP and MRR, too"),     \
         .fallback = "lightgbm"},                                                                                      \
        {PROG_CHOICE_OPTION("gain", "exponential|linear", prog_gains, offsetof(type, values.gain),                     \
                            "what a label is worth: 2^label - 1, for labels up to 31, or the label"),                  \
         .fallback = "exponential"},                                                                                   \
    {                                                                                                                  \
        PROG_CHOICE_OPTION(                                                                                            \
            "ties", "wrong|right", prog_ties, offsetof(type, values.ties),                                             \
            "what pairs of equal scores count as in pairwise accuracy; SVMrank and LIBLINEAR have them right"),        \
            .fallback = "wrong"                                                                                        \
    }

/* Judge scores, one a row of the ranking's view, and print it. where names what was judged, for messages. */
int prog_quality_judge(const program *run, const prog_quality_values *values, const thr_ranking *ranking,
                       const double *scores, const char *where);

#endif
