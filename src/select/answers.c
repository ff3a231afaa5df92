/* SPDX-License-Identifier: Apache-2.0 */
#include "select/answers.h"

#include <thresher/metric.h>

#include <math.h>

void thr_select_answers_put(const thr_answers *answers, uint64_t query, const thr_candidate *items, size_t n) {
    uint64_t *ids = answers->ids + query * answers->k;
    float *scores = answers->scores == NULL ? NULL : answers->scores + query * answers->k;
    for (size_t i = 0; i < answers->k; i++) {
        ids[i] = i < n ? items[i].row : THR_NO_ID;
        if (scores != NULL)
            scores[i] = i < n ? items[i].score : -INFINITY;
    }
}
