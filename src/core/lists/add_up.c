/* SPDX-License-Identifier: Apache-2.0 */
/* add_up.c - a pass over posting lists: moves a cursor per stream, and adds up a window's sums, form by form. */
#include "lists/add_up.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/*
 * Return the number of elements that a stream has in a window, the first of them in *first, and advance the cursor past
 * them.
 */
static inline uint32_t take_stretch(const thr_lists_term *s, thr_lists_cursor *c, uint32_t window, uint32_t *first) {
    if (c->stretch == s->n_stretches || s->windows[c->stretch] != window)
        return 0;
    const uint32_t n = s->sizes[c->stretch++] + 1u;
    *first = c->element;
    c->element += n;
    return n;
}

static void add_places(const uint16_t *places, uint32_t n, int32_t weight, int32_t *sums) {
    for (uint32_t i = 0; i < n; i++)
        sums[places[i]] = thr_add_wrapping(sums[places[i]], weight);
}

static void add_all_places(const thr_lists_query *query, thr_lists_cursor *cursors, uint32_t window, int32_t *sums) {
    for (size_t i = 0; i < query->n[THR_LISTS_PLACES]; i++) {
        const thr_lists_term *s = &query->terms[THR_LISTS_PLACES][i];
        uint32_t first = 0;
        const uint32_t n = take_stretch(s, &cursors[i], window, &first);
        /* the next window's: hardware prefetchers do not follow so many streams */
        __builtin_prefetch(query->lists->places + cursors[i].element);
        add_places(query->lists->places + first, n, s->weight, sums);
    }
}

static void add_all_runs(const thr_kernels *kernels, const thr_lists_query *query, thr_lists_cursor *cursors,
                         uint32_t window, int32_t *sums) {
    for (size_t i = 0; i < query->n[THR_LISTS_RUNS]; i++) {
        const thr_lists_term *s = &query->terms[THR_LISTS_RUNS][i];
        uint32_t first = 0;
        const uint32_t n = take_stretch(s, &cursors[i], window, &first);
        const uint16_t *runs = query->lists->runs + 2 * (size_t)first;
        for (uint32_t run = 0; run < n; run++)
            kernels->add_run(sums + runs[2 * run], runs[2 * run + 1] + (size_t)1, s->weight);
    }
}

/* Elements handled at once; containers prefetched ahead; the container number after a stream's last. */
enum { AT_ONCE = 64, AHEAD = 8, NO_CONTAINER = THR_LISTS_WINDOW_CONTAINERS };

typedef struct bitmap_stretches {
    const uint8_t *containers[AT_ONCE], *ends[AT_ONCE], *bitmaps[AT_ONCE]; /* of the next container of each stream */
    /* number of that container, or NO_CONTAINER at the end */
    uint32_t next[AT_ONCE];
    int32_t weights[AT_ONCE];
    size_t n;
} bitmap_stretches;

/*
 * Add container by container, so that the sums of a container stay in registers while the bitmaps of all features are
 * added. Whether a feature has a bitmap in a container is unpredictable, so there is no branch on it.
 */
static void add_bitmap_stretches(const thr_kernels *kernels, bitmap_stretches *p, int32_t *sums) {
    for (uint32_t container = 0; container < THR_LISTS_WINDOW_CONTAINERS; container++) {
        const uint8_t *bitmaps[AT_ONCE];
        int32_t weights[AT_ONCE];
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++) {
            const uint32_t has = p->next[i] == container;
            bitmaps[n] = p->bitmaps[i];
            weights[n] = p->weights[i];
            n += has;
            p->containers[i] += has;
            p->bitmaps[i] += has * THR_LISTS_BITMAP_BYTES;
            p->next[i] = p->containers[i] < p->ends[i] ? *p->containers[i] : NO_CONTAINER;
            /* hardware prefetchers do not follow so many streams */
            __builtin_prefetch(p->bitmaps[i] + AHEAD * THR_LISTS_BITMAP_BYTES);
        }
        if (n > 0)
            kernels->add_bitmaps(sums + (size_t)container * THR_LISTS_CONTAINER_PLACES, bitmaps, weights, n);
    }
    p->n = 0;
}

static void add_all_bitmaps(const thr_kernels *kernels, const thr_lists_query *query, thr_lists_cursor *cursors,
                            uint32_t window, int32_t *sums) {
    bitmap_stretches p = {.n = 0};
    for (size_t i = 0; i < query->n[THR_LISTS_BITMAPS]; i++) {
        const thr_lists_term *s = &query->terms[THR_LISTS_BITMAPS][i];
        uint32_t first = 0;
        const uint32_t n = take_stretch(s, &cursors[i], window, &first);
        if (n == 0)
            continue;
        p.containers[p.n] = query->lists->bitmap_containers + first;
        p.ends[p.n] = p.containers[p.n] + n;
        p.next[p.n] = *p.containers[p.n];
        p.bitmaps[p.n] = query->lists->bitmaps + (size_t)first * THR_LISTS_BITMAP_BYTES;
        p.weights[p.n++] = s->weight;
        if (p.n == AT_ONCE)
            add_bitmap_stretches(kernels, &p, sums);
    }
    if (p.n > 0)
        add_bitmap_stretches(kernels, &p, sums);
}

static void add_singles(const thr_lists_query *query, uint32_t window, int32_t *sums) {
    const uint32_t end = query->window_ends[window];
    for (uint32_t i = window == 0 ? 0 : query->window_ends[window - 1]; i < end; i++) {
        int32_t *sum = sums + query->singles[i].place % THR_LISTS_WINDOW;
        *sum = thr_add_wrapping(*sum, query->singles[i].weight);
    }
}

/*
 * Add the query to sums[i], in units, for the THR_LISTS_WINDOW places of a window, and advance the cursors to the next
 * one. The cursors must be at this window.
 */
static void add_window(const thr_kernels *kernels, const thr_lists_query *query, thr_lists_cursor *cursors,
                       uint32_t window, int32_t *sums) {
    add_singles(query, window, sums);
    add_all_places(query, cursors, window, sums);
    cursors += query->n[THR_LISTS_PLACES];
    add_all_runs(kernels, query, cursors, window, sums);
    add_all_bitmaps(kernels, query, cursors + query->n[THR_LISTS_RUNS], window, sums);
}

/* Set the cursors, one per stream, form after form, to the first window. */
static void rewind_cursors(const thr_lists_query *query, thr_lists_cursor *cursors) {
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (size_t i = 0; i < query->n[form]; i++)
            *cursors++ = (thr_lists_cursor){0, query->terms[form][i].begin};
}

/* Advance them to a later window. */
static void skip_windows(const thr_lists_query *query, thr_lists_cursor *cursors, uint32_t window) {
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        for (size_t i = 0; i < query->n[form]; i++, cursors++) {
            const thr_lists_term *s = &query->terms[form][i];
            for (; cursors->stretch < s->n_stretches && s->windows[cursors->stretch] < window; cursors->stretch++)
                cursors->element += s->sizes[cursors->stretch] + 1u;
        }
}

/* ------------------------------------------------------------------------------------------------ passes */

thr_status thr_lists_pass_reserve(thr_context *context, thr_lists_pass *pass, size_t n, thr_error *err) {
    return thr_grow(context, &pass->cursors, &pass->capacity, n > 0 ? n : 1, sizeof *pass->cursors, "a search", err);
}

thr_status thr_lists_pass_start(thr_context *context, thr_lists_pass *pass, const thr_lists_query *query,
                                thr_error *err) {
    THR_TRY(thr_lists_pass_reserve(context, pass, thr_lists_query_n_terms(query), err));
    pass->query = query;
    pass->next = 0;
    rewind_cursors(query, pass->cursors);
    return THR_OK;
}

void thr_lists_pass_free(thr_context *context, thr_lists_pass *pass) {
    thr_release(context, pass->cursors);
    pass->cursors = NULL;
    pass->capacity = 0;
}

void thr_lists_pass_add(const thr_kernels *kernels, thr_lists_pass *pass, uint32_t window, int32_t *sums) {
    if (window < pass->next)
        rewind_cursors(pass->query, pass->cursors);
    if (window != pass->next)
        skip_windows(pass->query, pass->cursors, window);
    add_window(kernels, pass->query, pass->cursors, window, sums);
    pass->next = window + 1;
}

const int32_t *thr_lists_pass_window(const thr_kernels *kernels, thr_lists_pass *pass, uint32_t window) {
    memset(pass->sums, 0, sizeof pass->sums);
    thr_lists_pass_add(kernels, pass, window, pass->sums);
    return pass->sums;
}
