/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - read a number for every item, by row: from a table FILE.tsv, an item and its number per line, with
 * fallback for other items; or from any file of numbers, one a row in order.
 */
#pragma once

#include "hits/parts.h"

/* Set the values of the lists from the files of a search's options; NULL keeps the current ones if both are NULL. */
int prog_hits_values_set(program *run, const prog_hits_parts *parts, const char *multipliers, const char *offsets);

/* Read values for the *n items of a table of features, before anything is built from it. The caller frees *values. */
int prog_table_values_read(program *run, const char *table, const char *path, float fallback, float **values,
                           uint64_t *n);
