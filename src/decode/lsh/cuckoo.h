/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuckoo.h - the hash table from a band and its code to the words with that code: cuckoo hashing (Pagh and Rodler
 * 2004).
 *
 * One table holds the keys (band, code) of all bands. A key occupies one of its two slots, or a small stash if both
 * were taken. A look-up therefore reads two slots whatever the load, and the stash, which is almost always empty.
 *
 * Threads: a table is immutable once built.
 */
#pragma once

#include "base/memory.h"
#include "lsh/cuckoo_find.h"

enum { THR_CUCKOO_STASH = 8, THR_CUCKOO_SEEDS = 8 };

_Static_assert(sizeof(thr_cuckoo_slot) == 16, "the layout of files");

/*
 * Slots for n spans: 9 for every 4, so that the first seed usually succeeds. Returns 0 if n exceeds what a table can
 * hold.
 */
uint32_t thr_lsh_cuckoo_n_slots(size_t n);

/*
 * Build a table of n spans with distinct keys in table->n_slots slots (at least 1). Tries THR_CUCKOO_SEEDS seeds,
 * derived from table->seed, without a stash, then as many with one. *slots is allocated here and freed by the caller;
 * it is NULL after an error.
 *
 * Returns THR_OK; THR_EUNSUPPORTED when no seed finds a slot for every key (err has the numbers); THR_ENOMEM.
 */
thr_status thr_lsh_cuckoo_build(thr_context *context, const thr_cuckoo_slot *spans, size_t n, thr_cuckoo_slot **slots,
                                thr_cuckoo *table, thr_error *err);
