/* SPDX-License-Identifier: Apache-2.0 */
/* vector_ids.h - pairs of vectors by their ids: a table with the id of a query and of an item in each row. */
#pragma once

#include "base/memory.h"
#include "training/weights.h"

/* Files, and the vectors that the ids are of. */
typedef struct thr_vector_ids {
    const char *pairs_path;                /* .tsv or .csv: columns 1 and 2 */
    const char *ids_paths[THR_N_SIDES];    /* a text with one id per vector; NULL: row numbers from 0 */
    const char *vector_names[THR_N_SIDES]; /* in messages */
    size_t n_vectors[THR_N_SIDES];
} thr_vector_ids;

/*
 * Read the pairs: *n rows of each side's vectors, which the caller releases also after an error.
 *
 * THR_ENOTFOUND for an id without a vector; THR_EDUPLICATE for an id of two vectors; THR_EDIM when a file of ids has
 * not one for each vector; THR_EFORMAT for a row of fewer than two columns; what thr_io_table_open and
 * thr_io_table_next_whole return; THR_ENOMEM.
 */
thr_status thr_text_vector_ids_read(thr_context *context, const thr_vector_ids *ids, uint32_t *rows[THR_N_SIDES],
                                    size_t *n, thr_error *err);
