/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta.h - what stands beside a file of posting lists: items that were added, in lists of their own, and which
 * rows of the file are left.
 *
 * A delta never changes; an update makes another one from it. Row i of its lists is row first_row + i of all. Every
 * added item has the number of the update that it came with, and so has every removal that may have to be made again on
 * newer lists.
 */
#ifndef THR_HITS_DELTA_H
#define THR_HITS_DELTA_H

#include "hits/change.h"

typedef struct thr_hit_removal {
    uint64_t id; /* of lists without names */
    uint64_t sequence;
} thr_hit_removal;

typedef struct thr_hit_delta {
    uint32_t n_items, first_row;
    uint64_t next_id;             /* of names that no item has */
    uint64_t *offsets, *ids;      /* of items, in the order in which they were added */
    uint64_t *sequences;          /* of their updates */
    uint32_t *features;           /* CSR, as they were given or numbers of words */
    uint32_t *rows, *id_order;    /* rows of all; items by ascending id */
    thr_dictionary names, words;  /* of items, by number; of features that the file has not, by number */
    thr_built_lists built;        /* of the items; all zero where there are none */
    uint32_t *numbers;            /* of the lists' features */
    uint64_t *left;               /* rows of the file that may be found, by place, in whole windows; NULL: all */
    uint32_t n_gone;              /* rows of the file that may not */
    thr_hit_removal *removals;    /* that are to be made again, n_removals of them */
    thr_dictionary removed_names; /* theirs, by number, of lists with names */
    uint64_t n_removals;
} thr_hit_delta;

/* The numbers of updates: one for all that an update does, or each its own, where updates are made again. */
typedef struct thr_hit_stamps {
    uint64_t all;
    const uint64_t *added, *removed; /* or NULL */
    uint64_t forget;                 /* removals up to this one need not be made again */
} thr_hit_stamps;

/* The delta of a file with an index after a change; before may be NULL. THR_OK; THR_EDIM; THR_ENOMEM. */
thr_status thr_hit_delta_make(thr_hits *hits, const thr_hit_index *index, const thr_hit_change *change,
                              const thr_hit_stamps *stamps, thr_hit_delta **delta, thr_error *err);
void thr_hit_delta_free(thr_context *context, thr_hit_delta *delta);

/* Which item has the id. */
bool thr_hit_delta_find(const thr_hit_delta *delta, uint64_t id, uint32_t *item);

#endif
