/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c - scoring requests for metrics, and validation: loss and GAUC on requests that were not trained on. */
#include <thresher/metric.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "dual_tower/trainer.h"
#include "metric/gauc.h"

enum { REQUESTS_AT_ONCE = 1024 };

/* Fill in what metrics compare with (metric.h): offsets, the number of best ads, and values. */
static thr_status list_truth(thr_context *context, const thr_dual_some *some, thr_dual_evaluation *j, thr_error *err) {
    const thr_dual_requests *requests = some->requests;
    THR_TRY(thr_alloc(context, some->n + 1, sizeof *j->offsets, &j->offsets, "requests", err));
    THR_TRY(thr_alloc(context, some->n, sizeof *j->n_best, &j->n_best, "requests", err));
    j->offsets[0] = 0;
    for (size_t i = 0; i < some->n; i++) {
        const size_t r = thr_dual_request(some, i), first = (size_t)requests->ad_offsets[r];
        const size_t end = (size_t)requests->ad_offsets[r + 1];
        j->offsets[i + 1] = j->offsets[i] + (end - first);
        j->n_best[i] = 0;
        while (first + j->n_best[i] < end && requests->levels[first + j->n_best[i]] == 0)
            j->n_best[i]++;
    }
    THR_TRY(thr_alloc(context, (size_t)j->offsets[some->n], sizeof *j->values, &j->values, "requests", err));
    for (size_t i = 0; i < some->n; i++)
        memcpy(j->values + j->offsets[i], requests->values + requests->ad_offsets[thr_dual_request(some, i)],
               (size_t)(j->offsets[i + 1] - j->offsets[i]) * sizeof *j->values);
    return THR_OK;
}

thr_status thr_dual_evaluate_all(thr_context *context, const thr_dual_data *data, const thr_dual_some *some,
                                 const thr_rank_loss *loss, thr_dual_evaluation *evaluation, thr_error *err) {
    THR_TRY(list_truth(context, some, evaluation, err));
    THR_TRY(thr_alloc(context, (size_t)evaluation->offsets[some->n], sizeof *evaluation->scores, &evaluation->scores,
                      "a validation", err));
    if (loss != NULL)
        THR_TRY(thr_alloc(context, some->n, sizeof *evaluation->losses, &evaluation->losses, "a validation", err));
    for (size_t first = 0; first < some->n; first += REQUESTS_AT_ONCE) {
        const size_t n = THR_MIN(some->n - first, REQUESTS_AT_ONCE);
        uint32_t numbers[REQUESTS_AT_ONCE];
        for (size_t i = 0; i < n; i++)
            numbers[i] = (uint32_t)thr_dual_request(some, first + i);
        const thr_dual_some part = {some->requests, numbers, n};
        thr_dual_scores *batch = &evaluation->batch;
        THR_TRY(thr_dual_scores_run(context, data, &part, loss, false, batch, err));
        memcpy(evaluation->scores + evaluation->offsets[first], batch->scores,
               batch->batch.ad_offsets[n] * sizeof(float));
        if (loss != NULL)
            memcpy(evaluation->losses + first, batch->losses, n * sizeof(double));
    }
    return THR_OK;
}

void thr_dual_evaluation_free(thr_context *context, thr_dual_evaluation *evaluation) {
    THR_RELEASE(context, evaluation->offsets, evaluation->n_best, evaluation->values, evaluation->scores,
                evaluation->losses);
    thr_dual_scores_free(context, &evaluation->batch);
    *evaluation = (thr_dual_evaluation){0};
}

thr_status thr_dual_validate(void *base, thr_tower_epoch *epoch, thr_error *err) {
    thr_dual_trainer *trainer = base;
    thr_context *context = trainer->base.context;
    const thr_dual_data data = thr_dual_trainer_data(trainer);
    const thr_rank_loss rank = thr_dual_trainer_loss(trainer);
    const size_t n = trainer->base.split.n_valid;
    const thr_dual_some valid = {thr_dual_trainer_valid(trainer), trainer->base.split.valid, n};
    thr_dual_evaluation evaluation = {0};
    thr_status status = THR_OK;
    if (!thr_training_is_finite(&trainer->base))
        return thr_dual_diverged(trainer, err);
    THR_TRY_OUT(thr_dual_evaluate_all(context, &data, &valid, &rank, &evaluation, err));
    double loss = 0;
    for (size_t i = 0; i < n; i++)
        loss += evaluation.losses[i];
    epoch->valid_loss = loss / (double)n;
    if (!isfinite(epoch->valid_loss) || !thr_training_all_finite(evaluation.scores, (size_t)evaluation.offsets[n]))
        THR_TRY_OUT(thr_dual_diverged(trainer, err));
    THR_TRY_OUT(thr_metric_gauc(&(thr_ranked){n, evaluation.offsets, evaluation.scores, evaluation.n_best, NULL},
                                &epoch->valid_quality, err));
out:
    thr_dual_evaluation_free(context, &evaluation);
    return status;
}
