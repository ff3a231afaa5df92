/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen on devices: a sample of tiles gives every query a threshold, one pass over all codes lets through what
 * reaches it, and the best of that come back. Where the sample misjudged, histograms of the keys find the threshold
 * that just the wanted rows reach; a margin takes another pass, with the threshold that is known then. Without a sample
 * it can be done by buckets (store_buckets.h).
 *
 * Each of several devices gives the best of its part; the best of these are the best of all. Parts whose codes come in
 * chunks take their passes step by step, in turns, so that no device waits for another's queue to have room.
 */
#include "scan/store_impl.h"

#include "base/error.h"
#include "scan/lane.h"
#include "scan/store_buckets.h"
#include "scan/store_chunks.h"
#include "scan/store_queries.h"
#include "select/bitmap.h"
#include "select/histogram.h"

#include <math.h>
#include <string.h>

enum {
    SPARE_ITEMS = 4096,      /* places beyond what is expected */
    BATCH_BYTES = 256 << 20, /* of places for what a batch of queries lets through */
    MARGIN_ITEMS = 1 << 16,  /* places at first, where nobody knows how many rows a margin takes */
    SPARE_PART = 4           /* of what a part left free for searches, where that is less */
};

/* What is wanted of a part, the same for all queries of a search. */
typedef struct part_plan {
    uint64_t n_allowed;
    uint32_t wanted;    /* rows it has to find: the survivors, or all allowed ones */
    uint32_t n_samples; /* tiles; 0: none */
    uint32_t capacity;  /* places a query */
} part_plan;

/* ----------------------------------------------------------------------------------------------- plans */

/* Rows of a part that pass the filter; of all rows the search has counted them already. */
static uint64_t count_allowed(const thr_job *job, const thr_store_part *part) {
    const uint64_t first = part->first_block * THR_BLOCK_ITEMS, n = part->codes.n_items;
    if (n == job->target->n_items)
        return job->n_allowed;
    return job->options->filter == NULL ? n : thr_bitmap_count_range(job->options->filter, first, first + n);
}

/* Whether a part's rows are selected by buckets. Codes that come in chunks are not: buckets go over all of them. */
static bool takes_buckets(const thr_job *job, const thr_store_part *part) {
    return job->context->selection != THR_SELECTION_THRESHOLD && part->chunks.n == 0;
}

static part_plan plan_part(const thr_job *job, const thr_store_part *part) {
    part_plan plan = {.n_allowed = count_allowed(job, part)};
    const uint64_t n = part->codes.n_items;
    plan.wanted = (uint32_t)(job->survivors < plan.n_allowed ? job->survivors : plan.n_allowed);
    plan.n_samples = part->n_samples;
    /* The threshold's rank in the sample, as the device will find it, stands for so many rows; twice as many fit. */
    const double seen = (double)plan.n_samples * THR_DEVICE_TILE * ((double)plan.n_allowed / (double)n);
    const double rank = thr_sample_rank(seen, plan.n_allowed == 0 ? 1 : plan.n_allowed, plan.wanted);
    double capacity = rank < seen ? 2 * rank * (double)plan.n_allowed / seen + SPARE_ITEMS : (double)plan.n_allowed;
    capacity = capacity < (double)plan.n_allowed ? capacity : (double)plan.n_allowed;
    if (takes_buckets(job, part))
        capacity += (double)plan.wanted; /* winners, some of empty buckets, stand in front of what is found then */
    plan.capacity = (uint32_t)(capacity < 4294967295.0 ? capacity : 4294967295.0);
    plan.capacity = plan.capacity < plan.wanted ? plan.wanted : plan.capacity == 0 ? 1 : plan.capacity;
    return plan;
}

/* ------------------------------------------------------------------------------------------------ passes */

/* What a batch has on a part's device. */
typedef struct part_memory {
    uint32_t *samples;
    uint64_t *thresholds;
    thr_device_item *items, *chosen, *host_chosen;
    uint32_t *counts, *host_counts; /* of items, then of chosen ones */
} part_memory;

static thr_status get_memory(const thr_collecting *c, thr_store_part *part, const part_plan *plan, part_memory *m,
                             thr_error *err) {
    thr_store *store = c->store;
    const size_t n = c->n, item = sizeof(thr_device_item);
    THR_TRY(thr_store_grow(store, part, THR_ROOM_SAMPLES, n * plan->n_samples * THR_DEVICE_TILE * sizeof(uint32_t),
                           &m->samples, err));
    THR_TRY(thr_store_grow(store, part, THR_ROOM_THRESHOLDS, n * sizeof(uint64_t), &m->thresholds, err));
    THR_TRY(thr_store_grow(store, part, THR_ROOM_ITEMS, n * plan->capacity * item, &m->items, err));
    THR_TRY(thr_store_grow(store, part, THR_ROOM_CHOSEN, n * plan->wanted * item, &m->chosen, err));
    THR_TRY(thr_store_grow(store, part, THR_ROOM_HOST_CHOSEN, n * plan->wanted * item, &m->host_chosen, err));
    THR_TRY(thr_store_grow(store, part, THR_ROOM_COUNTS, 2 * n * sizeof(uint32_t), &m->counts, err));
    return thr_store_grow(store, part, THR_ROOM_HOST_COUNTS, 2 * n * sizeof(uint32_t), &m->host_counts, err);
}

/* A pass that lets through what reaches the thresholds that are in memory: queries [first, first + n). */
typedef struct emission {
    const thr_collecting *c;
    const part_plan *plan;
    const part_memory *m;
    uint32_t first, n;
} emission;

/* All queries on one run of codes, which may have to make room for another. */
static thr_status emit_run(void *arg, thr_store_part *part, const thr_device_codes *codes, thr_error *err) {
    const emission *e = arg;
    const thr_collecting *c = e->c;
    const part_plan *plan = e->plan;
    const part_memory *m = e->m;
    const thr_backend *backend = c->store->backend;
    const uint32_t batch = e->n == c->n ? thr_store_batch_size(c, part) : 0, end = e->first + e->n;
    for (uint32_t q = 0; q < c->n && batch > 0; q += batch) {
        thr_batch_op op = {.thresholds = m->thresholds + q,
                           .items = m->items + (size_t)q * plan->capacity,
                           .counts = m->counts + q,
                           .capacity = plan->capacity};
        thr_store_make_batch(c, part, codes, q, batch, &op);
        THR_TRY(backend->batch(part->stream, &op, err));
    }
    for (uint32_t q = e->first; q < end && batch == 0; q += THR_SCREEN_QUERIES) {
        thr_screen_op op = {.thresholds = m->thresholds + q,
                            .items = m->items + (size_t)q * plan->capacity,
                            .counts = m->counts + q,
                            .capacity = plan->capacity};
        thr_store_make_scan(c, part, codes, q, end - q < THR_SCREEN_QUERIES ? end - q : THR_SCREEN_QUERIES, &op.scan);
        THR_TRY(backend->screen(part->stream, &op, err));
    }
    return THR_OK;
}

/* A whole pass of a part. */
static thr_status emit(const thr_collecting *c, thr_store_part *part, const part_plan *plan, const part_memory *m,
                       uint32_t first, uint32_t n, thr_error *err) {
    emission e = {c, plan, m, first, n};
    THR_TRY(c->store->backend->clear(part->stream, m->counts + first, n * sizeof *m->counts, err));
    for (uint32_t step = 0; step < thr_store_n_steps(part); step++)
        THR_TRY(thr_store_step(c->store, part, step, emit_run, &e, err));
    return THR_OK;
}

/* The chosen ones, and how many of everything there are, on their way to the host. */
static thr_status bring(const thr_collecting *c, thr_store_part *part, const part_plan *plan, const part_memory *m,
                        uint32_t first, uint32_t n, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    const size_t at = (size_t)first * plan->wanted, size = (size_t)n * plan->wanted * sizeof *m->chosen;
    THR_TRY(backend->download(part->stream, m->host_chosen + at, m->chosen + at, size, err));
    return backend->download(part->stream, m->host_counts, m->counts, 2 * (size_t)c->n * sizeof *m->counts, err);
}

/* The best of what was let through. */
static thr_status choose(const thr_collecting *c, thr_store_part *part, const part_plan *plan, const part_memory *m,
                         uint32_t first, uint32_t n, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    const thr_select_op op = {.items = m->items + (size_t)first * plan->capacity,
                              .counts = m->counts + first,
                              .capacity = plan->capacity,
                              .n_queries = n,
                              .wanted = plan->wanted,
                              .chosen = m->chosen + (size_t)first * plan->wanted,
                              .n_chosen = m->counts + c->n + first};
    THR_TRY(backend->select(part->stream, &op, err));
    return bring(c, part, plan, m, first, n, err);
}

/* The same by buckets. */
static thr_status start_buckets(const thr_collecting *c, thr_store_part *part, const part_plan *plan,
                                const part_memory *m, thr_error *err) {
    const thr_bucket_places places = {.wanted = plan->wanted,
                                      .capacity = plan->capacity,
                                      .items = m->items,
                                      .chosen = m->chosen,
                                      .thresholds = m->thresholds,
                                      .counts = m->counts,
                                      .n_chosen = m->counts + c->n};
    THR_TRY(thr_store_start_buckets(c, part, &places, err));
    return bring(c, part, plan, m, 0, c->n, err);
}

/* Thresholds of a batch, and memory for what they let through. Nothing here or in a pass is waited for. */
static thr_status start_part(const thr_collecting *c, thr_store_part *part, const part_plan *plan, part_memory *m,
                             thr_error *err) {
    const thr_backend *backend = c->store->backend;
    if (plan->wanted == 0)
        return THR_OK;
    THR_TRY(get_memory(c, part, plan, m, err));
    THR_TRY(thr_store_send_queries(c, part, err));
    if (takes_buckets(c->job, part))
        return start_buckets(c, part, plan, m, err);
    THR_TRY(backend->clear(part->stream, m->counts, c->n * sizeof *m->counts, err));
    const thr_threshold_op op = {m->samples,   plan->n_samples * THR_DEVICE_TILE, c->n, plan->n_allowed, plan->wanted,
                                 m->thresholds};
    const thr_device_codes sampled = plan->n_samples > 0 ? thr_store_sampled(part) : part->codes;
    for (uint32_t q = 0; q < c->n && plan->n_samples > 0; q += THR_SCREEN_QUERIES) {
        thr_screen_op sample = {.samples = m->samples + (size_t)q * op.n_samples, .n_samples = plan->n_samples};
        thr_store_make_scan(c, part, &sampled, q, c->n - q < THR_SCREEN_QUERIES ? c->n - q : THR_SCREEN_QUERIES,
                            &sample.scan);
        THR_TRY(backend->screen(part->stream, &sample, err));
    }
    return plan->n_samples > 0 ? backend->threshold(part->stream, &op, err)
                               : backend->clear(part->stream, m->thresholds, c->n * sizeof *m->thresholds, err);
}

/* ------------------------------------------------------------------------------- where the sample misjudged */

/* A histogram of keys, of one run of codes after the other. */
typedef struct counting {
    const thr_collecting *c;
    uint32_t q;
    thr_count_op op;
} counting;

static thr_status count_run(void *arg, thr_store_part *part, const thr_device_codes *codes, thr_error *err) {
    counting *k = arg;
    thr_store_make_scan(k->c, part, codes, k->q, 1, &k->op.scan);
    return k->c->store->backend->count_keys(part->stream, &k->op, err);
}

/*
 * The key that just the wanted rows of a query reach, or a smaller one that no more rows reach than fit: bit by bit
 * from the first, always into the bin in which the wanted-th is.
 */
static thr_status find_threshold(const thr_collecting *c, thr_store_part *part, const part_plan *plan, uint32_t q,
                                 uint64_t *threshold, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    uint64_t bins[THR_COUNT_BINS], above = 0; /* rows in larger bins */
    counting k = {.c = c, .q = q};
    thr_count_op *op = &k.op;
    THR_TRY(thr_store_grow(c->store, part, THR_ROOM_BINS, sizeof bins, &op->bins, err));
    for (;;) {
        THR_TRY(backend->clear(part->stream, op->bins, sizeof bins, err));
        for (uint32_t step = 0; step < thr_store_n_steps(part); step++)
            THR_TRY(thr_store_step(c->store, part, step, count_run, &k, err));
        THR_TRY(backend->download(part->stream, bins, op->bins, sizeof bins, err));
        THR_TRY(backend->wait(part->stream, err));
        const uint32_t left = 64 - op->prefix_bits, digit = left < THR_COUNT_BITS ? left : THR_COUNT_BITS;
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

static thr_status collect_again(const thr_collecting *c, thr_store_part *part, const part_plan *plan,
                                const part_memory *m, uint32_t q, thr_error *err) {
    const thr_backend *backend = c->store->backend;
    uint64_t threshold = 0;
    THR_TRY(find_threshold(c, part, plan, q, &threshold, err));
    THR_TRY(backend->upload(part->stream, m->thresholds + q, &threshold, sizeof threshold, err));
    THR_TRY(emit(c, part, plan, m, q, 1, err));
    THR_TRY(choose(c, part, plan, m, q, 1, err));
    THR_TRY(backend->wait(part->stream, err));
    if (m->host_counts[q] >= plan->wanted && m->host_counts[q] <= plan->capacity)
        return THR_OK;
    return thr_fail(err, THR_EDEVICE, "a GPU counted %u rows, then found %u", plan->wanted, m->host_counts[q]);
}

/* ---------------------------------------------------------------------------------------------- collecting */

static void push(const thr_store_part *part, thr_collector *collector, const thr_device_item *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float score;
        memcpy(&score, &items[i].score, sizeof score);
        if (i % THR_BLOCK_ITEMS == 0)
            thr_collector_reserve(collector);
        if (items[i].key >> 32 == 0)
            continue; /* an empty bucket's */
        thr_collector_push(collector, part->first_block * THR_BLOCK_ITEMS + (uint32_t)~items[i].key, score,
                           items[i].distance);
    }
}

static thr_status finish_part(const thr_collecting *c, thr_store_part *part, const part_plan *plan,
                              const part_memory *m, thr_error *err) {
    if (m->host_counts == NULL) /* nothing is wanted of it */
        return THR_OK;
    const bool exact = c->job->context->selection != THR_SELECTION_PAPER || !takes_buckets(c->job, part);
    THR_TRY(c->store->backend->wait(part->stream, err));
    for (uint32_t q = 0; q < c->n; q++) {
        if (exact && (m->host_counts[q] > plan->capacity || m->host_counts[q] < plan->wanted))
            THR_TRY(collect_again(c, part, plan, m, q, err));
        push(part, &c->lanes[q]->collector, m->host_chosen + (size_t)q * plan->wanted, m->host_counts[c->n + q]);
    }
    return THR_OK;
}

/* Whether a batch goes over a part's codes in steps, a part of which something is wanted. */
static bool takes_steps(const thr_collecting *c, const thr_store_part *part, const part_plan *plan) {
    return plan->wanted > 0 && !takes_buckets(c->job, part);
}

/* The pass of a batch on all parts: a step of each, then the next. */
static thr_status pass_all(const thr_collecting *c, const part_plan *plans, const part_memory *memories,
                           thr_error *err) {
    uint32_t n_steps = 0;
    for (uint32_t i = 0; i < c->store->n_parts; i++) {
        const uint32_t n = thr_store_n_steps(&c->store->parts[i]);
        n_steps = n > n_steps ? n : n_steps;
    }
    for (uint32_t step = 0; step < n_steps; step++)
        for (uint32_t i = 0; i < c->store->n_parts; i++) {
            thr_store_part *part = &c->store->parts[i];
            emission e = {c, &plans[i], &memories[i], 0, c->n};
            if (takes_steps(c, part, &plans[i]) && step < thr_store_n_steps(part))
                THR_TRY(thr_store_step(c->store, part, step, emit_run, &e, err));
        }
    return THR_OK;
}

static thr_status collect_batch(const thr_collecting *c, const part_plan *plans, thr_error *err) {
    part_memory memories[THR_MAX_DEVICES] = {{0}};
    for (uint32_t q = 0; q < c->n; q++)
        THR_TRY(thr_collector_start(&c->lanes[q]->collector, c->job->context, c->job->survivors, 0, -INFINITY, err));
    for (uint32_t i = 0; i < c->store->n_parts; i++)
        THR_TRY(start_part(c, &c->store->parts[i], &plans[i], &memories[i], err));
    THR_TRY(pass_all(c, plans, memories, err));
    for (uint32_t i = 0; i < c->store->n_parts; i++)
        if (takes_steps(c, &c->store->parts[i], &plans[i]))
            THR_TRY(choose(c, &c->store->parts[i], &plans[i], &memories[i], 0, c->n, err));
    for (uint32_t i = 0; i < c->store->n_parts; i++)
        THR_TRY(finish_part(c, &c->store->parts[i], &plans[i], &memories[i], err));
    for (uint32_t q = 0; q < c->n; q++)
        thr_collector_finish(&c->lanes[q]->collector);
    return THR_OK;
}

/* All rows of a part within the margin of the survivors' last score, to the query's collector. */
static thr_status collect_margin(const thr_collecting *c, thr_store_part *part, float least, uint64_t n_allowed,
                                 thr_error *err) {
    const thr_backend *backend = c->store->backend;
    thr_collector *collector = &c->lanes[0]->collector;
    uint32_t bits, capacity = n_allowed < MARGIN_ITEMS ? (uint32_t)n_allowed : MARGIN_ITEMS;
    memcpy(&bits, &least, sizeof bits);
    bits = bits << 1 == 0 ? 0 : bits; /* 0 and -0 are the same here, as in keys */
    const uint64_t threshold = (uint64_t)((bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u) << 32;
    while (n_allowed > 0) {
        part_memory m;
        const part_plan plan = {.n_allowed = n_allowed, .wanted = capacity, .capacity = capacity};
        THR_TRY(get_memory(c, part, &plan, &m, err));
        THR_TRY(backend->upload(part->stream, m.thresholds, &threshold, sizeof threshold, err));
        THR_TRY(emit(c, part, &plan, &m, 0, 1, err));
        THR_TRY(choose(c, part, &plan, &m, 0, 1, err));
        THR_TRY(backend->wait(part->stream, err));
        if (m.host_counts[0] <= capacity) {
            push(part, collector, m.host_chosen, m.host_counts[1]);
            return THR_OK;
        }
        capacity = m.host_counts[0];
    }
    return THR_OK;
}

/* The one query of a batch: what the collector holds, and all that is within the margin of its last. */
static thr_status widen(const thr_collecting *c, const part_plan *plans, float margin, thr_error *err) {
    thr_collector *collector = &c->lanes[0]->collector;
    float worst = INFINITY;
    for (size_t i = 0; i < collector->n; i++)
        worst = collector->items[i].score < worst ? collector->items[i].score : worst;
    if (collector->n < c->job->survivors)
        return THR_OK; /* these are all that may be found */
    THR_TRY(thr_collector_start(collector, c->job->context, c->job->survivors, margin, -INFINITY, err));
    for (uint32_t i = 0; i < c->store->n_parts; i++)
        THR_TRY(collect_margin(c, &c->store->parts[i], worst - margin, plans[i].n_allowed, err));
    thr_collector_finish(collector);
    if (collector->status != THR_OK)
        return thr_fail(err, collector->status, "no memory for all rows within the margin: lower extra");
    return THR_OK;
}

/* So many queries at once that what they let through has room on every part. */
static uint32_t batch_size(const thr_store *store, const part_plan *plans) {
    uint64_t size = THR_STORE_QUERIES;
    for (uint32_t i = 0; i < store->n_parts; i++) {
        const uint64_t spare = store->parts[i].spare_bytes / SPARE_PART,
                       one = plans[i].capacity * sizeof(thr_device_item);
        const uint64_t most = spare < BATCH_BYTES ? spare : BATCH_BYTES;
        size = size * one > most ? most / one : size;
    }
    return size < 1 ? 1 : (uint32_t)size;
}

static thr_status collect(thr_store *store, const thr_job *job, thr_scan_query *const *queries, thr_lane *const *lanes,
                          uint32_t n, thr_error *err) {
    part_plan plans[THR_MAX_DEVICES];
    thr_collecting c = {store, job, queries, lanes, n};
    for (uint32_t i = 0; i < store->n_parts; i++) {
        plans[i] = plan_part(job, &store->parts[i]);
        if (plans[i].wanted > 0)
            THR_TRY(thr_store_send_filter(&c, &store->parts[i], err));
    }
    const bool margins = thr_margin_of(job, queries[0]) > 0;
    const uint32_t size = margins ? 1 : batch_size(store, plans);
    for (uint32_t first = 0; first < n; first += size) {
        c.queries = queries + first;
        c.lanes = lanes + first;
        c.n = n - first < size ? n - first : size;
        THR_TRY(collect_batch(&c, plans, err));
        if (margins)
            THR_TRY(widen(&c, plans, thr_margin_of(job, queries[first]), err));
    }
    return THR_OK;
}

thr_status thr_store_collect(thr_store *store, const thr_job *job, thr_scan_query *queries, size_t n, thr_lane *lanes,
                             thr_error *err) {
    thr_scan_query *with_direction[THR_STORE_QUERIES];
    thr_lane *their_lanes[THR_STORE_QUERIES];
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        queries[i].collected = queries[i].norm == 0 && job->target->metric != THR_METRIC_L2;
        if (queries[i].collected) {
            THR_TRY(thr_collect_first(job, &queries[i], &lanes[i], err));
        } else {
            with_direction[m] = &queries[i];
            their_lanes[m++] = &lanes[i];
        }
    }
    if (m == 0)
        return THR_OK;
    (void)pthread_mutex_lock(&store->mutex);
    const thr_status status = collect(store, job, with_direction, their_lanes, m, err);
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}
