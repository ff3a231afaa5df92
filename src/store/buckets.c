/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c - selects by buckets: enqueues the best item of each bucket, then selections over slices of these. */
#include "store/buckets.h"

#include "base/error.h"
#include "store/chunks.h"
#include "store/workspace.h"

enum {
    /* As in the paper; a bucket costs 24 bytes of memory and adds an item to the selection. */
    BUCKET_ITEMS = 256,
    /* L buckets miss a share of (N - 1) / 2 L of N wanted rows: 5,000 buckets per row give a recall of 0.9999. */
    BUCKETS_A_ROW = 5000,
    /* A warp has 128 buckets: 4,096 warps; with fewer a large GPU would idle. */
    BUCKETS_LEAST = 1 << 19,
    /* Buckets of single items would make an array of all scores. */
    BUCKET_ITEMS_LEAST = 2,
    /* Most memory for the buckets of a query. */
    BUCKET_BYTES = 256 << 20,
    /*
     * One block of threads selects from a slice of SLICE_LEAST winners or SLICE_ROWS for each wanted row, whichever is
     * more; all slices at once, then again from the items that these chose.
     */
    SLICE_LEAST = 4096,
    SLICE_ROWS = 16
};

uint32_t thr_store_count_buckets(uint64_t n_items, uint32_t wanted, uint32_t bucket_items) {
    const uint64_t most = BUCKET_BYTES / (sizeof(thr_device_item) + sizeof(uint64_t)) / THR_DEVICE_TILE;
    const uint64_t n_tiles = (n_items + THR_DEVICE_TILE - 1) / THR_DEVICE_TILE;
    uint64_t n = n_items / (bucket_items == 0 ? BUCKET_ITEMS : bucket_items);
    if (bucket_items == 0) {
        n = n > (uint64_t)BUCKETS_A_ROW * wanted ? n : (uint64_t)BUCKETS_A_ROW * wanted;
        n = n > BUCKETS_LEAST ? n : BUCKETS_LEAST;
        n = n < n_items / BUCKET_ITEMS_LEAST ? n : n_items / BUCKET_ITEMS_LEAST;
    }
    n = (n + THR_DEVICE_TILE - 1) / THR_DEVICE_TILE;
    n = n < 1 ? 1 : n < n_tiles ? n : n_tiles;
    return (uint32_t)(n < most ? n : most) * THR_DEVICE_TILE;
}

/* ---------------------------------------------------------------------------------------------- selecting */

/* n items in slices; only the last slice may be smaller. */
typedef struct level {
    uint32_t n, slice, n_slices;
} level;

static level make_level(uint32_t n, uint32_t wanted) {
    const uint64_t rows = (uint64_t)SLICE_ROWS * wanted, slice = rows > SLICE_LEAST ? rows : SLICE_LEAST;
    if (n < 2 * slice)
        return (level){n, n, 1};
    return (level){n, (uint32_t)slice, (uint32_t)((n + slice - 1) / slice)};
}

static uint32_t last_slice(const level *l) {
    return l->n - (l->n_slices - 1) * l->slice;
}

/*
 * The number of items chosen from all slices. They are contiguous, since only the last slice may yield fewer than
 * wanted.
 */
static uint32_t count_chosen(const level *l, uint32_t wanted) {
    const uint32_t last = last_slice(l);
    return (l->n_slices - 1) * wanted + (last < wanted ? last : wanted);
}

/* The device memory of a query, beside its thr_bucket_results. */
typedef struct bucket_memory {
    uint32_t n_buckets;
    thr_device_item *winners, *slices;
    uint64_t *rejected;
    uint32_t *counts, *scrap; /* items in the slices of all levels; items chosen from them */
} bucket_memory;

/* Upload the numbers of items in all slices, which are the same for all queries. */
static thr_status send_counts(const thr_collecting *c, thr_store_part *part, uint32_t wanted, bucket_memory *m,
                              thr_error *err) {
    uint32_t n_counts = 0, *host;
    level l = make_level(m->n_buckets, wanted);
    for (; l.n_slices > 1; l = make_level(count_chosen(&l, wanted), wanted))
        n_counts += l.n_slices;
    n_counts++;
    THR_TRY(thr_store_grow(c->store, part, THR_BUFFER_HOST_SLICES, n_counts * sizeof *host, &host, err));
    THR_TRY(
        thr_store_grow(c->store, part, THR_BUFFER_SLICE_COUNTS, 2 * (size_t)n_counts * sizeof *host, &m->counts, err));
    m->scrap = m->counts + n_counts;
    uint32_t at = 0;
    for (l = make_level(m->n_buckets, wanted);; l = make_level(count_chosen(&l, wanted), wanted)) {
        for (uint32_t i = 0; i + 1 < l.n_slices; i++)
            host[at++] = l.slice;
        host[at++] = last_slice(&l);
        if (l.n_slices == 1)
            break;
    }
    return c->store->backend->upload(part->stream, m->counts, host, n_counts * sizeof *host, err);
}

static thr_status get_memory(const thr_collecting *c, thr_store_part *part, uint32_t wanted, bucket_memory *m,
                             thr_error *err) {
    thr_store *store = c->store;
    const bool certain = c->job->context->selection == THR_SELECTION_BUCKETS;
    m->n_buckets = thr_store_count_buckets(part->codes.n_items, wanted, c->job->context->bucket_items);
    const level l = make_level(m->n_buckets, wanted);
    const size_t n = m->n_buckets, n_chosen = l.n_slices == 1 ? 0 : count_chosen(&l, wanted);
    THR_TRY(thr_store_grow(store, part, THR_BUFFER_WINNERS, n * sizeof *m->winners, &m->winners, err));
    THR_TRY(thr_store_grow(store, part, THR_BUFFER_SLICES, n_chosen * sizeof *m->slices, &m->slices, err));
    m->rejected = NULL;
    if (certain)
        THR_TRY(thr_store_grow(store, part, THR_BUFFER_REJECTED, n * sizeof *m->rejected, &m->rejected, err));
    return send_counts(c, part, wanted, m, err);
}

/* Select the wanted best of all winners into chosen, and their number into n_chosen. Overwrites the winners. */
static thr_status choose_winners(const thr_collecting *c, thr_store_part *part, const bucket_memory *m, uint32_t wanted,
                                 thr_device_item *chosen, uint32_t *n_chosen, thr_error *err) {
    const uint32_t *counts = m->counts;
    thr_device_item *from = m->winners, *to = m->slices;
    for (level l = make_level(m->n_buckets, wanted);; l = make_level(count_chosen(&l, wanted), wanted)) {
        const bool last = l.n_slices == 1;
        const thr_select_op op = {.items = from,
                                  .counts = counts,
                                  .capacity = l.slice,
                                  .n_queries = l.n_slices,
                                  .wanted = wanted,
                                  .chosen = last ? chosen : to,
                                  .n_chosen = last ? n_chosen : m->scrap};
        THR_TRY(c->store->backend->select(part->stream, &op, err));
        if (last)
            return THR_OK;
        counts += l.n_slices;
        to = from;
        from = op.chosen;
    }
}

/* ------------------------------------------------------------------------------------------------ a batch */

/*
 * Enqueue query q. With the certificate, its winners are the first of its items, and the rows that the rescan finds
 * after them are selected from too.
 */
static thr_status start_query(const thr_collecting *c, thr_store_part *part, const thr_bucket_results *results,
                              const bucket_memory *m, uint32_t q, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    thr_device_item *chosen = results->chosen + (size_t)q * results->wanted;
    uint32_t *n_chosen = results->n_chosen + q;
    thr_bucket_op bucket = {.n_buckets = m->n_buckets, .winners = m->winners, .rejected = m->rejected};
    const thr_device_codes codes = thr_store_run(part, part->resident, part->n_tiles, 0, part->n_tiles, 0);
    thr_store_make_scan(c, part, &codes, q, 1, &bucket.scan);
    THR_TRY(backend->bucket(part->stream, &bucket, err));
    if (m->rejected == NULL)
        return choose_winners(c, part, m, results->wanted, chosen, n_chosen, err);

    thr_rescan_op rescan = {.n_buckets = m->n_buckets,
                            .rejected = m->rejected,
                            .n_winners = n_chosen,
                            .wanted = results->wanted,
                            .capacity = results->capacity,
                            .items = results->items + (size_t)q * results->capacity,
                            .least = results->thresholds + q,
                            .count = results->counts + q};
    const thr_select_op select = {.items = rescan.items,
                                  .counts = rescan.count,
                                  .capacity = results->capacity,
                                  .n_queries = 1,
                                  .wanted = results->wanted,
                                  .chosen = chosen,
                                  .n_chosen = n_chosen};
    rescan.scan = bucket.scan;
    THR_TRY(choose_winners(c, part, m, results->wanted, rescan.items, n_chosen, err));
    THR_TRY(backend->rescan(part->stream, &rescan, err));
    return backend->select(part->stream, &select, err);
}

thr_status thr_store_start_buckets(const thr_collecting *c, thr_store_part *part, const thr_bucket_results *results,
                                   thr_error *err) {
    bucket_memory m;
    THR_TRY(get_memory(c, part, results->wanted, &m, err));
    for (uint32_t q = 0; q < c->n; q++)
        THR_TRY(start_query(c, part, results, &m, q, err));
    return THR_OK;
}
