/* SPDX-License-Identifier: Apache-2.0 */
/* screen_slice.c - enqueues the pass over a slice's codes and the selection of the best rows. */
#include "store/screen_slice.h"

#include "base/error.h"
#include "base/minmax.h"
#include "device/keys.h"
#include "store/chunks.h"
#include "store/search_memory.h"

#include <string.h>

thr_status thr_store_get_memory(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                                thr_slice_memory *m, thr_error *err) {
    thr_store *store = c->store;
    const size_t n = c->n, item = sizeof(thr_device_item);
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_SAMPLES,
                           n * plan->n_samples * THR_DEVICE_TILE * sizeof(uint32_t), &m->samples, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_THRESHOLDS, n * sizeof(uint64_t), &m->thresholds, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_ITEMS, n * plan->capacity * item, &m->items, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_CHOSEN, n * plan->wanted * item, &m->chosen, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_HOST_CHOSEN, n * plan->wanted * item, &m->host_chosen, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_COUNTS, 2 * n * sizeof(uint32_t), &m->counts, err));
    return thr_store_grow(store, slice, THR_STORE_BUFFER_HOST_COUNTS, 2 * n * sizeof(uint32_t), &m->host_counts, err);
}

/* A pass that emits the rows that reach the thresholds in device memory. */
typedef struct emission {
    const thr_collecting *c;
    const thr_slice_plan *plan;
    const thr_slice_memory *m;
    thr_query_run queries;
} emission;

/* Enqueue all queries on one run of codes, as one operation each: the next run may reuse the run's memory. */
static thr_status emit_run(void *arg, thr_store_slice *slice, const thr_device_codes *codes, thr_error *err) {
    const emission *e = arg;
    const thr_collecting *c = e->c;
    const thr_slice_plan *plan = e->plan;
    const thr_slice_memory *m = e->m;
    const thr_backend *backend = c->store->backend;
    const uint32_t batch = e->queries.n == c->n ? thr_store_batch_size(c, slice) : 0;
    const uint32_t end = e->queries.first + e->queries.n;
    for (uint32_t q = 0; q < c->n && batch > 0; q += batch) {
        thr_batch_op op = {.thresholds = m->thresholds + q,
                           .items = m->items + (size_t)q * plan->capacity,
                           .counts = m->counts + q,
                           .capacity = plan->capacity};
        thr_store_make_batch(c, slice, codes, q, batch, &op);
        THR_TRY(backend->batch(slice->stream, &op, err));
    }
    for (uint32_t q = e->queries.first; q < end && batch == 0; q += THR_SCREEN_QUERIES) {
        thr_screen_op op = {.thresholds = m->thresholds + q,
                            .items = m->items + (size_t)q * plan->capacity,
                            .counts = m->counts + q,
                            .capacity = plan->capacity};
        thr_store_make_scan(c, slice, codes, q, THR_MIN(end - q, THR_SCREEN_QUERIES), &op.scan);
        THR_TRY(backend->screen(slice->stream, &op, err));
    }
    return THR_OK;
}

thr_status thr_store_emit_step(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                               const thr_slice_memory *m, thr_query_run queries, uint32_t step, thr_error *err) {
    emission e = {c, plan, m, queries};
    return thr_store_step(c->store, slice, step, emit_run, &e, err);
}

thr_status thr_store_emit(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                          const thr_slice_memory *m, thr_query_run queries, thr_error *err) {
    THR_TRY(c->store->backend->clear(slice->stream, m->counts + queries.first, queries.n * sizeof *m->counts, err));
    for (uint32_t step = 0; step < thr_store_n_steps(slice); step++)
        THR_TRY(thr_store_emit_step(c, slice, plan, m, queries, step, err));
    return THR_OK;
}

thr_status thr_store_download_chosen(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                                     const thr_slice_memory *m, thr_query_run queries, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    const size_t at = (size_t)queries.first * plan->wanted, size = (size_t)queries.n * plan->wanted * sizeof *m->chosen;
    THR_TRY(backend->download(slice->stream, m->host_chosen + at, m->chosen + at, size, err));
    return backend->download(slice->stream, m->host_counts, m->counts, 2 * (size_t)c->n * sizeof *m->counts, err);
}

thr_status thr_store_choose(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                            const thr_slice_memory *m, thr_query_run queries, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    const thr_select_op op = {.items = m->items + (size_t)queries.first * plan->capacity,
                              .counts = m->counts + queries.first,
                              .capacity = plan->capacity,
                              .n_queries = queries.n,
                              .wanted = plan->wanted,
                              .chosen = m->chosen + (size_t)queries.first * plan->wanted,
                              .n_chosen = m->counts + c->n + queries.first};
    THR_TRY(backend->select(slice->stream, &op, err));
    return thr_store_download_chosen(c, slice, plan, m, queries, err);
}

void thr_store_push(const thr_store_slice *slice, thr_collector *collector, const thr_device_item *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float score;
        memcpy(&score, &items[i].score, sizeof score);
        if (i % THR_BLOCK_ITEMS == 0)
            thr_select_collector_reserve(collector);
        thr_collector_push(collector, slice->first_block * THR_BLOCK_ITEMS + thr_device_key_item(items[i].key), score,
                           items[i].distance);
    }
}
