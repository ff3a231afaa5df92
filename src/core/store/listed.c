/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed.c - enqueues the screen of listed blocks: one operation for all queries of a batch on each device. Each device
 * returns the best rows of its slice, as in collect.c.
 */
#include "store/listed.h"

#include "base/error.h"
#include "base/minmax.h"
#include "device/keys.h"
#include "store/chunks.h"
#include "store/queries.h"
#include "store/screen_slice.h"
#include "store/search_memory.h"

#include <string.h>

/* Rows per query that a device has room for, at least: those of a list too short for a sampled threshold. */
enum { LEAST_ROWS = THR_SAMPLE_LEAST * THR_SAMPLE_DIVISOR * THR_BLOCK_ITEMS };

/* A batch of lists. */
typedef struct listing {
    thr_collecting c; /* its queries and lanes are not used */
    thr_store_list *const *lists;
    uint32_t capacity;
} listing;

/* The memory and the work of a slice. */
typedef struct slice_work {
    uint32_t n_runs, wanted; /* rows to choose for each query */
    thr_slice_memory memory;
} slice_work;

/* ------------------------------------------------------------------------------------------------ lists */

/* The runs of a slice. runs is NULL if they are only counted; origins, by run, if the corpus has none. */
typedef struct run_list {
    thr_listed_run *runs;
    thr_listed_origin *origins;
    uint32_t n;
} run_list;

/* Cut blocks of the slice into pieces. */
static void cut_blocks(const thr_store_slice *slice, uint32_t q, thr_block_range blocks, run_list *to) {
    for (uint64_t at = blocks.first; at < blocks.end; to->n++) {
        const uint64_t n_blocks = THR_MIN(blocks.end - at, THR_LISTED_BLOCKS);
        if (to->runs != NULL)
            to->runs[to->n] = (thr_listed_run){q, (uint32_t)(at - slice->first_block), (uint32_t)n_blocks};
        at += n_blocks;
    }
}

/* The end of the rows of a segment that have the same origin as `row`, which has an item. */
static uint64_t origin_end(const thr_segment *segment, uint64_t row, uint32_t *origin) {
    const thr_segment_origins *origins = segment->origins;
    const uint64_t item = segment->first_item + (row - segment->first_row), end = segment->first_row + segment->n_items;
    *origin = thr_segment_origin_of(origins, item);
    if (*origin + 1 == origins->n)
        return end;
    const uint64_t next = row + (origins->starts[*origin + 1] - item);
    return THR_MIN(next, end);
}

/* Append the run of rows [first, end) of the corpus, which are on the slice and have the same origin. */
static void put_run(const listing *l, const thr_store_slice *slice, uint32_t q, uint64_t first, uint64_t end,
                    uint32_t origin, run_list *to) {
    const thr_scan_query *query = l->lists[q]->query;
    const thr_origin_term term = query->origins[origin];
    const uint64_t begin = slice->first_block * THR_BLOCK_ITEMS;
    const uint32_t item = (uint32_t)(first - begin), item_end = (uint32_t)(end - begin);
    const uint32_t block = item / THR_BLOCK_ITEMS, block_end = (item_end - 1) / THR_BLOCK_ITEMS + 1;
    to->runs[to->n] = (thr_listed_run){q, block, block_end - block};
    to->origins[to->n] =
        (thr_listed_origin){item, item_end, thr_scan_origin_margin(query, (double)term.distance), term.base};
}

/* As cut_blocks, but also cut where the origin changes. */
static void cut_at_origins(const listing *l, const thr_store_slice *slice, uint32_t q, thr_block_range blocks,
                           run_list *to) {
    uint64_t row = blocks.first * THR_BLOCK_ITEMS;
    while (row < blocks.end * THR_BLOCK_ITEMS) {
        const uint64_t block = row / THR_BLOCK_ITEMS;
        const uint64_t last = blocks.end - block < THR_LISTED_BLOCKS ? blocks.end : block + THR_LISTED_BLOCKS;
        const thr_segment *segment = thr_scan_segment_of(l->c.job->corpus, row);
        if (row - segment->first_row >= segment->n_items) {
            row = (block + 1) * THR_BLOCK_ITEMS; /* the rest of the block is padding */
            continue;
        }
        uint32_t origin;
        uint64_t end = origin_end(segment, row, &origin);
        end = THR_MIN(end, last * THR_BLOCK_ITEMS);
        if (to->runs != NULL)
            put_run(l, slice, q, row, end, segment->origins->first + origin, to);
        to->n++;
        row = end;
    }
}

/* Cut the runs of all queries at the slice's ends, and into pieces. */
static void cut_runs(const listing *l, const thr_store_slice *slice, run_list *to) {
    const uint64_t begin = slice->first_block, slice_end = begin + slice->n_blocks;
    for (uint32_t q = 0; q < l->c.n; q++)
        for (size_t i = 0; i < l->lists[q]->n_runs; i++) {
            const thr_block_range *run = &l->lists[q]->runs[i];
            const thr_block_range blocks = {THR_MAX(run->first, begin), THR_MIN(run->end, slice_end)};
            if (l->c.job->corpus->origins == NULL)
                cut_blocks(slice, q, blocks, to);
            else
                cut_at_origins(l, slice, q, blocks, to);
        }
}

static uint64_t key_of(float threshold) {
    uint32_t bits;
    memcpy(&bits, &threshold, sizeof bits);
    return thr_device_key_make(thr_device_score_order(bits), UINT32_MAX);
}

/* A buffer on the host, and one of the same size on the device that it is copied to. */
typedef struct copy {
    thr_store_buffer_name on_host, on_device;
    size_t size;
} copy;

static thr_status grow_both(const listing *l, thr_store_slice *slice, const copy *pair, void *host_out,
                            void *device_out, thr_error *err) {
    THR_TRY(thr_store_grow(l->c.store, slice, pair->on_host, pair->size, host_out, err));
    return thr_store_grow(l->c.store, slice, pair->on_device, pair->size, device_out, err);
}

/* Enqueue the uploads of runs and their origins, and fill them in. */
static thr_status send_runs(const listing *l, thr_store_slice *slice, uint32_t n_runs, thr_listed_op *op,
                            thr_error *err) {
    const thr_backend *backend = l->c.store->backend;
    const copy runs = {THR_STORE_BUFFER_HOST_RUNS, THR_STORE_BUFFER_RUNS, n_runs * sizeof *op->runs},
               origins = {THR_STORE_BUFFER_HOST_ORIGINS, THR_STORE_BUFFER_ORIGINS, n_runs * sizeof *op->origins};
    const bool has_origins = l->c.job->corpus->origins != NULL;
    run_list on_host = {.n = 0};
    THR_TRY(grow_both(l, slice, &runs, &on_host.runs, &op->runs, err));
    if (has_origins)
        THR_TRY(grow_both(l, slice, &origins, &on_host.origins, &op->origins, err));
    cut_runs(l, slice, &on_host);
    THR_TRY(backend->upload(slice->stream, (void *)op->runs, on_host.runs, runs.size, err));
    return has_origins ? backend->upload(slice->stream, (void *)op->origins, on_host.origins, origins.size, err)
                       : THR_OK;
}

/* Enqueue the uploads of runs and queries, and fill in the operation. */
static thr_status send_lists(const listing *l, thr_store_slice *slice, uint32_t n_runs, thr_listed_op *op,
                             thr_error *err) {
    const thr_backend *backend = l->c.store->backend;
    const uint32_t n = l->c.n, n_words = thr_store_query_words(&l->lists[0]->query->code);
    const copy words = {THR_STORE_BUFFER_HOST_WORDS, THR_STORE_BUFFER_WORDS, n * (size_t)n_words * sizeof *op->words},
               queries = {THR_STORE_BUFFER_HOST_QUERIES, THR_STORE_BUFFER_QUERIES, n * sizeof *op->queries},
               keys = {THR_STORE_BUFFER_HOST_THRESHOLDS, THR_STORE_BUFFER_THRESHOLDS, n * sizeof *op->thresholds};
    uint32_t *host_words;
    thr_device_query *host_queries;
    uint64_t *host_keys;
    THR_TRY(send_runs(l, slice, n_runs, op, err));
    THR_TRY(grow_both(l, slice, &words, &host_words, &op->words, err));
    THR_TRY(grow_both(l, slice, &queries, &host_queries, &op->queries, err));
    THR_TRY(grow_both(l, slice, &keys, &host_keys, &op->thresholds, err));
    for (uint32_t q = 0; q < n; q++) {
        thr_store_put_words(&l->lists[q]->query->code, host_words + q * (size_t)n_words);
        host_queries[q] = thr_store_query(l->lists[q]->query);
        host_keys[q] = key_of(l->lists[q]->threshold);
    }
    THR_TRY(backend->upload(slice->stream, (void *)op->words, host_words, words.size, err));
    THR_TRY(backend->upload(slice->stream, (void *)op->queries, host_queries, queries.size, err));
    return backend->upload(slice->stream, (void *)op->thresholds, host_keys, keys.size, err);
}

/* ------------------------------------------------------------------------------------------------ steps */

/* Enqueue the screen of a slice, and the download of the counts of rows that pass. */
static thr_status screen_slice(const listing *l, thr_store_slice *slice, slice_work *w, thr_error *err) {
    thr_store *store = l->c.store;
    const thr_backend *backend = store->backend;
    const size_t n = l->c.n, counts = n * sizeof(uint32_t);
    thr_slice_memory *m = &w->memory;
    run_list counted = {.n = 0};
    cut_runs(l, slice, &counted);
    w->n_runs = counted.n;
    if (w->n_runs == 0)
        return THR_OK;
    thr_listed_op op = {.codes = thr_store_tiles_view(slice, slice->resident, slice->n_tiles, 0, slice->n_tiles, 0),
                        .filter =
                            l->c.job->options->filter == NULL ? NULL : slice->buffers[THR_STORE_BUFFER_FILTER].memory,
                        .query_bits = l->c.job->query_bits,
                        .n_runs = w->n_runs,
                        .capacity = l->capacity};
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_ITEMS, n * l->capacity * sizeof *m->items, &m->items, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_COUNTS, 2 * counts, &m->counts, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_HOST_COUNTS, 2 * counts, &m->host_counts, err));
    THR_TRY(send_lists(l, slice, w->n_runs, &op, err));
    op.items = m->items;
    op.counts = m->counts;
    THR_TRY(backend->clear(slice->stream, m->counts, counts, err));
    THR_TRY(backend->listed(slice->stream, &op, err));
    return backend->download(slice->stream, m->host_counts, m->counts, counts, err);
}

/* Wait for the counts, and enqueue the selection of the best rows and their download. */
static thr_status choose(const listing *l, thr_store_slice *slice, slice_work *w, thr_error *err) {
    thr_store *store = l->c.store;
    thr_slice_memory *m = &w->memory;
    const size_t item = sizeof(thr_device_item);
    if (w->n_runs == 0)
        return THR_OK;
    THR_TRY(store->backend->wait(slice->stream, err));
    for (uint32_t q = 0; q < l->c.n; q++) {
        const uint32_t n = THR_MIN(m->host_counts[q], l->capacity);
        const uint32_t wanted = n < l->lists[q]->most ? n : (uint32_t)l->lists[q]->most;
        l->lists[q]->n_reached += m->host_counts[q];
        l->lists[q]->lost = l->lists[q]->lost || m->host_counts[q] > l->capacity;
        w->wanted = THR_MAX(wanted, w->wanted);
    }
    if (w->wanted == 0)
        return THR_OK;
    const size_t size = (size_t)l->c.n * w->wanted * item;
    const thr_slice_plan plan = {.wanted = w->wanted, .capacity = l->capacity};
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_CHOSEN, size, &m->chosen, err));
    THR_TRY(thr_store_grow(store, slice, THR_STORE_BUFFER_HOST_CHOSEN, size, &m->host_chosen, err));
    return thr_store_choose(&l->c, slice, &plan, m, (thr_query_run){0, l->c.n}, err);
}

static thr_status take(const listing *l, thr_store_slice *slice, const slice_work *w, thr_error *err) {
    const thr_slice_memory *m = &w->memory;
    if (w->wanted == 0)
        return THR_OK;
    THR_TRY(l->c.store->backend->wait(slice->stream, err));
    for (uint32_t q = 0; q < l->c.n; q++)
        thr_store_push(slice, l->lists[q]->collector, m->host_chosen + (size_t)q * w->wanted,
                       m->host_counts[l->c.n + q]);
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ batches */

static thr_status screen_batch(const listing *l, thr_error *err) {
    thr_store *store = l->c.store;
    slice_work work[THR_MAX_DEVICES] = {{.n_runs = 0}};
    for (uint32_t i = 0; i < store->n_slices; i++)
        THR_TRY(screen_slice(l, &store->slices[i], &work[i], err));
    for (uint32_t i = 0; i < store->n_slices; i++)
        THR_TRY(choose(l, &store->slices[i], &work[i], err));
    for (uint32_t i = 0; i < store->n_slices; i++)
        THR_TRY(take(l, &store->slices[i], &work[i], err));
    return THR_OK;
}

/* The rows that a batch's buffer holds for each query. A list that finds more is lost. */
static uint32_t capacity_of(thr_store_list *const *lists, size_t n) {
    uint64_t capacity = 1;
    for (size_t i = 0; i < n; i++) {
        const uint64_t most = THR_MAX(2 * (uint64_t)lists[i]->most, LEAST_ROWS);
        const uint64_t own = THR_MIN(lists[i]->n_rows, most);
        capacity = THR_MAX(own, capacity);
    }
    return capacity < UINT32_MAX ? (uint32_t)capacity : UINT32_MAX;
}

static thr_status screen_lists(listing *l, size_t n, thr_error *err) {
    thr_store *store = l->c.store;
    thr_store_list *const *lists = l->lists;
    uint32_t size = (uint32_t)n;
    l->capacity = capacity_of(lists, n);
    for (uint32_t i = 0; i < store->n_slices; i++) {
        size = thr_store_fitting(&store->slices[i], size, l->capacity * sizeof(thr_device_item));
        THR_TRY(thr_store_send_filter(&l->c, &store->slices[i], err));
    }
    for (size_t i = 0; i < n; i++) {
        lists[i]->n_reached = 0;
        lists[i]->lost = false;
    }
    for (size_t first = 0; first < n; first += size) {
        l->lists = lists + first;
        l->c.n = n - first < size ? (uint32_t)(n - first) : size;
        THR_TRY(screen_batch(l, err));
    }
    return THR_OK;
}

static bool is_resident(const thr_store *store) {
    for (uint32_t i = 0; i < store->n_slices; i++)
        if (store->slices[i].chunks.n > 0)
            return false;
    return true;
}

bool thr_store_is_resident(thr_store *store) {
    (void)pthread_mutex_lock(&store->mutex);
    const bool resident = is_resident(store);
    (void)pthread_mutex_unlock(&store->mutex);
    return resident;
}

thr_status thr_store_screen_lists(thr_store *store, const thr_job *job, thr_store_list *const *lists, size_t n,
                                  bool *done, thr_error *err) {
    listing l = {.c = {.store = store, .job = job, .n = (uint32_t)n}, .lists = lists};
    thr_status status = THR_OK;
    (void)pthread_mutex_lock(&store->mutex);
    *done = is_resident(store);
    if (*done && n > 0)
        status = screen_lists(&l, n, err);
    /* Copies of a failed attempt may still read memory that the next search overwrites. No codes move to make room. */
    for (uint32_t i = 0; i < store->n_slices && status != THR_OK; i++) {
        (void)store->backend->wait(store->slices[i].stream, NULL);
        store->slices[i].lacks = 0;
    }
    (void)pthread_mutex_unlock(&store->mutex);
    *done = *done && status == THR_OK;
    return status == THR_ENOMEM ? THR_OK : status;
}
