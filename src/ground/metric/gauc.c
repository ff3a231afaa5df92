/* SPDX-License-Identifier: Apache-2.0 */
/* gauc.c - request by request, compare every best ad with the other ads of its request. */
#include <thresher/metric.h>

#include <math.h>

#include "base/error.h"
#include "metric/gauc.h"

/* The ads of one request. */
typedef struct ranked_ads {
    const float *scores, *values;
    size_t n, n_best;
} ranked_ads;

static thr_status view_request(const thr_ranked *ranked, size_t r, ranked_ads *ads, thr_error *err) {
    const uint64_t first = ranked->offsets[r], end = ranked->offsets[r + 1];
    if (first > end)
        return thr_fail(err, THR_EINVAL, "request %zu ends at ad %llu, before its first one, %llu", r,
                        (unsigned long long)end, (unsigned long long)first);
    *ads = (ranked_ads){.scores = ranked->scores + first,
                        .values = ranked->values != NULL ? ranked->values + first : NULL,
                        .n = (size_t)(end - first),
                        .n_best = ranked->n_best != NULL ? ranked->n_best[r] : end > first};
    if (ads->n_best > ads->n || (ads->n != 0 && ads->n_best == 0))
        return thr_fail(err, THR_EINVAL, "request %zu: %zu best ads of %zu", r, ads->n_best, ads->n);
    for (size_t i = 0; i < ads->n; i++) {
        if (isnan(ads->scores[i]))
            return thr_fail(err, THR_ERANGE, "request %zu: score %zu is not a number: leave it out", r, i);
        if (ads->values != NULL && !(ads->values[i] >= 0 && isfinite(ads->values[i])))
            return thr_fail(err, THR_ERANGE, "request %zu: value %zu is %g: it has to be 0 or more, and finite", r, i,
                            (double)ads->values[i]);
    }
    return THR_OK;
}

static bool has_pairs(const ranked_ads *ads) {
    return ads->n > ads->n_best;
}

static thr_status check_judged(size_t n_judged, const thr_ranked *ranked, thr_error *err) {
    if (n_judged != 0)
        return THR_OK;
    return thr_fail(err, THR_EINVAL, "none of %zu requests has a best ad and others", ranked->n_requests);
}

/* Count the ads from first to end that score above `score`, and those that score the same. */
static void count(const ranked_ads *ads, size_t first, size_t end, float score, size_t *n_above, size_t *n_equal) {
    *n_above = *n_equal = 0;
    for (size_t i = first; i < end; i++) {
        *n_above += ads->scores[i] > score;
        *n_equal += ads->scores[i] == score;
    }
}

/* The share of correctly ordered pairs; a tied pair counts one half (both counts are doubled). */
static double find_auc(const ranked_ads *ads) {
    const size_t n_others = ads->n - ads->n_best;
    size_t twice = 0;
    for (size_t i = 0; i < ads->n_best; i++) {
        size_t n_above = 0, n_equal = 0;
        count(ads, ads->n_best, ads->n, ads->scores[i], &n_above, &n_equal);
        twice += 2 * (n_others - n_above) - n_equal;
    }
    return (double)twice / (2.0 * (double)ads->n_best * (double)n_others);
}

thr_status thr_metric_gauc(const thr_ranked *ranked, double *gauc, thr_error *err) {
    double sum = 0;
    size_t n_judged = 0;
    for (size_t r = 0; r < ranked->n_requests; r++) {
        ranked_ads ads;
        THR_TRY(view_request(ranked, r, &ads, err));
        if (!has_pairs(&ads))
            continue;
        sum += find_auc(&ads);
        n_judged++;
    }
    THR_TRY(check_judged(n_judged, ranked, err));
    *gauc = sum / (double)n_judged;
    return THR_OK;
}

/* The probability that ad i is among the first g if ads of equal scores are in random order. */
static double find_chance(const ranked_ads *ads, size_t i, size_t g) {
    size_t n_above = 0, n_equal = 0;
    count(ads, 0, ads->n, ads->scores[i], &n_above, &n_equal);
    if (n_above >= g)
        return 0;
    return n_above + n_equal <= g ? 1 : (double)(g - n_above) / (double)n_equal;
}

thr_status thr_metric_top_recall(const thr_ranked *ranked, size_t g, double *recall, double *by_value, thr_error *err) {
    double found = 0, value = 0, value_found = 0;
    size_t n_judged = 0;
    if (g == 0)
        return thr_fail(err, THR_EINVAL, "recall among the first 0 ads: choose 1 or more");
    for (size_t r = 0; r < ranked->n_requests; r++) {
        ranked_ads ads;
        THR_TRY(view_request(ranked, r, &ads, err));
        if (!has_pairs(&ads))
            continue;
        n_judged++;
        for (size_t i = 0; i < ads.n_best; i++) {
            const double share = 1.0 / (double)ads.n_best, chance = find_chance(&ads, i, g);
            const double worth = ads.values != NULL ? (double)ads.values[i] : 1;
            found += share * chance;
            value += share * worth;
            value_found += share * worth * chance;
        }
    }
    THR_TRY(check_judged(n_judged, ranked, err));
    *recall = found / (double)n_judged;
    if (by_value != NULL)
        *by_value = value > 0 ? value_found / value : (double)NAN;
    return THR_OK;
}
