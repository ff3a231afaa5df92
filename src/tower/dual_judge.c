/* SPDX-License-Identifier: Apache-2.0 */
/* How good a dual tower is on requests it did not learn from. */
#include <thresher/metric.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tower/dual_trainer.h"

enum { REQUESTS_AT_ONCE = 1024 };

thr_status thr_dual_score_all(thr_context *context, const thr_dual_data *data, const thr_dual_requests *requests,
                              const uint32_t *numbers, size_t n, const thr_rank_loss *loss, thr_dual_scores *room,
                              float *scores, double *losses, thr_error *err) {
    size_t at = 0;
    for (size_t first = 0; first < n; first += REQUESTS_AT_ONCE) {
        const size_t some = n - first < REQUESTS_AT_ONCE ? n - first : REQUESTS_AT_ONCE;
        uint32_t in_order[REQUESTS_AT_ONCE];
        for (size_t i = 0; i < some; i++)
            in_order[i] = numbers != NULL ? numbers[first + i] : (uint32_t)(first + i);
        THR_TRY(thr_dual_scores_run(context, data, requests, in_order, some, loss, false, room, err));
        const size_t n_ads = room->batch.ad_offsets[some];
        memcpy(scores + at, room->scores, n_ads * sizeof *scores);
        if (losses != NULL)
            memcpy(losses + first, room->losses, some * sizeof *losses);
        at += n_ads;
    }
    return THR_OK;
}

thr_status thr_dual_truth(thr_context *context, const thr_dual_requests *requests, const uint32_t *numbers, size_t n,
                          uint64_t **offsets, uint32_t **n_best, float **values, thr_error *err) {
    THR_TRY(thr_alloc(context, n + 1, sizeof **offsets, offsets, "requests", err));
    THR_TRY(thr_alloc(context, n, sizeof **n_best, n_best, "requests", err));
    (*offsets)[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t r = numbers != NULL ? numbers[i] : i, first = (size_t)requests->ad_offsets[r];
        const size_t end = (size_t)requests->ad_offsets[r + 1];
        (*offsets)[i + 1] = (*offsets)[i] + (end - first);
        (*n_best)[i] = 0;
        while (first + (*n_best)[i] < end && requests->levels[first + (*n_best)[i]] == 0)
            (*n_best)[i]++;
    }
    THR_TRY(thr_alloc(context, (size_t)(*offsets)[n], sizeof **values, values, "requests", err));
    for (size_t i = 0; i < n; i++) {
        const size_t r = numbers != NULL ? numbers[i] : i;
        memcpy(*values + (*offsets)[i], requests->values + requests->ad_offsets[r],
               (size_t)((*offsets)[i + 1] - (*offsets)[i]) * sizeof **values);
    }
    return THR_OK;
}

/* All weights, those of words that the requests for validation lack, too. */
static bool has_finite_weights(const thr_dual_trainer *t) {
    return thr_all_finite(t->tables[THR_SIDE_QUERY], t->n_table[THR_SIDE_QUERY]) &&
           thr_all_finite(t->tables[THR_SIDE_ITEM], t->n_table[THR_SIDE_ITEM]) &&
           thr_all_finite(t->dense, t->n_dense) && thr_all_finite(t->hits, t->n_hits);
}

thr_status thr_dual_judge(thr_dual_trainer *trainer, double *loss, double *gauc, thr_error *err) {
    thr_context *context = trainer->context;
    const thr_dual_data data = thr_dual_trainer_data(trainer);
    const thr_dual_requests *requests = thr_dual_trainer_valid(trainer);
    const thr_rank_loss rank = thr_dual_trainer_loss(trainer);
    const size_t n = trainer->n_valid;
    uint64_t *offsets = NULL;
    uint32_t *n_best = NULL;
    float *values = NULL, *scores = NULL;
    double *losses = NULL;
    thr_status status = THR_OK;
    if (!has_finite_weights(trainer))
        return thr_dual_diverged(trainer, err);
    THR_TRY_OUT(thr_dual_truth(context, requests, trainer->valid, n, &offsets, &n_best, &values, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)offsets[n], sizeof *scores, &scores, "a validation", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *losses, &losses, "a validation", err));
    THR_TRY_OUT(
        thr_dual_score_all(context, &data, requests, trainer->valid, n, &rank, &trainer->scores, scores, losses, err));
    *loss = 0;
    for (size_t i = 0; i < n; i++)
        *loss += losses[i];
    *loss /= (double)n;
    if (!isfinite(*loss) || !thr_all_finite(scores, (size_t)offsets[n]))
        THR_TRY_OUT(thr_dual_diverged(trainer, err));
    THR_TRY_OUT(thr_gauc(&(thr_ranked){n, offsets, scores, n_best, NULL}, gauc, err));
out:
    thr_release(context, offsets);
    thr_release(context, n_best);
    thr_release(context, values);
    thr_release(context, scores);
    thr_release(context, losses);
    return status;
}
