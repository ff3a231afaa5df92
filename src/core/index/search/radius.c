/* SPDX-License-Identifier: Apache-2.0 */
/* radius.c - thr_index_search_radius: checks the arguments, plans, runs, and joins the rows of all queries as ids. */
#include "index/search/plan.h"

#include "base/error.h"
#include "index/search/kept_certificates.h"
#include "index/search/sources.h"
#include "index/search/with_tail.h"

#include <math.h>
#include <string.h>

/* The public result comes first, so that its address is the owner's. */
typedef struct owned_result {
    thr_radius_result shown;
    thr_context *context;
    uint64_t *offsets, *ids;
    float *scores;
} owned_result;

void thr_radius_result_free(thr_radius_result *result) {
    owned_result *owned = (owned_result *)result;
    if (owned == NULL)
        return;
    thr_context *context = owned->context;
    THR_RELEASE(context, owned->offsets, owned->ids, owned->scores, owned);
    thr_context_free(context);
}

thr_status thr_index_check_radius_options(const thr_index *index, const thr_search_options *options, thr_error *err) {
    THR_TRY(thr_index_check_options(index, options, 1, err));
    if (options->n_candidates != 0 || options->n_survivors != 0)
        return thr_fail(err, THR_EINVAL,
                        "n_candidates and n_survivors are for the best k, not for all within a radius");
    if (options->features != NULL || options->target != NULL)
        return thr_fail(err, THR_EINVAL, "features and targets are for the best k, not for all within a radius");
    if (options->least_scores != NULL || options->n_read != NULL)
        return thr_fail(err, THR_EINVAL, "least_scores and n_read are for the best k, not for all within a radius");
    return THR_OK;
}

thr_status thr_index_radius_merge(const thr_radius_result *one, const thr_radius_result *two,
                                  thr_radius_result **merged, thr_error *err) {
    static const char what[] = "the items within the radius";
    thr_context *context = ((const owned_result *)one)->context;
    const uint64_t n_queries = one->n_queries, n = one->offsets[n_queries] + two->offsets[n_queries];
    owned_result *owned = NULL;
    uint64_t at = 0;
    thr_status status = THR_OK;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *owned, &owned, what, err));
    owned->context = thr_context_retain(context);
    THR_TRY_OUT(thr_alloc(context, (size_t)n_queries + 1, sizeof(uint64_t), &owned->offsets, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n, sizeof(uint64_t), &owned->ids, what, err));
    THR_TRY_OUT(thr_alloc(context, (size_t)n, sizeof(float), &owned->scores, what, err));
    for (uint64_t q = 0; q < n_queries; q++) {
        uint64_t a = one->offsets[q], b = two->offsets[q];
        owned->offsets[q] = at;
        for (; a < one->offsets[q + 1] || b < two->offsets[q + 1]; at++) {
            const bool first =
                b == two->offsets[q + 1] || (a < one->offsets[q + 1] && one->scores[a] >= two->scores[b]);
            owned->scores[at] = first ? one->scores[a] : two->scores[b];
            owned->ids[at] = first ? one->ids[a++] : two->ids[b++];
        }
    }
    owned->offsets[n_queries] = at;
    owned->shown = (thr_radius_result){n_queries, owned->offsets, owned->ids, owned->scores};
out:
    if (status == THR_OK)
        *merged = &owned->shown;
    else
        thr_radius_result_free(&owned->shown);
    return status;
}

static thr_status check(const thr_index *index, const thr_matrix *queries, float least_score,
                        const thr_search_options *options, thr_error *err) {
    if (isnan(least_score))
        return thr_fail(err, THR_EINVAL, "the least score is NaN: give a number");
    if (index->manifest.metric == THR_METRIC_L2 && least_score > 0)
        return thr_fail(err, THR_EINVAL,
                        "a least score of %g: for l2 scores are minus squared distances, so none is above 0: for all "
                        "within a distance of %g give %g",
                        (double)least_score, (double)least_score, -(double)least_score * (double)least_score);
    THR_TRY(thr_index_check_radius_options(index, options, err));
    THR_TRY(thr_index_check_queries(index, queries, 1, err));
    return thr_index_check_unchanged(index, err);
}

/* Concatenate the answers, freeing each one once it is copied. */
static thr_status gather(const thr_index *index, thr_found *found, owned_result *owned, thr_error *err) {
    static const char what[] = "the items within the radius";
    const uint64_t n_queries = owned->shown.n_queries;
    uint64_t at = 0;
    THR_TRY(thr_alloc(index->context, (size_t)n_queries + 1, sizeof(uint64_t), &owned->offsets, what, err));
    for (uint64_t q = 0; q < n_queries; q++) {
        owned->offsets[q] = at;
        at += found[q].n;
    }
    owned->offsets[n_queries] = at;
    THR_TRY(thr_alloc(index->context, (size_t)at, sizeof(uint64_t), &owned->ids, what, err));
    THR_TRY(thr_alloc(index->context, (size_t)at, sizeof(float), &owned->scores, what, err));
    for (uint64_t q = 0; q < n_queries; q++) {
        for (size_t i = 0; i < found[q].n; i++) {
            owned->ids[owned->offsets[q] + i] = found[q].items[i].row;
            owned->scores[owned->offsets[q] + i] = found[q].items[i].score;
        }
        thr_scan_found_free(index->context, &found[q]);
    }
    thr_index_rows_to_ids(index, owned->ids, (size_t)at);
    owned->shown = (thr_radius_result){n_queries, owned->offsets, owned->ids, owned->scores};
    return THR_OK;
}

static thr_status run(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries, float least_score,
                      thr_found *found, thr_error *err) {
    return plan->has_tail ? thr_index_radius_with_tail(index, plan, queries, least_score, found, err)
                          : thr_index_radius_of_segments(index, plan, queries, least_score, found, err);
}

/*
 * Search by the vectors as given, as far as the kept ones determine their scores. A search that may miss items finds
 * the same with certificates as without.
 */
static thr_status run_plan(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries, float least_score,
                           thr_found *found, thr_error *err) {
    const thr_search_options *o = &plan->options;
    const bool widens = (o->exact || o->recall >= 1) && thr_index_scores_are_rounded(index);
    float least = least_score;
    THR_TRY(thr_scan_check_queries(plan->memory->scan, &index->vectors, queries, err));
    if (widens)
        THR_TRY(thr_index_lowered_radius(index, queries, least_score, &least, err));
    THR_TRY(run(index, plan, queries, least, found, err));
    if (widens)
        return thr_index_keep_radius(index, queries, least_score, o, found, err);
    if (o->certified != NULL && !plan->certifies)
        memset(o->certified, 0, (size_t)queries->n_rows);
    return THR_OK;
}

thr_status thr_index_search_radius(thr_index *index, const thr_matrix *queries, float least_score,
                                   const thr_search_options *options, thr_radius_result **result, thr_error *err) {
    thr_search_options complete = thr_index_complete_search(options);
    owned_result *owned = NULL;
    thr_found *found = NULL;
    thr_search_plan plan;
    thr_status status = THR_OK;
    if (index == NULL || queries == NULL || result == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs an index, queries and a pointer for the result");
    *result = NULL;
    THR_TRY(check(index, queries, least_score, &complete, err));
    least_score = thr_scan_radius_least(index->manifest.metric, queries->n_dims, least_score);
    THR_TRY(thr_alloc_zero(index->context, 1, sizeof *owned, &owned, "the result", err));
    owned->context = thr_context_retain(index->context);
    owned->shown.n_queries = queries->n_rows;
    THR_TRY_OUT(thr_alloc_zero(index->context, (size_t)queries->n_rows, sizeof *found, &found, "the result", err));
    if (queries->n_rows > 0) {
        status = thr_index_plan_begin(index, queries->n_rows, 0, &complete, &plan, err);
        if (status == THR_OK)
            status = run_plan(index, &plan, queries, least_score, found, err);
        thr_index_plan_end(index, &plan);
    }
    if (status == THR_OK)
        status = gather(index, found, owned, err);
    status = thr_index_check_after(index, status, err);
    if (status == THR_OK) {
        *result = &owned->shown;
        owned = NULL;
    }
out:
    for (uint64_t q = 0; found != NULL && q < queries->n_rows; q++)
        thr_scan_found_free(index->context, &found[q]);
    thr_release(index->context, found);
    thr_radius_result_free(owned != NULL ? &owned->shown : NULL);
    return status;
}
