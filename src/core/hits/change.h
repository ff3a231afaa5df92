/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - the changes of an update, checked and resolved: names become ids, and words become feature numbers. Also
 * lists the items of the previous delta that remain: those neither replaced nor removed.
 */
#pragma once

#include <thresher/hits.h>

#include "base/text/dictionary.h"
#include "base/radix.h"
#include "hits/lookup.h"

/* Initialise with zeros. */
typedef struct thr_hit_change {
    const thr_hits_changes *given; /* borrowed, as are the values and offsets of added items */
    uint64_t *ids;                 /* of added items */
    const uint32_t *features;      /* as given, or `resolved` */
    uint32_t *resolved;            /* the features that words name, or NULL */
    thr_keyed *touched; /* by ascending id; value: number of the added item, or n_added + number of the removed one */
    size_t n_touched;
    uint32_t *remaining; /* items of the previous delta, neither replaced nor removed; ascending */
    uint32_t n_remaining;
    thr_dictionary words; /* words that the file lacks; number i is feature n_features + i */
    uint64_t next_id;     /* the id of the next new name */
    uint64_t n_missing;   /* removed items that did not exist */
} thr_hit_change;

/* Resolve changes to hits. THR_OK; what thr_hits_update returns for invalid changes. */
thr_status thr_hits_change_make(thr_hits *hits, const thr_hits_changes *given, thr_hit_change *change, thr_error *err);
void thr_hits_change_free(thr_context *context, thr_hit_change *change);
