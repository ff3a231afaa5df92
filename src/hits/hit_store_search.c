/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search of posting lists on a GPU, a batch of queries at a time: their entries are sent, sums are added up tile by
 * tile or list by list, every tile lets its best through, and the best of these come back.
 *
 * Where many items are wanted, a sample of tiles first gives a threshold that a little more than these reach. A tile
 * never lets more through than are wanted, whatever the threshold: so there is room for all, however many values are
 * equal; and where the sample misjudged, the query is repeated without a threshold, which always finds them.
 */
#include "hits/hit_store_impl.h"

#include <string.h>

#include "base/error.h"
#include "device/keys.h"
#include "select/bitmap.h"

enum {
    BATCH_BYTES = 256 << 20,   /* of what a batch needs beside the lists, unless one query needs more */
    SAMPLED_LEAST_WANTED = 64, /* fewer: every tile's own best make a threshold that is as good */
    SAMPLED_LEAST_TILES = 64,
    SAMPLED_PART = 16 /* one tile in so many */
};

/*
 * What the two ways take, in picoseconds, computed from an H200's data sheet (docs/gpu.md) and not yet measured: for a
 * list in a tile the loads of two bisections, for an element an addition in shared memory; for a step of a list an
 * addition in the second level cache, for a sum that memory holds its clearing and reading.
 */
static const double LOOK_UP_PS = 100, ELEMENT_PS = 1, STEP_PS = 12, SUM_PS = 2;

typedef struct batch {
    thr_hit_store *store;
    const thr_hit_target *target;
    uint32_t wanted;    /* of every query, at least 1 */
    uint64_t n_allowed; /* items that may be found */
    uint32_t n_tiles, n_samples, capacity;
    size_t n_sums;

    bool by_lists, has_runs;
    uint32_t n; /* queries */
    size_t n_entries;
    uint64_t n_steps;
    uint64_t *thresholds; /* of the device, as what follows */
    uint32_t *samples, *counts;
    thr_device_item *items, *chosen, *host_chosen;
    uint32_t *host_counts;
} batch;

/* ------------------------------------------------------------------------------------------------ making a batch */

/* Steps of an entry (device/hit_ops.h). */
static uint64_t count_steps(const thr_hit_stream *s, uint32_t form) {
    uint64_t n = 0;
    for (uint32_t p = 0; p < s->n_parts; p++)
        n += s->sizes[p] + 1u;
    return s->n_parts + (form == THR_LISTS_BITMAPS ? n * THR_HIT_BITMAP_STEPS : n);
}

/* Whether a query that is made is answered list by list. */
static bool goes_by_lists(const batch *b) {
    const thr_hit_query *query = &b->store->query;
    const size_t n = thr_hit_query_streams(query);
    double n_steps = 0;
    if (b->store->way != THR_HIT_WAY_AUTO)
        return b->store->way == THR_HIT_WAY_LISTS;
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (size_t i = 0; i < query->n[form]; i++)
            n_steps += (double)count_steps(&query->streams[form][i], form);
    const double sums = (double)b->n_sums * (query->n[THR_LISTS_RUNS] > 0 ? 2 : 1);
    return n_steps * STEP_PS + sums * SUM_PS < (double)n * b->n_tiles * LOOK_UP_PS + n_steps * ELEMENT_PS;
}

/* How many queries fit into a batch. */
static uint32_t most_queries(const batch *b, bool by_lists) {
    const uint64_t items = (uint64_t)b->capacity + b->wanted, sums = by_lists ? 2 * (uint64_t)b->n_sums : 0;
    const uint64_t one =
        items * sizeof(thr_device_item) + (sums + (uint64_t)b->n_samples * THR_HIT_SAMPLE) * sizeof(uint32_t);
    const uint64_t n = BATCH_BYTES / one;
    return n < 1 ? 1 : n < THR_HIT_STORE_QUERIES ? (uint32_t)n : THR_HIT_STORE_QUERIES;
}

/* There is room. */
static void append_form(batch *b, uint32_t form) {
    thr_hit_store *store = b->store;
    const thr_hit_query *query = &store->query;
    for (size_t i = 0; i < query->n[form]; i++) {
        const thr_hit_stream *s = &query->streams[form][i];
        b->n_steps += count_steps(s, form);
        store->entries[b->n_entries++] =
            (thr_hit_entry){.end = b->n_steps,
                            .query = b->n,
                            .form = form,
                            .first_part = (uint32_t)(s->windows - store->lists->part_windows),
                            .n_parts = s->n_parts,
                            .weight = s->weight};
    }
}

_Static_assert((uint64_t)THR_HIT_STORE_QUERIES *THR_LISTS_N_FORMS *THR_HITS_MAX_FEATURES < UINT32_MAX,
               "entries of a batch are counted in 32 bits");

/* The query that is made to the end of the batch. */
static thr_status append(batch *b, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_hit_query *query = &store->query;
    const size_t first = b->n_entries, n = thr_hit_query_streams(query);
    THR_TRY(thr_grow(store->context, &store->entries, &store->entries_capacity, first, first + n,
                     sizeof *store->entries, "a query", err));
    append_form(b, THR_LISTS_RUNS);
    append_form(b, THR_LISTS_IDS);
    append_form(b, THR_LISTS_BITMAPS);
    b->has_runs = b->has_runs || query->n[THR_LISTS_RUNS] > 0;
    store->n_unknown[b->n] = query->n_unknown;
    store->queries[b->n++] = (thr_hit_device_query){
        .unit = query->unit, .first = (uint32_t)first, .n_runs = (uint32_t)query->n[THR_LISTS_RUNS], .n = (uint32_t)n};
    return THR_OK;
}

/* Queries from `first` on that go the same way, as many as fit; an error is of query first + b->n. */
static thr_status make_batch(batch *b, const thr_hits_queries *queries, uint64_t first, thr_error *err) {
    thr_hit_store *store = b->store;
    b->n = 0;
    b->n_entries = 0;
    b->n_steps = 0;
    b->has_runs = false;
    for (uint64_t q = first; q < queries->n_queries; q++) {
        const uint64_t at = queries->offsets[q];
        const float *weights = queries->weights == NULL ? NULL : queries->weights + at;
        THR_TRY(thr_hit_query_make(store->context, store->lists, queries->features + at, weights,
                                   (size_t)(queries->offsets[q + 1] - at), &store->query, err));
        const bool by_lists = goes_by_lists(b);
        if (b->n > 0 && (by_lists != b->by_lists || b->n == most_queries(b, by_lists)))
            return THR_OK;
        b->by_lists = by_lists;
        THR_TRY(append(b, err));
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ on the device */

static thr_status get_memory(batch *b, thr_error *err) {
    thr_hit_store *store = b->store;
    const size_t n = b->n, item = sizeof(thr_device_item);
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_SAMPLES, n * b->n_samples * THR_HIT_SAMPLE * sizeof(uint32_t),
                               &b->samples, err));
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_THRESHOLDS, n * sizeof(uint64_t), &b->thresholds, err));
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_COUNTS, 3 * n * sizeof(uint32_t), &b->counts, err));
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_HOST_COUNTS, 3 * n * sizeof(uint32_t), &b->host_counts, err));
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_ITEMS, n * b->capacity * item, &b->items, err));
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_CHOSEN, n * b->wanted * item, &b->chosen, err));
    return thr_hit_store_grow(store, THR_HIT_ROOM_HOST_CHOSEN, n * b->wanted * item, &b->host_chosen, err);
}

/* What stands in memory of the host to a room of the device; from NULL: nothing. */
static thr_status send(thr_hit_store *store, thr_hit_room_name name, const void *from, size_t size, void *memory_out,
                       thr_error *err) {
    void *memory = NULL;
    if (from != NULL) {
        THR_TRY(thr_hit_store_grow(store, name, size, &memory, err));
        if (size > 0)
            THR_TRY(store->backend->upload(store->stream, memory, from, size, err));
    }
    memcpy(memory_out, &memory, sizeof memory);
    return THR_OK;
}

/* Sums of a batch in memory. */
static thr_status add_lists(const batch *b, thr_hit_tiles_op *op, thr_error *err) {
    thr_hit_store *store = b->store;
    const size_t size = b->n * b->n_sums * sizeof(int32_t);
    thr_hit_lists_op lists = {.hits = store->hits,
                              .entries = op->entries,
                              .n_entries = (uint32_t)b->n_entries,
                              .n_steps = b->n_steps,
                              .n_sums = b->n_sums};
    THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_SUMS, size, &lists.sums, err));
    THR_TRY(store->backend->clear(store->stream, lists.sums, size, err));
    if (b->has_runs) {
        THR_TRY(thr_hit_store_grow(store, THR_HIT_ROOM_CHANGES, size, &lists.changes, err));
        THR_TRY(store->backend->clear(store->stream, lists.changes, size, err));
    }
    op->sums = lists.sums;
    op->changes = lists.changes;
    return b->n_entries == 0 ? THR_OK : store->backend->hit_lists(store->stream, &lists, err);
}

static thr_status find_thresholds(const batch *b, const thr_hit_tiles_op *op, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_threshold_op threshold = {b->samples,   b->n_samples * THR_HIT_SAMPLE, b->n, b->n_allowed, b->wanted,
                                        b->thresholds};
    thr_hit_tiles_op sample = *op;
    sample.samples = b->samples;
    sample.n_samples = b->n_samples;
    if (b->n_samples == 0)
        return store->backend->clear(store->stream, b->thresholds, b->n * sizeof *b->thresholds, err);
    THR_TRY(store->backend->hit_tiles(store->stream, &sample, err));
    return store->backend->threshold(store->stream, &threshold, err);
}

/* The best of queries [first, first + n) by the thresholds that are there, to the host. */
static thr_status find_best(const batch *b, const thr_hit_tiles_op *all, uint32_t first, uint32_t n, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_backend *backend = store->backend;
    const size_t at = (size_t)first * b->wanted, size = (size_t)n * b->wanted * sizeof *b->chosen;
    thr_hit_tiles_op op = *all;
    op.queries += first;
    op.n_queries = n;
    op.sums = all->sums == NULL ? NULL : all->sums + first * b->n_sums;
    op.changes = all->changes == NULL ? NULL : all->changes + first * b->n_sums;
    op.thresholds += first;
    op.items += (size_t)first * b->capacity;
    op.counts += first;
    op.bad_rows += first;
    const thr_select_op select = {.items = op.items,
                                  .counts = op.counts,
                                  .capacity = b->capacity,
                                  .n_queries = n,
                                  .wanted = b->wanted,
                                  .chosen = b->chosen + at,
                                  .n_chosen = b->counts + b->n + first};
    THR_TRY(backend->hit_tiles(store->stream, &op, err));
    THR_TRY(backend->select(store->stream, &select, err));
    THR_TRY(backend->download(store->stream, b->host_chosen + at, b->chosen + at, size, err));
    THR_TRY(backend->download(store->stream, b->host_counts, b->counts, 3 * (size_t)b->n * sizeof *b->counts, err));
    return backend->wait(store->stream, err);
}

/* Where a sample has misjudged. */
static thr_status find_again(const batch *b, const thr_hit_tiles_op *op, uint32_t q, uint32_t needed, thr_error *err) {
    thr_hit_store *store = b->store;
    THR_TRY(store->backend->clear(store->stream, b->thresholds + q, sizeof *b->thresholds, err));
    THR_TRY(store->backend->clear(store->stream, b->counts + q, sizeof *b->counts, err));
    THR_TRY(find_best(b, op, q, 1, err));
    if (b->host_counts[q] >= needed && b->host_counts[b->n + q] == needed)
        return THR_OK;
    return thr_fail(err, THR_EDEVICE, "a GPU found %u items of %u", b->host_counts[b->n + q], needed);
}

static thr_status run_batch(batch *b, const thr_hit_tiles_op *what, thr_error *err) {
    thr_hit_store *store = b->store;
    const uint32_t needed = b->n_allowed < b->wanted ? (uint32_t)b->n_allowed : b->wanted;
    thr_hit_tiles_op op = *what;
    THR_TRY(get_memory(b, err));
    THR_TRY(send(store, THR_HIT_ROOM_ENTRIES, store->entries, b->n_entries * sizeof *store->entries, &op.entries, err));
    THR_TRY(send(store, THR_HIT_ROOM_QUERIES, store->queries, b->n * sizeof *store->queries, &op.queries, err));
    op.n_queries = b->n;
    op.n_sums = b->n_sums;
    op.thresholds = b->thresholds;
    op.items = b->items;
    op.counts = b->counts;
    op.bad_rows = b->counts + 2 * (size_t)b->n;
    op.capacity = b->capacity;
    op.wanted = b->wanted;
    THR_TRY(store->backend->clear(store->stream, b->counts, 3 * (size_t)b->n * sizeof *b->counts, err));
    if (b->by_lists)
        THR_TRY(add_lists(b, &op, err));
    THR_TRY(find_thresholds(b, &op, err));
    THR_TRY(find_best(b, &op, 0, b->n, err));
    for (uint32_t q = 0; q < b->n; q++)
        if (b->host_counts[q] < needed && b->host_counts[2 * (size_t)b->n + q] == 0)
            THR_TRY(find_again(b, &op, q, needed, err));
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ a search */

/* Answers of a batch that begins with query `first`, as far as all values are finite. */
static thr_status tell(batch *b, uint64_t first, thr_hit_answer *answer, void *arg, uint64_t *failed, thr_error *err) {
    thr_hit_store *store = b->store;
    THR_TRY(thr_grow(store->context, &store->best, &store->best_capacity, 0, b->wanted, sizeof *store->best, "a search",
                     err));
    for (uint32_t q = 0; q < b->n; q++) {
        const thr_device_item *chosen = b->host_chosen + (size_t)q * b->wanted;
        const uint32_t n = b->host_counts[b->n + q], bad_row = ~b->host_counts[2 * (size_t)b->n + q];
        if (bad_row != UINT32_MAX) {
            *failed = first + q;
            return thr_hit_search_not_finite(bad_row, err);
        }
        for (uint32_t i = 0; i < n; i++) {
            store->best[i] = (thr_candidate){.row = thr_key_item(chosen[i].key)};
            memcpy(&store->best[i].score, &chosen[i].score, sizeof store->best[i].score);
        }
        thr_candidates_sort(store->best, n);
        answer(arg, first + q, store->best, n, store->n_unknown[q]);
    }
    return THR_OK;
}

/* Multipliers and offsets, where others are there than the target's; and its filter. */
static thr_status send_target(const batch *b, uint64_t values_number, thr_hit_tiles_op *op, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_hit_target *target = b->target;
    const size_t n = store->lists->n_items;
    op->hits = store->hits;
    op->sigmoid = target->value == THR_HITS_VALUE_SIGMOID;
    if (values_number != store->values_number) {
        store->values_number = 0;
        THR_TRY(send(store, THR_HIT_ROOM_MULTIPLIERS, target->multipliers, n * sizeof(float), &op->multipliers, err));
        THR_TRY(send(store, THR_HIT_ROOM_OFFSETS, target->offsets, n * sizeof(float), &op->offsets, err));
        store->values_number = values_number;
    }
    op->multipliers = target->multipliers == NULL ? NULL : store->rooms[THR_HIT_ROOM_MULTIPLIERS].memory;
    op->offsets = target->offsets == NULL ? NULL : store->rooms[THR_HIT_ROOM_OFFSETS].memory;
    return send(store, THR_HIT_ROOM_FILTER, target->filter, (n + 63) / 64 * sizeof(uint64_t), &op->filter, err);
}

static thr_status search_all(batch *b, uint64_t values_number, const thr_hits_queries *queries, thr_hit_answer *answer,
                             void *arg, uint64_t *failed, thr_error *err) {
    thr_hit_tiles_op op = {.n_queries = 0};
    THR_TRY(send_target(b, values_number, &op, err));
    for (uint64_t first = 0; first < queries->n_queries; first += b->n) {
        thr_error why = {.status = THR_OK};
        const thr_status made = make_batch(b, queries, first, &why);
        if (b->n > 0) {
            THR_TRY(run_batch(b, &op, err));
            THR_TRY(tell(b, first, answer, arg, failed, err));
        }
        if (made != THR_OK) {
            *failed = first + b->n;
            if (err != NULL)
                *err = why;
            return made;
        }
    }
    return THR_OK;
}

thr_status thr_hit_store_search(thr_hit_store *store, const thr_hit_target *target, uint64_t values_number,
                                const thr_hits_queries *queries, size_t k, thr_hit_answer *answer, void *arg,
                                uint64_t *failed, thr_error *err) {
    const uint32_t n_items = store->lists->n_items, n_tiles = thr_hit_tiles_of(n_items);
    batch b = {.store = store, .target = target, .n_tiles = n_tiles};
    b.n_allowed = target->filter == NULL ? n_items : thr_bitmap_count(target->filter, n_items);
    b.wanted = k < b.n_allowed ? (uint32_t)k : b.n_allowed == 0 ? 1 : (uint32_t)b.n_allowed;
    b.capacity = n_tiles * (b.wanted < THR_HIT_TILE ? b.wanted : (uint32_t)THR_HIT_TILE);
    b.n_sums = (size_t)thr_lists_n_windows(store->lists) * THR_LISTS_WINDOW;
    if (b.wanted > SAMPLED_LEAST_WANTED && n_tiles >= SAMPLED_LEAST_TILES)
        b.n_samples = n_tiles / SAMPLED_PART;
    *failed = UINT64_MAX;
    (void)pthread_mutex_lock(&store->mutex);
    const thr_status status = search_all(&b, values_number, queries, answer, arg, failed, err);
    if (status != THR_OK)
        (void)store->backend->wait(store->stream, NULL); /* for what was told before the failure */
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}
