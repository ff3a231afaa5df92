/* SPDX-License-Identifier: Apache-2.0 */
/* items.h - the items of one index, or of all shards of a collection, found by id, name or row. */
#pragma once

#include <thresher/thresher.h>

/* An index, and the rows of the whole that are its rows: n_rows from first_row. */
typedef struct prog_items_part {
    const thr_index *index;
    uint64_t first_row, n_rows;
    uint64_t first_id;              /* what an item's id is greater than its id in the index */
    uint64_t least_id, greatest_id; /* of its items */
} prog_items_part;

typedef struct prog_items {
    const char *what; /* "index" or "collection", for messages, */
    const char *dir;  /* and its directory */
    uint64_t n_rows;
    bool has_names;
    bool has_ids;  /* given ids, which are not the rows */
    bool is_moved; /* a change may have moved rows; cells, too, reorder them */
    size_t n_parts;
    const prog_items_part *parts;
} prog_items;

/* The items of one index; *part is filled, and borrowed as the index is. */
prog_items prog_items_of_index(const thr_index *index, const char *dir, prog_items_part *part);

/* Why rows are not in the order of the items as they were given; NULL: they are. */
const char *prog_items_disorder(const prog_items *items);

/* The part with the item that has this id, and its row in the whole; NULL if there is none. */
const prog_items_part *prog_items_find_id(const prog_items *items, uint64_t id, uint64_t *row);

/*
 * The part with the item that a word names, by name or else by id, and its *id in the whole; NULL: there is none, or a
 * part failed, which *err has.
 */
const prog_items_part *prog_items_find(const prog_items *items, const char *word, uint64_t *id, thr_error *err);

/*
 * The vectors of items that words name, by name or else by id: *ids [n] and *vectors [n x n_dims], both for free(), and
 * filled also after errors. Returns PROG_DONE, or an exit code after printing an error about --like.
 */
int prog_items_vectors(const prog_items *items, const char *const *words, size_t n, uint64_t **ids, float **vectors);
