/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta.h - the changes made to a file of posting lists: added items, in lists of their own, and the live rows of the
 * file.
 *
 * A delta is immutable; an update makes a new one. Row i of its lists is row first_row + i of the whole. Each added
 * item has the number of the update that added it. Removals that may have to be repeated on newer lists also have the
 * number of their update.
 *
 * The lists of an index have a delta whose lists are in a file of their own (join.c). It has no ids, names, features by
 * item and removals; first_row is the first of a window, and rows below the first file's end have no item in it.
 */
#pragma once

#include "hits/change.h"

typedef struct thr_hit_removal {
    uint64_t id; /* of items without names */
    uint64_t sequence;
} thr_hit_removal;

typedef struct thr_hit_delta {
    uint32_t n_items, first_row;
    uint64_t next_id;             /* the id of the next new name */
    uint64_t *offsets, *ids;      /* of items, in the order in which they were added */
    uint64_t *sequences;          /* update numbers of items */
    uint32_t *features;           /* CSR; as given, or numbers of words */
    uint32_t *rows, *id_order;    /* rows of items, among all rows; items by ascending id */
    thr_dictionary names, words;  /* names of items, and words of features that the file lacks; by number */
    thr_built_lists built;        /* of the items; all zero if there are none */
    uint32_t *numbers;            /* feature numbers of the lists */
    uint64_t *live;               /* live rows of the file: bits by place, in whole windows; NULL: all are live */
    uint32_t n_gone;              /* rows of the file that are not live */
    thr_hit_removal *removals;    /* to repeat on newer lists, n_removals of them */
    thr_dictionary removed_names; /* names of the removals, by number, if items have names */
    uint64_t n_removals;
    struct thr_hits *from; /* the file of the lists, freed with the first file; NULL: they are in memory */
    uint32_t *refs;        /* of the lists, if the file has words, ordered as `numbers` */
    uint64_t *added_live;  /* live rows of such lists, in whole windows */
} thr_hit_delta;

/* The update numbers of changes: one for a whole update, or one per change where updates are replayed. */
typedef struct thr_hit_stamps {
    uint64_t all;
    const uint64_t *added, *removed; /* or NULL */
    uint64_t forget;                 /* removals up to this update are not recorded */
} thr_hit_stamps;

/*
 * Make the delta of a file after a change. before: the delta to start from, or NULL. THR_OK; THR_EDIM for more changes
 * than a delta holds; THR_ENOMEM.
 */
thr_status thr_hits_delta_make(thr_hits *hits, const thr_hit_index *index, const thr_hit_change *change,
                               const thr_hit_stamps *stamps, thr_hit_delta **delta, thr_error *err);
void thr_hits_delta_free(thr_context *context, thr_hit_delta *delta);

/* Find the item with this id. */
bool thr_hits_delta_find(const thr_hit_delta *delta, uint64_t id, uint32_t *item);
