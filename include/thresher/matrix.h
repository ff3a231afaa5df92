/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.h - rows of numbers: views of memory, and readers that stream rows from files.
 *
 * A thr_matrix never owns its data. A thr_reader returns a file's rows in pieces, so a file may be larger than memory.
 * The ending of the name selects the format:
 *
 *   .npy                    NumPy versions 1 to 3, one or two axes, C order, f2 f4 f8 u1 i1 i4 u4 i8 u8, little-endian
 *   .fvecs .bvecs .ivecs    each row: int32 dimension, then f32, u8, i32 values
 *   .fbin .f16bin .u8bin .i8bin .ibin   uint32 rows, uint32 dimensions, then the rows (f32 f16 u8 i8 i32)
 *   .ibin:distances         the distances of a big-ann ground-truth file (uint32 rows, uint32 k, ids, float32
 *                           distances); without the suffix, its ids
 *   .hdf5:DATASET .h5:DATASET           a one- or two-dimensional data set (only in builds with HDF5)
 *   .txt                    text, one token per line
 *   .tsv .csv               text: columns of a table. "X.tsv" is column 1, "X.tsv:4" column 4, "X.tsv:4,2" two columns
 *                           joined by a tab; "X.csv:title" is the column with this name in the first row, which is
 *                           then not read as a line. .tsv separates fields by tabs, .csv by commas with the quotes of
 *                           RFC 4180
 *
 * A further .gz or .xz is decompressed. "-.npy" (a dash, then an ending) is standard input.
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
    THR_DTYPE_BF16 = 10 /* bfloat16, the upper half of a float32; only in .safetensors and .gguf */
} thr_dtype;

/* Bytes of one value; 0 for THR_DTYPE_NONE and unknown numbers. */
THR_API size_t thr_dtype_size(thr_dtype dtype);

/* "f32", "f16", "i8", ...; "none" and "?" for the rest. Never NULL. */
THR_API const char *thr_dtype_name(thr_dtype dtype);

/* The two sides of a search, which a model encodes in its own way. */
typedef enum thr_side { THR_SIDE_QUERY = 0, THR_SIDE_ITEM = 1 } thr_side;

/* A row-major view: value d of row r is at (const char *)data + r * stride + d * thr_dtype_size(dtype). */
typedef struct thr_matrix {
    const void *data; /* may be unaligned */
    uint64_t n_rows;
    uint32_t n_dims;
    thr_dtype dtype;
    size_t stride; /* bytes from one row to the next, at least n_dims values */
} thr_matrix;

/* A view of contiguous rows of float32. */
THR_API thr_matrix thr_matrix_f32(const float *data, uint64_t n_rows, uint32_t n_dims);

/*
 * A view of sparse rows (CSR): row r has the values [starts[r], starts[r + 1]) at the columns of the same positions,
 * which ascend; all other values are 0.
 */
typedef struct thr_csr {
    const uint64_t *starts; /* n_rows + 1, from 0 */
    const uint32_t *columns;
    const float *values;
    uint64_t n_rows;
    uint32_t n_columns;
} thr_csr;

/*
 * Convert rows [first, first + n) of any dtype to float32: n x n_dims values, row-major, in out. 64-bit integers beyond
 * 2^24 round to the nearest float.
 *
 * Returns THR_OK; THR_EINVAL for rows that do not exist, or an unknown dtype.
 */
THR_API thr_status thr_matrix_to_f32(const thr_matrix *rows, uint64_t first, uint64_t n, float *out);

typedef struct thr_reader thr_reader;

enum { THR_MAX_DIMS = 32768 };      /* the widest row of a reader */
enum { THR_MAX_BITS = 8 };          /* most bits per dimension of a code */
#define THR_ROWS_UNKNOWN UINT64_MAX /* a stream whose number of rows is unknown */

typedef struct thr_reader_shape {
    uint64_t n_rows; /* or THR_ROWS_UNKNOWN */
    uint32_t n_dims; /* 0 for text, and possibly for a file without rows */
    thr_dtype dtype; /* THR_DTYPE_NONE for text */
    bool seekable;   /* a build may read its rows more than once, in any order */
} thr_reader_shape;

/*
 * Open a file; the ending of its name selects the format. Checks the header, and the size of an uncompressed file. The
 * caller frees *reader.
 *
 * Returns THR_OK; THR_EINVAL for an unknown ending (err lists the known ones); THR_ENOTFOUND for a missing file, data
 * set or column; THR_EIO; THR_EFORMAT for a wrong header; THR_ECORRUPT for a file that is empty, shorter or longer than
 * its header requires; THR_EUNSUPPORTED for .hdf5, .gz or .xz in a build without it; THR_ENOMEM.
 */
THR_API thr_status thr_reader_open(thr_context *context, const char *path, thr_reader **reader, thr_error *err);

/*
 * Open a text for thr_reader_next_line: a text format of thr_reader_open; a plain file of any other name (.gz and .xz
 * are decompressed); or standard input if path is "-" or NULL. The last two may be empty. A line has at most longest
 * bytes; 0: 1 MiB.
 *
 * Returns as thr_reader_open; THR_EINVAL for a file of numbers.
 */
THR_API thr_status thr_reader_open_lines(thr_context *context, const char *path, size_t longest, thr_reader **reader,
                                         thr_error *err);

/* Make a reader of rows in memory, which must outlive it. Returns THR_OK; THR_EINVAL for a bad view; THR_ENOMEM. */
THR_API thr_status thr_reader_from_matrix(thr_context *context, const thr_matrix *rows, thr_reader **reader,
                                          thr_error *err);

/*
 * Make a reader of rows that a function computes. fn writes at most max_rows rows of n_dims float32, from row number
 * first on, to out and returns their number; 0 ends the stream. More than max_rows make the read fail with THR_EINVAL.
 * Rows below n_rows are requested in any order; if n_rows is THR_ROWS_UNKNOWN, each row once, in order. fn must return:
 * no C++ exception and no longjmp may leave it (context.h).
 *
 * Returns THR_OK; THR_EINVAL for dimensions out of range or no function; THR_ENOMEM.
 */
typedef uint64_t (*thr_rows_fn)(void *user, uint64_t first, uint64_t max_rows, float *out);
THR_API thr_status thr_reader_from_function(thr_context *context, uint64_t n_rows, uint32_t n_dims, thr_rows_fn fn,
                                            void *user, thr_reader **reader, thr_error *err);

THR_API thr_reader_shape thr_reader_get_shape(const thr_reader *reader);

/*
 * Read the next rows, at most max_rows (1 or more), as a view that is valid until the next call on this reader.
 * rows->n_rows is 0 at the end. For texts use thr_reader_next_line.
 *
 * Returns THR_OK; THR_EIO; THR_EFORMAT or THR_ECORRUPT (err has the row and byte offset); THR_EINVAL for a text.
 */
THR_API thr_status thr_reader_next(thr_reader *reader, uint64_t max_rows, thr_matrix *rows, thr_error *err);

/*
 * Read the next line of a text without its end (\n or \r\n): NUL-terminated, valid until the next call on this reader.
 * *line is NULL at the end. Lines hold no NUL byte and have at most 1 MiB, or the limit of thr_reader_open_lines; a
 * quoted field of .csv may contain line ends. A row without the column is an error.
 *
 * Returns THR_OK; THR_EIO; THR_EFORMAT or THR_ECORRUPT (err has the line or row number); THR_EINVAL if the reader is
 * not a text.
 */
THR_API thr_status thr_reader_next_line(thr_reader *reader, const char **line, size_t *length, thr_error *err);

/* Close; NULL is allowed. */
THR_API void thr_reader_free(thr_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
