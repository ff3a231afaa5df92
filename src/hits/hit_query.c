/* SPDX-License-Identifier: Apache-2.0 */
#include "hits/hit_query.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

/* ------------------------------------------------------------------------------------------------ making */

/* The exponent of the unit: total < 2^x gives 2^(x - 30), so n rounded weights add up to at most 2^30 + n / 2. */
thr_status thr_hit_query_unit(const uint32_t *features, const float *weights, size_t n, double *unit, thr_error *err) {
    enum { SUM_BITS = 30 };
    double total = 0;
    if (n > THR_HITS_MAX_FEATURES)
        return thr_fail(err, THR_EINVAL, "a query of %zu features: it can have up to %u", n, THR_HITS_MAX_FEATURES);
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

int32_t thr_hit_query_weight(const float *weights, size_t i, double unit) {
    return (int32_t)lrint((weights == NULL ? 1 : (double)weights[i]) / unit);
}

static thr_status push(thr_context *context, const thr_lists *lists, uint32_t entry, int32_t weight,
                       thr_hit_query *query, thr_error *err) {
    const uint32_t group = lists->entry_groups[entry];
    const size_t at = lists->entry_begins[entry];
    const bool is_bitmaps = group == THR_LISTS_BITS;
    thr_hit_stream **streams = is_bitmaps ? &query->bitmaps : &query->streams;
    size_t *n = is_bitmaps ? &query->n_bitmaps : &query->n_streams;
    THR_TRY(thr_grow(context, streams, is_bitmaps ? &query->bitmaps_capacity : &query->streams_capacity, *n, *n + 1,
                     sizeof **streams, "a query", err));
    (*streams)[(*n)++] = (thr_hit_stream){.numbers = lists->groups[group].numbers + at,
                                          .values = lists->groups[group].values + at * thr_lists_group_size(group),
                                          .n_blocks = lists->entry_lengths[entry],
                                          .group = group,
                                          .weight = weight};
    return THR_OK;
}

thr_status thr_hit_query_make(thr_context *context, const thr_lists *lists, const uint32_t *features,
                              const float *weights, size_t n, thr_hit_query *query, thr_error *err) {
    query->n_streams = query->n_bitmaps = query->n_unknown = 0;
    THR_TRY(thr_hit_query_unit(features, weights, n, &query->unit, err));
    for (size_t i = 0; i < n; i++) {
        const uint32_t f = thr_lists_find(lists, features[i]);
        if (f == lists->n_features) {
            query->n_unknown++;
            continue;
        }
        const int32_t weight = thr_hit_query_weight(weights, i, query->unit);
        const uint32_t begin = lists->first_entries[f], end = lists->first_entries[f + 1];
        for (uint32_t e = begin; e < end && weight != 0; e++)
            THR_TRY(push(context, lists, e, weight, query, err));
    }
    return THR_OK;
}

void thr_hit_query_free(thr_context *context, thr_hit_query *query) {
    thr_release(context, query->streams);
    thr_release(context, query->bitmaps);
    *query = (thr_hit_query){.streams = NULL};
}

/* ------------------------------------------------------------------------------------------------ adding up */

static void add_runs(const uint8_t *values, uint32_t n_runs, int32_t weight, int32_t *sums) {
    for (uint32_t run = 0; run < n_runs; run++)
        for (uint32_t i = 0; i <= values[2 * run + 1]; i++)
            sums[values[2 * run] + i] += weight;
}

/* The blocks of a stream below end. */
static uint32_t add_stream(const thr_hit_stream *s, uint32_t at, uint32_t first, uint32_t end, int32_t *sums) {
    const uint32_t size = thr_lists_group_size(s->group);
    for (; at < s->n_blocks && s->numbers[at] < end; at++) {
        const uint8_t *values = s->values + (size_t)at * size;
        int32_t *block = sums + (size_t)(s->numbers[at] - first) * THR_LISTS_BLOCK;
        if (s->group < THR_LISTS_IDS)
            for (uint32_t i = 0; i < size; i++)
                block[values[i]] += s->weight;
        else
            add_runs(values, size / 2, s->weight, block);
    }
    return at;
}

/* Block by block, so that its sums stay in registers while the bitmaps of all features go by. */
static void add_bitmaps(const thr_kernels *kernels, const thr_hit_query *query, uint32_t *cursors, uint32_t first,
                        uint32_t n_blocks, int32_t *sums) {
    enum { AT_ONCE = 64 };
    const uint8_t *bitmaps[AT_ONCE];
    int32_t weights[AT_ONCE];
    for (uint32_t block = 0; block < n_blocks; block++) {
        size_t n = 0;
        for (size_t i = 0; i < query->n_bitmaps; i++) {
            const thr_hit_stream *s = &query->bitmaps[i];
            if (cursors[i] == s->n_blocks || s->numbers[cursors[i]] != first + block)
                continue;
            bitmaps[n] = s->values + (size_t)cursors[i]++ * (THR_LISTS_BLOCK / 8);
            weights[n++] = s->weight;
            if (n == AT_ONCE) {
                kernels->add_bitmaps(sums + (size_t)block * THR_LISTS_BLOCK, bitmaps, weights, n);
                n = 0;
            }
        }
        if (n > 0)
            kernels->add_bitmaps(sums + (size_t)block * THR_LISTS_BLOCK, bitmaps, weights, n);
    }
}

void thr_hit_query_add(const thr_kernels *kernels, const thr_hit_query *query, uint32_t *cursors, uint32_t first,
                       uint32_t n_blocks, int32_t *sums) {
    for (size_t i = 0; i < query->n_streams; i++)
        cursors[i] = add_stream(&query->streams[i], cursors[i], first, first + n_blocks, sums);
    add_bitmaps(kernels, query, cursors + query->n_streams, first, n_blocks, sums);
}

void thr_hit_query_seek(const thr_hit_query *query, uint32_t *cursors, uint32_t block) {
    for (size_t i = 0; i < query->n_streams; i++)
        cursors[i] = thr_lists_seek(query->streams[i].numbers, query->streams[i].n_blocks, block);
    for (size_t i = 0; i < query->n_bitmaps; i++)
        cursors[query->n_streams + i] = thr_lists_seek(query->bitmaps[i].numbers, query->bitmaps[i].n_blocks, block);
}
