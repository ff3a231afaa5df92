/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuckoo.h - where the words of a band code stand: a hash table of two places a key (Pagh and Rodler 2004).
 *
 * All bands are in one table, by band and code. A key is in one of its two places, or in the stash of a few that had
 * none; so a look-up reads two places whatever the load, and the stash, which hardly ever holds anything.
 *
 * Threads: a table never changes once it is built.
 */
#ifndef THR_LSH_CUCKOO_H
#define THR_LSH_CUCKOO_H

#include "base/memory.h"
#include "lsh/cuckoo_find.h"

enum { THR_CUCKOO_STASH = 8, THR_CUCKOO_SEEDS = 8 };

_Static_assert(sizeof(thr_cuckoo_slot) == 16, "as it stands in files");

/* Slots for n spans: nine for four, so that the first seed is good as a rule. 0: more than a table can have. */
uint32_t thr_lsh_cuckoo_n_slots(size_t n);

/*
 * Build a table of n spans of different keys in table->n_slots slots (1 at least), in memory that the caller frees:
 * *slots. THR_CUCKOO_SEEDS seeds from table->seed on are tried without a stash, then as many with one.
 *
 * Returns THR_OK; THR_EUNSUPPORTED when none of them gives every key a place (err has the numbers); THR_ENOMEM. *slots
 * is NULL after an error.
 */
thr_status thr_lsh_cuckoo_build(thr_context *context, const thr_cuckoo_slot *spans, size_t n, thr_cuckoo_slot **slots,
                                thr_cuckoo *table, thr_error *err);

#endif
