/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits_values.h - a number for every item, by row: of a table, FILE.tsv with an item and its number in each line, where
 * items that are not named have fallback; or of any file of numbers, one a row in their order.
 */
#ifndef THRESHER_PROGRAM_HITS_VALUES_H
#define THRESHER_PROGRAM_HITS_VALUES_H

#include "program.h"

/* Set them as a search's options name their files; NULL: those that the lists have stay, with both NULL. */
int prog_hits_values_set(program *run, thr_hits *hits, const char *multipliers, const char *offsets);

/* The same for the *n items of a table of features, before anything is built of it. The caller frees *values. */
int prog_table_values_read(program *run, const char *table, const char *path, float fallback, float **values,
                           uint64_t *n);

#endif
