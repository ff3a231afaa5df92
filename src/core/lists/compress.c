/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress.c - builds posting lists: transposes the items' features (lists/transpose), cuts every feature's items into
 * containers, chooses a form for each container, and writes them.
 *
 * Each thread takes whole pieces of features. A first pass counts the elements of every piece; prefix sums of the
 * counts give the positions; a second pass, the same code, writes. So the result does not depend on the threads.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lists/lists.h"
#include "lists/transpose.h"
#include "parallel/pool.h"

enum {
    PIECE_POSTINGS = 1 << 16,
    BITMAP_LEAST =
        24, /* from this many items of a container a bitmap is read faster than places; it is smaller from 17 on */
    MOST_RUNS = 4, /* of a container in runs, ... */
    RUN_LEAST = 4  /* ... if they have this many items on average */
};

/* ------------------------------------------------------------------------------------------------ containers */

/* One container of a feature: the places of its items, without repetitions. */
typedef struct container {
    uint32_t number, n, n_runs;
    uint8_t places[THR_LISTS_CONTAINER_PLACES];
} container;

/*
 * Read the container that begins at items[*at], and advance *at past it. Returns the number of repeated items.
 */
static uint64_t take_container(const uint32_t *items, uint64_t n, uint64_t *at, container *c) {
    const uint64_t first = *at;
    c->number = items[first] / THR_LISTS_CONTAINER_PLACES;
    c->n = c->n_runs = 0;
    for (; *at < n && items[*at] / THR_LISTS_CONTAINER_PLACES == c->number; ++*at) {
        const uint8_t place = (uint8_t)(items[*at] % THR_LISTS_CONTAINER_PLACES);
        if (c->n > 0 && c->places[c->n - 1] == place)
            continue;
        c->n_runs += c->n == 0 || c->places[c->n - 1] + 1 != place;
        c->places[c->n++] = place;
    }
    return *at - first - c->n;
}

static thr_lists_form choose_form(const container *c) {
    if (c->n_runs <= MOST_RUNS && c->n >= RUN_LEAST * c->n_runs)
        return THR_LISTS_RUNS;
    return c->n >= BITMAP_LEAST ? THR_LISTS_BITMAPS : THR_LISTS_PLACES;
}

/* ------------------------------------------------------------------------------------------------ pieces */

/* Counts in the first pass, positions in the second. */
typedef struct tally {
    uint64_t elements[THR_LISTS_N_FORMS];
    uint64_t lists, entries, stretches, postings, repeated;
} tally;

typedef struct piece {
    uint32_t begin, end; /* of lists->features */
    tally tally;
} piece;

typedef struct build {
    thr_postings sorted;
    thr_lists *lists;
    piece *pieces;
    size_t n_pieces;
    bool writing;
    /* The arrays of the view, writable. */
    uint32_t *features, *refs, *sizes, *first_entries, *entry_begins, *entry_stretches;
    uint16_t *stretch_sizes, *places, *runs;
    uint8_t *entry_forms, *stretch_windows, *bitmap_containers, *bitmaps;
} build;

/* The stretches of one feature in one form, while its containers are processed. */
typedef struct open_entry {
    uint64_t begin, n; /* elements */
    uint32_t n_stretches;
    uint32_t last_end; /* of the last run: the place after its end, in its window */
    uint8_t windows[THR_LISTS_MAX_WINDOWS];
    uint16_t sizes[THR_LISTS_MAX_WINDOWS];
} open_entry;

/* Append an element in a window; return its position. */
static uint64_t add_element(open_entry *e, uint32_t window) {
    if (e->n_stretches == 0 || e->windows[e->n_stretches - 1] != window) {
        e->windows[e->n_stretches] = (uint8_t)window;
        e->sizes[e->n_stretches++] = 0;
        e->last_end = 0;
    } else {
        e->sizes[e->n_stretches - 1]++;
    }
    return e->begin + e->n++;
}

static void put_places(const build *w, const container *c, uint32_t first, open_entry *e) {
    for (uint32_t i = 0; i < c->n; i++) {
        const uint64_t at = add_element(e, c->number / THR_LISTS_WINDOW_CONTAINERS);
        if (w->writing)
            w->places[at] = (uint16_t)(first + c->places[i]);
    }
}

/* A run that begins where the last one ended extends that one. */
static void put_runs(const build *w, const container *c, uint32_t first, open_entry *e) {
    const uint32_t window = c->number / THR_LISTS_WINDOW_CONTAINERS;
    for (uint32_t i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && c->places[end] == c->places[end - 1] + 1;)
            end++;
        const uint32_t start = first + c->places[i];
        const bool extends =
            e->n_stretches > 0 && e->windows[e->n_stretches - 1] == window && e->last_end == start && start > 0;
        const uint64_t at = extends ? e->begin + e->n - 1 : add_element(e, window);
        if (w->writing && !extends)
            w->runs[2 * at] = (uint16_t)start;
        if (w->writing)
            w->runs[2 * at + 1] = (uint16_t)(start + (end - i) - 1 - w->runs[2 * at]);
        e->last_end = start + (end - i);
    }
}

static void put_bitmap(const build *w, const container *c, open_entry *e) {
    const uint64_t at = add_element(e, c->number / THR_LISTS_WINDOW_CONTAINERS);
    if (!w->writing)
        return;
    uint8_t *bitmap = w->bitmaps + at * THR_LISTS_BITMAP_BYTES;
    memset(bitmap, 0, THR_LISTS_BITMAP_BYTES);
    for (uint32_t i = 0; i < c->n; i++)
        bitmap[c->places[i] / 8] |= (uint8_t)(1u << c->places[i] % 8);
    w->bitmap_containers[at] = (uint8_t)(c->number % THR_LISTS_WINDOW_CONTAINERS);
}

/* Write the stretches as an entry, if there are any. */
static void close_entry(const build *w, tally *t, thr_lists_form form, const open_entry *e) {
    if (e->n == 0)
        return;
    if (w->writing) {
        w->entry_forms[t->entries] = (uint8_t)form;
        w->entry_begins[t->entries] = (uint32_t)e->begin;
        if (w->lists->entry_stretches != NULL)
            w->entry_stretches[t->entries] = (uint32_t)t->stretches;
        memcpy(w->stretch_windows + t->stretches, e->windows, e->n_stretches);
        memcpy(w->stretch_sizes + t->stretches, e->sizes, e->n_stretches * sizeof *e->sizes);
    }
    t->entries++;
    t->stretches += e->n_stretches;
    t->elements[form] += e->n;
}

/* Write a feature that has one distinct item, given n times. */
static void put_single(const build *w, uint32_t f, tally *t, uint32_t item, uint64_t n) {
    if (w->writing)
        w->refs[f] = item | THR_LISTS_SINGLE;
    t->postings++;
    t->repeated += n - 1;
}

/* Write a feature that has several items. */
static void put_list(const build *w, uint32_t f, tally *t, open_entry open[THR_LISTS_N_FORMS]) {
    const uint32_t *items = w->sorted.places + w->sorted.starts[f];
    const uint64_t n = w->sorted.starts[f + 1] - w->sorted.starts[f];
    uint32_t size = 0;
    container b;
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++) {
        open[form].begin = t->elements[form];
        open[form].n = open[form].n_stretches = 0;
    }
    for (uint64_t at = 0; at < n;) {
        t->repeated += take_container(items, n, &at, &b);
        const uint32_t first = b.number % THR_LISTS_WINDOW_CONTAINERS * THR_LISTS_CONTAINER_PLACES;
        const thr_lists_form form = choose_form(&b);
        if (form == THR_LISTS_PLACES)
            put_places(w, &b, first, &open[form]);
        else if (form == THR_LISTS_RUNS)
            put_runs(w, &b, first, &open[form]);
        else
            put_bitmap(w, &b, &open[form]);
        size += b.n;
    }
    if (w->writing) {
        w->refs[f] = (uint32_t)t->lists;
        w->sizes[t->lists] = size;
        w->first_entries[t->lists] = (uint32_t)t->entries;
    }
    t->lists++;
    t->postings += size;
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
        close_entry(w, t, (thr_lists_form)form, &open[form]);
}

static void run_piece(void *arg, size_t number, uint32_t worker) {
    (void)worker;
    const build *w = arg;
    piece *p = &w->pieces[number];
    open_entry open[THR_LISTS_N_FORMS];
    for (uint32_t f = p->begin; f < p->end; f++) {
        const uint64_t first = w->sorted.starts[f], last = w->sorted.starts[f + 1] - 1;
        if (w->sorted.places[first] == w->sorted.places[last]) /* items are sorted */
            put_single(w, f, &p->tally, w->sorted.places[first], last - first + 1);
        else
            put_list(w, f, &p->tally, open);
    }
}

/* ------------------------------------------------------------------------------------------------ together */

static thr_status cut(thr_context *context, build *w, thr_error *err) {
    const thr_postings *s = &w->sorted;
    const uint64_t n_postings = s->starts[s->n_features];
    THR_TRY(thr_alloc_zero(context, n_postings / PIECE_POSTINGS + 1, sizeof *w->pieces, &w->pieces, "pieces", err));
    uint64_t begin = 0;
    w->n_pieces = s->n_features > 0;
    for (uint32_t f = 0; f < s->n_features; f++) {
        if (s->starts[f] - begin >= PIECE_POSTINGS) {
            begin = s->starts[f];
            w->pieces[w->n_pieces++].begin = f;
        }
        w->pieces[w->n_pieces - 1].end = f + 1;
    }
    return THR_OK;
}

/* Replace *n by *sum, and add the old *n to *sum. */
static void count_to_position(uint64_t *n, uint64_t *sum) {
    const uint64_t had = *n;
    *n = *sum;
    *sum += had;
}

/* Turn the counts of pieces into positions. */
static thr_status position_pieces(build *w, tally *all, thr_error *err) {
    thr_lists *lists = w->lists;
    *all = (tally){.entries = 0};
    for (size_t i = 0; i < w->n_pieces; i++) {
        tally *t = &w->pieces[i].tally;
        count_to_position(&t->lists, &all->lists);
        count_to_position(&t->entries, &all->entries);
        count_to_position(&t->stretches, &all->stretches);
        count_to_position(&t->postings, &all->postings);
        count_to_position(&t->repeated, &all->repeated);
        for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++)
            count_to_position(&t->elements[form], &all->elements[form]);
    }
    bool fits = all->stretches <= UINT32_MAX;
    for (uint32_t form = 0; form < THR_LISTS_N_FORMS; form++) {
        fits = fits && all->elements[form] <= UINT32_MAX;
        lists->n_elements[form] = (uint32_t)all->elements[form];
    }
    if (!fits)
        return thr_fail(err, THR_EINVAL, "more than 2^32 postings of one form: build the items in several files");
    lists->n_lists = (uint32_t)all->lists;
    lists->n_entries = (uint32_t)all->entries;
    lists->n_stretches = (uint32_t)all->stretches;
    lists->n_postings = all->postings;
    return THR_OK;
}

/* Whether the features are 0, 1, 2, ... */
static bool are_consecutive(const thr_postings *sorted) {
    return sorted->n_features == 0 || sorted->features[sorted->n_features - 1] == sorted->n_features - 1;
}

/* Allocate one block of memory for all arrays, in an order that keeps each aligned: bitmaps, then u32, u16 and u8. */
static thr_status lay_out(thr_context *context, build *w, void **memory, thr_error *err) {
    thr_lists *l = w->lists;
    const size_t n_features = l->n_features, n_lists = l->n_lists, n_entries = l->n_entries;
    const size_t n_bitmaps = l->n_elements[THR_LISTS_BITMAPS];
    const bool numbered = !are_consecutive(&w->sorted), several = l->n_stretches > l->n_entries;
    const uint32_t none = 0;
    l->features = numbered ? &none : NULL; /* thr_lists_bytes only tests them for NULL */
    l->entry_stretches = several ? &none : NULL;
    THR_TRY(thr_alloc(context, (size_t)thr_lists_bytes(l), 1, memory, "posting lists", err));
    l->bitmaps = w->bitmaps = *memory;
    w->features = (uint32_t *)(void *)(w->bitmaps + n_bitmaps * THR_LISTS_BITMAP_BYTES);
    if (numbered)
        l->features = memcpy(w->features, w->sorted.features, n_features * sizeof *w->features);
    l->refs = w->refs = w->features + (numbered ? n_features : 0);
    l->sizes = w->sizes = w->refs + n_features;
    l->first_entries = w->first_entries = w->sizes + n_lists;
    l->entry_begins = w->entry_begins = w->first_entries + n_lists + 1;
    w->entry_stretches = w->entry_begins + n_entries;
    l->entry_stretches = several ? w->entry_stretches : NULL;
    l->places = w->places = (uint16_t *)(void *)(w->entry_stretches + (several ? n_entries + 1 : 0));
    l->runs = w->runs = w->places + l->n_elements[THR_LISTS_PLACES];
    l->stretch_sizes = w->stretch_sizes = w->runs + 2 * (size_t)l->n_elements[THR_LISTS_RUNS];
    l->stretch_windows = w->stretch_windows = (uint8_t *)(void *)(w->stretch_sizes + l->n_stretches);
    l->entry_forms = w->entry_forms = w->stretch_windows + l->n_stretches;
    l->bitmap_containers = w->bitmap_containers = w->entry_forms + n_entries;
    return THR_OK;
}

thr_status thr_lists_build(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                           thr_built_lists *built, thr_error *err) {
    thr_status status = THR_OK;
    build w = {.lists = &built->lists};
    tally all;
    if (items->n_items == 0 || items->n_items > THR_HITS_MAX_ITEMS)
        return thr_fail(err, THR_EDIM, "%llu items: posting lists hold 1 to %llu", (unsigned long long)items->n_items,
                        (unsigned long long)THR_HITS_MAX_ITEMS);
    THR_TRY_OUT(thr_lists_transpose(context, items, rows, &w.sorted, err));
    built->lists.n_items = (uint32_t)items->n_items;
    built->lists.n_features = w.sorted.n_features;
    THR_TRY_OUT(cut(context, &w, err));
    thr_parallel_for(context, w.n_pieces, run_piece, &w);
    THR_TRY_OUT(position_pieces(&w, &all, err));
    THR_TRY_OUT(lay_out(context, &w, &built->memory, err));
    w.writing = true;
    thr_parallel_for(context, w.n_pieces, run_piece, &w);
    w.first_entries[built->lists.n_lists] = built->lists.n_entries;
    if (built->lists.entry_stretches != NULL)
        w.entry_stretches[built->lists.n_entries] = built->lists.n_stretches;
    built->n_repeated = all.repeated;
out:
    thr_lists_postings_free(context, &w.sorted);
    thr_release(context, w.pieces);
    return status;
}

void thr_lists_built_free(thr_context *context, thr_built_lists *built) {
    thr_release(context, built->memory);
    *built = (thr_built_lists){.memory = NULL};
}
