/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h - linear RankSVM (Lee and Lin 2014; Jin and Lin 2014): weights w whose scores <x, w> order the rows of a
 * query.
 *
 *   minimise f(w) = 1/2 |w|^2 + C sum over queries, over pairs y_i > y_j of the query, of max(0, 1 - <w, x_i - x_j>)^2
 *
 * C is the cost of an error. With row weights o and query weights a, the term of a pair is multiplied by o_i o_j a: a
 * row or a query of weight 2 counts as if it occurred twice. The *cost* of a query's pairs is C a, divided by a
 * number of pairs as thr_rank_scale requires.
 *
 * The solver never enumerates pairs; a step costs a few passes over the features. It stops at
 * |gradient| <= epsilon |gradient at 0|; f is strictly convex, so the minimum is unique. A bias would cancel in every
 * pair, so there is none. The mean of a query's features cancels too; scores are compared without it.
 *
 * In a context with a GPU (thr_context_options.device) training runs on the GPU; with "auto" only if that saves more
 * time than the copy takes. The model has the same bits as on a CPU, for dense and for sparse rows.
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

/*
 * How the length of a Newton step is limited, and how a step sums over pairs. All methods converge to the same minimum.
 * SWEEP serves comparisons: it takes time in proportion to the square of a query's rows.
 */
typedef enum thr_rank_method {
    THR_RANK_LINE_SEARCH = 0,  /* with a preconditioner: better if features differ in scale */
    THR_RANK_TRUST_REGION = 1, /* RankSVM, algorithm 1 */
    THR_RANK_SWEEP = 2         /* TRUST_REGION whose sums over pairs are RankSVM's algorithm 2, P-SWX */
} thr_rank_method;

/* What C multiplies. Weights count as in the definition of f. */
typedef enum thr_rank_scale {
    THR_RANK_SCALE_PAIR = 0,  /* the loss of each pair, as in the papers and LIBLINEAR */
    THR_RANK_SCALE_QUERY = 1, /* the mean loss of each query's pairs: long queries count as much as short ones */
    THR_RANK_SCALE_MEAN = 2   /* the mean loss of all pairs */
} thr_rank_scale;

/* State of the training. Step 0 is reported before the first Newton step, at the initial weights. */
typedef struct thr_rank_step {
    double objective, gradient_norm;
    double first_gradient_norm; /* |gradient| at w = 0, also with options->start */
    double seconds;             /* since thr_rank_train was called */
    uint64_t n_products;        /* Hessian-vector products so far */
    uint32_t step;
} thr_rank_step;

typedef void (*thr_rank_step_fn)(void *user, const thr_rank_step *step);

typedef struct thr_rank_options {
    double c;            /* C, above 0. 0: 1 */
    double epsilon;      /* between 0 and 1, both exclusive. 0: 1e-5 */
    uint32_t most_steps; /* most Newton steps. 0: 200 */
    thr_rank_method method;
    thr_rank_scale scale;
    const double *query_weights; /* n_queries weights, 0 or more; NULL: 1 */
    const thr_rank_model *start; /* initial weights, with the ranking's number of features; NULL: 0 */
    const double *row_weights;   /* n_rows weights in the order of the view, 0 or more; NULL: 1 */
    thr_rank_step_fn on_step; /* called after each step, in the calling thread; not in cross-validation. NULL: none */
    void *on_step_user;
} thr_rank_options;

typedef struct thr_rank_report {
    double objective;           /* f at the model. f is 1-strongly convex, so this is at most gradient_norm^2 / 2 above
                                   the minimum */
    double gradient_norm;       /* |gradient| at the model */
    double first_gradient_norm; /* |gradient| at w = 0, also with options->start */
    double pairwise_accuracy;   /* share of pairs in the right order, unweighted; pairs of equal scores are wrong */
    double seconds;             /* training time, without that of pairwise_accuracy */
    double product_seconds;     /* part of seconds: Hessian-vector products */
    uint64_t n_pairs;           /* y_i > y_j within a query */
    uint64_t n_products;        /* Hessian-vector products: steps of conjugate gradients */
    uint32_t n_steps;           /* Newton steps */
    bool converged;             /* reached epsilon, rather than most_steps or the precision of double */
} thr_rank_report;

/*
 * Train a model. options and report may be NULL; the caller frees *model. The same ranking and options give the same
 * model, bit for bit, for any number of threads, CPU level, and on a GPU.
 *
 * Returns THR_OK, or
 *   THR_EINVAL        options are out of range; the ranking has no pairs (one row per query, or equal labels in each);
 *                     the gradient at w = 0 is 0: over all pairs, better and worse rows have equal sums of features
 *   THR_EDIM          start has another number of features, or a query has 2^32 - 1 rows or more
 *   THR_ERANGE        f is not finite, because features or C are too large
 *   THR_ECANCELED     *model is the best so far, or NULL before the first step
 *   THR_EDEVICE       the context's device is "cuda", and the GPU failed
 *   THR_ENOMEM        also for GPU memory
 */
THR_API thr_status thr_rank_train(thr_context *context, const thr_ranking *ranking, const thr_rank_options *options,
                                  thr_rank_model **model, thr_rank_report *report, thr_error *err);

/* Values of C and folds of a cross-validation, and its result. The caller owns both arrays. */
typedef struct thr_rank_folds {
    const double *cs;   /* n_cs values of C in ascending order */
    double *accuracies; /* n_cs places: with C = cs[i], the share of all pairs in the right order, 0 to 1 */
    size_t n_cs;        /* 1 or more */
    uint64_t seed;      /* of the random assignment of queries to folds */
    uint32_t n_folds;   /* 2 to the number of queries with pairs */
} thr_rank_folds;

/*
 * Cross-validate: measure models trained with several values of C on queries that they were not trained on. Queries are
 * assigned to folds; each fold is scored by a model that was trained on the other folds. Training with one C starts at
 * the solution for the C before it. options may be NULL; its c is ignored. After an error the content of
 * folds->accuracies is undefined.
 *
 * Returns as thr_rank_train; THR_EINVAL also for folds out of range, no C, or values of C that do not ascend.
 */
THR_API thr_status thr_rank_cross_validate(thr_context *context, const thr_ranking *ranking,
                                           const thr_rank_options *options, const thr_rank_folds *folds,
                                           thr_error *err);

/* ------------------------------------------------------------------------------------------------ training by parts */

/*
 * Train on a ranking whose rows are spread over processes or machines. The queries are divided into chunks. Each
 * process with rows has a part: the rows of consecutive chunks. One process, the leader, has sizes and sums, but no
 * rows:
 *
 *     thr_rank_chunks       in the leader: divide all queries into chunks
 *     thr_rank_part_create  in a process with rows: make its part; thr_rank_part_queries describes its queries
 *     thr_rank_train_parts  in the leader: train; its thr_rank_run_fn calls thr_rank_part_run of every part
 *
 * Each chunk has its own sums, which are added in a fixed order. So the model has the bits of thr_rank_train on the
 * whole ranking, however it is divided into parts. Parts run on the CPU.
 */
enum { THR_RANK_MAX_CHUNKS = 256 };

/*
 * Divide n_queries queries into chunks of about equal work, and return the number of chunks. A chunk may be empty.
 *
 * offsets  n_queries + 1 numbers: the rows before each query, then all rows
 * values   n_queries + 1 numbers: the stored values before each query, then all; NULL for dense rows
 * starts   room for THR_RANK_MAX_CHUNKS + 1 numbers; receives the first query of each chunk, then n_queries
 */
THR_API size_t thr_rank_chunks(const uint64_t *offsets, const uint64_t *values, uint64_t n_queries, uint32_t n_features,
                               uint64_t *starts);

/* The chunks first to end - 1, which a part has, of n_chunks. starts: n_chunks + 1 numbers of thr_rank_chunks. */
typedef struct thr_rank_span {
    size_t first, end, n_chunks;
    const uint64_t *starts;
} thr_rank_span;

typedef struct thr_rank_part thr_rank_part;

/*
 * Make a part. ranking has the rows of the span's queries, in their order, with all features; it may have no pairs,
 * and must outlive the part. row_weights: as thr_rank_options.row_weights. The caller frees *part.
 *
 * Returns THR_OK; THR_EINVAL when the span is not within its n_chunks, or a weight is out of range; THR_EDIM when the
 * ranking has another number of queries than the span, or a query has 2^32 - 1 rows or more; THR_ENOMEM.
 */
THR_API thr_status thr_rank_part_create(thr_context *context, const thr_ranking *ranking, const thr_rank_span *span,
                                        const double *row_weights, thr_rank_part **part, thr_error *err);

/* Write, for each query of a part, the number of its pairs and the sum of their weights o_i o_j. */
THR_API void thr_rank_part_queries(const thr_rank_part *part, uint64_t *n_pairs, double *pair_weights);

/* Free; NULL is allowed. */
THR_API void thr_rank_part_free(thr_rank_part *part);

/*
 * The tasks of a part. v is request->vector. The first request is EVALUATE; w are the weights of the latest one.
 *
 *   task      result                                        at        numbers
 *   EVALUATE  loss, gradient and, if wanted, the            v = w     a few sums, each over some of the part's chunks
 *             approximate diagonal of the Hessian
 *   PRODUCT   the Hessian of the loss times v               w         the same
 *   COUNT     the pairs in the wrong order                  v         one
 *   SCALES,   sums over a sample of rows, for the           w         running sums: they pass through the parts in
 *   MATRIX    preconditioner                                          order, and each part adds to them
 */
typedef enum thr_rank_task {
    THR_RANK_EVALUATE = 0,
    THR_RANK_PRODUCT = 1,
    THR_RANK_COUNT = 2,  /* the next request must be EVALUATE */
    THR_RANK_SCALES = 3, /* 1 + n_features numbers, both read and written */
    THR_RANK_MATRIX = 4  /* 1 + n_features + n_features^2 numbers, both read and written */
} thr_rank_task;

typedef struct thr_rank_request {
    thr_rank_task task;
    bool sweep;           /* EVALUATE: sum over pairs as THR_RANK_SWEEP does */
    bool diagonal;        /* EVALUATE: compute the diagonal, too */
    const double *vector; /* n_features numbers: weights of EVALUATE and COUNT, the vector of PRODUCT; else NULL */
    const double *costs;  /* EVALUATE: for each query, the cost of its pairs, without row weights; else NULL */
    uint64_t query_step;  /* SCALES and MATRIX: the sample has every query_step-th query, ... */
    uint64_t row_step;    /* ... and every row_step-th of its rows */
} thr_rank_request;

/* The number of doubles that thr_rank_part_run writes for a request. */
THR_API size_t thr_rank_part_output_size(const thr_rank_part *part, const thr_rank_request *request);

/*
 * Compute the numbers of a request. request->costs has the part's own queries only. out has room for
 * thr_rank_part_output_size numbers; for SCALES and MATRIX it holds those of the part before. A part serves one request
 * at a time, with all threads of its context.
 *
 * Returns THR_OK; THR_EINVAL for an unknown task, one before EVALUATE, or a step of 0; THR_ENOMEM.
 */
THR_API thr_status thr_rank_part_run(thr_rank_part *part, const thr_rank_request *request, double *out, thr_error *err);

/*
 * Pass a request to all parts. request->costs has all queries; give each part its own. out receives the numbers of all
 * parts, one part after the other; for SCALES and MATRIX give out itself to one part after the other. Any status but
 * THR_OK ends the training.
 */
typedef thr_status (*thr_rank_run_fn)(void *user, const thr_rank_request *request, double *out, thr_error *err);

/* The whole ranking without its rows. The caller owns the arrays, which must outlive the training. */
typedef struct thr_rank_parts {
    uint64_t n_queries;
    uint32_t n_features;
    const uint64_t *offsets; /* n_queries + 1, as for thr_rank_chunks */
    const uint64_t *n_pairs; /* n_queries, of thr_rank_part_queries */
    const double *pair_weights;
    const size_t *first_chunks; /* n_parts + 1: the first chunk of each part, and the number of chunks */
    size_t n_parts;
    thr_rank_run_fn run;
    void *user;
} thr_rank_parts;

/*
 * As thr_rank_train, by parts: the model and, unless the training was cancelled, the report are the same. Give row
 * weights to thr_rank_part_create: options->row_weights must be NULL.
 *
 * Returns as thr_rank_train; THR_EINVAL also if the parts do not divide all chunks; and what run returns.
 */
THR_API thr_status thr_rank_train_parts(thr_context *context, const thr_rank_parts *parts,
                                        const thr_rank_options *options, thr_rank_model **model,
                                        thr_rank_report *report, thr_error *err);

/* ------------------------------------------------------------------------------------------------ models */

/*
 * Read a model: a .safetensors file of this library, or a text model of LIBLINEAR (ranking or regression). The first
 * bytes decide which. The caller frees *model.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EFORMAT for another file or a bad text (err names the line); THR_EUNSUPPORTED for
 * a model with a bias, or a classifier; THR_ERANGE for a weight that is not finite; THR_ECORRUPT; THR_EVERSION;
 * THR_EIO; THR_ENOMEM.
 */
THR_API thr_status thr_rank_model_open(thr_context *context, const char *path, thr_rank_model **model, thr_error *err);

/*
 * Write a model; the file appears complete or not at all. Format: safetensors if path ends with .safetensors, else
 * LIBLINEAR's text. Both keep every bit of the weights. An existing model or an empty file is replaced.
 *
 * Returns THR_OK; THR_EEXIST if path is another file; THR_ENOSPACE; THR_EIO; THR_ENOTFOUND; THR_ENOMEM.
 */
THR_API thr_status thr_rank_model_save(const thr_rank_model *model, const char *path, thr_error *err);

/* Check whether thr_rank_model_save could write to path, before training. Returns as that does, except THR_ENOSPACE. */
THR_API thr_status thr_rank_model_check_path(thr_context *context, const char *path, thr_error *err);

/* Make a model of a copy of weights. Returns THR_OK; THR_EDIM for no features; THR_ERANGE if not finite; THR_ENOMEM. */
THR_API thr_status thr_rank_model_from_weights(thr_context *context, const double *weights, uint32_t n_features,
                                               thr_rank_model **model, thr_error *err);

/* The number of features, and as many weights, which the model owns. */
THR_API uint32_t thr_rank_model_n_features(const thr_rank_model *model);
THR_API const double *thr_rank_model_weights(const thr_rank_model *model);

/* Free; NULL is allowed. */
THR_API void thr_rank_model_free(thr_rank_model *model);

/*
 * Score the rows of a ranking: n_rows scores in the order of its view. Features that the ranking lacks are 0.
 *
 * Returns THR_OK; THR_EDIM if the ranking has more features than the model; THR_ERANGE if a score overflows (err names
 * the row in input order, from 0).
 */
THR_API thr_status thr_rank_model_predict(const thr_rank_model *model, const thr_ranking *ranking, double *scores,
                                          thr_error *err);

/*
 * Sort the candidates of a search by a model. Row i of features, THR_DTYPE_F32 and dense, belongs to ids[i]. On return
 * ids and scores are ordered by descending score, equal ones by the smaller id, and places[i], unless places is NULL,
 * is the former position of the candidate now at i. Allocates nothing. Scores have the bits of thr_rank_model_predict
 * on dense rows.
 *
 * Returns THR_OK; THR_EDIM if features do not have the model's number of columns; THR_EINVAL for rows of another dtype
 * or stride; THR_ERANGE for a feature or score that is not finite (err names the id; ids are unchanged).
 */
THR_API thr_status thr_rank_model_rerank(const thr_rank_model *model, const thr_matrix *features, uint64_t *ids,
                                         double *scores, size_t *places, thr_error *err);

#ifdef __cplusplus
}
#endif

#endif
