/* SPDX-License-Identifier: Apache-2.0 */
/* read_items.h - reads a text table of items and their features into memory, for builds and updates. */
#pragma once

#include "base/text/dictionary.h"

/* Names and words get numbers in order of appearance. Initialise with zeros. */
typedef struct thr_hits_rows {
    thr_context *context;
    const char *name; /* of the file */
    thr_dictionary items, words;
    uint64_t *offsets;  /* items.n + 1; NULL if there are no items */
    uint32_t *features; /* numbers of words */
    size_t offsets_capacity, features_capacity, n_postings;
} thr_hits_rows;

/*
 * Read the table. Returns what thr_io_table_open returns, and what thr_hits_build_table returns for an invalid table.
 */
thr_status thr_hits_rows_read(thr_context *context, const char *path, thr_hits_rows *rows, thr_error *err);
void thr_hits_rows_free(thr_hits_rows *rows);

/* Parse the words of all postings as feature numbers; features has room for n_postings. THR_EFORMAT for other words. */
thr_status thr_hits_rows_parse(const thr_hits_rows *rows, uint32_t *features, thr_error *err);

/* Whether all strings are decimal numbers up to `most`. */
bool thr_hits_are_numbers(const thr_dictionary *strings, uint64_t most);
uint64_t thr_hits_number_at(const thr_dictionary *strings, uint32_t i);

/*
 * Copy words in ascending order, with their offsets; numbers[i] is the new number of word i. The caller releases both,
 * after an error too. THR_ENOMEM.
 */
thr_status thr_hits_words_sort(thr_context *context, const thr_dictionary *words, uint32_t *numbers, uint64_t **offsets,
                               char **bytes, thr_error *err);
