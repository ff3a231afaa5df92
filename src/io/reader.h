/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - what the formats share: the reader, and how one is opened.
 *
 * A format is a function that gets a reader whose stream stands at the first byte, checks the header, fills shape and
 * sets ops. Whatever it has set when it fails is freed by thr_reader_free.
 */
#ifndef THR_IO_READER_H
#define THR_IO_READER_H

#include "io/stream.h"

#include <thresher/matrix.h>

typedef struct thr_reader_ops {
    thr_status (*next)(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err); /* NULL: a text */
    thr_status (*next_line)(thr_reader *reader, const char **line, size_t *length, thr_error *err);
    void (*seek)(thr_reader *reader, uint64_t row); /* only called with rows up to n_rows, and when seekable */
    void (*close)(thr_reader *reader);              /* frees state */
} thr_reader_ops;

struct thr_reader {
    thr_context *context;
    char *name;
    thr_stream stream;
    const thr_reader_ops *ops;
    void *state;
    thr_reader_shape shape;
    size_t buffer_bytes; /* what a format should read at once */
    size_t longest_line; /* of a text, in bytes; a longer one is refused */
    bool may_be_empty;   /* a text without lines is no error */
    thr_status broken;   /* the failure after which no more rows are given; seeking mends it */
};

/* What the name says. */
typedef struct thr_source {
    const char *path;    /* the file, without a part; NULL for standard input */
    const char *part;    /* behind the colon, NULL when there is none */
    thr_dtype dtype;     /* from the ending, where it decides that */
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

/* Open an image; the name's ending says what is in it. HDF5 is not read from memory. */
thr_status thr_io_reader_open_memory(thr_context *context, const char *name, const thr_image *image,
                                     thr_reader **reader, thr_error *err);

/* A reader with a name and nothing else, for the constructors. */
thr_status thr_io_reader_make(thr_context *context, const char *name, thr_reader **reader, thr_error *err);

#endif
