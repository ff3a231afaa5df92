/* SPDX-License-Identifier: Apache-2.0 */
/* auc.c - sort the scores once; every positive is then above the negatives before its group of equal scores. */
#include <thresher/metric.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { LABEL_BITS = 1 };

/* Map a score to an integer of the same order, with -0 equal to 0, and put the label into the last bit. */
static uint64_t make_key(float score, uint8_t label) {
    uint32_t bits;
    const float value = score == 0 ? 0.0f : score;
    memcpy(&bits, &value, sizeof bits);
    bits = bits >> 31 != 0 ? ~bits : bits | 1u << 31;
    return (uint64_t)bits << LABEL_BITS | label;
}

static int compare_keys(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Validate the input, build the sort keys and count the positives. */
static thr_status make_keys(const float *scores, const uint8_t *labels, size_t n, uint64_t *keys, size_t *n_positives,
                            thr_error *err) {
    *n_positives = 0;
    for (size_t i = 0; i < n; i++) {
        if (scores[i] != scores[i])
            return thr_fail(err, THR_ERANGE, "AUC: score %zu is not a number: leave it out", i);
        if (labels[i] > 1)
            return thr_fail(err, THR_EINVAL, "AUC: label %zu is %u: labels are 0 and 1", i, labels[i]);
        keys[i] = make_key(scores[i], labels[i]);
        *n_positives += labels[i];
    }
    if (*n_positives == 0 || *n_positives == n)
        return thr_fail(err, THR_EINVAL, "AUC of %zu positives and %zu negatives: there must be some of both",
                        *n_positives, n - *n_positives);
    return THR_OK;
}

/* Return twice the number of pairs with the positive above the negative; a tied pair counts 1. */
static unsigned __int128 count_twice(const uint64_t *keys, size_t n) {
    unsigned __int128 twice = 0;
    uint64_t negatives_below = 0;
    for (size_t i = 0; i < n;) {
        const uint64_t score = keys[i] >> LABEL_BITS;
        uint64_t n_equal[2] = {0, 0};
        for (; i < n && keys[i] >> LABEL_BITS == score; i++)
            n_equal[keys[i] & 1]++;
        twice += (unsigned __int128)n_equal[1] * (2 * negatives_below + n_equal[0]);
        negatives_below += n_equal[0];
    }
    return twice;
}

thr_status thr_auc(const float *scores, const uint8_t *labels, size_t n, double *auc, thr_error *err) {
    uint64_t *keys = n <= SIZE_MAX / sizeof *keys ? malloc((n + (n == 0)) * sizeof *keys) : NULL;
    if (keys == NULL)
        return thr_fail(err, THR_ENOMEM, "no memory for the AUC of %zu scores", n);
    size_t n_positives = 0;
    thr_status status = make_keys(scores, labels, n, keys, &n_positives, err);
    if (status == THR_OK) {
        qsort(keys, n, sizeof *keys, compare_keys);
        *auc = (double)count_twice(keys, n) / (2.0 * (double)n_positives * (double)(n - n_positives));
    }
    free(keys);
    return status;
}
