/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - searches shards in the order of their rows and merges their answers. A shard's answer orders ties by row,
 * so a merge that prefers the earlier shard where scores are equal orders ties by the row in the collection.
 *
 * Items that score less than the k-th best of the shards before are in no answer, so each shard but the first gets that
 * score as a bound.
 */
#include "shards/impl.h"

#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "index/impl.h"

/* One search. Arrays are n_queries x k, or n_queries. */
typedef struct run {
    thr_shards *shards;
    const thr_matrix *queries;
    uint64_t k;
    thr_search_options options; /* of the shard that is searched */
    const uint64_t *filter;     /* of the collection; NULL: none */
    uint64_t *bits;             /* and its bits of one shard */
    uint8_t *certified;         /* the caller's; NULL: not wanted */
    uint8_t *own_certified;     /* of one shard */
    uint64_t *ids[2];           /* of one shard; and a row of k, merged */
    float *scores[2];
    float *least;
} run;

/* ------------------------------------------------------------------------------------------------ filters */

static thr_status allocate_bits(run *r, thr_error *err) {
    uint64_t most = 0;
    for (uint64_t i = 0; i < r->shards->info.n_shards; i++)
        most = THR_MAX(most, r->shards->list[i].n_items);
    return r->filter == NULL ? THR_OK
                             : thr_alloc(r->shards->context, (size_t)(most / 64 + 1), sizeof *r->bits, &r->bits,
                                         "a filter of a shard", err);
}

/* The bits of the filter that are a shard's. */
static void cut_filter(run *r, const thr_shard *shard) {
    const uint64_t shift = shard->first_row % 64, last = (r->shards->info.n_items - 1) / 64;
    if (r->bits == NULL) /* there is none */
        return;
    for (uint64_t i = 0; i < THR_CEIL_DIV(shard->n_items, 64); i++) {
        const uint64_t at = shard->first_row / 64 + i;
        r->bits[i] = r->filter[at] >> shift | (shift > 0 && at < last ? r->filter[at + 1] << (64 - shift) : 0);
    }
    r->options.filter = r->bits;
    r->options.filter_bits = shard->n_items;
}

/* ------------------------------------------------------------------------------------------------ all shards */

static thr_status start(run *r, const thr_search_options *options, thr_error *err) {
    const thr_shards_info *info = &r->shards->info;
    r->options = *options;
    r->filter = options->filter;
    r->certified = options->certified;
    if (r->filter != NULL && options->filter_bits != info->n_items)
        return thr_fail(err, THR_EINVAL, "the filter has %llu bits, and the collection has %llu items",
                        (unsigned long long)options->filter_bits, (unsigned long long)info->n_items);
    if (options->n_read != NULL || options->n_unknown != NULL || options->features != NULL || options->target != NULL)
        return thr_fail(err, THR_EINVAL,
                        "a search of shards has no n_read and n_unknown, and features and targets of its own");
    if (r->certified != NULL)
        THR_TRY(thr_alloc(r->shards->context, (size_t)r->queries->n_rows, 1, &r->own_certified, "certificates", err));
    return allocate_bits(r, err);
}

static void end(run *r) {
    THR_RELEASE(r->shards->context, r->bits, r->own_certified, r->ids[0], r->ids[1], r->scores[0], r->scores[1],
                r->least);
}

/* Prepare the options for a shard, and open it. */
static thr_status next(run *r, uint64_t i, thr_index **index, thr_error *err) {
    THR_TRY(thr_shards_index(r->shards, i, index, err));
    cut_filter(r, &r->shards->list[i]);
    r->options.certified = i == 0 ? r->certified : r->own_certified;
    return THR_OK;
}

/* An answer is certified if that of every shard is. */
static void join_certified(run *r, uint64_t i) {
    for (uint64_t q = 0; q < r->queries->n_rows && i > 0 && r->certified != NULL; q++)
        r->certified[q] = (uint8_t)(r->certified[q] & r->own_certified[q]);
}

static void to_global(const thr_shards *shards, uint64_t i, uint64_t *ids, uint64_t n) {
    const uint64_t first = thr_first_id(shards, i);
    for (uint64_t at = 0; at < n && first > 0; at++)
        if (ids[at] != THR_NO_ID)
            ids[at] += first;
}

/* ------------------------------------------------------------------------------------------------ the best k */

/* Merge a query's answer of one shard into that of those before. THR_NO_ID, at -infinity, fills the ends of both. */
static void merge_best(const run *r, uint64_t q, uint64_t *ids, float *scores) {
    const uint64_t k = r->k;
    const uint64_t *const from_ids[2] = {ids + q * k, r->ids[0] + q * k};
    const float *const from_scores[2] = {scores + q * k, r->scores[0] + q * k};
    for (uint64_t i = 0, at[2] = {0, 0}; i < k; i++) {
        const int from = from_scores[0][at[0]] >= from_scores[1][at[1]] ? 0 : 1;
        r->scores[1][i] = from_scores[from][at[from]];
        r->ids[1][i] = from_ids[from][at[from]++];
    }
    memcpy(ids + q * k, r->ids[1], (size_t)k * sizeof *ids);
    memcpy(scores + q * k, r->scores[1], (size_t)k * sizeof *scores);
}

static thr_status search_shard(run *r, uint64_t i, uint64_t *ids, float *scores, thr_error *err) {
    thr_index *index = NULL;
    THR_TRY(next(r, i, &index, err));
    THR_TRY(thr_index_search(index, r->queries, r->k, &r->options, i == 0 ? ids : r->ids[0],
                             i == 0 ? scores : r->scores[0], err));
    join_certified(r, i);
    to_global(r->shards, i, i == 0 ? ids : r->ids[0], r->queries->n_rows * r->k);
    for (uint64_t q = 0; q < r->queries->n_rows; q++) {
        if (i > 0)
            merge_best(r, q, ids, scores);
        const float last = scores[q * r->k + r->k - 1];
        r->least[q] = i == 0 && r->options.least_scores != NULL ? THR_MAX(last, r->options.least_scores[q])
                      : i == 0                                  ? last
                                                                : THR_MAX(last, r->least[q]);
    }
    r->options.least_scores = r->least;
    return THR_OK;
}

static thr_status allocate_answers(run *r, thr_error *err) {
    static const char what[] = "answers of a shard";
    thr_context *context = r->shards->context;
    const uint64_t n = r->queries->n_rows;
    if (r->k == 0 || r->k > SIZE_MAX / sizeof(uint64_t) / (n + 1))
        return thr_fail(err, THR_EINVAL, "k is %llu: give 1 or more, with results that fit memory",
                        (unsigned long long)r->k);
    THR_TRY(thr_alloc(context, (size_t)(n * r->k), sizeof(uint64_t), &r->ids[0], what, err));
    THR_TRY(thr_alloc(context, (size_t)(n * r->k), sizeof(float), &r->scores[0], what, err));
    THR_TRY(thr_alloc(context, (size_t)r->k, sizeof(uint64_t), &r->ids[1], what, err));
    THR_TRY(thr_alloc(context, (size_t)r->k, sizeof(float), &r->scores[1], what, err));
    return thr_alloc(context, (size_t)n, sizeof(float), &r->least, what, err);
}

thr_status thr_shards_search(thr_shards *shards, const thr_matrix *queries, uint64_t k,
                             const thr_shards_search_options *options, uint64_t *ids, float *scores, thr_error *err) {
    static const thr_shards_search_options defaults;
    thr_status status = THR_OK;
    if (shards == NULL || queries == NULL || ids == NULL || scores == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs a collection, queries, and room for ids and scores");
    options = options != NULL ? options : &defaults;
    run r = {.shards = shards, .queries = queries, .k = k};
    THR_TRY_OUT(start(&r, &options->common, err));
    THR_TRY_OUT(allocate_answers(&r, err));
    for (uint64_t i = 0; i < shards->info.n_shards; i++) {
        if (options->features != NULL)
            options->features(options->user, i, &r.options);
        THR_TRY_OUT(search_shard(&r, i, ids, scores, err));
    }
    /* Rounded scores of several shards do not order the items as the given vectors do. */
    if (r.certified != NULL && (shards->info.keep == THR_DTYPE_F16 || shards->info.keep == THR_DTYPE_I8))
        memset(r.certified, 0, (size_t)queries->n_rows);
out:
    end(&r);
    return status;
}

/* ------------------------------------------------------------------------------------------------ radius */

/* Merge a shard's items into those of the shards before, which *merged has, and are freed. */
static thr_status add_found(thr_radius_result **merged, const thr_radius_result *found, thr_error *err) {
    thr_radius_result *both = NULL;
    THR_TRY(thr_index_radius_merge(*merged, found, &both, err));
    thr_radius_result_free(*merged);
    *merged = both;
    return THR_OK;
}

static thr_status radius_shard(run *r, uint64_t i, float least_score, thr_radius_result **merged, thr_error *err) {
    thr_radius_result *found = NULL;
    thr_index *index = NULL;
    THR_TRY(next(r, i, &index, err));
    THR_TRY(thr_index_search_radius(index, r->queries, least_score, &r->options, &found, err));
    join_certified(r, i);
    const uint64_t n = found->offsets[found->n_queries];
    to_global(r->shards, i, (uint64_t *)(uintptr_t)found->ids, n); /* ours until it is freed */
    if (i == 0) {
        *merged = found;
        return THR_OK;
    }
    const thr_status status = n > 0 ? add_found(merged, found, err) : THR_OK;
    thr_radius_result_free(found);
    return status;
}

thr_status thr_shards_search_radius(thr_shards *shards, const thr_matrix *queries, float least_score,
                                    const thr_search_options *options, thr_radius_result **result, thr_error *err) {
    static const thr_search_options defaults;
    thr_radius_result *merged = NULL;
    thr_status status = THR_OK;
    if (shards == NULL || queries == NULL || result == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs a collection, queries and a pointer for the result");
    *result = NULL;
    run r = {.shards = shards, .queries = queries};
    THR_TRY_OUT(start(&r, options != NULL ? options : &defaults, err));
    for (uint64_t i = 0; i < shards->info.n_shards; i++)
        THR_TRY_OUT(radius_shard(&r, i, least_score, &merged, err));
    *result = merged;
    merged = NULL;
out:
    thr_radius_result_free(merged);
    end(&r);
    return status;
}
