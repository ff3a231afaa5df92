/* SPDX-License-Identifier: Apache-2.0 */
#include "select/answers.h"

#include <thresher/metric.h>

#include <math.h>

float thr_select_answers_least(const thr_answers *answers, uint64_t query) {
    return answers->least_scores == NULL ? -INFINITY : answers->least_scores[query];
}

void thr_select_answers_put(const thr_answers *answers, uint64_t query, const thr_candidate *items, size_t n) {
    const float least = thr_select_answers_least(answers, query);
    uint64_t *ids = answers->ids + query * answers->k;
    float *scores = answers->scores == NULL ? NULL : answers->scores + query * answers->k;
    while (n > 0 && items[n - 1].score < least)
        n--;
    for (size_t i = 0; i < answers->k; i++) {
        ids[i] = i < n ? items[i].row : THR_NO_ID;
        if (scores != NULL)
            scores[i] = i < n ? items[i].score : -INFINITY;
    }
}
