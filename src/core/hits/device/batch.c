/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - groups queries into batches, and chooses between tiles and lists by estimated costs. */
#include "hits/device/batch.h"

#include "base/error.h"

enum { BATCH_BYTES = 256 << 20 }; /* of a batch's memory beside the lists, unless one query needs more */

/*
 * Costs of the two ways in picoseconds, computed from an H200's data sheet (docs/gpu.md) and not yet measured. By
 * tiles: two binary searches per list and tile, an addition in shared memory per element. By lists: an addition in the
 * second-level cache per step of a list, clearing and reading per sum in memory.
 */
static const double LOOK_UP_PS = 100, ELEMENT_PS = 1, STEP_PS = 12, SUM_PS = 2;

/* The steps of an entry (device/hit_ops.h). */
static uint64_t count_steps(const thr_lists_term *s, uint32_t form) {
    uint64_t n = 0;
    for (uint32_t p = 0; p < s->n_stretches; p++)
        n += s->sizes[p] + 1u;
    return s->n_stretches + (form == THR_LISTS_BITMAPS ? n * THR_HIT_BITMAP_STEPS : n);
}

/* Whether the current query is cheaper list by list. */
static bool goes_by_lists(const thr_hit_batch *b) {
    const thr_lists_query *query = &b->store->query;
    const size_t n = thr_lists_query_n_terms(query);
    double n_steps = (double)query->n_singles;
    if (b->store->way != THR_HIT_WAY_AUTO)
        return b->store->way == THR_HIT_WAY_LISTS;
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (size_t i = 0; i < query->n[form]; i++)
            n_steps += (double)count_steps(&query->terms[form][i], form);
    const double sums = (double)b->n_sums * (query->n[THR_LISTS_RUNS] > 0 ? 2 : 1);
    return n_steps * STEP_PS + sums * SUM_PS < (double)n * b->n_tiles * LOOK_UP_PS + n_steps * ELEMENT_PS;
}

/* The number of queries that fit into a batch. */
static uint32_t most_queries(const thr_hit_batch *b, bool by_lists) {
    const uint64_t items = (uint64_t)b->capacity + b->wanted, sums = by_lists ? 2 * (uint64_t)b->n_sums : 0;
    const uint64_t one =
        items * sizeof(thr_device_item) + (sums + (uint64_t)b->n_samples * THR_HIT_SAMPLE) * sizeof(uint32_t);
    const uint64_t n = BATCH_BYTES / one;
    return n < 1 ? 1 : n < THR_HIT_STORE_QUERIES ? (uint32_t)n : THR_HIT_STORE_QUERIES;
}

/* Append the current query's single places. The caller has reserved memory. */
static void append_singles(thr_hit_batch *b) {
    const thr_lists_query *query = &b->store->query;
    for (size_t i = 0; i < query->n_singles; i++)
        b->store->entries[b->n_entries++] = (thr_hit_entry){.end = ++b->n_steps,
                                                            .query = b->n,
                                                            .form = THR_HIT_ONE,
                                                            .first_stretch = query->singles[i].place,
                                                            .n_stretches = 1,
                                                            .weight = query->singles[i].weight};
}

/* Append the current query's entries of one form. The caller has reserved memory. */
static void append_form(thr_hit_batch *b, uint32_t form) {
    thr_hit_store *store = b->store;
    const thr_lists_query *query = &store->query;
    for (size_t i = 0; i < query->n[form]; i++) {
        const thr_lists_term *s = &query->terms[form][i];
        b->n_steps += count_steps(s, form);
        store->entries[b->n_entries++] =
            (thr_hit_entry){.end = b->n_steps,
                            .query = b->n,
                            .form = form,
                            .first_stretch = (uint32_t)(s->windows - store->lists->stretch_windows),
                            .n_stretches = s->n_stretches,
                            .weight = s->weight};
    }
}

_Static_assert((uint64_t)THR_HIT_STORE_QUERIES *THR_LISTS_N_FORMS *THR_HITS_MAX_FEATURES < UINT32_MAX,
               "entries of a batch are counted in 32 bits");

/* Append the current query to the batch. */
static thr_status append(thr_hit_batch *b, thr_error *err) {
    thr_hit_store *store = b->store;
    const thr_lists_query *query = &store->query;
    const size_t first = b->n_entries, n = thr_lists_query_n_terms(query) + query->n_singles;
    THR_TRY(thr_grow(store->context, &store->entries, &store->entries_capacity, first + n, sizeof *store->entries,
                     "a query", err));
    append_form(b, THR_LISTS_RUNS);
    append_form(b, THR_LISTS_PLACES);
    append_form(b, THR_LISTS_BITMAPS);
    append_singles(b);
    b->has_runs = b->has_runs || query->n[THR_LISTS_RUNS] > 0;
    store->n_unknown[b->n] = query->n_unknown;
    store->queries[b->n++] = (thr_hit_device_query){
        .unit = query->unit, .first = (uint32_t)first, .n_runs = (uint32_t)query->n[THR_LISTS_RUNS], .n = (uint32_t)n};
    return THR_OK;
}

thr_status thr_hits_batch_make(thr_hit_batch *b, const thr_hits_queries *queries, uint64_t first, thr_error *err) {
    thr_hit_store *store = b->store;
    b->first = first;
    b->n = 0;
    b->n_entries = 0;
    b->n_steps = 0;
    b->has_runs = false;
    for (uint64_t q = first; q < queries->n_queries; q++) {
        THR_TRY(thr_lists_query_of(store->context, store->lists, queries, q, &store->query, err));
        const bool by_lists = goes_by_lists(b);
        if (b->n > 0 && (by_lists != b->by_lists || b->n == most_queries(b, by_lists)))
            return THR_OK;
        b->by_lists = by_lists;
        THR_TRY(append(b, err));
    }
    return THR_OK;
}
