/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - read bytes from a regular file, standard input, a pipe or memory, optionally through gzip or xz.
 *
 * A stream counts two offsets: position in the decoded bytes, and raw_position in the file. They differ only with a
 * decoder. Only uncompressed regular files have a size and can be sought in.
 */
#pragma once

#include "base/memory.h"

typedef enum thr_packing { THR_PACKING_NONE, THR_PACKING_GZ, THR_PACKING_XZ } thr_packing;

#define THR_SIZE_UNKNOWN UINT64_MAX

enum { THR_STREAM_PEEK_MAX = 16, THR_DECODER_INPUT = 256 * 1024 };

struct thr_decoder;

typedef struct thr_stream {
    thr_context *context;
    const char *name;      /* for messages; borrowed */
    int fd;                /* -1: no descriptor */
    bool owns_fd;          /* false for standard input, which stays open */
    bool seekable;         /* a plain regular file, or sized memory */
    const uint8_t *memory; /* used if fd is -1 */
    uint64_t memory_size;
    uint64_t size;         /* total decoded bytes, or THR_SIZE_UNKNOWN */
    uint64_t position;     /* of the next byte returned */
    uint64_t raw_position; /* of the next byte of the file */
    uint8_t peeked[THR_STREAM_PEEK_MAX];
    size_t n_peeked; /* bytes of peeked that are returned first; position does not count them */
    const struct thr_decoder *decoder;
    void *decoder_state;
    uint8_t *input; /* of the decoder, THR_DECODER_INPUT bytes of the file */
} thr_stream;

/*
 * A decoder. The stream owns its state, which is zeroed before start, and its input. read returns at least one byte
 * unless size is 0 or the data ends; it may report the end only after comparing every checksum. end frees what a
 * successful start allocated.
 */
typedef struct thr_decoder {
    const char *name; /* "gzip" */
    size_t state_size;
    thr_status (*start)(thr_stream *stream, thr_error *err);
    thr_status (*read)(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err);
    void (*end)(thr_stream *stream);
} thr_decoder;

extern const thr_decoder thr_decoder_gz;
extern const thr_decoder thr_decoder_xz;

/*
 * Open path, or standard input if path is NULL. On failure the stream is closed.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EIO; THR_EFORMAT for a directory; THR_EUNSUPPORTED for a compression that this
 * build cannot read; THR_ENOMEM.
 */
thr_status thr_io_stream_open(thr_context *context, const char *path, const char *name, thr_packing packing,
                              thr_stream *stream, thr_error *err);

/* A file's bytes in memory, which must outlive the reader. */
typedef struct thr_image {
    const void *data;
    size_t size;
    bool sized;          /* read as a regular file; otherwise as a pipe */
    size_t buffer_bytes; /* 0: the default; smaller in tests, so that small files fill the buffer several times */
} thr_image;

/* The same for memory. */
thr_status thr_io_stream_open_memory(thr_context *context, const thr_image *image, const char *name,
                                     thr_packing packing, thr_stream *stream, thr_error *err);

/* Fill out. *got is less than size only at the end. */
thr_status thr_io_stream_read(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err);

/* Read the bytes available now, at most size. Waits only if there are none; *got is 0 only at the end. */
thr_status thr_io_stream_read_some(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err);

/*
 * Like thr_io_stream_read of at most THR_STREAM_PEEK_MAX bytes, which the next read returns again. Only at the start.
 */
thr_status thr_io_stream_peek(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err);

/* Read and discard count bytes. *skipped is less only at the end. */
thr_status thr_io_stream_skip(thr_stream *stream, uint64_t count, uint64_t *skipped, thr_error *err);

/* Seek in a seekable stream. Errors appear at the next read. */
void thr_io_stream_seek(thr_stream *stream, uint64_t position);

/* Close and free; a zeroed or closed stream is allowed. */
void thr_io_stream_close(thr_stream *stream);

/* For decoders: read bytes of the file itself. *got is 0 only at its end. */
thr_status thr_io_stream_read_raw(thr_stream *stream, void *out, size_t size, size_t *got, thr_error *err);
