/* SPDX-License-Identifier: Apache-2.0 */
/* rank_quality.c - NDCG, MAP, MRR, ERR and precision, query by query in the order of scores. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "metric/graded.h"

/* Sums over queries. */
typedef struct judging {
    thr_quality_options options;
    thr_judged_query query;
    double *ideal; /* sorted labels of a query, the best first */
    double largest_gain;
    double ndcg, map, mrr, err, precision;
} judging;

/* DCG of labels[0..n), in the given order or, for the ideal DCG, best first. */
static double find_dcg(const thr_quality_options *options, const double *labels, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double rank = (double)(i + 1);
        const double gain = thr_metric_gain(options->gain, labels[i]);
        if (options->convention == THR_CONVENTION_LETOR)
            sum += i < 2 ? gain : gain / log2(rank);
        else
            sum += gain / log2(1 + rank);
    }
    return sum;
}

static int compare_down(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The value of a query without any gain. */
static double value_of_nothing(const thr_quality_options *options) {
    return options->convention == THR_CONVENTION_LIGHTGBM || options->convention == THR_CONVENTION_XGBOOST ? 1 : 0;
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
    return j->options.convention == THR_CONVENTION_LETOR && n < j->options.k ? 0 : dcg / ideal;
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
    j->map += n_relevant != 0 ? precisions / (double)n_relevant : nothing;
    j->mrr += n_relevant != 0 ? reciprocal : nothing;
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

thr_status thr_rank_quality(const thr_judged *judged, const thr_quality_options *options, thr_quality *quality,
                            thr_error *err) {
    judging j;
    *quality = (thr_quality){.n_queries = judged->n_queries};
    thr_status status = start(judged, options, &j, err);
    for (size_t q = 0; q < judged->n_queries && status == THR_OK; q++) {
        bool without_gain;
        thr_metric_graded_rank(judged, q, &j.query);
        j.ndcg += find_ndcg(&j, &without_gain);
        add_relevance(&j);
        j.err += find_err(&j);
        quality->n_without_gain += without_gain;
        quality->n_rows += j.query.n;
        thr_metric_graded_count_pairs(&j.query, &quality->pairs); /* reorders the rows */
    }
    if (status == THR_OK) {
        const double n = (double)judged->n_queries; /* 1 or more */
        quality->ndcg = j.ndcg / n;
        quality->map = j.map / n;
        quality->mrr = j.mrr / n;
        quality->err = j.err / n;
        quality->precision = j.precision / n;
        thr_metric_graded_end_pairs(&quality->pairs);
        quality->pair_accuracy =
            j.options.ties_are_right ? quality->pairs.accuracy_ties_right : quality->pairs.accuracy;
    }
    stop(&j);
    return status;
}
