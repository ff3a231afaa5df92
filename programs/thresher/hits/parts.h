/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - posting lists that are searched as one: those of a file, of an index, or of all shards of a collection. */
#pragma once

#include "cli/program.h"

typedef struct prog_hits_part {
    thr_hits *hits;
    uint64_t first_row;     /* the rows of the parts before */
    uint64_t first_id;      /* added to an id in the lists, gives the item's id */
    const thr_index *index; /* whose lists these are; NULL: those of a file */
} prog_hits_part;

/* Views; of one part at least. */
typedef struct prog_hits_parts {
    const prog_hits_part *parts;
    size_t n;
    const char *disorder; /* why rows are not in the order of items (input/items.h); NULL: they are */
} prog_hits_parts;

/* The items, and the rows, of all parts. */
uint64_t prog_hits_parts_n_items(const prog_hits_parts *parts);
uint64_t prog_hits_parts_n_rows(const prog_hits_parts *parts);

/* The number of a word in the first part that has it. false: none has. */
bool prog_hits_parts_feature(const prog_hits_parts *parts, const char *word, uint32_t *feature);

/* The row of an item, by its name, or by its id in decimal if items have no names. false: there is none. */
bool prog_hits_parts_find(const prog_hits_parts *parts, const char *name, uint64_t *row);

/* The part that has the item with this id; NULL if there is none. */
const prog_hits_part *prog_hits_parts_of_id(const prog_hits_parts *parts, uint64_t id);
