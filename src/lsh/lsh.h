/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lsh.h - words by their band codes, and those that a state hits often enough (WTA-LSH 4.2.2 and 4.2.3).
 *
 * For every band and every code that words have there the list of these words stands in one flat array, ascending, and
 * a cuckoo table says where. L[i, w], the hits of word w by state i, is the number of bands in which they have the same
 * code; a word goes on where the largest L[i, w] of a group's states, or their sum, reaches a threshold.
 *
 * Threads: a thr_lsh never changes once it is made; a counter belongs to one search at a time.
 */
#ifndef THR_LSH_LSH_H
#define THR_LSH_LSH_H

#include "lsh/cuckoo.h"

typedef struct thr_lsh {
    uint32_t n_words, n_bands;
    thr_cuckoo table;
    const uint32_t *words; /* n_bands x n_words: band by band, in each of them code by code */
} thr_lsh;

/* The memory of one that was built; both NULL where it lies in a file. */
typedef struct thr_lsh_memory {
    thr_cuckoo_slot *slots;
    uint32_t *words;
} thr_lsh_memory;

typedef struct thr_lsh_shape {
    uint32_t n_words, n_bands;
    uint64_t seed; /* of the table's hashes */
} thr_lsh_shape;

/*
 * Of words' codes: codes[w * n_bands + band]. THR_EDIM for no words, no bands, or 2^32 words in all bands and more;
 * THR_EUNSUPPORTED as thr_lsh_cuckoo_build; THR_ENOMEM. *memory is to be freed in either case.
 */
thr_status thr_lsh_build(thr_context *context, const uint32_t *codes, const thr_lsh_shape *shape,
                         thr_lsh_memory *memory, thr_lsh *lsh, thr_error *err);
void thr_lsh_free(thr_context *context, thr_lsh_memory *memory);

/* Of one from a file, whatever its bytes: NULL when no look-up leaves it, or what is wrong. */
const char *thr_lsh_check(const thr_lsh *lsh);

/* How hits of the states of a group are put together. */
typedef enum thr_lsh_combine { THR_LSH_LARGEST, THR_LSH_SUM } thr_lsh_combine;

/* Counts of words, all 0 between searches: those that were counted are set back, no others are looked at. */
typedef struct thr_lsh_counter {
    uint32_t *counts;  /* n_words */
    uint32_t *touched; /* n_words */
    uint32_t n_touched;
} thr_lsh_counter;

thr_status thr_lsh_counter_make(thr_context *context, uint32_t n_words, thr_lsh_counter *counter, thr_error *err);
void thr_lsh_counter_free(thr_context *context, thr_lsh_counter *counter);

/*
 * Set bit w % 64 of marks[w / 64] for every word w that the states' hits, combined, bring to the threshold, 1 at least.
 * codes: n_bands a state. Other bits stay as they are. Cost: the lengths of the lists that are looked up.
 */
void thr_lsh_mark(const thr_lsh *lsh, thr_lsh_counter *counter, const uint32_t *codes, size_t n_states,
                  uint32_t threshold, thr_lsh_combine combine, uint64_t *marks);

#endif
