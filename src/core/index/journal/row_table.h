/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_table.h - a hash from 64-bit keys to rows of a tail. Nothing is deleted: the caller compares the id or name
 * of a row, and skips rows that are not live, or too new for its snapshot.
 *
 * Threads: one at a time adds; any number look up meanwhile.
 */
#pragma once

#include "base/memory.h"

#include <stdatomic.h>

typedef struct thr_row_table {
    atomic_uint *slots; /* row + 1; 0: empty */
    uint32_t mask;
} thr_row_table;

/* Make a table for at most n rows, half of whose slots stay empty. Release its slots. THR_ENOMEM. */
static inline thr_status thr_row_table_create(thr_context *context, uint32_t n, thr_row_table *table, thr_error *err) {
    table->mask = 1;
    while (table->mask < 2 * n)
        table->mask *= 2;
    const thr_status status =
        thr_alloc_zero(context, table->mask, sizeof *table->slots, (void *)&table->slots, "rows", err);
    table->mask--;
    return status;
}

/* Where to begin with a key: its bits mixed by a multiplication, as ids may be consecutive. */
static inline uint64_t thr_row_table_at(uint64_t key) {
    return key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* The next row that may have the key, from *at on, which moves; false if there are no more. */
static inline bool thr_row_table_next(const thr_row_table *table, uint64_t *at, uint32_t *row) {
    const uint32_t slot = atomic_load_explicit(&table->slots[*at & table->mask], memory_order_acquire);
    *at += 1;
    *row = slot - 1;
    return slot != 0;
}

/* Add a row, which is complete. */
static inline void thr_row_table_add(thr_row_table *table, uint64_t key, uint32_t row) {
    uint64_t at = thr_row_table_at(key);
    for (uint32_t other; thr_row_table_next(table, &at, &other);)
        ;
    atomic_store_explicit(&table->slots[(at - 1) & table->mask], row + 1, memory_order_release);
}
