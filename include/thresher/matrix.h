/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.h - rows of numbers: a view of memory, and readers that stream rows from files.
 *
 * A thr_matrix never owns its data. A thr_reader gives a file's rows in pieces, so that files larger than memory can
 * be worked on; the ending of the name says what is in it:
 *
 *   .npy                    NumPy versions 1 to 3, one or two axes, C order, f2 f4 f8 u1 i1 i4 u4 i8 u8, little-endian
 *   .fvecs .bvecs .ivecs    int32 dimension before every row of f32, u8, i32
 *   .fbin .f16bin .u8bin .i8bin .ibin   uint32 rows, uint32 dimensions, then the rows (f32 f16 u8 i8 i32)
 *   .hdf5:DATASET .h5:DATASET           a one- or two-dimensional data set (only in builds with HDF5)
 *   .txt                    one token a line
 *   .tsv .csv               one column of a table as lines of a text: "X.tsv:4" is the fourth, "X.csv:title" the one
 *                           that the first row, which then is no line, calls so; without a part the first. Of more,
 *                           "X.tsv:4,2", a line has all with tabs between. Fields of .tsv are parted by tabs; those of
 *                           .csv by commas, and quoted as RFC 4180 has it
 *
 * A further .gz or .xz is read through, and "-.npy" (a dash, then an ending) is standard input.
 * "X.ibin:distances" is the second half of a big-ann ground-truth file: uint32 rows, uint32 k, ids, float32 distances;
 * "X.ibin" of such a file gives the ids.
 *
 * Threads: a reader belongs to one thread at a time.
 */
#ifndef THRESHER_MATRIX_H
#define THRESHER_MATRIX_H

#include <thresher/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum thr_dtype {
    THR_DTYPE_NONE = 0,
    THR_DTYPE_F32 = 1,
    THR_DTYPE_F16 = 2,
    THR_DTYPE_I8 = 3,
    THR_DTYPE_U8 = 4,
    THR_DTYPE_F64 = 5,
    THR_DTYPE_I32 = 6,
    THR_DTYPE_U32 = 7,
    THR_DTYPE_I64 = 8,
    THR_DTYPE_U64 = 9,
    THR_DTYPE_BF16 = 10 /* bfloat16, the upper half of a float32; no file of rows has it, .safetensors may */
} thr_dtype;

/* Bytes of one value; 0 for THR_DTYPE_NONE and unknown numbers. */
THR_API size_t thr_dtype_size(thr_dtype dtype);

/* "f32", "f16", "i8", ...; "none" and "?" for the rest. Never NULL. */
THR_API const char *thr_dtype_name(thr_dtype dtype);

/* A row-major view: value d of row r stands at (const char *)data + r * stride + d * thr_dtype_size(dtype). */
typedef struct thr_matrix {
    const void *data; /* may be unaligned */
    uint64_t n_rows;
    uint32_t n_dims;
    thr_dtype dtype;
    size_t stride; /* bytes from one row to the next, at least n_dims values */
} thr_matrix;

/* Rows of floats that stand densely behind each other. */
THR_API thr_matrix thr_matrix_f32(const float *data, uint64_t n_rows, uint32_t n_dims);

/*
 * A view of sparse rows: those of row r stand at starts[r] to starts[r + 1] - 1 in columns, ascending, and values; what
 * does not stand there is 0.
 */
typedef struct thr_csr {
    const uint64_t *starts; /* n_rows + 1, from 0 */
    const uint32_t *columns;
    const float *values;
    uint64_t n_rows;
    uint32_t n_columns;
} thr_csr;

/*
 * Widen rows [first, first + n) of any dtype to float32, n_dims values a row, dense in out.
 * 64-bit integers beyond 2^24 round to the nearest float.
 *
 * Returns THR_OK; THR_EINVAL when rows are asked for that are not there, or for an unknown dtype.
 */
THR_API thr_status thr_matrix_to_f32(const thr_matrix *rows, uint64_t first, uint64_t n, float *out);

typedef struct thr_reader thr_reader;

enum { THR_MAX_DIMS = 32768 };      /* the widest row a reader accepts */
#define THR_ROWS_UNKNOWN UINT64_MAX /* the stream does not say how many rows it has */

typedef struct thr_reader_shape {
    uint64_t n_rows; /* or THR_ROWS_UNKNOWN */
    uint32_t n_dims; /* 0 for text */
    thr_dtype dtype; /* THR_DTYPE_NONE for text */
    bool seekable;   /* thr_reader_seek works */
} thr_reader_shape;

/*
 * Open a file by the ending of its name; the header is read and checked, and the size of a plain file too.
 *
 * Returns THR_OK; THR_EINVAL for an ending nobody knows (err lists the known ones); THR_ENOTFOUND for a missing file,
 * data set or column; THR_EIO; THR_EFORMAT for a header that is wrong; THR_ECORRUPT for a file that is empty, cut short
 * or longer than its header says; THR_EUNSUPPORTED for .hdf5, .gz or .xz in a build without; THR_ENOMEM.
 */
THR_API thr_status thr_reader_open(thr_context *context, const char *path, thr_reader **reader, thr_error *err);

/*
 * Open a text, a line each, for thr_reader_next_line: what thr_reader_open reads as a text, a plain file of any other
 * name (.gz and .xz are read through), or standard input where path is "-" or NULL. The latter two may be empty. A line
 * has at most longest bytes; 0: 1 MiB.
 *
 * Returns as thr_reader_open; THR_EINVAL for a file of numbers.
 */
THR_API thr_status thr_reader_open_lines(thr_context *context, const char *path, size_t longest, thr_reader **reader,
                                         thr_error *err);

/* A reader over rows in memory, which must live as long as the reader. */
THR_API thr_status thr_reader_from_matrix(thr_context *context, const thr_matrix *rows, thr_reader **reader,
                                          thr_error *err);

/*
 * A reader that asks a function for rows: it writes at most max_rows rows of n_dims float32 from row number first on
 * into out and returns how many (0 ends the stream; more than max_rows is an error, THR_EINVAL). Any row may be asked
 * for, in any order: first < n_rows. With n_rows = THR_ROWS_UNKNOWN every row is asked for once, in order.
 */
typedef uint64_t (*thr_rows_fn)(void *user, uint64_t first, uint64_t max_rows, float *out);
THR_API thr_status thr_reader_from_function(thr_context *context, uint64_t n_rows, uint32_t n_dims, thr_rows_fn fn,
                                            void *user, thr_reader **reader, thr_error *err);

THR_API thr_reader_shape thr_reader_get_shape(const thr_reader *reader);

/* The name the reader was opened with; "vectors" for the others. Never NULL. */
THR_API const char *thr_reader_name(const thr_reader *reader);

/*
 * The next rows, at most max_rows (at least 1), as a view that is good until the next call on this reader.
 * rows->n_rows is 0 at the end. A text reader has no rows: use thr_reader_next_line.
 *
 * Returns THR_OK; THR_EIO; THR_EFORMAT or THR_ECORRUPT with the row and byte offset in err; THR_EINVAL on text.
 */
THR_API thr_status thr_reader_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err);

/*
 * The next line of a text, without its end (\n or \r\n); NUL-terminated, good until the next call on this reader.
 * *line is NULL at the end. Lines are at most 1 MiB, or what thr_reader_open_lines was given, and hold no NUL byte; a
 * quoted field of .csv may hold line ends. A row without the column is an error.
 *
 * Returns THR_OK; THR_EIO; THR_EFORMAT or THR_ECORRUPT with the line or row number in err; THR_EINVAL when it is not a
 * text.
 */
THR_API thr_status thr_reader_next_line(thr_reader *reader, const char **line, size_t *length, thr_error *err);

/* Go to a row: the next thr_reader_next starts there. THR_EUNSUPPORTED unless seekable; THR_EINVAL past the end. */
THR_API thr_status thr_reader_seek(thr_reader *reader, uint64_t row, thr_error *err);

/* Close; NULL is allowed. */
THR_API void thr_reader_free(thr_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
