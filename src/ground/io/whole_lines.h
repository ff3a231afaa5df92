/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_lines.h - a text in chunks of whole lines, which can be read repeatedly.
 *
 * A plain file is mapped. A compressed file of at most one chunk that decompresses to at most 16 is decompressed once
 * and kept; larger ones are decompressed anew in each pass, into a buffer of one chunk. A pipe or standard input is
 * kept in memory. A chunk ends after a newline or at the end of the text; a line longer than a chunk makes its chunk
 * longer. Every pass gives the same chunks as long as the file does not change. A byte order mark at the start is
 * skipped.
 */
#pragma once

#include "base/files/file.h"
#include "io/stream.h"

typedef struct thr_whole_lines {
    thr_context *context;
    const char *name; /* borrowed; for messages, and to reopen the file */
    const char *path; /* NULL: standard input */
    thr_packing packing;
    size_t chunk_bytes;
    const char *text; /* the whole text, mapped or in memory; NULL: read from the stream */
    size_t size, given;
    char *kept; /* contents of a pipe or of a small compressed file */
    thr_map map;
    thr_stream stream;
    char *buffer; /* [0, end) was read from the stream, [0, cut) of it returned */
    size_t capacity, cut, end;
    bool begun;        /* the first chunk of the stream was returned */
    uint64_t raw_size; /* of the file, or of the kept part; THR_SIZE_UNKNOWN for a pipe */
} thr_whole_lines;

/* Return whether a name means standard input: "-", or a dash with an ending. */
bool thr_io_whole_lines_is_input(const char *name);

/*
 * Open name; .gz and .xz are decompressed. THR_OK; THR_ENOTFOUND; THR_EIO; THR_EFORMAT for a directory; THR_ECORRUPT;
 * THR_EUNSUPPORTED; THR_ENOMEM.
 */
thr_status thr_io_whole_lines_open(thr_context *context, const char *name, size_t chunk_bytes, thr_whole_lines *lines,
                                   thr_error *err);

/* The same for memory, which must outlive lines. */
void thr_io_whole_lines_open_memory(thr_context *context, const char *name, const void *text, size_t size,
                                    size_t chunk_bytes, thr_whole_lines *lines);

/* Return the next chunk, valid until the next call; *size is 0 at the end. */
thr_status thr_io_whole_lines_next(thr_whole_lines *lines, const char **chunk, size_t *size, thr_error *err);

/* Start another pass. */
thr_status thr_io_whole_lines_rewind(thr_whole_lines *lines, thr_error *err);

/* Bytes of the file read for the chunks returned so far. */
uint64_t thr_io_whole_lines_position(const thr_whole_lines *lines);

/* Return the end of a range of about `wanted` of `size` bytes: after the first newline at or past that point. */
size_t thr_io_whole_lines_cut(const char *text, size_t size, size_t wanted);

void thr_io_whole_lines_close(thr_whole_lines *lines);
