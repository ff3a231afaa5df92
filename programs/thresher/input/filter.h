/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - which items a search may return, read from a file.
 *
 *   u8 (or bool), a value for every item        a mask: 1 may be returned, 0 may not
 *   other whole numbers                         the ids that may be returned
 *   .txt .tsv .csv                              ids, or names where the index has names, one per line
 *   .roaring                                    a Roaring bitmap of ids, in the portable format
 */
#pragma once

#include <stdint.h>

#include "input/items.h"

typedef struct prog_filter {
    const prog_items *items;
    uint64_t *words; /* bit (row % 64) of word row / 64 */
    uint64_t n_bits;
    uint64_t n_allowed;
    bool skip_missing; /* ids and names that no item has are counted; else they are an error */
    const char *hint;  /* the end of that error; NULL: none */
    uint64_t n_missing;
} prog_filter;

/*
 * Set skip_missing and hint before; the other fields are filled. Ids of a Roaring bitmap must all be there. items is
 * borrowed, and needed by this call only. Returns PROG_DONE, or an exit code after printing an error.
 */
int prog_filter_read(prog_filter *filter, thr_context *context, const char *path, const prog_items *items);
void prog_filter_free(prog_filter *filter);

/* Add a row. */
static inline void prog_filter_allow(prog_filter *filter, uint64_t row) {
    filter->words[row / 64] |= UINT64_C(1) << (row % 64);
}

/* The end of the error for an item that is not there, which --skip-missing avoids. */
static inline const char *prog_filter_hint(const prog_filter *filter) {
    return filter->hint != NULL ? filter->hint : "";
}

/* filter_text.c: add the rows that the lines of a text name. path is for messages. */
int prog_filter_read_text(prog_filter *filter, thr_reader *reader, const char *path);

/* filter_roaring.c: whether the name is that of a Roaring bitmap, "-.roaring" too; and add the rows of its ids. */
bool prog_is_roaring(const char *path);
int prog_filter_read_roaring(prog_filter *filter, const char *path);

/* Id number i of a row of whole numbers; -1 is THR_NO_ID. false for other negative numbers and for floats. */
bool prog_id_at(const thr_matrix *rows, uint64_t row, uint32_t i, uint64_t *id);

/* Whether values of this type can be ids. */
bool prog_dtype_is_whole(thr_dtype dtype);
