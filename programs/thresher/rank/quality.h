/* SPDX-License-Identifier: Apache-2.0 */
/* quality.h - the quality of a ranking, for eval ndcg and rank eval. */
#pragma once

#include "cli/program.h"

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
     .help = "ranks that count in NDCG, ERR and precision; 0: all",                                                    \
     .offset = offsetof(type, values.k)},                                                                              \
        {PROG_CHOICE_OPTION("convention", "NAME", prog_conventions, offsetof(type, values.convention),                 \
                            "tool whose NDCG to compute. letor: queries without gain, or with fewer than -k rows, "    \
                            "score 0; discounts 1, 1, then 1 / log2(rank). Others: discounts 1 / log2(1 + rank); "     \
                            "queries without gain score 1 with lightgbm and xgboost, 0 with xgboost-minus. Applies "   \
                            "to MAP and MRR, too"),                                                                    \
         .fallback = "lightgbm"},                                                                                      \
        {PROG_CHOICE_OPTION("gain", "exponential|linear", prog_gains, offsetof(type, values.gain),                     \
                            "gain of a label: exponential, 2^label - 1, for labels up to 31; linear, the label"),      \
         .fallback = "exponential"},                                                                                   \
    {                                                                                                                  \
        PROG_CHOICE_OPTION("ties", "wrong|right", prog_ties, offsetof(type, values.ties),                              \
                           "how pairwise accuracy counts pairs of equal scores; SVMrank and LIBLINEAR count them as "  \
                           "right"),                                                                                   \
            .fallback = "wrong"                                                                                        \
    }

/* Compute the quality of scores, one a row of the ranking's view, and print it. where names the scores in messages. */
int prog_quality_judge(const program *run, const prog_quality_values *values, const thr_ranking *ranking,
                       const double *scores, const char *where);
