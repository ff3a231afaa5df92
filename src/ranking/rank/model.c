/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - creating a model, scoring rows with it, and freeing it. */
#include "rank/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "parallel/pool.h"
#include "rank/row_products.h"

thr_status thr_rank_model_make(thr_context *context, uint64_t n_features, thr_rank_model **model, thr_error *err) {
    *model = NULL;
    if (n_features == 0 || n_features > THR_RANKING_MAX_FEATURES)
        return thr_fail(err, THR_EDIM, "a model of %llu features: a model has 1 to %u", (unsigned long long)n_features,
                        THR_RANKING_MAX_FEATURES);
    thr_rank_model *made = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *made, &made, "a ranking model", err));
    made->context = thr_context_retain(context);
    made->n_features = (uint32_t)n_features;
    const thr_status status =
        thr_alloc_zero(context, made->n_features, sizeof(double), &made->weights, "a model's weights", err);
    THR_RETURN_MADE(status, made, model, thr_rank_model_free);
}

void thr_rank_model_free(thr_rank_model *model) {
    if (model == NULL)
        return;
    thr_context *context = model->context;
    THR_RELEASE(context, model->weights, model);
    thr_context_free(context);
}

uint32_t thr_rank_model_n_features(const thr_rank_model *model) {
    return model->n_features;
}

const double *thr_rank_model_weights(const thr_rank_model *model) {
    return model->weights;
}

thr_status thr_rank_model_check(const thr_rank_model *model, const char *name, thr_error *err) {
    for (uint32_t d = 0; d < model->n_features; d++)
        if (!isfinite(model->weights[d]))
            return thr_fail(err, THR_ERANGE, "%s: the weight of feature %u is %g: train it again",
                            name != NULL ? name : "a model", d + 1, model->weights[d]);
    return THR_OK;
}

thr_status thr_rank_model_from_weights(thr_context *context, const double *weights, uint32_t n_features,
                                       thr_rank_model **model, thr_error *err) {
    thr_rank_model *made = NULL;
    *model = NULL;
    thr_status status = thr_rank_model_make(context, n_features, &made, err);
    if (made == NULL)
        return status;
    memcpy(made->weights, weights, n_features * sizeof *weights);
    status = thr_rank_model_check(made, NULL, err);
    THR_RETURN_MADE(status, made, model, thr_rank_model_free);
}

/* ------------------------------------------------------------------------------------------------ scores */

enum { PIECE_ROWS = 1024 };

typedef struct prediction {
    const thr_kernels *kernels;
    thr_ranking_view view;
    const double *weights;
    double *scores;
} prediction;

static void predict_piece(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const prediction *p = arg;
    const uint64_t first = (uint64_t)piece * PIECE_ROWS, left = p->view.n_rows - first;
    thr_rank_rows_times(p->kernels, &p->view, first, (uint32_t)THR_MIN(left, PIECE_ROWS), p->weights,
                        p->scores + first);
}

thr_status thr_rank_model_predict(const thr_rank_model *model, const thr_ranking *ranking, double *scores,
                                  thr_error *err) {
    prediction p = {.kernels = model->context->kernels,
                    .view = thr_ranking_get_view(ranking),
                    .weights = model->weights,
                    .scores = scores};
    if (p.view.n_features > model->n_features)
        return thr_fail(err, THR_EDIM, "rows of %u features for a model of %u: train it on rows with all of them",
                        p.view.n_features, model->n_features);
    thr_parallel_for(model->context, (size_t)THR_CEIL_DIV(p.view.n_rows, PIECE_ROWS), predict_piece, &p);
    for (uint64_t i = 0; i < p.view.n_rows; i++)
        if (!isfinite(scores[i]))
            return thr_fail(err, THR_ERANGE,
                            "row %" PRIu64 " (from 0) has a score of %g: its features or the model's weights are too "
                            "large; scale them down",
                            p.view.rows != NULL ? p.view.rows[i] : i, scores[i]);
    return THR_OK;
}
