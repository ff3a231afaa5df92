/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_source.h - a reader's rows for a build: first a sample, then all rows, in pieces of whole blocks.
 *
 * A seekable reader is sampled over its whole length. Of any other, the first rows are kept in memory; they are the
 * sample, and are returned again first.
 */
#pragma once

#include "base/memory.h"

#include <thresher/matrix.h>

typedef struct thr_row_source {
    thr_context *context;
    thr_reader *reader;
    thr_reader_shape shape;
    const char *name; /* of the reader */
    size_t row_bytes;
    uint8_t *sample; /* sample_rows dense rows */
    uint64_t sample_rows;
    uint64_t run_rows, n_runs; /* of the sample of a seekable reader; n_runs 0: the first rows */
    uint64_t pending;          /* the sample's rows from here on are still to be returned */
    bool pending_first;
    uint8_t *staging; /* memory for joining smaller pieces of the reader */
    size_t staging_capacity;
    uint64_t given; /* rows returned so far */
    bool ended;
} thr_row_source;

/* THR_EINVAL for a text; THR_EDIM for no dimensions or more than THR_MAX_DIMS; THR_ENOMEM. */
thr_status thr_index_row_source_open(thr_context *context, thr_reader *reader, thr_row_source *source, thr_error *err);
void thr_index_row_source_close(thr_row_source *source);

/*
 * Return a sample of about `wanted` rows; later calls return the same one. The first call is before the first
 * thr_index_row_source_next. If source->ended is true after it, the sample is all there is.
 */
thr_status thr_index_row_source_sample(thr_row_source *source, uint64_t wanted, thr_matrix *sample, thr_error *err);

/* The number, in the file, of a row of the sample. */
uint64_t thr_index_row_source_sampled_row(const thr_row_source *source, uint64_t sample_row);

/* Return the next max_rows rows (a multiple of 64); fewer only at the end, then 0. Valid until the next call. */
thr_status thr_index_row_source_next(thr_row_source *source, uint64_t max_rows, thr_matrix *rows, thr_error *err);
