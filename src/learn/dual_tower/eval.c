/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - evaluating a dual tower on a file: ranks the ads of its requests. */
#include <thresher/metric.h>

#include "base/error.h"
#include "dual_tower/dual.h"
#include "dual_tower/trainer.h"
#include "metric/gauc.h"

typedef struct evaluation {
    thr_dual_lexicon lexicon;
    thr_dual_items items;
    thr_dual_requests requests;
    thr_dual_map map;
    thr_dual_evaluation scored;
} evaluation;

static thr_status read_all(const thr_dual *dual, const char *requests_path, const char *items_path, evaluation *e,
                           thr_error *err) {
    thr_context *context = dual->context;
    THR_TRY(thr_dual_items_read(context, items_path, &e->lexicon, &e->items, err));
    THR_TRY(thr_dual_requests_read(context, requests_path, &e->items, &e->lexicon, &e->requests, err));
    return thr_dual_map_make(context, &e->lexicon, dual->model.words, &e->map, err);
}

static thr_status measure(const evaluation *e, thr_dual_quality *quality, thr_error *err) {
    const thr_dual_evaluation *j = &e->scored;
    const thr_ranked ranked = {e->requests.n, j->offsets, j->scores, j->n_best, j->values};
    THR_TRY(thr_metric_gauc(&ranked, &quality->gauc, err));
    THR_TRY(thr_metric_top_recall(&ranked, 5, &quality->recall_5, &quality->value_recall_5, err));
    THR_TRY(thr_metric_top_recall(&ranked, 10, &quality->recall_10, &quality->value_recall_10, err));
    for (size_t r = 0; r < e->requests.n; r++) {
        const uint64_t n = j->offsets[r + 1] - j->offsets[r];
        quality->n_requests += n > j->n_best[r];
        quality->n_ads += n > j->n_best[r] ? n : 0;
    }
    return THR_OK;
}

thr_status thr_dual_eval(const thr_dual *dual, const char *requests_path, const char *items_path,
                         thr_dual_quality *quality, thr_error *err) {
    thr_context *context = dual->context;
    evaluation *e = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *e, &e, "an evaluation", err));
    const thr_dual_data data = {&dual->model, &e->lexicon, &e->items, &e->map};
    *quality = (thr_dual_quality){0};
    thr_status status = THR_OK;
    THR_TRY_OUT(read_all(dual, requests_path, items_path, e, err));
    const thr_dual_some all = {&e->requests, NULL, e->requests.n};
    THR_TRY_OUT(thr_dual_evaluate_all(context, &data, &all, NULL, &e->scored, err));
    THR_TRY_OUT(measure(e, quality, err));
out:
    thr_dual_lexicon_free(context, &e->lexicon);
    thr_dual_items_free(context, &e->items);
    thr_dual_requests_free(context, &e->requests);
    thr_dual_map_free(context, &e->map);
    thr_dual_evaluation_free(context, &e->scored);
    thr_release(context, e);
    return status;
}
