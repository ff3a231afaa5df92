/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.c - sorts postings by feature in two steps, each of which writes to few positions of memory at once. First,
 * postings are distributed to at most 256 buckets of consecutive features, with about equal numbers of postings. Then
 * each bucket, which fits the cache, is sorted by feature.
 *
 * Threads take pieces of items. Each piece writes its own range of each bucket, after the range of the piece before, so
 * items ascend within a feature whatever the order of the threads.
 */
#include "lists/transpose.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "parallel/pool.h"

enum { MAX_BUCKETS = 256, MAX_PIECES = 64, AHEAD = 8 /* items to prefetch: rows come in any order */ };

/* ------------------------------------------------------------------------------------------------ counting */

static thr_status bad_feature(const thr_item_features *items, thr_error *err) {
    uint64_t i = 0, e = 0;
    while (items->features[e] <= THR_HITS_MAX_FEATURE)
        e++;
    while (items->offsets[i + 1] <= e)
        i++;
    return thr_fail(err, THR_ERANGE, "row %llu has feature %u: numbers go up to %u", (unsigned long long)i,
                    items->features[e], THR_HITS_MAX_FEATURE);
}

thr_status thr_lists_check_offsets(const uint64_t *offsets, uint64_t n, const char *of, thr_error *err) {
    if (n > 0 && offsets[0] != 0)
        return thr_fail(err, THR_EINVAL, "the features of %s 0 begin at %llu: the first offset must be 0", of,
                        (unsigned long long)offsets[0]);
    for (uint64_t i = 0; i < n; i++)
        if (offsets[i + 1] < offsets[i])
            return thr_fail(err, THR_EINVAL, "the features of %s %llu end before they begin", of,
                            (unsigned long long)i);
    return THR_OK;
}

static thr_status check(const thr_item_features *items, uint32_t *largest, thr_error *err) {
    *largest = 0;
    THR_TRY(thr_lists_check_offsets(items->offsets, items->n_items, "item", err));
    for (uint64_t e = 0; e < items->offsets[items->n_items]; e++)
        *largest = THR_MAX(items->features[e], *largest);
    return *largest > THR_HITS_MAX_FEATURE ? bad_feature(items, err) : THR_OK;
}

thr_status thr_lists_postings_count(thr_context *context, const thr_item_features *items, uint64_t **counts,
                                    uint64_t *n_numbers, thr_error *err) {
    uint32_t largest;
    *counts = NULL;
    THR_TRY(check(items, &largest, err));
    *n_numbers = (uint64_t)largest + 1;
    THR_TRY(thr_alloc_zero(context, *n_numbers, sizeof **counts, counts, "posting lists", err));
    for (uint64_t e = 0; e < items->offsets[items->n_items]; e++)
        (*counts)[items->features[e]]++;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ sorting */

typedef struct posting {
    uint32_t feature, place; /* feature: its index in postings->features */
} posting;

typedef struct sorter {
    const thr_item_features *items;
    const uint32_t *rows;
    thr_postings *postings;
    uint64_t *counts;  /* per feature number */
    uint32_t *indices; /* per feature number: the feature's index, ... */
    uint8_t *buckets;  /* ... and its bucket */
    posting *bucketed;
    uint64_t *next;                       /* per feature: where its next place goes */
    uint64_t begins[MAX_BUCKETS + 1];     /* first posting of each bucket, in bucketed */
    uint64_t at[MAX_PIECES][MAX_BUCKETS]; /* first the number of postings, then where the next one goes */
    uint32_t n_pieces, n_buckets;
} sorter;

/* From counts per number compute the features, their starts, and the buckets. */
static thr_status lay_out(thr_context *context, sorter *s, uint64_t n_numbers, thr_error *err) {
    thr_postings *p = s->postings;
    const uint64_t n = s->items->offsets[s->items->n_items], bucket = n / MAX_BUCKETS + 1;
    uint64_t n_features = 0, sum = 0;
    for (uint64_t number = 0; number < n_numbers; number++)
        n_features += s->counts[number] > 0;
    p->n_features = (uint32_t)n_features;
    THR_TRY(thr_alloc(context, n_numbers, sizeof *s->indices, &s->indices, "features", err));
    THR_TRY(thr_alloc(context, n_numbers, sizeof *s->buckets, &s->buckets, "features", err));
    THR_TRY(thr_alloc(context, n_features, sizeof *p->features, &p->features, "features", err));
    THR_TRY(thr_alloc(context, n_features + 1, sizeof *p->starts, &p->starts, "features", err));
    THR_TRY(thr_alloc(context, n_features, sizeof *s->next, &s->next, "features", err));
    THR_TRY(thr_alloc(context, n, sizeof *p->places, &p->places, "posting lists", err));
    THR_TRY(thr_alloc(context, n, sizeof *s->bucketed, &s->bucketed, "posting lists", err));
    uint32_t f = 0;
    for (uint64_t number = 0; number < n_numbers; number++) {
        const uint64_t count = s->counts[number];
        if (count == 0)
            continue;
        if (s->n_buckets == 0 || sum - s->begins[s->n_buckets - 1] >= bucket)
            s->begins[s->n_buckets++] = sum;
        s->indices[number] = f;
        s->buckets[number] = (uint8_t)(s->n_buckets - 1);
        p->features[f] = (uint32_t)number;
        s->next[f] = p->starts[f] = sum;
        sum += count;
        f++;
    }
    s->begins[s->n_buckets] = p->starts[f] = sum;
    return THR_OK;
}

/* The range of the features of the item in a place, in s->items->features. */
static void features_of(const sorter *s, uint64_t place, uint64_t *begin, uint64_t *end) {
    const uint64_t *offsets = s->items->offsets;
    const uint64_t row = s->rows == NULL ? place : s->rows[place];
    *begin = offsets[row];
    *end = offsets[row + 1];
    if (s->rows != NULL && place + 2 * AHEAD < s->items->n_items) {
        __builtin_prefetch(&offsets[s->rows[place + 2 * AHEAD]]);
        __builtin_prefetch(&s->items->features[offsets[s->rows[place + AHEAD]]]);
    }
}

/* The range of a piece's places: begin to end - 1. */
static void piece_of(const sorter *s, size_t piece, uint64_t *begin, uint64_t *end) {
    *begin = s->items->n_items * piece / s->n_pieces;
    *end = s->items->n_items * (piece + 1) / s->n_pieces;
}

/* Count a piece's postings in each bucket or, once position_pieces has run, put them there. */
static inline void walk_piece(sorter *s, size_t piece, bool put) {
    uint64_t begin, end;
    piece_of(s, piece, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t first, last;
        features_of(s, i, &first, &last);
        for (uint64_t e = first; e < last; e++) {
            const uint32_t number = s->items->features[e];
            const uint64_t at = s->at[piece][s->buckets[number]]++;
            if (put)
                s->bucketed[at] = (posting){s->indices[number], (uint32_t)i};
        }
    }
}

static void count_piece(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    walk_piece(arg, piece, false);
}

static void fill_buckets(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    walk_piece(arg, piece, true);
}

static void sort_bucket(void *arg, size_t bucket, uint32_t worker) {
    (void)worker;
    sorter *s = arg;
    for (uint64_t e = s->begins[bucket]; e < s->begins[bucket + 1]; e++)
        s->postings->places[s->next[s->bucketed[e].feature]++] = s->bucketed[e].place;
}

/* Compute where each piece's range of each bucket begins. */
static void position_pieces(sorter *s) {
    for (uint32_t bucket = 0; bucket < s->n_buckets; bucket++) {
        uint64_t sum = s->begins[bucket];
        for (uint32_t piece = 0; piece < s->n_pieces; piece++) {
            const uint64_t count = s->at[piece][bucket];
            s->at[piece][bucket] = sum;
            sum += count;
        }
    }
}

thr_status thr_lists_transpose(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                               thr_postings *postings, thr_error *err) {
    thr_status status = THR_OK;
    uint64_t n_numbers;
    sorter *s = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *s, &s, "posting lists", err));
    s->items = items;
    s->rows = rows;
    s->postings = postings;
    s->n_pieces = items->n_items < MAX_PIECES ? (uint32_t)items->n_items : MAX_PIECES;
    THR_TRY_OUT(thr_lists_postings_count(context, items, &s->counts, &n_numbers, err));
    THR_TRY_OUT(lay_out(context, s, n_numbers, err));
    thr_parallel_for(context, s->n_pieces, count_piece, s);
    position_pieces(s);
    thr_parallel_for(context, s->n_pieces, fill_buckets, s);
    thr_parallel_for(context, s->n_buckets, sort_bucket, s);
out:
    THR_RELEASE(context, s->counts, s->indices, s->buckets, s->bucketed, s->next, s);
    return status;
}

void thr_lists_postings_free(thr_context *context, thr_postings *postings) {
    THR_RELEASE(context, postings->features, postings->starts, postings->places);
    *postings = (thr_postings){.n_features = 0};
}
