/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_stream.h - writes segment files, one after the other: encodes a stream of rows with a trained quantiser, or
 * takes items that the caller gathers. Memory: a segment's codes and a few chunks.
 */
#pragma once

#include "base/progress.h"
#include "index/code_origins.h"
#include "index/build/directory.h"
#include "index/build/gather.h"
#include "index/build/ids.h"
#include "index/build/keep_vectors.h"
#include "index/build/row_source.h"
#include "index/model/embed.h"

/* Initialise with zeros and the borrowed pointers. Close it after any outcome of open. */
typedef struct thr_segment_stream {
    thr_context *context;
    const char *title; /* of the progress */
    const thr_build_dir *dir;
    const thr_ids *ids;     /* of all rows of the stream; none if n is 0 */
    thr_row_source *source; /* NULL if the caller gathers the items */
    /* Has the quantiser, lead, metric, keep and centred; each segment's line is appended to it, and its items added. */
    thr_manifest *manifest;
    bool is_temporary;              /* other segments take the place of these before the manifest is published */
    const thr_encoder *encoder;     /* encodes the rows, if they are the model's inputs; else NULL */
    uint64_t segment_items;         /* most items of a segment (thr_index_segment_items) */
    const thr_cell_table *cells;    /* of the segment that the caller gathers; NULL: none */
    thr_index_code_origins origins; /* of the rows of a source */
    thr_gather gather;
    thr_keeper keeper;
    thr_embedder embedder;
    thr_section_writer writer;
    thr_progress progress;
    size_t segments_capacity;
} thr_segment_stream;

/*
 * The most items of a segment, a multiple of 64: most_rows rounded up to whole blocks, or, if that is 0 or too many, as
 * many as take a GiB of codes.
 */
uint64_t thr_index_segment_items(uint32_t n_dims, uint32_t bits, uint64_t most_rows);

/* Allocate. THR_EINVAL for too many segments; THR_ENOMEM. */
thr_status thr_index_segment_stream_open(thr_segment_stream *stream, thr_error *err);
void thr_index_segment_stream_close(thr_segment_stream *stream);

/*
 * Write all rows of the source as segments, numbered from `number` on. Row numbers in messages count from the stream's
 * first row. THR_ERANGE for a row with NaN, infinity or that is too long; THR_EDIM if the numbers of rows and ids
 * differ; THR_EMISMATCH, THR_EINVAL, THR_ECANCELED, THR_ENOSPACE, THR_EIO, THR_ENOMEM; and what the reader returns.
 */
thr_status thr_index_segment_stream_write(thr_segment_stream *stream, uint32_t number, thr_error *err);

/*
 * For items that the caller gathers: begin a segment; then write its vectors, if any are kept, to stream->writer, and
 * gather all else; then end it. ids has ids and names of the segment's items only.
 */
thr_status thr_index_segment_begin(thr_segment_stream *stream, uint32_t number, thr_error *err);
thr_status thr_index_segment_end(thr_segment_stream *stream, uint32_t number, uint32_t n_items, thr_error *err);
