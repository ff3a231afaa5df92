/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building: what items have is turned round (hits/turned), then every feature's items are cut into blocks and written
 * down.
 *
 * Features are dealt with in pieces that a thread takes whole. A first pass counts the blocks of every piece in every
 * group, sums of these say where a piece writes, and a second pass writes: nothing depends on which thread was when.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "hits/lists.h"
#include "hits/turned.h"
#include "parallel/pool.h"

enum { PIECE_POSTINGS = 1 << 16 };

/* ------------------------------------------------------------------------------------------------ pieces */

/* Features that a thread takes; first what they have in every group, then where that begins. */
typedef struct piece {
    uint32_t begin, end; /* of lists->features */
    uint32_t n_entries;
    uint64_t n_postings, n_repeated;
    uint64_t n_blocks[THR_LISTS_N_GROUPS];
} piece;

typedef struct build {
    thr_postings sorted;
    thr_lists *lists;
    piece *pieces;
    size_t n_pieces;
    /* The view's arrays, to be written. */
    uint32_t *features, *sizes, *first_entries, *begins, *lengths;
    uint8_t *entry_groups;
    uint16_t *numbers[THR_LISTS_N_GROUPS];
    uint8_t *values[THR_LISTS_N_GROUPS];
} build;

/* One block of a feature: the places of its items, without those that repeat. */
typedef struct block {
    uint32_t number, n, n_runs;
    uint8_t places[THR_LISTS_BLOCK];
} block;

/* The block that begins at items[*at], which moves to the next; how many items repeated the one before them. */
static uint64_t take_block(const uint32_t *items, uint64_t n, uint64_t *at, block *b) {
    const uint64_t first = *at;
    b->number = items[first] / THR_LISTS_BLOCK;
    b->n = b->n_runs = 0;
    for (; *at < n && items[*at] / THR_LISTS_BLOCK == b->number; ++*at) {
        const uint8_t place = (uint8_t)(items[*at] % THR_LISTS_BLOCK);
        if (b->n > 0 && b->places[b->n - 1] == place)
            continue;
        b->n_runs += b->n == 0 || b->places[b->n - 1] + 1 != place;
        b->places[b->n++] = place;
    }
    return *at - first - b->n;
}

/* The form that takes the fewest bytes; ids before runs, runs before bits. */
static uint32_t choose_group(const block *b) {
    const uint32_t bits = 32, ids = b->n <= THR_LISTS_IDS ? b->n : bits;
    const uint32_t runs = b->n_runs <= THR_LISTS_RUNS ? 2 * b->n_runs : bits;
    if (ids <= runs && ids < bits)
        return b->n - 1;
    return runs < bits ? THR_LISTS_IDS + b->n_runs - 1 : THR_LISTS_BITS;
}

static void write_block(const block *b, uint32_t group, uint8_t *values) {
    if (group < THR_LISTS_IDS) {
        memcpy(values, b->places, b->n);
    } else if (group < THR_LISTS_BITS) {
        for (uint32_t i = 0, run = 0; i < b->n; run++) {
            uint32_t end = i + 1;
            while (end < b->n && b->places[end] == b->places[end - 1] + 1)
                end++;
            values[2 * run] = b->places[i];
            values[2 * run + 1] = (uint8_t)(end - i - 1);
            i = end;
        }
    } else {
        memset(values, 0, 32);
        for (uint32_t i = 0; i < b->n; i++)
            values[b->places[i] / 8] |= (uint8_t)(1u << b->places[i] % 8);
    }
}

static void count_piece(void *arg, size_t number, uint32_t worker) {
    (void)worker;
    const build *w = arg;
    piece *p = &w->pieces[number];
    block b;
    for (uint32_t f = p->begin; f < p->end; f++) {
        const uint64_t start = w->sorted.starts[f], n = w->sorted.starts[f + 1] - start;
        uint32_t seen = 0;
        for (uint64_t at = 0; at < n;) {
            p->n_repeated += take_block(w->sorted.items + start, n, &at, &b);
            const uint32_t group = choose_group(&b);
            p->n_entries += (seen >> group & 1) == 0;
            seen |= 1u << group;
            p->n_blocks[group]++;
            p->n_postings += b.n;
        }
    }
}

static void write_piece(void *arg, size_t number, uint32_t worker) {
    (void)worker;
    const build *w = arg;
    piece *p = &w->pieces[number];
    uint32_t entry = p->n_entries;
    block b;
    for (uint32_t f = p->begin; f < p->end; f++) {
        const uint64_t start = w->sorted.starts[f], n = w->sorted.starts[f + 1] - start;
        uint32_t lengths[THR_LISTS_N_GROUPS] = {0};
        w->sizes[f] = 0;
        for (uint64_t at = 0; at < n;) {
            (void)take_block(w->sorted.items + start, n, &at, &b);
            const uint32_t group = choose_group(&b);
            const uint64_t place = p->n_blocks[group] + lengths[group]++;
            w->numbers[group][place] = (uint16_t)b.number;
            write_block(&b, group, w->values[group] + place * thr_lists_group_size(group));
            w->sizes[f] += b.n;
        }
        w->first_entries[f] = entry;
        for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++) {
            if (lengths[group] == 0)
                continue;
            w->entry_groups[entry] = (uint8_t)group;
            w->begins[entry] = (uint32_t)p->n_blocks[group];
            w->lengths[entry++] = lengths[group];
            p->n_blocks[group] += lengths[group];
        }
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

/* From what pieces have to where they write. */
static thr_status add_up(build *w, uint64_t *n_repeated, thr_error *err) {
    thr_lists *lists = w->lists;
    uint64_t n_entries = 0, n_blocks[THR_LISTS_N_GROUPS] = {0};
    for (size_t i = 0; i < w->n_pieces; i++) {
        piece *p = &w->pieces[i];
        const uint64_t had = p->n_entries;
        p->n_entries = (uint32_t)n_entries;
        n_entries += had;
        lists->n_postings += p->n_postings;
        *n_repeated += p->n_repeated;
        for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++) {
            const uint64_t blocks = p->n_blocks[group];
            p->n_blocks[group] = n_blocks[group];
            n_blocks[group] += blocks;
        }
    }
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++) {
        if (n_blocks[group] > UINT32_MAX)
            return thr_fail(err, THR_EINVAL, "more than 2^32 blocks of one size: build the items in several parts");
        lists->groups[group].n_blocks = (uint32_t)n_blocks[group];
    }
    lists->n_entries = (uint32_t)n_entries;
    return THR_OK;
}

/* One piece of memory for all arrays, those of wide numbers first. */
static thr_status lay_out(thr_context *context, build *w, void **memory, thr_error *err) {
    thr_lists *lists = w->lists;
    const size_t n_features = lists->n_features, n_entries = lists->n_entries;
    size_t size = (3 * n_features + 1 + 2 * n_entries) * sizeof(uint32_t) + n_entries;
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++)
        size += lists->groups[group].n_blocks * (sizeof(uint16_t) + thr_lists_group_size(group));
    THR_TRY(thr_alloc(context, size, 1, memory, "posting lists", err));
    lists->features = w->features = *memory;
    memcpy(w->features, w->sorted.features, n_features * sizeof *w->features);
    lists->sizes = w->sizes = w->features + n_features;
    lists->first_entries = w->first_entries = w->sizes + n_features;
    lists->entry_begins = w->begins = w->first_entries + n_features + 1;
    lists->entry_lengths = w->lengths = w->begins + n_entries;
    uint16_t *numbers = (uint16_t *)(void *)(w->lengths + n_entries);
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++) {
        lists->groups[group].numbers = w->numbers[group] = numbers;
        numbers += lists->groups[group].n_blocks;
    }
    uint8_t *bytes = (uint8_t *)numbers;
    lists->entry_groups = w->entry_groups = bytes;
    bytes += n_entries;
    for (uint32_t group = 0; group < THR_LISTS_N_GROUPS; group++) {
        lists->groups[group].values = w->values[group] = bytes;
        bytes += (size_t)lists->groups[group].n_blocks * thr_lists_group_size(group);
    }
    return THR_OK;
}

thr_status thr_lists_build(thr_context *context, const thr_item_features *items, const uint32_t *rows,
                           thr_built_lists *built, thr_error *err) {
    thr_status status = THR_OK;
    build w = {.lists = &built->lists};
    if (items->n_items == 0 || items->n_items > THR_HITS_MAX_ITEMS)
        return thr_fail(err, THR_EDIM, "%llu items: posting lists can have 1 to %llu",
                        (unsigned long long)items->n_items, (unsigned long long)THR_HITS_MAX_ITEMS);
    THR_TRY_OUT(thr_postings_sort(context, items, rows, &w.sorted, err));
    built->lists.n_items = (uint32_t)items->n_items;
    built->lists.n_features = w.sorted.n_features;
    THR_TRY_OUT(cut(context, &w, err));
    thr_parallel_for(context, w.n_pieces, count_piece, &w);
    THR_TRY_OUT(add_up(&w, &built->n_repeated, err));
    THR_TRY_OUT(lay_out(context, &w, &built->memory, err));
    thr_parallel_for(context, w.n_pieces, write_piece, &w);
    w.first_entries[built->lists.n_features] = built->lists.n_entries;
out:
    thr_postings_free(context, &w.sorted);
    thr_release(context, w.pieces);
    return status;
}

void thr_built_lists_free(thr_context *context, thr_built_lists *built) {
    thr_release(context, built->memory);
    *built = (thr_built_lists){.memory = NULL};
}
