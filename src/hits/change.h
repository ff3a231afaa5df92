/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - what an update asks for, checked and made numbers: names become ids, words become features, and what
 * was added before and is neither replaced nor removed is kept.
 */
#ifndef THR_HITS_CHANGE_H
#define THR_HITS_CHANGE_H

#include <thresher/hits.h>

#include "base/dictionary.h"
#include "base/radix.h"
#include "hits/lookup.h"

/* Zeroed before it is made. */
typedef struct thr_hit_change {
    const thr_hits_changes *given; /* borrowed, as are values and offsets of added items */
    uint64_t *ids;                 /* of added items */
    const uint32_t *features;      /* given ones, or numbers of words */
    uint32_t *numbers;             /* of words, or NULL */
    thr_keyed
        *touched; /* by ascending id: added items, row their number; and removed ones, row n_added + their number */
    size_t n_touched;
    uint32_t *kept; /* which items of the delta before stay, ascending */
    uint32_t n_kept;
    thr_dictionary words; /* that the file has not: number i is feature n_features + i */
    uint64_t next_id;     /* of names that no item has */
    uint64_t n_missing;   /* removed ones that were not there */
} thr_hit_change;

/* hits is what is changed. THR_OK, and what thr_hits_update returns for changes that are wrong. */
thr_status thr_hit_change_make(thr_hits *hits, const thr_hits_changes *given, thr_hit_change *change, thr_error *err);
void thr_hit_change_free(thr_context *context, thr_hit_change *change);

#endif
