/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - the reader that all formats share, and how to open one.
 *
 * A format is a function that receives a reader whose stream is at the first byte. It validates the header, fills
 * shape and sets ops. If it fails, thr_reader_free frees what it has set.
 */
#pragma once

#include "io/stream.h"

#include <thresher/matrix.h>

typedef struct thr_reader_ops {
    thr_status (*next)(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err); /* NULL for a text */
    thr_status (*next_line)(thr_reader *reader, const char **line, size_t *length, thr_error *err);
    void (*seek)(thr_reader *reader, uint64_t row); /* row <= n_rows; NULL: set next_row */
    void (*close)(thr_reader *reader);              /* frees state */
} thr_reader_ops;

struct thr_reader {
    thr_context *context;
    char *name;
    thr_stream stream;
    const thr_reader_ops *ops;
    void *state;
    thr_reader_shape shape;
    uint64_t next_row;   /* of formats whose seek is NULL */
    size_t buffer_bytes; /* recommended bytes for one read */
    size_t longest_line; /* limit in bytes of a line of a text; longer lines are errors */
    thr_status broken;   /* a failure after which no more rows are returned; seeking clears it */
};

/* The name the reader was opened with; "vectors" for readers without a file. Never NULL. */
const char *thr_io_reader_name(const thr_reader *reader);

/* Continue at another row. Returns THR_OK; THR_EUNSUPPORTED unless seekable; THR_EINVAL past the end. */
thr_status thr_io_reader_seek(thr_reader *reader, uint64_t row, thr_error *err);

/* The parts of a file name. */
typedef struct thr_source {
    const char *path;    /* the file name without its part; NULL for standard input */
    const char *part;    /* the text after the colon; NULL if there is none */
    thr_dtype dtype;     /* if the ending determines it */
    thr_packing packing; /* from .gz and .xz */
    const char *ending;  /* ".npy" */
} thr_source;

typedef thr_status (*thr_format_open)(thr_reader *reader, const thr_source *source, thr_error *err);

thr_status thr_io_npy_open(thr_reader *reader, const thr_source *source, thr_error *err);
thr_status thr_io_vecs_open(thr_reader *reader, const thr_source *source, thr_error *err);
thr_status thr_io_bin_open(thr_reader *reader, const thr_source *source, thr_error *err);
thr_status thr_io_text_open(thr_reader *reader, const thr_source *source, thr_error *err);
thr_status thr_io_column_open(thr_reader *reader, const thr_source *source, thr_error *err);
thr_status thr_io_hdf5_open(thr_reader *reader, const thr_source *source, thr_error *err);

/* Open an image. The ending of name selects the format. HDF5 cannot be read from memory. */
thr_status thr_io_reader_open_memory(thr_context *context, const char *name, const thr_image *image,
                                     thr_reader **reader, thr_error *err);

/* Create a reader that has only a name, for constructors. */
thr_status thr_io_reader_make(thr_context *context, const char *name, thr_reader **reader, thr_error *err);
