/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.h - quality metrics: recall, AUC, NDCG and its family, pairwise accuracy, BLEU.
 *
 * Threads: all functions are pure.
 */
#ifndef THRESHER_METRIC_H
#define THRESHER_METRIC_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_NO_ID UINT64_MAX /* fills a result row that has fewer than k items */

/*
 * Result ids, n_columns a query, best first: query q's are ids[q * n_columns] to ids[(q + 1) * n_columns - 1], filled
 * up with THR_NO_ID. scores is NULL or has the same shape; larger is better (negate distances). A view.
 */
typedef struct thr_recall_rows {
    const uint64_t *ids;
    const float *scores;
    size_t n_columns;
} thr_recall_rows;

/*
 * recall@k: the share of the true best k ids that are among the first k of the result, mean over queries.
 *
 * truth and result have n_queries rows of at least k columns. An id that occurs twice in a result row counts once.
 * THR_NO_ID never counts as found; a true row of fewer than k ids is compared by the ids it has.
 *
 * With truth->scores, a result id counts as found if truth lists it anywhere with the score of the true k-th id, as in
 * big-ann. result->scores are ignored.
 *
 * Returns THR_OK; THR_EINVAL for k = 0, no queries or fewer columns than k; THR_ENOMEM.
 */
THR_API thr_status thr_recall(const thr_recall_rows *truth, const thr_recall_rows *result, size_t n_queries, size_t k,
                              double *recall, thr_error *err);

/*
 * ROC AUC: the probability that a random positive has a higher score than a random negative; equal scores count half.
 * labels[i] is 1 if scores[i] is a positive's, else 0. Infinite scores are allowed.
 *
 * Returns THR_OK; THR_EINVAL for no positives, no negatives, or a label other than 0 and 1; THR_ERANGE for a NaN score;
 * THR_ENOMEM.
 */
THR_API thr_status thr_auc(const float *scores, const uint8_t *labels, size_t n, double *auc, thr_error *err);

/* ------------------------------------------------------------------------------------------------ judged rankings */

/*
 * Rows grouped by query, with a model's scores and true labels: query q has rows offsets[q] to offsets[q + 1] - 1. Rows
 * are ranked within their query by descending score; of equal scores the first row ranks first. A view.
 */
typedef struct thr_judged {
    size_t n_queries;
    const uint64_t *offsets; /* n_queries + 1 */
    const double *scores;    /* may be infinite */
    const double *labels;    /* larger is better */
} thr_judged;

/* Gain of a label, which is 0 or more: 2^label - 1, up to THR_GAIN_MAX_LABEL; or the label. */
typedef enum thr_gain { THR_GAIN_EXPONENTIAL = 0, THR_GAIN_LINEAR = 1 } thr_gain;

enum { THR_GAIN_MAX_LABEL = 31 }; /* above it 2^label dominates all others: use linear gain */

/*
 * Conventions of NDCG, by tool: LightGBM's ndcg, Eval-Score-4.0.pl of LETOR 4.0, XGBoost's ndcg and ndcg-. The discount
 * of a rank, from 1, is 1 / log2(1 + rank); LETOR has 1, 1, then 1 / log2(rank). The value of a query without a gain,
 * also for MAP and MRR without a relevant row, is 0 or 1.
 */
typedef enum thr_convention {
    THR_CONVENTION_LIGHTGBM = 0,     /* 1 without gain */
    THR_CONVENTION_LETOR = 1,        /* LETOR's discount; 0 without gain, and for NDCG@k of fewer than k rows */
    THR_CONVENTION_XGBOOST = 2,      /* 1 without gain */
    THR_CONVENTION_XGBOOST_MINUS = 3 /* 0 without gain */
} thr_convention;

typedef struct thr_quality_options {
    size_t k; /* ranks that count in NDCG, ERR and precision; 0: all */
    thr_convention convention;
    thr_gain gain;
    bool ties_are_right;  /* pairs of equal scores are right, as in SVMrank and LIBLINEAR; else wrong */
    double relevant;      /* the lowest relevant label, for MAP, MRR and precision; 0: 1 */
    double largest_label; /* the largest possible label, for ERR; 0: the largest of labels */
} thr_quality_options;

/* Pairs of rows of one query with different labels. */
typedef struct thr_pair_quality {
    uint64_t n_pairs, n_right, n_tied; /* all; the larger score has the larger label; equal scores */
    double accuracy;                   /* (16) of the RankSVM paper, over all pairs: n_right / n_pairs */
    double accuracy_ties_right;        /* (n_right + n_tied) / n_pairs; 1 if all scores are equal */
} thr_pair_quality;

/*
 * Pairwise accuracy, in O(n log n) for a query of n rows. Labels are any finite numbers.
 *
 * Returns THR_OK; THR_EINVAL for no queries, offsets that do not ascend, or no pairs, because all labels of each query
 * are equal; THR_ERANGE for a NaN score, or a label that is not finite (err names query and row); THR_ENOMEM.
 */
THR_API thr_status thr_pair_accuracy(const thr_judged *judged, thr_pair_quality *quality, thr_error *err);

/* Quality of a ranking, means over queries. */
typedef struct thr_quality {
    uint64_t n_rows, n_queries;
    uint64_t n_without_gain; /* queries in which no row has a gain */
    double ndcg;             /* the sum of gain x discount over the first k ranks, divided by the best possible sum */
    double map;              /* mean of the precision at the ranks of relevant rows; over all ranks */
    double mrr;              /* 1 / rank of the first relevant row */
    double err;              /* expected reciprocal rank (Chapelle and others 2009) over k ranks: a user who reaches a
                                rank is satisfied there with probability gain / (1 + gain of the largest label) */
    double precision;        /* relevant rows among the first k, divided by k (of all ranks: by the rows) */
    thr_pair_quality pairs;  /* accuracies are NaN without pairs */
    double pair_accuracy;    /* pairs.accuracy or accuracy_ties_right, as ties_are_right selects */
} thr_quality;

/*
 * Compute all of them. options may be NULL: LightGBM's convention, all ranks.
 *
 * Returns as thr_pair_accuracy, but THR_OK without pairs; THR_EINVAL also for options out of range, THR_ERANGE for a
 * label that is negative or too large for the gain.
 */
THR_API thr_status thr_rank_quality(const thr_judged *judged, const thr_quality_options *options, thr_quality *quality,
                                    thr_error *err);

/* ------------------------------------------------------------------------------------------------ translations */

enum { THR_BLEU_ORDER = 4, THR_BLEU_SIGNATURE_SIZE = 128 };

/* Texts in UTF-8: text i is bytes[offsets[i]] to bytes[offsets[i + 1] - 1]. A view. */
typedef struct thr_bleu_texts {
    uint64_t n;
    const uint64_t *offsets; /* n + 1 */
    const char *bytes;
} thr_bleu_texts;

/* How sentences become tokens. */
typedef enum thr_bleu_tokeniser {
    THR_BLEU_TOKENISER_13A = 0, /* mteval-v13a: decodes XML entities, splits off punctuation except in numbers */
    THR_BLEU_TOKENISER_NONE = 1 /* texts are tokenised already: split at white space */
} thr_bleu_tokeniser;

/* Smoothing of an n-gram order without matches; numbers of methods as in Chen and Cherry 2014. */
typedef enum thr_bleu_smoothing {
    THR_BLEU_SMOOTHING_EXP = 0,   /* method 3: 1/2 match, 1/4 for the next such order, and so on, as mteval-v13a */
    THR_BLEU_SMOOTHING_NONE = 1,  /* none: BLEU is 0 */
    THR_BLEU_SMOOTHING_FLOOR = 2, /* method 1: smoothing_value matches */
    THR_BLEU_SMOOTHING_ADD_K = 3  /* method 2: adds smoothing_value to matches and totals of all orders but the first */
} thr_bleu_smoothing;

typedef struct thr_bleu_options {
    thr_bleu_tokeniser tokeniser;
    thr_bleu_smoothing smoothing;
    double smoothing_value; /* 0: the usual one, 0.1 for FLOOR and 1 for ADD_K */
    bool lower_case;        /* lower-case by Unicode 14, with the final sigma */
    bool effective_order;   /* ignore orders without n-grams: for sentences */
} thr_bleu_options;

typedef struct thr_bleu_score {
    double bleu;                       /* 0 to 100 */
    double precisions[THR_BLEU_ORDER]; /* 0 to 100, smoothed */
    double brevity_penalty;
    uint64_t n_sentences;
    uint64_t hypothesis_length, reference_length;            /* tokens; each reference the one nearest in length */
    uint64_t counts[THR_BLEU_ORDER], totals[THR_BLEU_ORDER]; /* matching n-grams and all n-grams, n = 1 to 4 */
} thr_bleu_score;

/*
 * Corpus BLEU (Papineni and others 2002): the geometric mean of the clipped n-gram precisions, n = 1 to 4, times the
 * brevity penalty exp(1 - reference length / hypothesis length) if hypotheses are shorter. Equals sacreBLEU 2.6.
 *
 * references are n_references views, each with as many texts as hypotheses. options may be NULL for the defaults.
 * by_sentence, if not NULL, gets the BLEU of each sentence: set effective_order.
 *
 * Returns THR_OK; THR_EDIM for no hypotheses, no references, or different numbers of texts; THR_EINVAL for offsets that
 * do not ascend or options out of range; THR_EFORMAT for a text that is not UTF-8 (err names it and the byte);
 * THR_ENOMEM.
 */
THR_API thr_status thr_bleu(const thr_bleu_texts *hypotheses, const thr_bleu_texts *references, size_t n_references,
                            const thr_bleu_options *options, thr_bleu_score *score, double *by_sentence,
                            thr_error *err);

/*
 * Write sacreBLEU's signature of a computation: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:thresher-0.1.0".
 * Returns THR_OK; THR_EINVAL for options out of range.
 */
THR_API thr_status thr_bleu_signature(const thr_bleu_options *options, size_t n_references,
                                      char signature[THR_BLEU_SIGNATURE_SIZE], thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
