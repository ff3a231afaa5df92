/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_lines.h - a text in chunks of whole lines, as often as it is wanted.
 *
 * A plain file is mapped. A packed one that is no larger than a chunk, and unpacked than 16, is unpacked once and kept;
 * any other anew each time, into a buffer of a chunk. A pipe, standard input above all, is kept in memory as it came. A
 * chunk ends behind a newline or with the text, so a line longer than a chunk makes its chunk longer. Each time the
 * chunks are the same, as long as the file is. A byte order mark before all of it is left out.
 */
#ifndef THR_IO_WHOLE_LINES_H
#define THR_IO_WHOLE_LINES_H

#include "base/file.h"
#include "io/stream.h"

typedef struct thr_whole_lines {
    thr_context *context;
    const char *name; /* of whoever opened it, for messages and to open it anew */
    const char *path; /* NULL: standard input */
    thr_packing packing;
    size_t chunk_bytes;
    const char *text; /* the whole, mapped or in memory; NULL: the stream is read */
    size_t size, given;
    char *kept; /* what came through a pipe, or out of a small packed file */
    thr_map map;
    thr_stream stream;
    char *buffer; /* [0, end) was read from the stream, [0, cut) of it given */
    size_t capacity, cut, end;
    bool begun;        /* the stream's first chunk was given */
    uint64_t raw_size; /* of the file, or of what is kept of it; THR_SIZE_UNKNOWN of a pipe */
} thr_whole_lines;

/* Whether a name means standard input: "-", or a dash with an ending. */
bool thr_io_whole_lines_is_input(const char *name);

/*
 * .gz and .xz at the end of name are read through.
 * THR_OK; THR_ENOTFOUND; THR_EIO; THR_EFORMAT for a directory; THR_ECORRUPT; THR_EUNSUPPORTED; THR_ENOMEM.
 */
thr_status thr_io_whole_lines_open(thr_context *context, const char *name, size_t chunk_bytes, thr_whole_lines *lines,
                                   thr_error *err);

/* The same over memory, which must live as long. */
void thr_io_whole_lines_open_memory(thr_context *context, const char *name, const void *text, size_t size,
                                    size_t chunk_bytes, thr_whole_lines *lines);

/* The next chunk, good until the next call; *size is 0 at the end. */
thr_status thr_io_whole_lines_next(thr_whole_lines *lines, const char **chunk, size_t *size, thr_error *err);

/* Begin anew. */
thr_status thr_io_whole_lines_rewind(thr_whole_lines *lines, thr_error *err);

/* Bytes of the file that were read for what was given so far. */
uint64_t thr_io_whole_lines_position(const thr_whole_lines *lines);

/* Where a range that should be `wanted` bytes of `size` ends: behind the first newline from there on. */
size_t thr_io_whole_lines_cut(const char *text, size_t size, size_t wanted);

void thr_io_whole_lines_close(thr_whole_lines *lines);

#endif
