/* SPDX-License-Identifier: Apache-2.0 */
/* rank_quality.c - NDCG, MAP, MRR, ERR and precision, query by query in the order of scores. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "metric/graded.h"

/* Sums over queries. A mean is over the queries that were not left out. */
typedef struct judging {
    thr_quality_options options;
    thr_judged_query query;
    double *ideal; /* sorted labels of a query, the best first */
    double largest_gain;
    double ndcg, map, mrr, err, precision;
    uint64_t n_gained, n_relevant, n_queries; /* queries counted for NDCG; for MAP and MRR; for the others */
} judging;

/* DCG of labels[0..n), in the given order or, for the ideal DCG, best first. */
static double find_dcg(const thr_quality_options *options, const double *labels, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double rank = (double)(i + 1);
        const double gain = thr_metric_gain(options->gain, labels[i]);
        if (options->discount == THR_DISCOUNT_LOG2)
            sum += gain / log2(1 + rank);
        else
            sum += i < 2 ? gain : gain / log2(rank);
    }
    return sum;
}

static int compare_down(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The value of a query without any gain; NaN: leave it out. */
static double value_of_nothing(const thr_quality_options *options) {
    if (options->no_gain == THR_NO_GAIN_LEFT_OUT)
        return (double)NAN;
    return options->no_gain == THR_NO_GAIN_ONE ? 1 : 0;
}

/* NDCG of a ranked query. *without_gain is set if no row has a gain. */
static double find_ndcg(judging *j, bool *without_gain) {
    const thr_judged_query *query = &j->query;
    const size_t n = query->n, k = j->options.k == 0 || j->options.k > n ? n : j->options.k;
    for (size_t i = 0; i < n; i++)
        j->ideal[i] = query->rows[i].label;
    const double dcg = find_dcg(&j->options, j->ideal, k);
    qsort(j->ideal, n, sizeof *j->ideal, compare_down);
    const double ideal = find_dcg(&j->options, j->ideal, k);
    *without_gain = ideal == 0;
    if (ideal == 0)
        return value_of_nothing(&j->options);
    return j->options.short_is_zero && n < j->options.k ? 0 : dcg / ideal;
}

static void add(double value, double *sum, uint64_t *n) {
    if (isnan(value))
        return;
    *sum += value;
    ++*n;
}

static void add_relevance(judging *j) {
    const thr_judged_query *query = &j->query;
    const size_t k = j->options.k == 0 ? query->n : j->options.k;
    size_t n_relevant = 0, n_first = 0; /* so far; within the first k */
    double precisions = 0, reciprocal = 0;
    for (size_t i = 0; i < query->n; i++) {
        if (!(query->rows[i].label >= j->options.relevant))
            continue;
        n_relevant++;
        n_first += i < k;
        precisions += (double)n_relevant / (double)(i + 1);
        if (n_relevant == 1)
            reciprocal = 1 / (double)(i + 1);
    }
    const double nothing = value_of_nothing(&j->options);
    uint64_t n_queries = 0;
    add(n_relevant != 0 ? precisions / (double)n_relevant : nothing, &j->map, &j->n_relevant);
    add(n_relevant != 0 ? reciprocal : nothing, &j->mrr, &n_queries);
    j->precision += k != 0 ? (double)n_first / (double)k : 0;
}

static double find_err(const judging *j) {
    const thr_judged_query *query = &j->query;
    const size_t k = j->options.k == 0 || j->options.k > query->n ? query->n : j->options.k;
    double reached = 1, sum = 0;
    for (size_t i = 0; i < k; i++) {
        const double satisfies = thr_metric_gain(j->options.gain, query->rows[i].label) / (1 + j->largest_gain);
        sum += reached * satisfies / (double)(i + 1);
        reached *= 1 - satisfies;
    }
    return sum;
}

static thr_status start(const thr_judged *judged, const thr_quality_options *options, judging *j, thr_error *err) {
    double largest;
    *j = (judging){0};
    THR_TRY(thr_metric_quality_take_options(options, &j->options, err));
    THR_TRY(thr_metric_graded_start(judged, &j->options.gain, &j->query, &largest, err));
    if (j->options.largest_label != 0 && largest > j->options.largest_label)
        return thr_fail(err, THR_EINVAL, "a label is %g, above the largest one there can be, %g", largest,
                        j->options.largest_label);
    j->largest_gain =
        thr_metric_gain(j->options.gain, j->options.largest_label != 0 ? j->options.largest_label : largest);
    j->ideal = malloc(j->query.most * sizeof *j->ideal);
    if (j->ideal == NULL)
        return thr_fail(err, THR_ENOMEM, "no memory to sort a query of %zu rows", j->query.most);
    return THR_OK;
}

static void stop(judging *j) {
    thr_metric_graded_stop(&j->query);
    free(j->ideal);
}

static double mean(double sum, uint64_t n) {
    return n != 0 ? sum / (double)n : (double)NAN;
}

thr_status thr_ndcg(const thr_judged *judged, const thr_quality_options *options, double *ndcg, double *by_query,
                    thr_error *err) {
    judging j;
    thr_status status = start(judged, options, &j, err);
    for (size_t q = 0; q < judged->n_queries && status == THR_OK; q++) {
        bool without_gain;
        thr_metric_graded_rank(judged, q, &j.query);
        const double value = find_ndcg(&j, &without_gain);
        add(value, &j.ndcg, &j.n_gained);
        if (by_query != NULL)
            by_query[q] = value;
    }
    if (status == THR_OK && j.n_gained == 0)
        status =
            thr_fail(err, THR_EINVAL, "none of %zu queries has a row with a gain: all are left out", judged->n_queries);
    if (status == THR_OK)
        *ndcg = mean(j.ndcg, j.n_gained);
    stop(&j);
    return status;
}

thr_status thr_rank_quality(const thr_judged *judged, const thr_quality_options *options, thr_quality *quality,
                            thr_error *err) {
    judging j;
    *quality = (thr_quality){.n_queries = judged->n_queries};
    thr_status status = start(judged, options, &j, err);
    for (size_t q = 0; q < judged->n_queries && status == THR_OK; q++) {
        bool without_gain;
        thr_metric_graded_rank(judged, q, &j.query);
        add(find_ndcg(&j, &without_gain), &j.ndcg, &j.n_gained);
        add_relevance(&j);
        j.err += find_err(&j);
        quality->n_without_gain += without_gain;
        quality->n_rows += j.query.n;
        thr_metric_graded_count_pairs(&j.query, &quality->pairs); /* reorders the rows */
    }
    if (status == THR_OK) {
        quality->ndcg = mean(j.ndcg, j.n_gained);
        quality->map = mean(j.map, j.n_relevant);
        quality->mrr = mean(j.mrr, j.n_relevant);
        quality->err = mean(j.err, judged->n_queries);
        quality->precision = mean(j.precision, judged->n_queries);
        thr_metric_graded_end_pairs(&quality->pairs);
        quality->pair_accuracy =
            j.options.ties_are_right ? quality->pairs.accuracy_ties_right : quality->pairs.accuracy;
    }
    stop(&j);
    return status;
}
