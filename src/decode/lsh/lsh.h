/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lsh.h - words indexed by their band codes, and the words that a state hits often enough (WTA-LSH 4.2.2 and 4.2.3).
 *
 * For every band and every code that occurs in it, one flat array lists the words with that code, ascending; a cuckoo
 * table maps (band, code) to that list. L[i, w], the hits of word w by state i, is the number of bands in which both
 * have the same code. A word becomes a candidate if the largest L[i, w] of a group's states, or their sum, reaches a
 * threshold.
 *
 * Threads: a thr_lsh is immutable once made; a counter belongs to one search at a time.
 */
#pragma once

#include "lsh/cuckoo.h"

typedef struct thr_lsh {
    uint32_t n_words, n_bands;
    thr_cuckoo table;
    const uint32_t *words; /* n_bands x n_words: grouped by band, then by code */
} thr_lsh;

/* The memory of a thr_lsh that was built; both are NULL for one mapped from a file. */
typedef struct thr_lsh_memory {
    thr_cuckoo_slot *slots;
    uint32_t *words;
} thr_lsh_memory;

typedef struct thr_lsh_shape {
    uint32_t n_words, n_bands;
    uint64_t seed; /* of the table's hashes */
} thr_lsh_shape;

/*
 * Build from the words' codes, codes[w * n_bands + band]. The caller frees *memory, also after an error.
 *
 * Returns THR_OK; THR_EDIM without words or bands, or with 2^32 or more words over all bands; THR_EUNSUPPORTED as
 * thr_lsh_cuckoo_build; THR_ENOMEM.
 */
thr_status thr_lsh_build(thr_context *context, const uint32_t *codes, const thr_lsh_shape *shape,
                         thr_lsh_memory *memory, thr_lsh *lsh, thr_error *err);
void thr_lsh_free(thr_context *context, thr_lsh_memory *memory);

/* Validate one read from a file of arbitrary bytes. Returns NULL if every look-up stays in bounds, else the defect. */
const char *thr_lsh_check(const thr_lsh *lsh);

/* How the hits of a group's states are combined. */
typedef enum thr_lsh_combine { THR_LSH_LARGEST, THR_LSH_SUM } thr_lsh_combine;

/* Hit counts of words. All counts are 0 between searches: only the words in touched are reset. */
typedef struct thr_lsh_counter {
    uint32_t *counts;  /* n_words */
    uint32_t *touched; /* n_words + 1 */
    uint32_t n_touched;
} thr_lsh_counter;

/* THR_OK or THR_ENOMEM; the caller frees *counter, also after an error. */
thr_status thr_lsh_counter_make(thr_context *context, uint32_t n_words, thr_lsh_counter *counter, thr_error *err);
void thr_lsh_counter_free(thr_context *context, thr_lsh_counter *counter);

/*
 * Set bit w % 64 of marks[w / 64] for every word w whose combined hits over the states reach the threshold (at least
 * 1). codes: n_bands a state. Other bits keep their value. Cost: the total length of the lists looked up.
 */
void thr_lsh_mark(const thr_lsh *lsh, thr_lsh_counter *counter, const uint32_t *codes, size_t n_states,
                  uint32_t threshold, thr_lsh_combine combine, uint64_t *marks);
