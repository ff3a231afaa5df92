/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_source.h - a reader's rows for the build: first a sample, then all of them, in pieces of whole blocks.
 *
 * A seekable reader is sampled over its whole length; of any other the first rows are kept in memory, are the sample,
 * and are given out first.
 */
#ifndef THR_INDEX_ROW_SOURCE_H
#define THR_INDEX_ROW_SOURCE_H

#include "base/memory.h"

#include <thresher/matrix.h>

typedef struct thr_row_source {
    thr_context *context;
    thr_reader *reader;
    thr_reader_shape shape;
    const char *name; /* the reader's */
    size_t row_bytes;
    uint8_t *sample; /* sample_rows dense rows */
    uint64_t sample_rows;
    uint64_t run_rows, n_runs; /* how a seekable reader was sampled; n_runs 0: the first rows */
    uint64_t pending;          /* the sample's rows from here on are still to be given out */
    bool pending_first;
    uint8_t *staging; /* where pieces are put together that the reader gives in smaller ones */
    size_t staging_capacity;
    uint64_t given; /* rows */
    bool ended;
} thr_row_source;

/* THR_EINVAL for a text; THR_EDIM for no dimensions or more than THR_MAX_DIMS. */
thr_status thr_index_row_source_open(thr_context *context, thr_reader *reader, thr_row_source *source, thr_error *err);
void thr_index_row_source_close(thr_row_source *source);

/* About wanted rows, once, before the first thr_index_row_source_next. */
thr_status thr_index_row_source_sample(thr_row_source *source, uint64_t wanted, thr_matrix *sample, thr_error *err);

/* The row of the file that a row of the sample is. */
uint64_t thr_index_row_source_sampled_row(const thr_row_source *source, uint64_t sample_row);

/* The next max_rows rows (a multiple of 64), fewer only at the end, then none. Good until the next call. */
thr_status thr_index_row_source_next(thr_row_source *source, uint64_t max_rows, thr_matrix *rows, thr_error *err);

#endif
