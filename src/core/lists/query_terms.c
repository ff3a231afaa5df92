/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_terms.c - collects the entries of a query's features, with their weights.
 */
#include "lists/query_terms.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* The unit is 2^(x - 30) for the least x with total < 2^x: n rounded weights add up to at most 2^30 + n / 2. */
thr_status thr_lists_query_unit(const uint32_t *features, const float *weights, size_t n, double *unit,
                                thr_error *err) {
    enum { SUM_BITS = 30 };
    double total = 0;
    if (n > THR_HITS_MAX_FEATURES)
        return thr_fail(err, THR_EINVAL, "a query has %zu features: the limit is %u", n, THR_HITS_MAX_FEATURES);
    for (size_t i = 0; i < n; i++) {
        const double weight = weights == NULL ? 1 : (double)weights[i];
        if (!isfinite(weight))
            return thr_fail(err, THR_ERANGE, "feature %u of a query weighs %g", features[i], weight);
        total += fabs(weight);
    }
    int exponent = SUM_BITS;
    if (total > 0)
        (void)frexp(total, &exponent);
    *unit = ldexp(1, exponent - SUM_BITS);
    return THR_OK;
}

int32_t thr_lists_query_weight(const float *weights, size_t i, double unit) {
    return (int32_t)lrint((weights == NULL ? 1 : (double)weights[i]) / unit);
}

thr_status thr_lists_query_reserve(thr_context *context, thr_lists_query *query, size_t n, thr_error *err) {
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        THR_TRY(thr_grow(context, &query->terms[form], &query->capacity[form], n, sizeof *query->terms[form], "a query",
                         err));
    return thr_grow(context, &query->singles, &query->singles_capacity, 2 * n, sizeof *query->singles, "a query", err);
}

static thr_status push_single(thr_context *context, uint32_t place, int32_t weight, thr_lists_query *query,
                              thr_error *err) {
    THR_TRY(thr_grow(context, &query->singles, &query->singles_capacity, 2 * (query->n_singles + 1),
                     sizeof *query->singles, "a query", err));
    query->singles[query->n_singles++] = (thr_lists_single){place, weight};
    return THR_OK;
}

/* Sort the singles by window. */
static void sort_singles(thr_lists_query *query) {
    const size_t n = query->n_singles;
    uint32_t *ends = query->window_ends, sum = 0;
    memset(ends, 0, sizeof query->window_ends);
    if (n == 0)
        return;
    thr_lists_single *copy = query->singles + n;
    memcpy(copy, query->singles, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        ends[copy[i].place / THR_LISTS_WINDOW]++;
    /* from counts to begins; the loop below advances them to the ends */
    for (uint32_t window = 0; window < THR_LISTS_MAX_WINDOWS; window++) {
        sum += ends[window];
        ends[window] = sum - ends[window];
    }
    for (size_t i = 0; i < n; i++)
        query->singles[ends[copy[i].place / THR_LISTS_WINDOW]++] = copy[i];
}

static thr_status push_entry(thr_context *context, uint32_t entry, int32_t weight, thr_lists_query *query,
                             thr_error *err) {
    const thr_lists *lists = query->lists;
    const uint32_t form = lists->entry_forms[entry], first = thr_lists_first_stretch(lists, entry);
    const uint32_t end = thr_lists_first_stretch(lists, entry + 1);
    THR_TRY(thr_grow(context, &query->terms[form], &query->capacity[form], query->n[form] + 1,
                     sizeof *query->terms[form], "a query", err));
    query->terms[form][query->n[form]++] =
        (thr_lists_term){.windows = lists->stretch_windows + first,
                         .sizes = lists->stretch_sizes + first,
                         .n_stretches = end > first ? end - first : 0, /* 0: the file was cut meanwhile */
                         .begin = lists->entry_begins[entry],
                         .weight = weight};
    return THR_OK;
}

thr_status thr_lists_query_make(thr_context *context, const thr_lists *lists, const uint32_t *features,
                                const float *weights, size_t n, thr_lists_query *query, thr_error *err) {
    query->lists = lists;
    query->n_unknown = 0;
    query->n_singles = 0;
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        query->n[form] = 0;
    THR_TRY(thr_lists_query_unit(features, weights, n, &query->unit, err));
    for (size_t i = 0; i < n; i++) {
        const uint32_t f = thr_lists_find(lists, features[i]);
        if (f == lists->n_features) {
            query->n_unknown++;
            continue;
        }
        const int32_t weight = thr_lists_query_weight(weights, i, query->unit);
        uint32_t only;
        if (weight == 0)
            continue;
        if (thr_lists_is_single(lists, f, &only)) {
            THR_TRY(push_single(context, only, weight, query, err));
            continue;
        }
        const uint32_t list = lists->refs[f], end = lists->first_entries[list + 1];
        for (uint32_t e = lists->first_entries[list]; e < end; e++)
            THR_TRY(push_entry(context, e, weight, query, err));
    }
    sort_singles(query);
    return THR_OK;
}

thr_status thr_lists_query_of(thr_context *context, const thr_lists *lists, const thr_hits_queries *queries, uint64_t q,
                              thr_lists_query *query, thr_error *err) {
    const uint64_t at = queries->offsets[q];
    return thr_lists_query_make(context, lists, queries->features + at,
                                queries->weights == NULL ? NULL : queries->weights + at,
                                (size_t)(queries->offsets[q + 1] - at), query, err);
}

void thr_lists_query_free(thr_context *context, thr_lists_query *query) {
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        thr_release(context, query->terms[form]);
    thr_release(context, query->singles);
    *query = (thr_lists_query){.lists = NULL};
}
