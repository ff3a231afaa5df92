/* SPDX-License-Identifier: Apache-2.0 */
/* group_search.c - screens the blocks of several queries' passes together, each block once. */
#include "cells/group_search.h"

#include "base/error.h"
#include "base/minmax.h"
#include "cells/passes.h"
#include "parallel/pool.h"
#include "scan/way.h"

enum {
    MOST_SLOTS = THR_GROUP, /* per thread */
    CHUNK = 256,            /* queries that a thread takes at once, at most */
    LEAST_SHARED = 1        /* a pass waits if as large ones in all slots read each block more often, on average */
};

/* A query whose pass waits, and the next of its runs of blocks (thr_cells_subset) to screen. */
typedef struct waiting {
    thr_cells_visit *visit;
    thr_cells_pass *pass;
    size_t run;
} waiting;

/* ------------------------------------------------------------------------------------------------ the sweep */

/*
 * The next run of blocks, from `from` on, that are all read by the same queries; THR_RADIUS_BLOCKS at most. *members
 * receives a bit for each of these queries, or 0 if no query reads any more blocks.
 */
static thr_block_range next_blocks(waiting *all, size_t n, uint64_t from, uint64_t *members) {
    thr_block_range blocks = {UINT64_MAX, UINT64_MAX};
    *members = 0;
    for (size_t i = 0; i < n; i++) {
        const thr_cells_subset *part = &all[i].visit->v->part;
        if (all[i].run < part->n_segments && part->runs[all[i].run].end <= from)
            all[i].run++;
        if (all[i].run == part->n_segments)
            continue;
        const thr_block_range *run = &part->runs[all[i].run];
        const uint64_t first = THR_MAX(run->first, from);
        if (first < blocks.first) {
            blocks.end = THR_MIN(blocks.first, run->end);
            blocks.first = first;
            *members = UINT64_C(1) << i;
        } else if (first == blocks.first) {
            blocks.end = THR_MIN(run->end, blocks.end);
            *members |= UINT64_C(1) << i;
        } else {
            blocks.end = THR_MIN(first, blocks.end);
        }
    }
    if (*members != 0 && blocks.end - blocks.first > THR_RADIUS_BLOCKS)
        blocks.end = blocks.first + THR_RADIUS_BLOCKS;
    return blocks;
}

/* Screen blocks for the queries that read them. If a radius search then has many survivors, it rescores them now. */
static thr_status screen_blocks(const waiting *all, uint64_t members, thr_block_range blocks, thr_way way,
                                thr_error *err) {
    thr_scan_share shares[MOST_SLOTS];
    uint32_t n = 0;
    for (uint64_t left = members; left != 0; left &= left - 1) {
        const waiting *w = &all[__builtin_ctzll(left)];
        const thr_cells_subset *part = &w->visit->v->part;
        shares[n++] = (thr_scan_share){&w->pass->query, w->visit->lane, &part->segments[w->run],
                                       blocks.first - part->runs[w->run].first};
    }
    thr_scan_screen_shares(shares, n, (size_t)(blocks.end - blocks.first), way);
    for (uint64_t left = members; left != 0; left &= left - 1) {
        const waiting *w = &all[__builtin_ctzll(left)];
        thr_cells_visit *s = w->visit;
        if (s->least > -INFINITY && s->lane->collector.n > THR_RADIUS_ROWS)
            THR_TRY(thr_scan_radius_accept(&s->job, &s->radius, &w->pass->plan, s->lane, err));
    }
    return THR_OK;
}

/*
 * Screen the passes of n slots. A pass for the best rows is incomplete if fewer rows than it needs reached its sampled
 * threshold: that was too high.
 */
static thr_status sweep(const thr_cells_job *job, const size_t *slots, size_t n, thr_error *err) {
    const thr_job *whole = &job->plan.whole;
    const thr_way way = thr_scan_way_choose(job->plan.context, whole->corpus->quantiser->n_dims, whole->corpus->lead,
                                            whole->query_bits, 1);
    waiting all[MOST_SLOTS];
    uint64_t members;
    for (size_t i = 0; i < n; i++)
        all[i] = (waiting){&job->workspace->visits[slots[i]], &job->workspace->passes[slots[i]], 0};
    for (uint64_t from = 0;;) {
        const thr_block_range blocks = next_blocks(all, n, from, &members);
        if (members == 0)
            break;
        THR_TRY(screen_blocks(all, members, blocks, way, err));
        from = blocks.end;
    }
    for (size_t i = 0; i < n; i++) {
        thr_cells_pass *pass = all[i].pass;
        const bool best = all[i].visit->least == -INFINITY;
        pass->rows_of_index = false;
        pass->is_complete = !best || pass->threshold == -INFINITY || all[i].visit->lane->collector.n >= pass->most;
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ queries */

/* A search on all threads. Each has n_slots slots, and takes `chunk` queries at once. */
typedef struct group_search {
    const thr_cells_job *job;
    size_t n_slots;
    uint64_t chunk;
    uint64_t least_blocks; /* a pass over so many blocks or more waits */
} group_search;

/* A thread's slots: first the n_waiting whose queries wait, then the free ones. */
typedef struct crowd {
    size_t slots[MOST_SLOTS];
    uint64_t rows[MOST_SLOTS]; /* the number of the query in slots[i] */
    size_t n_waiting;
} crowd;

/* Screen all passes that wait, and bring each query to its next such pass, or to its end, which frees its slot. */
static thr_status advance_all(const group_search *g, crowd *c, thr_error *err) {
    const size_t n = c->n_waiting;
    THR_TRY(sweep(g->job, c->slots, n, err));
    c->n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t slot = c->slots[i];
        const uint64_t row = c->rows[i];
        THR_TRY(thr_cells_pass_continue(g->job, row, slot, g->least_blocks, err));
        if (!g->job->workspace->passes[slot].waits)
            continue;
        c->slots[i] = c->slots[c->n_waiting];
        c->slots[c->n_waiting] = slot;
        c->rows[c->n_waiting++] = row;
    }
    return THR_OK;
}

static thr_status search_chunk(void *arg, size_t number, uint32_t worker, thr_error *err) {
    const group_search *g = arg;
    const uint64_t first = number * g->chunk, left = g->job->queries->n_rows - first;
    const uint64_t end = first + THR_MIN(left, g->chunk);
    crowd c = {.n_waiting = 0};
    for (size_t i = 0; i < g->n_slots; i++)
        c.slots[i] = worker * g->n_slots + i;
    for (uint64_t row = first; row < end;) {
        if (c.n_waiting == g->n_slots) {
            THR_TRY(advance_all(g, &c, err));
            continue;
        }
        const size_t slot = c.slots[c.n_waiting];
        THR_TRY(thr_cells_pass_begin(g->job, row, slot, g->least_blocks, err));
        if (g->job->workspace->passes[slot].waits)
            c.rows[c.n_waiting++] = row;
        row++;
    }
    while (c.n_waiting > 0)
        THR_TRY(advance_all(g, &c, err));
    return THR_OK;
}

/* Queries per thread, rounded up. */
static uint64_t queries_per_thread(const thr_cells_job *job) {
    return THR_CEIL_DIV(job->queries->n_rows, job->plan.context->n_threads);
}

uint32_t thr_cells_group_slots(const thr_cells_job *job) {
    const uint64_t share = queries_per_thread(job);
    const uint64_t most = thr_cells_slots_in_memory(job) / job->plan.context->n_threads;
    uint64_t n = THR_MIN(share, MOST_SLOTS);
    n = THR_MIN(n, most);
    return (uint32_t)THR_MAX(1, n) * job->plan.context->n_threads;
}

thr_status thr_cells_search_in_groups(const thr_cells_job *job, uint32_t n_slots, thr_error *err) {
    const uint64_t share = queries_per_thread(job);
    group_search g = {.job = job,
                      .n_slots = n_slots / job->plan.context->n_threads,
                      .chunk = THR_MIN(share, CHUNK),
                      .least_blocks = UINT64_MAX};
    if (g.n_slots > 1)
        g.least_blocks = LEAST_SHARED * job->plan.n_blocks / g.n_slots + 1;
    return thr_parallel_try(job->plan.context, (size_t)THR_CEIL_DIV(job->queries->n_rows, g.chunk), search_chunk, &g,
                            err);
}
