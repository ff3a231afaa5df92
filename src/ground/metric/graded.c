/* SPDX-License-Identifier: Apache-2.0 */
#include "metric/graded.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/minmax.h"

thr_status thr_metric_quality_take_options(const thr_quality_options *given, thr_quality_options *options,
                                           thr_error *err) {
    *options = given != NULL ? *given : (thr_quality_options){0};
    THR_TRY(thr_check_enum((int)options->gain, THR_GAIN_LINEAR, "thr_gain", err));
    THR_TRY(thr_check_enum((int)options->convention, THR_CONVENTION_XGBOOST_MINUS, "thr_convention", err));
    if (options->relevant == 0)
        options->relevant = 1;
    if (isnan(options->relevant))
        return thr_fail(err, THR_EINVAL, "the least relevant label is not a number");
    if (!(options->largest_label >= 0 && isfinite(options->largest_label)))
        return thr_fail(err, THR_EINVAL, "the largest label is %g: it has to be 0 or more, and finite",
                        options->largest_label);
    return THR_OK;
}

static thr_status check_label(double label, const thr_gain *gain, size_t q, size_t row, thr_error *err) {
    if (!isfinite(label))
        return thr_fail(err, THR_ERANGE, "query %zu, row %zu: the label is %g, which is not finite", q, row, label);
    if (gain == NULL)
        return THR_OK;
    if (label < 0)
        return thr_fail(
            err, THR_ERANGE,
            "query %zu, row %zu: the label is %g: gains are of labels from 0 on; only pairwise accuracy takes "
            "others",
            q, row, label);
    if (*gain == THR_GAIN_EXPONENTIAL && label > THR_GAIN_MAX_LABEL)
        return thr_fail(err, THR_ERANGE,
                        "query %zu, row %zu: the label is %g: 2^label is defined up to %d: use linear gain", q, row,
                        label, (int)THR_GAIN_MAX_LABEL);
    return THR_OK;
}

static thr_status check_offsets(const thr_judged *judged, thr_error *err) {
    if (judged->n_queries == 0)
        return thr_fail(err, THR_EINVAL, "there are no queries to evaluate a ranking with");
    for (size_t q = 0; q < judged->n_queries; q++)
        if (judged->offsets[q] > judged->offsets[q + 1])
            return thr_fail(err, THR_EINVAL, "query %zu ends at row %" PRIu64 ", before its first one, %" PRIu64, q,
                            judged->offsets[q + 1], judged->offsets[q]);
    return THR_OK;
}

/* Check a query's labels and scores. The offsets have been checked. */
static thr_status check_query(const thr_judged *judged, size_t q, const thr_gain *gain, double *largest,
                              thr_error *err) {
    const uint64_t first = judged->offsets[q], end = judged->offsets[q + 1];
    for (uint64_t i = first; i < end; i++) {
        if (isnan(judged->scores[i]))
            return thr_fail(err, THR_ERANGE, "query %zu, row %zu: the score is not a number", q, (size_t)(i - first));
        THR_TRY(check_label(judged->labels[i], gain, q, (size_t)(i - first), err));
        if (judged->labels[i] > *largest)
            *largest = judged->labels[i];
    }
    return THR_OK;
}

thr_status thr_metric_graded_start(const thr_judged *judged, const thr_gain *gain, thr_judged_query *query,
                                   double *largest_label, thr_error *err) {
    size_t most = 1;
    *query = (thr_judged_query){0};
    *largest_label = 0;
    THR_TRY(check_offsets(judged, err));
    for (size_t q = 0; q < judged->n_queries; q++) {
        const size_t n = (size_t)(judged->offsets[q + 1] - judged->offsets[q]);
        THR_TRY(check_query(judged, q, gain, largest_label, err));
        most = THR_MAX(n, most);
    }
    query->memory = most <= SIZE_MAX / 2 / sizeof *query->rows ? malloc(2 * most * sizeof *query->rows) : NULL;
    if (query->memory == NULL)
        return thr_fail(err, THR_ENOMEM, "no memory to sort a query of %zu rows", most);
    query->rows = query->memory;
    query->other = query->memory + most;
    query->most = most;
    return THR_OK;
}

void thr_metric_graded_stop(thr_judged_query *query) {
    free(query->memory);
    *query = (thr_judged_query){0};
}

static int compare_rows(const void *a, const void *b) {
    const thr_judged_row *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

void thr_metric_graded_rank(const thr_judged *judged, size_t q, thr_judged_query *query) {
    const uint64_t first = judged->offsets[q];
    query->n = (size_t)(judged->offsets[q + 1] - first);
    for (size_t i = 0; i < query->n; i++)
        query->rows[i] =
            (thr_judged_row){.score = judged->scores[first + i], .label = judged->labels[first + i], .row = i};
    qsort(query->rows, query->n, sizeof *query->rows, compare_rows);
}

double thr_metric_gain(thr_gain gain, double label) {
    return gain == THR_GAIN_LINEAR ? label : exp2(label) - 1;
}
