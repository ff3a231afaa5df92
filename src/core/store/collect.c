/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - the screen on devices. A sample of tiles gives every query a threshold; one pass over all codes emits the
 * rows that reach it; the best of them return to the host. If the sampled threshold was wrong, histograms of the keys
 * yield one that at least the wanted rows reach, and at most capacity.
 *
 * Each device returns the best rows of its slice; merging them gives the overall best. The steps of slices whose codes
 * come in chunks are enqueued in turn over all slices, so that no device waits while another's queue is full.
 */
#include "store/slices.h"

#include "base/error.h"
#include "base/minmax.h"
#include "scan/job.h"
#include "store/chunks.h"
#include "store/screen_slice.h"
#include "store/search_memory.h"
#include "select/bitmap.h"
#include "select/sampled_threshold.h"

#include <math.h>
#include <string.h>

enum { SPARE_ITEMS = 4096 }; /* capacity beyond the expected number of rows */

/* ----------------------------------------------------------------------------------------------- plans */

/* The number of a slice's rows that pass the filter. The search has already counted those of all rows. */
static uint64_t count_allowed(const thr_job *job, const thr_store_slice *slice) {
    const uint64_t first = slice->first_block * THR_BLOCK_ITEMS, n = slice->codes.n_items;
    if (n == job->corpus->n_rows)
        return job->n_allowed;
    return job->options->filter == NULL ? n : thr_select_bitmap_count_range(job->options->filter, first, first + n);
}

static thr_slice_plan plan_slice(const thr_job *job, const thr_store_slice *slice) {
    thr_slice_plan plan = {.n_allowed = count_allowed(job, slice)};
    const uint64_t n = slice->codes.n_items;
    plan.wanted = (uint32_t)THR_MIN(job->n_survivors, plan.n_allowed);
    plan.n_samples = slice->n_samples;
    /*
     * rank: the threshold's rank in the sample, as the device computes it. About rank x n_allowed / seen rows reach the
     * threshold; capacity is twice that, and SPARE_ITEMS.
     */
    const double seen = (double)plan.n_samples * THR_DEVICE_TILE * ((double)plan.n_allowed / (double)n);
    const double rank = thr_select_sample_rank(seen, plan.n_allowed == 0 ? 1 : plan.n_allowed, plan.wanted);
    double capacity = rank < seen ? 2 * rank * (double)plan.n_allowed / seen + SPARE_ITEMS : (double)plan.n_allowed;
    capacity = THR_MIN(capacity, (double)plan.n_allowed);
    plan.capacity = (uint32_t)THR_MIN(capacity, 4294967295.0);
    plan.capacity = plan.capacity < plan.wanted ? plan.wanted : plan.capacity == 0 ? 1 : plan.capacity;
    return plan;
}

/* --------------------------------------------------------------------------------------------- starting */

/* Allocate a batch's memory on a slice and enqueue the computation of its thresholds; does not wait. */
static thr_status start_slice(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                              thr_slice_memory *m, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    if (plan->wanted == 0)
        return THR_OK;
    THR_TRY(thr_store_get_memory(c, slice, plan, m, err));
    THR_TRY(thr_store_send_queries(c, slice, err));
    THR_TRY(backend->clear(slice->stream, m->counts, c->n * sizeof *m->counts, err));
    const thr_threshold_op op = {m->samples,   plan->n_samples * THR_DEVICE_TILE, c->n, plan->n_allowed, plan->wanted,
                                 m->thresholds};
    const thr_device_codes sampled = plan->n_samples > 0 ? thr_store_sampled(slice) : slice->codes;
    for (uint32_t q = 0; q < c->n && plan->n_samples > 0; q += THR_SCREEN_QUERIES) {
        thr_screen_op sample = {.samples = m->samples + (size_t)q * op.n_samples, .n_samples = plan->n_samples};
        thr_store_make_scan(c, slice, &sampled, q, THR_MIN(c->n - q, THR_SCREEN_QUERIES), &sample.scan);
        THR_TRY(backend->screen(slice->stream, &sample, err));
    }
    return plan->n_samples > 0 ? backend->threshold(slice->stream, &op, err)
                               : backend->clear(slice->stream, m->thresholds, c->n * sizeof *m->thresholds, err);
}

/* ------------------------------------------------------------------------------- where the sample misjudged */

/* A histogram of keys, accumulated over runs of codes. */
typedef struct counting {
    const thr_collecting *c;
    uint32_t q;
    thr_count_op op;
} counting;

static thr_status count_run(void *arg, thr_store_slice *slice, const thr_device_codes *codes, thr_error *err) {
    counting *k = arg;
    thr_store_make_scan(k->c, slice, codes, k->q, 1, &k->op.scan);
    return k->c->store->backend->count_keys(slice->stream, &k->op, err);
}

/*
 * Find the key that exactly the wanted rows of a query reach, or a smaller key that at most capacity rows reach. Each
 * pass fixes the next bits of the key, from the most significant on, to the bin that holds the wanted-th row.
 */
static thr_status find_threshold(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                                 uint32_t q, uint64_t *threshold, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    uint64_t bins[THR_COUNT_BINS], above = 0; /* rows in larger bins */
    counting k = {.c = c, .q = q};
    thr_count_op *op = &k.op;
    THR_TRY(thr_store_grow(c->store, slice, THR_STORE_BUFFER_BINS, sizeof bins, &op->bins, err));
    for (;;) {
        THR_TRY(backend->clear(slice->stream, op->bins, sizeof bins, err));
        for (uint32_t step = 0; step < thr_store_n_steps(slice); step++)
            THR_TRY(thr_store_step(c->store, slice, step, count_run, &k, err));
        THR_TRY(backend->download(slice->stream, bins, op->bins, sizeof bins, err));
        THR_TRY(backend->wait(slice->stream, err));
        const uint32_t left = 64 - op->prefix_bits, digit = THR_MIN(left, THR_COUNT_BITS);
        uint32_t bin = (1u << digit) - 1;
        for (; bin > 0 && above + bins[bin] < plan->wanted; bin--)
            above += bins[bin];
        op->prefix = op->prefix << digit | bin;
        op->prefix_bits += digit;
        *threshold = op->prefix_bits == 64 ? op->prefix : op->prefix << (64 - op->prefix_bits);
        if (above + bins[bin] <= plan->capacity || op->prefix_bits == 64)
            return THR_OK;
    }
}

static thr_status collect_again(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                                const thr_slice_memory *m, uint32_t q, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    const thr_query_run one = {q, 1};
    uint64_t threshold = 0;
    THR_TRY(find_threshold(c, slice, plan, q, &threshold, err));
    THR_TRY(backend->upload(slice->stream, m->thresholds + q, &threshold, sizeof threshold, err));
    THR_TRY(thr_store_emit(c, slice, plan, m, one, err));
    THR_TRY(thr_store_choose(c, slice, plan, m, one, err));
    THR_TRY(backend->wait(slice->stream, err));
    if (m->host_counts[q] >= plan->wanted && m->host_counts[q] <= plan->capacity)
        return THR_OK;
    return thr_fail(err, THR_EDEVICE, "a GPU found %u rows above a threshold that %u to %u rows reach",
                    m->host_counts[q], plan->wanted, plan->capacity);
}

/* ---------------------------------------------------------------------------------------------- collecting */

static thr_status finish_slice(const thr_collecting *c, thr_store_slice *slice, const thr_slice_plan *plan,
                               const thr_slice_memory *m, thr_error *err) {
    if (m->host_counts == NULL) /* no row of it is wanted */
        return THR_OK;
    THR_TRY(c->store->backend->wait(slice->stream, err));
    for (uint32_t q = 0; q < c->n; q++) {
        if (m->host_counts[q] > plan->capacity || m->host_counts[q] < plan->wanted)
            THR_TRY(collect_again(c, slice, plan, m, q, err));
        thr_store_push(slice, &c->lanes[q]->collector, m->host_chosen + (size_t)q * plan->wanted,
                       m->host_counts[c->n + q]);
    }
    return THR_OK;
}

/* Enqueue the pass of a batch on all slices, step by step. */
static thr_status pass_all(const thr_collecting *c, const thr_slice_plan *plans, const thr_slice_memory *memories,
                           thr_error *err) {
    const thr_query_run all = {0, c->n};
    uint32_t n_steps = 0;
    for (uint32_t i = 0; i < c->store->n_slices; i++) {
        const uint32_t n = thr_store_n_steps(&c->store->slices[i]);
        n_steps = THR_MAX(n, n_steps);
    }
    for (uint32_t step = 0; step < n_steps; step++)
        for (uint32_t i = 0; i < c->store->n_slices; i++) {
            thr_store_slice *slice = &c->store->slices[i];
            if (plans[i].wanted > 0 && step < thr_store_n_steps(slice))
                THR_TRY(thr_store_emit_step(c, slice, &plans[i], &memories[i], all, step, err));
        }
    return THR_OK;
}

static thr_status collect_batch(const thr_collecting *c, const thr_slice_plan *plans, thr_error *err) {
    thr_slice_memory memories[THR_MAX_DEVICES] = {{0}};
    for (uint32_t q = 0; q < c->n; q++)
        THR_TRY(
            thr_select_collector_start(&c->lanes[q]->collector, c->job->context, c->job->n_survivors, -INFINITY, err));
    for (uint32_t i = 0; i < c->store->n_slices; i++)
        THR_TRY(start_slice(c, &c->store->slices[i], &plans[i], &memories[i], err));
    THR_TRY(pass_all(c, plans, memories, err));
    for (uint32_t i = 0; i < c->store->n_slices; i++)
        if (plans[i].wanted > 0)
            THR_TRY(thr_store_choose(c, &c->store->slices[i], &plans[i], &memories[i], (thr_query_run){0, c->n}, err));
    for (uint32_t i = 0; i < c->store->n_slices; i++)
        THR_TRY(finish_slice(c, &c->store->slices[i], &plans[i], &memories[i], err));
    for (uint32_t q = 0; q < c->n; q++)
        thr_select_collector_finish(&c->lanes[q]->collector);
    return THR_OK;
}

/* The number of queries whose passing rows fit the memory of every slice. */
static uint32_t batch_size(const thr_store *store, const thr_slice_plan *plans) {
    uint32_t size = THR_DEVICE_QUERIES;
    for (uint32_t i = 0; i < store->n_slices; i++)
        size = thr_store_fitting(&store->slices[i], size, plans[i].capacity * sizeof(thr_device_item));
    return size;
}

/* Collect all queries, in batches. Runs with the store locked. */
static thr_status collect(void *arg, thr_error *err) {
    thr_collecting c = *(const thr_collecting *)arg;
    thr_store *store = c.store;
    const thr_job *job = c.job;
    thr_scan_query *const *queries = c.queries;
    thr_lane *const *lanes = c.lanes;
    const uint32_t n = c.n;
    thr_slice_plan plans[THR_MAX_DEVICES];
    for (uint32_t i = 0; i < store->n_slices; i++) {
        plans[i] = plan_slice(job, &store->slices[i]);
        if (plans[i].wanted > 0)
            THR_TRY(thr_store_send_filter(&c, &store->slices[i], err));
    }
    const uint32_t size = batch_size(store, plans);
    for (uint32_t first = 0; first < n; first += size) {
        c.queries = queries + first;
        c.lanes = lanes + first;
        c.n = THR_MIN(n - first, size);
        THR_TRY(collect_batch(&c, plans, err));
    }
    return THR_OK;
}

thr_status thr_store_collect(thr_store *store, const thr_job *job, thr_scan_query *queries, size_t n, thr_lane *lanes,
                             thr_error *err) {
    thr_scan_query *with_direction[THR_DEVICE_QUERIES];
    thr_lane *lanes_with_direction[THR_DEVICE_QUERIES];
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        queries[i].skips_screen = queries[i].norm == 0 && job->corpus->metric != THR_METRIC_L2;
        if (queries[i].skips_screen) {
            THR_TRY(thr_scan_collect_first(job, &queries[i], &lanes[i], err));
        } else {
            with_direction[m] = &queries[i];
            lanes_with_direction[m++] = &lanes[i];
        }
    }
    if (m == 0)
        return THR_OK;
    thr_collecting c = {store, job, with_direction, lanes_with_direction, m};
    return thr_store_with_lock(store, job->corpus, collect, &c, err);
}
