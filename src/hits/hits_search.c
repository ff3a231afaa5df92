/* SPDX-License-Identifier: Apache-2.0 */
/* hits_search.c - options and queries checked, scratch memory borrowed, one pass a query, its rows turned into ids. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "hits/hits_impl.h"

void thr_hits_search_options_init(thr_hits_search_options *options) {
    *options = (thr_hits_search_options){.size = sizeof *options};
}

/* ------------------------------------------------------------------------------------------------ rooms */

void thr_hit_room_free(void *piece) {
    thr_hit_room *room = piece;
    thr_context *context = room->context;
    thr_hit_search_free(room->search);
    thr_release(context, room->filter);
    thr_release(context, room->rows);
    thr_release(context, room->values);
    thr_release(context, room);
}

static thr_status make_room(thr_context *context, void **piece, thr_error *err) {
    thr_hit_room *room = NULL;
    THR_TRY(thr_alloc_zero(context, 1, sizeof *room, &room, "a search", err));
    room->context = context;
    const thr_status status = thr_hit_search_create(context, &room->search, err);
    if (status != THR_OK)
        thr_hit_room_free(room);
    else
        *piece = room;
    return status;
}

/* ------------------------------------------------------------------------------------------------ checks */

static thr_status check_options(const thr_hits *hits, const thr_hits_search_options *o, uint64_t k, thr_error *err) {
    if (k == 0)
        return thr_fail(err, THR_EINVAL, "k is 0: ask for at least 1 item");
    if (o->value != THR_HITS_VALUE_SUM && o->value != THR_HITS_VALUE_SIGMOID)
        return thr_fail(err, THR_EINVAL, "there is no value number %d of items", (int)o->value);
    if (o->filter != NULL && o->filter_bits != hits->info.n_items)
        return thr_fail(err, THR_EINVAL, "%s: a filter of %" PRIu64 " bits for %" PRIu64 " items", hits->path,
                        o->filter_bits, hits->info.n_items);
    if (o->target != NULL && o->target->hits != hits)
        return thr_fail(err, THR_EINVAL, "%s: the target was made for other posting lists", hits->path);
    return THR_OK;
}

static thr_status check_queries(const thr_hits_queries *queries, uint64_t k, thr_error *err) {
    size_t places;
    if (k > SIZE_MAX / sizeof(uint64_t) ||
        !thr_mul_size((size_t)k * sizeof(uint64_t), (size_t)queries->n_queries, &places))
        return thr_fail(err, THR_EINVAL, "%" PRIu64 " queries with %" PRIu64 " results each are too many",
                        queries->n_queries, k);
    if (queries->n_queries > 0 && queries->offsets[0] != 0)
        return thr_fail(err, THR_EINVAL, "the features of query 0 begin at %" PRIu64 ": the first offset is 0",
                        queries->offsets[0]);
    for (uint64_t q = 0; q < queries->n_queries; q++)
        if (queries->offsets[q + 1] < queries->offsets[q])
            return thr_fail(err, THR_EINVAL, "the features of query %" PRIu64 " end before they begin", q);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ filters */

static void filter_places(const thr_hits_contents *c, const uint64_t *filter, uint64_t *places) {
    const uint32_t n = c->lists.n_items;
    if (c->rows == NULL) {
        memcpy(places, filter, ((size_t)n + 63) / 64 * sizeof *places);
        return;
    }
    for (uint32_t first = 0; first < n; first += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64 && first + i < n; i++) {
            const uint32_t row = c->rows[first + i];
            word |= (filter[row / 64] >> row % 64 & 1) << i;
        }
        places[first / 64] = word;
    }
}

/* What filter and target both let through, by place; NULL: all. */
static thr_status join_filters(thr_hits *hits, thr_hit_room *room, const thr_hits_search_options *o,
                               const uint64_t **joined, thr_error *err) {
    const size_t n_words = thr_hits_n_words(hits);
    *joined = o->target == NULL ? NULL : o->target->words;
    if (o->filter == NULL)
        return THR_OK;
    THR_TRY(thr_grow(hits->context, &room->filter, &room->filter_capacity, 0, n_words, sizeof *room->filter, "a filter",
                     err));
    filter_places(&hits->view.contents, o->filter, room->filter);
    for (size_t w = 0; o->target != NULL && w < n_words; w++)
        room->filter[w] &= o->target->words[w];
    *joined = room->filter;
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ search */

/* An error of one query names it. */
static thr_status tell_query(thr_status status, uint64_t q, thr_error *err) {
    char text[THR_ERROR_TEXT_SIZE];
    if (status == THR_OK || status == THR_ENOMEM || err == NULL)
        return status;
    memcpy(text, err->text, sizeof text);
    return thr_fail(err, status, "query %" PRIu64 ": %.600s", q, text);
}

static thr_status search_one(thr_hits *hits, thr_hit_room *room, const thr_hit_target *target,
                             const thr_hits_queries *queries, uint64_t q, size_t k, uint64_t *ids, float *values,
                             uint32_t *n_unknown, thr_error *err) {
    const uint64_t *item_ids = hits->view.contents.ids;
    const uint64_t begin = queries->offsets[q], n_features = queries->offsets[q + 1] - begin;
    size_t n = 0;
    thr_status status = thr_hit_search_run(room->search, target, queries->features + begin,
                                           queries->weights == NULL ? NULL : queries->weights + begin,
                                           (size_t)n_features, k < hits->info.n_items ? k : (size_t)hits->info.n_items,
                                           room->rows, room->values, &n, n_unknown, err);
    THR_TRY(tell_query(status, q, err));
    for (size_t i = 0; i < k; i++) {
        ids[i] = i >= n ? THR_NO_ID : item_ids == NULL ? room->rows[i] : item_ids[room->rows[i]];
        if (values != NULL)
            values[i] = i >= n ? -INFINITY : room->values[i];
    }
    return THR_OK;
}

/* Where the answers of a search go. */
typedef struct answers {
    const uint64_t *item_ids;
    size_t k;
    uint64_t *ids;
    float *values;
    uint32_t *n_unknown;
} answers;

static void put_answer(void *arg, uint64_t q, const thr_candidate *best, size_t n, uint32_t n_unknown) {
    const answers *a = arg;
    for (size_t i = 0; i < a->k; i++) {
        a->ids[q * a->k + i] = i >= n ? THR_NO_ID : a->item_ids == NULL ? best[i].row : a->item_ids[best[i].row];
        if (a->values != NULL)
            a->values[q * a->k + i] = i >= n ? -INFINITY : best[i].score;
    }
    if (a->n_unknown != NULL)
        a->n_unknown[q] = n_unknown;
}

static thr_status search_device(thr_hits *hits, const thr_hit_target *target, const thr_hit_values *set,
                                const thr_hits_queries *queries, const answers *a, bool *done, thr_error *err) {
    uint64_t failed = UINT64_MAX;
    answers to = *a;
    const size_t found = a->k < hits->info.n_items ? a->k : (size_t)hits->info.n_items;
    const thr_status status =
        thr_hits_search_device(hits, target, set, queries, found, put_answer, &to, &failed, done, err);
    return failed == UINT64_MAX ? status : tell_query(status, failed, err);
}

static thr_status search_all(thr_hits *hits, thr_hit_room *room, const thr_hit_values *set,
                             const thr_hits_queries *queries, uint64_t k, const thr_hits_search_options *o,
                             uint64_t *ids, float *values, thr_error *err) {
    const thr_hits_contents *c = &hits->view.contents;
    const size_t found = k < hits->info.n_items ? (size_t)k : (size_t)hits->info.n_items;
    thr_hit_target target = {.lists = &c->lists, .rows = c->rows, .value = o->value};
    if (set != NULL) {
        target.multipliers = set->multipliers;
        target.offsets = set->offsets;
    }
    THR_TRY(join_filters(hits, room, o, &target.filter, err));
    if (hits->context->gpus != NULL) {
        const answers to = {c->ids, (size_t)k, ids, values, o->n_unknown};
        bool done = false;
        THR_TRY(search_device(hits, &target, set, queries, &to, &done, err));
        if (done)
            return THR_OK;
    }
    THR_TRY(thr_grow(hits->context, &room->rows, &room->rows_capacity, 0, found, sizeof *room->rows, "a search", err));
    THR_TRY(thr_grow(hits->context, &room->values, &room->values_capacity, 0, found, sizeof *room->values, "a search",
                     err));
    for (uint64_t q = 0; q < queries->n_queries; q++) {
        uint32_t n_unknown = 0;
        THR_TRY(search_one(hits, room, &target, queries, q, (size_t)k, ids + q * k,
                           values == NULL ? NULL : values + q * k, &n_unknown, err));
        if (o->n_unknown != NULL)
            o->n_unknown[q] = n_unknown;
    }
    return THR_OK;
}

thr_status thr_hits_search(thr_hits *hits, const thr_hits_queries *queries, uint64_t k,
                           const thr_hits_search_options *options, uint64_t *ids, float *values, thr_error *err) {
    thr_hits_search_options complete;
    void *room;
    if (hits == NULL || queries == NULL || ids == NULL)
        return thr_fail(err, THR_EINVAL, "a search needs posting lists, queries and room for ids");
    thr_hits_search_options_init(&complete);
    THR_TRY(thr_take_options(&complete, sizeof complete, options, sizeof complete, "thr_hits_search_options", err));
    THR_TRY(check_options(hits, &complete, k, err));
    THR_TRY(check_queries(queries, k, err));
    THR_TRY(thr_hits_check_unchanged(hits, err));
    THR_TRY(thr_idle_take(&hits->rooms, make_room, &room, err));
    thr_hit_values *set = thr_hits_take_values(hits);
    const thr_status status = search_all(hits, room, set, queries, k, &complete, ids, values, err);
    thr_hits_put_values(hits, set);
    thr_idle_put(&hits->rooms, room);
    return status;
}
