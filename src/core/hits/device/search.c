/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - a search of posting lists on a GPU, one batch of queries at a time. The entries of the queries are
 * uploaded; sums are computed tile by tile or list by list; every tile emits its best items, and the best of these are
 * downloaded.
 *
 * If many items are wanted, a sample of tiles first gives a threshold that slightly more items than that reach.
 * Whatever the threshold, a tile emits at most the wanted number of items, so the memory suffices however many values
 * are equal. If the sampled threshold is too high, the query is repeated without one, which always finds the items.
 */
#include <string.h>

#include "base/blocks.h"
#include "base/error.h"
#include "device/keys.h"
#include "hits/device/batch.h"
#include "hits/hits.h"
#include "select/bitmap.h"

enum {
    SAMPLED_LEAST_WANTED = 64, /* with fewer, every tile's own best items give as good a threshold */
    SAMPLED_LEAST_TILES = 64,
    SAMPLED_SHARE = 16 /* one tile in SAMPLED_SHARE */
};

static thr_status get_memory(thr_hit_batch *b, thr_error *err) {
    thr_hit_store *store = b->store;
    const size_t n = b->n, item = sizeof(thr_device_item);
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_SAMPLES, n * b->n_samples * THR_HIT_SAMPLE * sizeof(uint32_t),
                                &b->samples, err));
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_THRESHOLDS, n * sizeof(uint64_t), &b->thresholds, err));
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_COUNTS, 3 * n * sizeof(uint32_t), &b->counts, err));
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_HOST_COUNTS, 3 * n * sizeof(uint32_t), &b->host_counts, err));
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_ITEMS, n * b->capacity * item, &b->items, err));
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_CHOSEN, n * b->wanted * item, &b->chosen, err));
    if (b->caller->describe != NULL) {
        const size_t size = n * b->wanted * sizeof(int32_t);
        THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_TERMS, size, &b->terms, err));
        THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_HOST_TERMS, size, &b->host_terms, err));
    }
    return thr_hits_store_grow(store, THR_HIT_BUFFER_HOST_CHOSEN, n * b->wanted * item, &b->host_chosen, err);
}

/* Copy `size` bytes to a buffer of the device; *memory_out is NULL if from is. */
static thr_status send(thr_hit_store *store, thr_hit_buffer_name name, const void *from, size_t size, void *memory_out,
                       thr_error *err) {
    void *memory = NULL;
    if (from != NULL) {
        THR_TRY(thr_hits_store_grow(store, name, size, &memory, err));
        if (size > 0)
            THR_TRY(store->arrays.backend->upload(store->arrays.stream, memory, from, size, err));
    }
    memcpy(memory_out, &memory, sizeof memory);
    return THR_OK;
}

/* Add up the sums of a batch, list by list, in device memory. */
static thr_status add_lists(const thr_hit_batch *b, thr_hit_tiles_op *op, thr_error *err) {
    thr_hit_store *store = b->store;
    const size_t size = b->n * b->n_sums * sizeof(int32_t);
    thr_hit_lists_op lists = {.hits = store->hits,
                              .entries = op->entries,
                              .n_entries = (uint32_t)b->n_entries,
                              .n_steps = b->n_steps,
                              .n_sums = b->n_sums};
    THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_SUMS, size, &lists.sums, err));
    THR_TRY(store->arrays.backend->clear(store->arrays.stream, lists.sums, size, err));
    if (b->has_runs) {
        THR_TRY(thr_hits_store_grow(store, THR_HIT_BUFFER_CHANGES, size, &lists.changes, err));
        THR_TRY(store->arrays.backend->clear(store->arrays.stream, lists.changes, size, err));
    }
    op->sums = lists.sums;
    op->changes = lists.changes;
    return b->n_entries == 0 ? THR_OK : store->arrays.backend->hit_lists(store->arrays.stream, &lists, err);
}

/* The operation *all, restricted to queries from number q on. */
static thr_hit_tiles_op of_query(const thr_hit_batch *b, const thr_hit_tiles_op *all, uint32_t q) {
    thr_hit_tiles_op op = *all;
    op.queries += q;
    op.sums = all->sums == NULL ? NULL : all->sums + q * b->n_sums;
    op.changes = all->changes == NULL ? NULL : all->changes + q * b->n_sums;
    op.samples = all->samples == NULL ? NULL : all->samples + (size_t)q * b->n_samples * THR_HIT_SAMPLE;
    op.thresholds += q;
    op.items += (size_t)q * b->capacity;
    op.counts += q;
    op.bad_rows += q;
    return op;
}

/* Enqueue the tiles of queries [first, first + n), with the caller's scores if it has some. */
static thr_status score_tiles(const thr_hit_batch *b, const thr_hit_tiles_op *all, uint32_t first, uint32_t n,
                              thr_error *err) {
    const thr_hit_caller *caller = b->caller;
    const thr_backend *backend = b->store->arrays.backend;
    thr_hit_dense_op op = {.tiles = of_query(b, all, first)};
    op.tiles.n_queries = n;
    if (caller->describe == NULL)
        return backend->hit_tiles(b->store->arrays.stream, &op.tiles, err);
    for (uint32_t q = first; q < first + n; q++) {
        op.tiles = of_query(b, all, q);
        op.tiles.n_queries = 1;
        caller->describe(caller->arg, b->first + q, &op.scan, &op.gain, &op.bias);
        THR_TRY(backend->hit_dense(b->store->arrays.stream, &op, err));
    }
    return THR_OK;
}

static thr_status find_thresholds(const thr_hit_batch *b, const thr_hit_tiles_op *op, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_threshold_op threshold = {b->samples,   b->n_samples * THR_HIT_SAMPLE, b->n, b->n_allowed, b->wanted,
                                        b->thresholds};
    thr_hit_tiles_op sample = *op;
    sample.samples = b->samples;
    sample.n_samples = b->n_samples;
    if (b->n_samples == 0)
        return store->arrays.backend->clear(store->arrays.stream, b->thresholds, b->n * sizeof *b->thresholds, err);
    THR_TRY(score_tiles(b, &sample, 0, b->n, err));
    return store->arrays.backend->threshold(store->arrays.stream, &threshold, err);
}

/* Download the sums of the chosen items of queries [first, first + n). */
static thr_status find_terms(const thr_hit_batch *b, const thr_hit_tiles_op *all, uint32_t first, uint32_t n,
                             thr_error *err) {
    const thr_hit_caller *caller = b->caller;
    const thr_backend *backend = b->store->arrays.backend;
    const size_t begin = (size_t)first * b->wanted, size = (size_t)n * b->wanted * sizeof *b->terms;
    for (uint32_t q = first; q < first + n; q++) {
        const size_t at = (size_t)q * b->wanted;
        float gain, bias;
        thr_hit_terms_op op = {.hits = all->hits,
                               .entries = all->entries,
                               .query = all->queries + q,
                               .chosen = b->chosen + at,
                               .n_chosen = b->counts + b->n + q,
                               .wanted = b->wanted,
                               .sums = b->terms + at};
        caller->describe(caller->arg, b->first + q, &op.scan, &gain, &bias);
        THR_TRY(backend->hit_terms(b->store->arrays.stream, &op, err));
    }
    return backend->download(b->store->arrays.stream, b->host_terms + begin, b->terms + begin, size, err);
}

/* Select the best items of queries [first, first + n) by their thresholds, download them, and wait. */
static thr_status find_best(const thr_hit_batch *b, const thr_hit_tiles_op *all, uint32_t first, uint32_t n,
                            thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_backend *backend = store->arrays.backend;
    const size_t at = (size_t)first * b->wanted, size = (size_t)n * b->wanted * sizeof *b->chosen;
    const thr_select_op select = {.items = all->items + (size_t)first * b->capacity,
                                  .counts = all->counts + first,
                                  .capacity = b->capacity,
                                  .n_queries = n,
                                  .wanted = b->wanted,
                                  .chosen = b->chosen + at,
                                  .n_chosen = b->counts + b->n + first};
    THR_TRY(score_tiles(b, all, first, n, err));
    THR_TRY(backend->select(store->arrays.stream, &select, err));
    if (b->caller->describe != NULL)
        THR_TRY(find_terms(b, all, first, n, err));
    THR_TRY(backend->download(store->arrays.stream, b->host_chosen + at, b->chosen + at, size, err));
    THR_TRY(
        backend->download(store->arrays.stream, b->host_counts, b->counts, 3 * (size_t)b->n * sizeof *b->counts, err));
    return backend->wait(store->arrays.stream, err);
}

/* Repeat query q without a threshold, after a sampled one that was too high. */
static thr_status find_again(const thr_hit_batch *b, const thr_hit_tiles_op *op, uint32_t q, uint32_t needed,
                             thr_error *err) {
    thr_hit_store *store = b->store;
    THR_TRY(store->arrays.backend->clear(store->arrays.stream, b->thresholds + q, sizeof *b->thresholds, err));
    THR_TRY(store->arrays.backend->clear(store->arrays.stream, b->counts + q, sizeof *b->counts, err));
    THR_TRY(find_best(b, op, q, 1, err));
    if (b->host_counts[q] >= needed && b->host_counts[b->n + q] == needed)
        return THR_OK;
    return thr_fail(err, THR_EDEVICE, "a GPU found %u items of %u", b->host_counts[b->n + q], needed);
}

static thr_status run_batch(thr_hit_batch *b, const thr_hit_tiles_op *what, thr_error *err) {
    thr_hit_store *store = b->store;
    const uint32_t needed = b->n_allowed < b->wanted ? (uint32_t)b->n_allowed : b->wanted;
    thr_hit_tiles_op op = *what;
    THR_TRY(get_memory(b, err));
    THR_TRY(
        send(store, THR_HIT_BUFFER_ENTRIES, store->entries, b->n_entries * sizeof *store->entries, &op.entries, err));
    THR_TRY(send(store, THR_HIT_BUFFER_QUERIES, store->queries, b->n * sizeof *store->queries, &op.queries, err));
    op.n_queries = b->n;
    op.n_sums = b->n_sums;
    op.thresholds = b->thresholds;
    op.items = b->items;
    op.counts = b->counts;
    op.bad_rows = b->counts + 2 * (size_t)b->n;
    op.capacity = b->capacity;
    op.wanted = b->wanted;
    THR_TRY(store->arrays.backend->clear(store->arrays.stream, b->counts, 3 * (size_t)b->n * sizeof *b->counts, err));
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

/* Pass the items of query q of the batch to the caller: best first, or, if the caller adds scores, in any order. */
static void pass_on_query(const thr_hit_batch *b, uint32_t q) {
    const thr_hit_store *store = b->store;
    const thr_hit_caller *caller = b->caller;
    const size_t first = (size_t)q * b->wanted;
    const bool scored = caller->describe != NULL;
    thr_lists_found found = {.items = store->best,
                             .sums = scored ? b->host_terms + first : NULL,
                             .n = b->host_counts[b->n + q],
                             .n_unknown = store->n_unknown[q],
                             .unit = store->queries[q].unit};
    for (size_t i = 0; i < found.n; i++) {
        const thr_device_item *item = &b->host_chosen[first + i];
        store->best[i] =
            (thr_candidate){.row = thr_device_key_item(item->key), .distance = scored ? item->distance : 0};
        memcpy(&store->best[i].score, &item->score, sizeof store->best[i].score);
    }
    if (!scored)
        thr_select_candidates_sort(store->best, found.n);
    caller->answer(caller->arg, b->first + q, &found);
}

/* Pass on the results of a batch, up to the first query with a value that is not finite. */
static thr_status pass_on(const thr_hit_batch *b, uint64_t *failed, thr_error *err) {
    thr_hit_store *store = b->store;
    THR_TRY(
        thr_grow(store->context, &store->best, &store->best_capacity, b->wanted, sizeof *store->best, "a search", err));
    for (uint32_t q = 0; q < b->n; q++) {
        const uint32_t bad_row = ~b->host_counts[2 * (size_t)b->n + q];
        if (bad_row != UINT32_MAX) {
            *failed = b->first + q;
            return thr_lists_fail_not_finite(bad_row, err);
        }
        pass_on_query(b, q);
    }
    return THR_OK;
}

/* Upload multipliers and offsets, if the device has others, and the filter. */
static thr_status send_target(const thr_hit_batch *b, thr_hit_tiles_op *op, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_lists_corpus *corpus = b->corpus;
    const size_t n = store->lists->n_items;
    op->hits = store->hits;
    op->sigmoid = corpus->value == THR_HITS_VALUE_SIGMOID;
    if (corpus->values_id != store->values_id) {
        store->values_id = 0;
        THR_TRY(send(store, THR_HIT_BUFFER_MULTIPLIERS, corpus->multipliers, n * sizeof(float), &op->multipliers, err));
        THR_TRY(send(store, THR_HIT_BUFFER_OFFSETS, corpus->offsets, n * sizeof(float), &op->offsets, err));
        store->values_id = corpus->values_id;
    }
    op->multipliers = corpus->multipliers == NULL ? NULL : store->buffers[THR_HIT_BUFFER_MULTIPLIERS].memory;
    op->offsets = corpus->offsets == NULL ? NULL : store->buffers[THR_HIT_BUFFER_OFFSETS].memory;
    return send(store, THR_HIT_BUFFER_FILTER, corpus->filter, thr_blocks_of(n) * sizeof(uint64_t), &op->filter, err);
}

static thr_status search_all(thr_hit_batch *b, const thr_hits_queries *queries, uint64_t *failed, thr_error *err) {
    thr_hit_tiles_op op = {.n_queries = 0};
    THR_TRY(send_target(b, &op, err));
    for (uint64_t first = 0; first < queries->n_queries; first += b->n) {
        thr_error why = {.status = THR_OK};
        const thr_status made = thr_hits_batch_make(b, queries, first, &why);
        if (b->caller->hits != NULL)
            THR_TRY(thr_hits_check_unchanged(b->caller->hits, err));
        if (b->n > 0) {
            THR_TRY(run_batch(b, &op, err));
            THR_TRY(pass_on(b, failed, err));
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

thr_status thr_hits_store_search(thr_hit_store *store, const thr_lists_corpus *corpus, const thr_hits_queries *queries,
                                 size_t k, const thr_hit_caller *caller, uint64_t *failed, thr_error *err) {
    const uint32_t n_items = store->lists->n_items, n_tiles = thr_device_hit_tiles_of(n_items);
    thr_hit_batch b = {.store = store, .corpus = corpus, .caller = caller, .n_tiles = n_tiles};
    b.n_allowed = corpus->filter == NULL ? n_items : thr_bitmap_count(corpus->filter, n_items);
    b.wanted = k < b.n_allowed ? (uint32_t)k : b.n_allowed == 0 ? 1 : (uint32_t)b.n_allowed;
    b.capacity = n_tiles * (b.wanted < THR_HIT_TILE ? b.wanted : (uint32_t)THR_HIT_TILE);
    b.n_sums = (size_t)thr_lists_n_windows(store->lists) * THR_LISTS_WINDOW;
    if (b.wanted > SAMPLED_LEAST_WANTED && n_tiles >= SAMPLED_LEAST_TILES)
        b.n_samples = n_tiles / SAMPLED_SHARE;
    *failed = UINT64_MAX;
    (void)pthread_mutex_lock(&store->mutex);
    const thr_status status = search_all(&b, queries, failed, err);
    if (status != THR_OK)
        (void)store->arrays.backend->wait(store->arrays.stream, NULL); /* for work enqueued before the failure */
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}
