/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.h - how good an answer is.
 *
 * Threads: all functions are pure.
 */
#ifndef THRESHER_METRIC_H
#define THRESHER_METRIC_H

#include <thresher/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THR_NO_ID UINT64_MAX /* fills the end of a result row that has fewer than k items */

/*
 * The ids that queries are answered with, a row of n_columns each, best first: query q's are ids[q * n_columns] to
 * ids[(q + 1) * n_columns - 1], THR_NO_ID behind those that there are. scores, when not NULL, has a score for every
 * one of them in the same shape; larger is better (negate distances). A view: all of it stays the caller's.
 */
typedef struct thr_recall_rows {
    const uint64_t *ids;
    const float *scores;
    size_t n_columns;
} thr_recall_rows;

/*
 * recall@k: the share of the true first k ids that stand among the first k of the result, averaged over queries.
 *
 * truth and result have n_queries rows of at least k columns. A result id that stands twice in its row counts once.
 * THR_NO_ID never counts as found; true rows shorter than k (filled up with THR_NO_ID) are judged on the ids they have.
 *
 * With truth->scores, a result id that ties with the true k-th score counts as found wherever truth lists it, as
 * big-ann counts ties. result->scores are not read.
 *
 * Returns THR_OK; THR_EINVAL for k = 0, no queries or fewer columns than k; THR_ENOMEM.
 */
THR_API thr_status thr_recall(const thr_recall_rows *truth, const thr_recall_rows *result, size_t n_queries, size_t k,
                              double *recall, thr_error *err);

/*
 * ROC AUC: the probability that a positive drawn at random has a higher score than a negative, equal scores counted
 * half. labels[i] is 1 where scores[i] belongs to a positive, else 0; infinite scores are allowed.
 *
 * Returns THR_OK; THR_EINVAL where there are no positives or no negatives, or for a label that is neither 0 nor 1;
 * THR_ERANGE for a score that is not a number; THR_ENOMEM.
 */
THR_API thr_status thr_auc(const float *scores, const uint8_t *labels, size_t n, double *auc, thr_error *err);

/*
 * Lists of scored ads, one a request, that stand best first by what is right: the ads of request r are
 * scores[offsets[r]] to scores[offsets[r + 1] - 1], of which the first n_best[r] (NULL: one each) are equally good and
 * better than all others. Requests with no ad, or with best ones only, say nothing and are left out. A view.
 */
typedef struct thr_ranked {
    size_t n_requests;
    const uint64_t *offsets; /* n_requests + 1 */
    const float *scores;
    const uint32_t *n_best;
    const float *values; /* of ads, 0 or more; NULL: 1 each */
} thr_ranked;

/*
 * GAUC (HitMatch (10)): the mean over requests of the AUC of the best ads against the others; equal scores count half.
 *
 * Returns THR_OK; THR_EINVAL where no request says anything, offsets do not ascend, or n_best is 0 or more than a
 * request has ads; THR_ERANGE for a score that is not a number.
 */
THR_API thr_status thr_gauc(const thr_ranked *ranked, double *gauc, thr_error *err);

/*
 * Recall@G_1 (HitMatch (11) for k = 1): the share of requests whose best ad is among the g of the highest scores.
 * Where it has the score of others and there is room for some of them only, it counts by its chance, as it does where
 * several ads are the best: the order in which ads are listed helps nobody. *recall weighs requests alike, *by_value
 * (may be NULL) by the values of their best ads; NaN where these are all 0.
 *
 * Statuses as above; THR_EINVAL for g = 0 and THR_ERANGE for values below 0 or not finite, too.
 */
THR_API thr_status thr_top_recall(const thr_ranked *ranked, size_t g, double *recall, double *by_value, thr_error *err);

/* ------------------------------------------------------------------------------------------------ judged rankings */

/*
 * Rows by query with what a model said of them and what is right: query q has rows offsets[q] to offsets[q + 1] - 1.
 * Rows are ranked within their query by descending score; of equal scores the first row stands first. A view.
 */
typedef struct thr_judged {
    size_t n_queries;
    const uint64_t *offsets; /* n_queries + 1 */
    const double *scores;    /* infinite ones are allowed */
    const double *labels;    /* the larger the better */
} thr_judged;

/* What a label is worth: 2^label - 1 for labels up to THR_GAIN_MAX_LABEL, or the label. Labels are 0 or more. */
typedef enum thr_gain { THR_GAIN_EXPONENTIAL = 0, THR_GAIN_LINEAR = 1 } thr_gain;

enum { THR_GAIN_MAX_LABEL = 31 }; /* beyond it 2^label hides all others: use linear gain */

/* What a gain at a rank, from 1, counts: 1 / log2(1 + rank); or 1, 1, then 1 / log2(rank), as LETOR's tools have it. */
typedef enum thr_discount { THR_DISCOUNT_LOG2 = 0, THR_DISCOUNT_LETOR = 1 } thr_discount;

/* What a query without a gain counts as: 0, 1, or nothing. */
typedef enum thr_no_gain { THR_NO_GAIN_ZERO = 0, THR_NO_GAIN_ONE = 1, THR_NO_GAIN_LEFT_OUT = 2 } thr_no_gain;

/*
 * What tools print under one name: Eval-Score-4.0.pl of LETOR 4.0; LightGBM's metric ndcg; XGBoost's ndcg, and its
 * ndcg-. All have exponential gain.
 */
typedef enum thr_convention {
    THR_CONVENTION_LETOR = 0,        /* LETOR's discount, no gain is 0, so is NDCG@k of queries of fewer than k rows */
    THR_CONVENTION_LIGHTGBM = 1,     /* log2, no gain is 1 */
    THR_CONVENTION_XGBOOST = 2,      /* log2, no gain is 1 */
    THR_CONVENTION_XGBOOST_MINUS = 3 /* log2, no gain is 0 */
} thr_convention;

typedef struct thr_quality_options {
    size_t size; /* sizeof(thr_quality_options), set by _init */
    size_t k;    /* ranks that count for NDCG, ERR and precision; 0: all */
    thr_gain gain;
    thr_discount discount;
    thr_no_gain no_gain;  /* for MAP and MRR, too, where no row is relevant */
    bool short_is_zero;   /* NDCG@k of a query of fewer than k rows is 0 */
    bool ties_are_right;  /* pairs of equal scores count as right, as SVMrank and LIBLINEAR have it; else as wrong */
    double relevant;      /* the least label that is relevant, for MAP, MRR and precision */
    double largest_label; /* that there can be, for ERR; 0: the largest of labels */
} thr_quality_options;

/* Those of a convention, with k = 10, ties wrong, labels from 1 on relevant. */
THR_API void thr_quality_options_init(thr_quality_options *options, thr_convention convention);

/*
 * NDCG@k: a query's sum of gain x discount over its first k ranks, divided by the best sum its labels allow; the mean
 * over queries. options may be NULL: LightGBM's convention. by_query, when not NULL, gets n_queries values, NaN for
 * queries that are left out.
 *
 * Returns THR_OK; THR_EINVAL for no queries, offsets that do not ascend, options out of range, or where all queries are
 * left out; THR_ERANGE for a score that is not a number, or a label that is not finite, negative, or too large for the
 * gain (err names query and row); THR_ENOMEM.
 */
THR_API thr_status thr_ndcg(const thr_judged *judged, const thr_quality_options *options, double *ndcg,
                            double *by_query, thr_error *err);

/* Pairs of rows of one query of which one has the larger label. */
typedef struct thr_pair_quality {
    uint64_t n_pairs, n_right, n_tied; /* all; those with the larger score at the larger label; those of equal scores */
    double accuracy;                   /* (16) of the RankSVM paper, over all pairs: n_right / n_pairs */
    double accuracy_ties_right;        /* (n_right + n_tied) / n_pairs, which is 1 for scores that are all equal */
} thr_pair_quality;

/*
 * Pairwise accuracy, in O(n log n) for a query of n rows. Labels are any finite numbers.
 *
 * Statuses as above; THR_EINVAL where there are no pairs: every query has equal labels only.
 */
THR_API thr_status thr_pair_accuracy(const thr_judged *judged, thr_pair_quality *quality, thr_error *err);

/* The means over queries of what can be said of a ranking; NaN where all queries are left out. */
typedef struct thr_quality {
    uint64_t n_rows, n_queries;
    uint64_t n_without_gain; /* queries in which no row has one */
    double ndcg;             /* at k */
    double map;              /* precision at the ranks of relevant rows, their mean; over all ranks */
    double mrr;              /* 1 / rank of the first relevant row */
    double err;       /* expected reciprocal rank, of Chapelle and others 2009, over k ranks: rank r is reached, and
                                satisfies with probability gain / (1 + gain of the largest label) */
    double precision; /* relevant rows among the first k, / k (of all ranks: / rows) */
    thr_pair_quality pairs; /* accuracies are NaN without pairs */
    double pair_accuracy;   /* the one that options ask for */
} thr_quality;

/* All of them. Statuses of thr_ndcg, but that nothing left is no error. */
THR_API thr_status thr_rank_quality(const thr_judged *judged, const thr_quality_options *options, thr_quality *quality,
                                    thr_error *err);

/* ------------------------------------------------------------------------------------------------ translations */

enum { THR_BLEU_ORDER = 4, THR_BLEU_SIGNATURE_SIZE = 128 };

/* Texts, UTF-8: text i is bytes[offsets[i]] to bytes[offsets[i + 1] - 1]. A view. */
typedef struct thr_bleu_texts {
    uint64_t n;
    const uint64_t *offsets; /* n + 1 */
    const char *bytes;
} thr_bleu_texts;

/* How a sentence is made tokens, which stand between white space then. */
typedef enum thr_bleu_tokeniser {
    THR_BLEU_TOKENISER_13A = 0, /* mteval-v13a's: XML's entities, punctuation apart but in numbers */
    THR_BLEU_TOKENISER_NONE = 1 /* it has been done */
} thr_bleu_tokeniser;

/* What an order without a match counts, numbered as in Chen and Cherry 2014, where they have numbers. */
typedef enum thr_bleu_smoothing {
    THR_BLEU_SMOOTHING_EXP = 0,   /* 3: half a match, a quarter the next such order, and so on, as mteval-v13a */
    THR_BLEU_SMOOTHING_NONE = 1,  /* nothing: BLEU is 0 */
    THR_BLEU_SMOOTHING_FLOOR = 2, /* 1: smoothing_value matches */
    THR_BLEU_SMOOTHING_ADD_K = 3  /* 2: smoothing_value more matches and more runs in all orders but the first */
} thr_bleu_smoothing;

typedef struct thr_bleu_options {
    size_t size; /* sizeof(thr_bleu_options), set by _init */
    thr_bleu_tokeniser tokeniser;
    thr_bleu_smoothing smoothing;
    double smoothing_value; /* 0: what is usual, 0.1 of FLOOR and 1 of ADD_K */
    bool lower_case;        /* small letters as Unicode 14 has them, and a final sigma where it belongs */
    bool effective_order;   /* only orders that there are runs of count: for sentences */
} thr_bleu_options;

/* Defaults: those of sacreBLEU, tokeniser 13a and smoothing exp. */
THR_API void thr_bleu_options_init(thr_bleu_options *options);

typedef struct thr_bleu_score {
    double bleu;                       /* 0 to 100 */
    double precisions[THR_BLEU_ORDER]; /* 0 to 100, smoothed */
    double brevity_penalty;
    uint64_t n_sentences;
    uint64_t hypothesis_length, reference_length;            /* tokens; of the reference nearest in length each */
    uint64_t counts[THR_BLEU_ORDER], totals[THR_BLEU_ORDER]; /* runs of 1 to 4 tokens: matches, and all there are */
} thr_bleu_score;

/*
 * BLEU of Papineni and others 2002 over a corpus: the geometric mean of the shares of the hypotheses' runs of 1 to 4
 * tokens that a reference has too, each as often as the reference that has it most often, times the brevity penalty,
 * exp(1 - reference length / hypothesis length) where hypotheses are shorter. Equals what sacreBLEU 2.6 prints.
 *
 * references are n_references views of as many texts as there are hypotheses. options may be NULL for the defaults.
 * by_sentence, when not NULL, gets the BLEU of each sentence by itself: set effective_order.
 *
 * Returns THR_OK; THR_EDIM for no hypotheses, no references, or numbers of texts that differ; THR_EINVAL for offsets
 * that fall or options out of range; THR_EFORMAT for a text that is not UTF-8 (err names it and the byte); THR_ENOMEM.
 */
THR_API thr_status thr_bleu(const thr_bleu_texts *hypotheses, const thr_bleu_texts *references, size_t n_references,
                            const thr_bleu_options *options, thr_bleu_score *score, double *by_sentence,
                            thr_error *err);

/*
 * How it was done, in sacreBLEU's words: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:thresher-0.1.0".
 * Returns THR_OK; THR_EINVAL for options out of range.
 */
THR_API thr_status thr_bleu_signature(const thr_bleu_options *options, size_t n_references,
                                      char signature[THR_BLEU_SIGNATURE_SIZE], thr_error *err);

/* ------------------------------------------------------------------------------------------------ buckets */

/*
 * What a search misses that keeps only the best of every bucket (RBE, appendix B): the probability that of the best
 * n_wanted of n_candidates at most at_most share a bucket with a better one and are lost. Candidates are in buckets of
 * bucket_items by chance, the last bucket has what is left; ties do not occur.
 *
 * Exact but for rounding, about n_wanted x 1e-16 of the probability. Takes n_wanted x at_most steps.
 *
 * Returns THR_OK; THR_EINVAL unless 1 <= n_wanted <= n_candidates and bucket_items >= 1; THR_ENOMEM.
 */
THR_API thr_status thr_bucket_miss(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, uint64_t at_most,
                                   double *probability, thr_error *err);

/* The share of the best n_wanted that such a search finds on average. Arguments and statuses as above. */
THR_API thr_status thr_bucket_recall(uint64_t n_candidates, uint64_t n_wanted, uint64_t bucket_items, double *recall,
                                     thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
