/* SPDX-License-Identifier: Apache-2.0 */
/* read_items.h - a table of items and their features, as text, read whole: what is built of it, and what is updated. */
#ifndef THR_HITS_READ_ITEMS_H
#define THR_HITS_READ_ITEMS_H

#include "base/dictionary.h"

/* Names and words are numbered as they come. Zeroed before they are read. */
typedef struct thr_hits_rows {
    thr_context *context;
    const char *name; /* of the file */
    thr_dictionary items, words;
    uint64_t *offsets;  /* items.n + 1; NULL where there are no items */
    uint32_t *features; /* numbers of words */
    size_t offsets_capacity, features_capacity, n_postings;
} thr_hits_rows;

/* What thr_io_table_open and thr_hits_build_table return for a table that is wrong. */
thr_status thr_hits_rows_read(thr_context *context, const char *path, thr_hits_rows *rows, thr_error *err);
void thr_hits_rows_free(thr_hits_rows *rows);

/* Whether all strings are numbers up to most, and those numbers. */
bool thr_hits_are_numbers(const thr_dictionary *strings, uint64_t most);
uint64_t thr_hits_number_at(const thr_dictionary *strings, uint32_t i);

#endif
