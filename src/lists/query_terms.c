/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_terms.c - collects a query's entries with their weights, and adds them to the sums of a window, form by form.
 */
#include "lists/query_terms.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* ------------------------------------------------------------------------------------------------ making */

/* The exponent of the unit: total < 2^x gives 2^(x - 30), so n rounded weights add up to at most 2^30 + n / 2. */
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
        THR_TRY(thr_grow(context, &query->streams[form], &query->capacity[form], n, sizeof *query->streams[form],
                         "a query", err));
    return thr_grow(context, &query->singles, &query->singles_capacity, 2 * n, sizeof *query->singles, "a query", err);
}

static thr_status push_single(thr_context *context, uint32_t place, int32_t weight, thr_lists_query *query,
                              thr_error *err) {
    THR_TRY(thr_grow(context, &query->singles, &query->singles_capacity, 2 * (query->n_singles + 1),
                     sizeof *query->singles, "a query", err));
    query->singles[query->n_singles++] = (thr_hit_single){place, weight};
    return THR_OK;
}

/* Sort the singles by window. */
static void sort_singles(thr_lists_query *query) {
    const size_t n = query->n_singles;
    uint32_t *ends = query->window_ends, sum = 0;
    memset(ends, 0, sizeof query->window_ends);
    if (n == 0)
        return;
    thr_hit_single *copy = query->singles + n;
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

static thr_status push(thr_context *context, uint32_t entry, int32_t weight, thr_lists_query *query, thr_error *err) {
    const thr_lists *lists = query->lists;
    const uint32_t form = lists->entry_forms[entry], first = thr_lists_first_stretch(lists, entry);
    THR_TRY(thr_grow(context, &query->streams[form], &query->capacity[form], query->n[form] + 1,
                     sizeof *query->streams[form], "a query", err));
    query->streams[form][query->n[form]++] =
        (thr_hit_stream){.windows = lists->stretch_windows + first,
                         .sizes = lists->stretch_sizes + first,
                         .n_stretches = thr_lists_first_stretch(lists, entry + 1) - first,
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
        if (thr_lists_only(lists, f, &only)) {
            THR_TRY(push_single(context, only, weight, query, err));
            continue;
        }
        const uint32_t list = lists->refs[f], end = lists->first_entries[list + 1];
        for (uint32_t e = lists->first_entries[list]; e < end; e++)
            THR_TRY(push(context, e, weight, query, err));
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
        thr_release(context, query->streams[form]);
    thr_release(context, query->singles);
    *query = (thr_lists_query){.lists = NULL};
}

/* ------------------------------------------------------------------------------------------------ adding up */

/*
 * Return the number of elements that a stream has in a window, the first of them in *first, and advance the cursor past
 * them.
 */
static inline uint32_t take_stretch(const thr_hit_stream *s, thr_hit_cursor *c, uint32_t window, uint32_t *first) {
    if (c->stretch == s->n_stretches || s->windows[c->stretch] != window)
        return 0;
    const uint32_t n = s->sizes[c->stretch++] + 1u;
    *first = c->element;
    c->element += n;
    return n;
}

static inline void add_id(uint16_t id, int32_t weight, int32_t *sums) {
    sums[id] = thr_add_wrapping(sums[id], weight);
}

static void add_ids(const uint16_t *ids, uint32_t n, int32_t weight, int32_t *sums) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) { /* ids differ, which compilers cannot prove: loads need not wait for stores */
        add_id(ids[i], weight, sums);
        add_id(ids[i + 1], weight, sums);
        add_id(ids[i + 2], weight, sums);
        add_id(ids[i + 3], weight, sums);
    }
    for (; i < n; i++)
        add_id(ids[i], weight, sums);
}

static void add_all_ids(const thr_lists_query *query, thr_hit_cursor *cursors, uint32_t window, int32_t *sums) {
    for (size_t i = 0; i < query->n[THR_LISTS_IDS]; i++) {
        const thr_hit_stream *s = &query->streams[THR_LISTS_IDS][i];
        uint32_t first = 0;
        const uint32_t n = take_stretch(s, &cursors[i], window, &first);
        __builtin_prefetch(query->lists->ids +
                           /* prefetch the next window: hardware prefetchers do not follow so many streams */
                           cursors[i].element);
        add_ids(query->lists->ids + first, n, s->weight, sums);
    }
}

static void add_all_runs(const thr_kernels *kernels, const thr_lists_query *query, thr_hit_cursor *cursors,
                         uint32_t window, int32_t *sums) {
    for (size_t i = 0; i < query->n[THR_LISTS_RUNS]; i++) {
        const thr_hit_stream *s = &query->streams[THR_LISTS_RUNS][i];
        uint32_t first = 0;
        const uint32_t n = take_stretch(s, &cursors[i], window, &first);
        const uint16_t *runs = query->lists->runs + 2 * (size_t)first;
        for (uint32_t run = 0; run < n; run++)
            kernels->add_run(sums + runs[2 * run], runs[2 * run + 1] + (size_t)1, s->weight);
    }
}

/* Elements handled at once; containers prefetched ahead; the container number after a stream's last. */
enum { AT_ONCE = 64, AHEAD = 8, NO_CONTAINER = THR_LISTS_CONTAINERS };

typedef struct bitmap_stretches {
    const uint8_t *containers[AT_ONCE], *ends[AT_ONCE], *bitmaps[AT_ONCE]; /* of the next container of each stream */
    /* number of that container, or NO_CONTAINER at the end */
    uint32_t next[AT_ONCE];
    int32_t weights[AT_ONCE];
    size_t n;
} bitmap_stretches;

/*
 * Add container by container, so that the sums of a container stay in registers while the bitmaps of all features are
 * added. Whether a feature has a bitmap in a container is unpredictable, so there is no branch on it.
 */
static void add_bitmap_stretches(const thr_kernels *kernels, bitmap_stretches *p, int32_t *sums) {
    for (uint32_t container = 0; container < THR_LISTS_CONTAINERS; container++) {
        const uint8_t *bitmaps[AT_ONCE];
        int32_t weights[AT_ONCE];
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++) {
            const uint32_t has = p->next[i] == container;
            bitmaps[n] = p->bitmaps[i];
            weights[n] = p->weights[i];
            n += has;
            p->containers[i] += has;
            p->bitmaps[i] += has * THR_LISTS_BITMAP;
            p->next[i] = p->containers[i] < p->ends[i] ? *p->containers[i] : NO_CONTAINER;
            /* hardware prefetchers do not follow so many streams */
            __builtin_prefetch(p->bitmaps[i] + AHEAD * THR_LISTS_BITMAP);
        }
        if (n > 0)
            kernels->add_bitmaps(sums + (size_t)container * THR_LISTS_CONTAINER, bitmaps, weights, n);
    }
    p->n = 0;
}

static void add_all_bitmaps(const thr_kernels *kernels, const thr_lists_query *query, thr_hit_cursor *cursors,
                            uint32_t window, int32_t *sums) {
    bitmap_stretches p = {.n = 0};
    for (size_t i = 0; i < query->n[THR_LISTS_BITMAPS]; i++) {
        const thr_hit_stream *s = &query->streams[THR_LISTS_BITMAPS][i];
        uint32_t first = 0;
        const uint32_t n = take_stretch(s, &cursors[i], window, &first);
        if (n == 0)
            continue;
        p.containers[p.n] = query->lists->bitmap_containers + first;
        p.ends[p.n] = p.containers[p.n] + n;
        p.next[p.n] = *p.containers[p.n];
        p.bitmaps[p.n] = query->lists->bitmaps + (size_t)first * THR_LISTS_BITMAP;
        p.weights[p.n++] = s->weight;
        if (p.n == AT_ONCE)
            add_bitmap_stretches(kernels, &p, sums);
    }
    if (p.n > 0)
        add_bitmap_stretches(kernels, &p, sums);
}

static void add_singles(const thr_lists_query *query, uint32_t window, int32_t *sums) {
    const uint32_t end = query->window_ends[window];
    for (uint32_t i = window == 0 ? 0 : query->window_ends[window - 1]; i < end; i++)
        add_id((uint16_t)(query->singles[i].place % THR_LISTS_WINDOW), query->singles[i].weight, sums);
}

void thr_lists_query_add(const thr_kernels *kernels, const thr_lists_query *query, thr_hit_cursor *cursors,
                         uint32_t window, int32_t *sums) {
    add_singles(query, window, sums);
    add_all_ids(query, cursors, window, sums);
    cursors += query->n[THR_LISTS_IDS];
    add_all_runs(kernels, query, cursors, window, sums);
    add_all_bitmaps(kernels, query, cursors + query->n[THR_LISTS_RUNS], window, sums);
}

void thr_lists_query_rewind(const thr_lists_query *query, thr_hit_cursor *cursors) {
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (size_t i = 0; i < query->n[form]; i++)
            *cursors++ = (thr_hit_cursor){0, query->streams[form][i].begin};
}

void thr_lists_query_skip(const thr_lists_query *query, thr_hit_cursor *cursors, uint32_t window) {
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (size_t i = 0; i < query->n[form]; i++, cursors++) {
            const thr_hit_stream *s = &query->streams[form][i];
            for (; cursors->stretch < s->n_stretches && s->windows[cursors->stretch] < window; cursors->stretch++)
                cursors->element += s->sizes[cursors->stretch] + 1u;
        }
}
