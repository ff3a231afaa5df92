/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renumber.c - orders items by their most frequent features. Features have ranks, the most frequent one the first; an
 * item's key is its first DEPTH ranks in ascending order. Stable sorts by the key's ranks, from the last to the first,
 * make runs of the most frequent features, within these runs of the next, and so on. Catalogues have this shape: large
 * categories contain small ones. Cost: DEPTH passes over the items.
 */
#include "lists/renumber.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "lists/transpose.h"
#include "parallel/pool.h"

enum { DEPTH = 8, NO_RANK = UINT16_MAX, PIECE = 1 << 16 };

/* A feature and its number of occurrences. */
typedef struct counted {
    uint64_t count;
    uint32_t feature;
} counted;

static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

typedef struct keys {
    const thr_item_features *items;
    const uint16_t *ranks; /* by feature number */
    uint16_t *of_items;    /* DEPTH per item, padded with NO_RANK */
} keys;

static thr_status find_ranks(thr_context *context, const thr_item_features *items, uint16_t **ranks, thr_error *err) {
    thr_status status = THR_OK;
    uint64_t *counts = NULL, n_numbers = 0;
    counted *found = NULL;
    size_t n = 0;
    THR_TRY_OUT(thr_lists_postings_count(context, items, &counts, &n_numbers, err));
    THR_TRY_OUT(thr_alloc(context, n_numbers, sizeof **ranks, ranks, "ranks of features", err));
    for (uint64_t f = 0; f < n_numbers; f++)
        n += counts[f] > 1;
    THR_TRY_OUT(thr_alloc(context, n, sizeof *found, &found, "ranks of features", err));
    n = 0;
    for (uint64_t f = 0; f < n_numbers; f++) {
        (*ranks)[f] = NO_RANK;
        if (counts[f] > 1)
            found[n++] = (counted){counts[f], (uint32_t)f};
    }
    qsort(found, n, sizeof *found, by_count);
    for (size_t i = 0; i < n && i < NO_RANK; i++)
        (*ranks)[found[i].feature] = (uint16_t)i;
out:
    THR_RELEASE(context, counts, found);
    return status;
}

/* Write the DEPTH least ranks of an item to key, ascending. */
static void make_key(const keys *k, uint64_t row, uint16_t *key) {
    uint32_t n = 0;
    for (uint64_t e = k->items->offsets[row]; e < k->items->offsets[row + 1]; e++) {
        const uint16_t rank = k->ranks[k->items->features[e]];
        if (rank == NO_RANK || (n == DEPTH && rank >= key[DEPTH - 1]))
            continue;
        uint32_t at = n < DEPTH ? n++ : DEPTH - 1;
        for (; at > 0 && key[at - 1] > rank; at--)
            key[at] = key[at - 1];
        key[at] = rank;
    }
    for (; n < DEPTH; n++)
        key[n] = NO_RANK;
}

static void make_keys(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const keys *k = arg;
    const uint64_t n = k->items->n_items, begin = piece * PIECE, end = n - begin < PIECE ? n : begin + PIECE;
    for (uint64_t row = begin; row < end; row++)
        make_key(k, row, k->of_items + row * DEPTH);
}

/* Stable counting sort of rows by one rank of their keys. next has an element per rank, and one more. */
static void sort_by(const keys *k, uint32_t depth, const uint32_t *rows, uint32_t *sorted, uint32_t *next) {
    const size_t n = (size_t)k->items->n_items;
    memset(next, 0, (NO_RANK + 2u) * sizeof *next);
    for (size_t i = 0; i < n; i++)
        next[k->of_items[i * DEPTH + depth] + 1u]++;
    for (uint32_t rank = 0; rank < NO_RANK; rank++)
        next[rank + 1] += next[rank];
    for (size_t i = 0; i < n; i++)
        sorted[next[k->of_items[(size_t)rows[i] * DEPTH + depth]]++] = rows[i];
}

thr_status thr_lists_renumber(thr_context *context, const thr_item_features *items, uint32_t *rows, thr_error *err) {
    thr_status status = THR_OK;
    const size_t n = (size_t)items->n_items;
    uint16_t *ranks = NULL, *of_items = NULL;
    uint32_t *other = NULL, *next = NULL, *from = rows, *to;
    THR_TRY_OUT(find_ranks(context, items, &ranks, err));
    THR_TRY_OUT(thr_alloc(context, n, DEPTH * sizeof *of_items, &of_items, "keys of items", err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *other, &other, "the order of items", err));
    THR_TRY_OUT(thr_alloc(context, NO_RANK + 2u, sizeof *next, &next, "the order of items", err));
    keys k = {items, ranks, of_items};
    thr_parallel_for(context, THR_CEIL_DIV(n, PIECE), make_keys, &k);
    for (size_t i = 0; i < n; i++)
        rows[i] = (uint32_t)i;
    to = other;
    for (uint32_t depth = DEPTH; depth-- > 0;) { /* an even number of sorts, so that the last one writes to rows */
        sort_by(&k, depth, from, to, next);
        uint32_t *spare = from;
        from = to;
        to = spare;
    }
    _Static_assert(DEPTH % 2 == 0, "rows has the last pass");
out:
    THR_RELEASE(context, ranks, of_items, other, next);
    return status;
}
