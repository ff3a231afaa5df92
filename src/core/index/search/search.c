/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - thr_index_search: checks the arguments, plans, runs the plan, and turns its rows into ids. */
#include "index/search/plan.h"

#include "base/error.h"
#include "code/encode.h"
#include "index/search/kept_certificates.h"
#include "index/search/sources.h"
#include "index/search/with_tail.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

thr_status thr_index_check_options(const thr_index *index, const thr_search_options *o, uint64_t k, thr_error *err) {
    if (k == 0)
        return thr_fail(err, THR_EINVAL, "k is 0: ask for at least 1 item");
    if (!(o->recall > 0 && o->recall <= 1))
        return thr_fail(err, THR_EINVAL, "a recall of %g: give a share above 0 and up to 1", (double)o->recall);
    if (o->query_bits > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "%" PRIu32 " query bits: 1 to %d are possible, or 0 for what fits the index",
                        o->query_bits, THR_MAX_BITS);
    if (o->exact && index->manifest.keep == THR_DTYPE_NONE)
        return thr_fail(
            err, THR_EUNSUPPORTED,
            "%s: holds codes only: for exact searches build it with vectors kept, as float32, float16 or int8",
            index->dir);
    if (o->filter != NULL && o->filter_bits != index->manifest.n_rows)
        return thr_fail(err, THR_EINVAL, "a filter of %" PRIu64 " bits for an index of %" PRIu64 " rows",
                        o->filter_bits, index->manifest.n_rows);
    return THR_OK;
}

thr_status thr_index_check_queries(const thr_index *index, const thr_matrix *queries, uint64_t k, thr_error *err) {
    size_t places;
    THR_TRY(thr_code_check_rows(queries, err));
    if (queries->n_dims != index->info.n_dims)
        return thr_fail(err, THR_EDIM, "queries of %" PRIu32 " dimensions for an index of %" PRIu32 ": %s",
                        queries->n_dims, index->info.n_dims, index->dir);
    if (k > SIZE_MAX / sizeof(uint64_t) ||
        !thr_mul_size((size_t)k * sizeof(uint64_t), (size_t)queries->n_rows, &places))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " queries with %" PRIu64 " results each are too many",
                        queries->n_rows, k);
    return THR_OK;
}

static thr_status check_least_scores(const thr_search_options *options, uint64_t n_queries, thr_error *err) {
    for (uint64_t q = 0; q < n_queries && options->least_scores != NULL; q++)
        if (!(options->least_scores[q] < INFINITY))
            return thr_fail(err, THR_EINVAL,
                            "query %" PRIu64 ": a least score of %g: give a finite score, or -infinity for no limit", q,
                            (double)options->least_scores[q]);
    return THR_OK;
}

void thr_index_rows_to_ids(const thr_index *index, uint64_t *ids, size_t n) {
    for (size_t i = 0; index->manifest.has_ids && i < n; i++)
        if (ids[i] != THR_NO_ID)
            ids[i] = thr_index_id_of(index, ids[i]);
}

static thr_status run(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                      const thr_answers *answers, thr_error *err) {
    return plan->has_tail ? thr_index_search_with_tail(index, plan, queries, answers, err)
                          : thr_index_search_segments(index, plan, queries, answers, err);
}

/* Find one item more than is wanted, and certify by the ranges of scores. */
static thr_status run_certified(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                                const thr_answers *answers, thr_error *err) {
    thr_wider_answers wider;
    thr_status status = thr_index_wider_answers_make(index, queries, plan->n_found, answers, &wider, err);
    if (status == THR_OK)
        status = run(index, plan, queries, &wider.answers, err);
    if (status == THR_OK)
        status = thr_index_wider_answers_put(index, queries, &wider, answers, err);
    thr_index_wider_answers_free(index, &wider);
    return status;
}

static thr_status run_plan(thr_index *index, const thr_search_plan *plan, const thr_matrix *queries,
                           const thr_answers *answers, thr_error *err) {
    thr_answers found = *answers;
    if (!plan->certifies)
        found.certified = NULL;
    THR_TRY(thr_scan_check_queries(plan->memory->scan, &index->vectors, queries, err));
    THR_TRY((plan->compares_ranges ? run_certified : run)(index, plan, queries, &found, err));
    if (answers->certified != found.certified)
        memset(answers->certified, 0, (size_t)queries->n_rows);
    return THR_OK;
}

/* All that is checked before a search begins. */
static thr_status check(const thr_index *index, const thr_matrix *queries, uint64_t k,
                        const thr_search_options *options, thr_error *err) {
    THR_TRY(thr_index_check_options(index, options, k, err));
    THR_TRY(thr_index_check_queries(index, queries, k, err));
    THR_TRY(check_least_scores(options, queries->n_rows, err));
    THR_TRY(thr_index_feature_scores_check(index->hits, index->manifest_path, options, queries->n_rows, err));
    return thr_index_check_unchanged(index, err);
}

thr_status thr_index_search(thr_index *index, const thr_matrix *queries, uint64_t k, const thr_search_options *options,
                            uint64_t *ids, float *scores, thr_error *err) {
    thr_search_options complete = thr_index_complete_search(options);
    thr_search_plan plan;
    if (index == NULL || queries == NULL || ids == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs an index, queries and memory for ids");
    THR_TRY(check(index, queries, k, &complete, err));
    if (queries->n_rows == 0)
        return THR_OK;
    const thr_answers answers = {.k = k,
                                 .ids = ids,
                                 .scores = scores,
                                 .certified = complete.certified,
                                 .n_read = complete.n_read,
                                 .least_scores = complete.least_scores};
    thr_status status = thr_index_plan_begin(index, queries->n_rows, k, &complete, &plan, err);
    if (status == THR_OK)
        status = run_plan(index, &plan, queries, &answers, err);
    thr_index_plan_end(index, &plan);
    if (status == THR_OK)
        thr_index_rows_to_ids(index, ids, (size_t)(k * queries->n_rows));
    return thr_index_check_after(index, status, err);
}
