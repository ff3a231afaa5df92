/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - linear RankSVM (Lee and Lin 2014; Jin and Lin 2014): weights w whose scores x w put the better rows of a
 * query first.
 *
 *   least of  1/2 |w|^2 + C sum over queries, over pairs y_i > y_j of a query, of max(0, 1 - w (x_i - x_j))^2
 *
 * Rows may have weights o, and queries weights c: a pair's part of the sum is then times o_i o_j c, as if a row of
 * weight 2 were there twice, and a query of weight 2 too.
 *
 * Pairs are never gone over: a step costs some readings of the features. The answer is the least of f to
 * |gradient| <= epsilon |gradient at 0|, of which there is one. A bias would cancel in every pair, so there is none; so
 * does the mean of a query's features, which is taken off all scores while they are compared.
 *
 * A context with a GPU (thr_context_options.device) learns from dense rows there, with "auto" where that is worth it,
 * and the model has the CPU's bits. Sparse rows are the CPU's; "cuda" refuses them.
 *
 * Threads: a thr_rank_model is immutable and may be shared.
 */
#ifndef THRESHER_RANK_H
#define THRESHER_RANK_H

#include <thresher/ranking.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_rank_model thr_rank_model;

/* How steps are kept from going too far. Both end at the same least. */
typedef enum thr_rank_method {
    THR_RANK_LINE_SEARCH = 0, /* preconditioned: better where features have scales of their own */
    THR_RANK_TRUST_REGION = 1 /* the paper's */
} thr_rank_method;

/* What C is the cost of; with weights, a pair is as many as they say. */
typedef enum thr_rank_scale {
    THR_RANK_SCALE_PAIR = 0,  /* each pair, as the papers and LIBLINEAR have it */
    THR_RANK_SCALE_QUERY = 1, /* all pairs of a query together: long queries count no more than short ones */
    THR_RANK_SCALE_MEAN = 2   /* all pairs together */
} thr_rank_scale;

/* Where training is: after a Newton step, or, step 0, where it begins. */
typedef struct thr_rank_step {
    double objective, gradient_norm;
    double first_gradient_norm; /* at 0 */
    double seconds;             /* since thr_rank_train was called */
    uint64_t n_products;        /* with the Hessian, so far */
    uint32_t step;
} thr_rank_step;

typedef void (*thr_rank_step_fn)(void *user, const thr_rank_step *step);

typedef struct thr_rank_options {
    size_t size;         /* sizeof(thr_rank_options), set by _init */
    double c;            /* above 0; 1 */
    double epsilon;      /* above 0, below 1; 1e-5 */
    uint32_t most_steps; /* Newton steps, at most; 200 */
    thr_rank_method method;
    thr_rank_scale scale;
    const double *query_weights; /* n_queries, 0 or more: C of each query's pairs is times that; NULL: 1 */
    const thr_rank_model *start; /* where to begin, of as many features; NULL: at 0 */
    const double *row_weights;   /* n_rows in the order of the view, 0 or more; NULL: 1 */
    thr_rank_step_fn on_step;    /* told of each step, in the thread that called; not in cross-validation; NULL: not */
    void *on_step_user;
} thr_rank_options;

THR_API void thr_rank_options_init(thr_rank_options *options);

typedef struct thr_rank_report {
    double objective;     /* f at the model: at most gradient_norm^2 / 2 above the least, as f bends by 1 at least */
    double gradient_norm; /* |gradient| there */
    double first_gradient_norm; /* at 0 */
    double pairwise_accuracy; /* share of the pairs whose better row scores higher; equal ones are wrong; no weights */
    double seconds;           /* of training, without what is in it of pairwise_accuracy */
    double product_seconds;   /* of these, in products with the Hessian */
    uint64_t n_pairs;         /* y_i > y_j within a query */
    uint64_t n_products;      /* with the Hessian: steps of conjugate gradients */
    uint32_t n_steps;         /* of Newton */
    bool converged;           /* epsilon was reached, rather than most_steps or the limits of double */
} thr_rank_report;

/*
 * Train a model. options and report may be NULL. The same ranking and options give the same model, bit for bit, for any
 * number of threads, at any CPU level, and on a GPU.
 *
 * Returns THR_OK; THR_EINVAL for options out of range, a ranking without pairs (one row a query, or equal labels in
 * each), or one whose features tell nothing of its labels, where 0 would be the model; THR_EDIM for a start of other
 * features, or a query of 2^32 - 1 rows; THR_ERANGE where f is not finite, as features or C are too large;
 * THR_ECANCELED, then *model is the best so far, or NULL before the first step; THR_ENOMEM; in a context of "cuda" also
 * THR_EUNSUPPORTED for sparse rows, THR_ENOMEM for memory of the device, and THR_EDEVICE.
 */
THR_API thr_status thr_rank_train(thr_context *context, const thr_ranking *ranking, const thr_rank_options *options,
                                  thr_rank_model **model, thr_rank_report *report, thr_error *err);

/* A cross-validation: what is judged, on which folds, and where the answer goes. Both arrays stay the caller's. */
typedef struct thr_rank_folds {
    const double *cs;   /* n_cs costs, 1 at least, which ascend */
    double *accuracies; /* n_cs places: with cs[i] for options->c, the share of all pairs that are in order, 0 to 1 */
    size_t n_cs;
    uint64_t seed;    /* by which queries are dealt to folds: the same seed, the same folds */
    uint32_t n_folds; /* 2 to the number of queries with pairs */
} thr_rank_folds;

/*
 * How well models of several costs do on queries that they were not trained on. Queries are dealt to folds; every fold
 * is judged by a model of the others, each cost's beginning at the one before it. options may be NULL; its c is not
 * read. After an error folds->accuracies may hold anything.
 *
 * What thr_rank_train returns; THR_EINVAL also for folds out of range, no costs, or some that do not ascend.
 */
THR_API thr_status thr_rank_cross_validate(thr_context *context, const thr_ranking *ranking,
                                           const thr_rank_options *options, const thr_rank_folds *folds,
                                           thr_error *err);

/* ------------------------------------------------------------------------------------------------ models */

/*
 * Read a model: a .safetensors file of ours, or a text as LIBLINEAR writes it of rankings and regressions. Which it is
 * its first bytes tell.
 *
 * THR_OK; THR_ENOTFOUND; THR_EFORMAT for another file, or a text that cannot be such a model (err names the line);
 * THR_EUNSUPPORTED for a model with a bias, or one of classes; THR_ERANGE for a weight that is not finite;
 * THR_ECORRUPT; THR_EVERSION; THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_rank_model_open(thr_context *context, const char *path, thr_rank_model **model, thr_error *err);

/*
 * Write a model, which appears whole or not at all: tensors where path ends with .safetensors, else LIBLINEAR's text.
 * Both keep every bit of the weights. THR_OK; THR_EEXIST where path is a file that is no ranking model, nor empty;
 * THR_ENOSPACE; THR_EIO; THR_ENOTFOUND; THR_ENOMEM.
 */
THR_API thr_status thr_rank_model_save(const thr_rank_model *model, const char *path, thr_error *err);

/* Whether thr_rank_model_save could write to path, for before training: what that returns, but THR_ENOSPACE. */
THR_API thr_status thr_rank_model_check_path(thr_context *context, const char *path, thr_error *err);

/* A model of these weights. THR_OK; THR_EDIM for no features; THR_ERANGE for one that is not finite; THR_ENOMEM. */
THR_API thr_status thr_rank_model_from_weights(thr_context *context, const double *weights, uint32_t n_features,
                                               thr_rank_model **model, thr_error *err);

THR_API uint32_t thr_rank_model_n_features(const thr_rank_model *model);
THR_API const double *thr_rank_model_weights(const thr_rank_model *model);

/* Free; NULL is allowed. */
THR_API void thr_rank_model_free(thr_rank_model *model);

/*
 * The scores of a ranking's rows, n_rows numbers in the order of its view. Features that the model has and the ranking
 * has not are 0. THR_OK; THR_EDIM when the ranking has more features than the model; THR_ERANGE where finite numbers
 * add up to a score that is not (err has its row as it was given, from 0).
 */
THR_API thr_status thr_rank_model_predict(const thr_rank_model *model, const thr_ranking *ranking, double *scores,
                                          thr_error *err);

/*
 * Put candidates, those of a search, in the order of a model: row i of features, THR_DTYPE_F32 and dense, is that of
 * ids[i]. ids and scores come back by descending score of the model, equal ones by the smaller id; places[i], unless
 * places is NULL, is where the one that now stands at i stood before. Nothing is allocated; a score has the bits that
 * thr_rank_model_predict gives it in dense rows.
 *
 * THR_OK; THR_EDIM when features are not as many as the model has; THR_EINVAL for other rows; THR_ERANGE for a feature
 * or a score that is not finite (err names the id; ids are as they were).
 */
THR_API thr_status thr_rank_model_rerank(const thr_rank_model *model, const thr_matrix *features, uint64_t *ids,
                                         double *scores, size_t *places, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
