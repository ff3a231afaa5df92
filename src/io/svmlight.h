/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svmlight.h - files of examples for ranking, as SVMrank, LIBSVM and LETOR write them, whole into plain arrays:
 *
 *     2 qid:10 1:0.03 2:0.67 46:0.5 # docid = GX008-86-4444840
 *
 * A line is a row: a label, any real number; the number of its query; values by the index of their feature, from 1,
 * ascending; behind '#' a comment. Spaces or tabs part them; lines end in \n or \r\n and may be of any length. Empty
 * lines, and lines with a comment only, are no rows. Where no line has a qid, FILE.query beside the file, also .gz or
 * .xz, says how many rows in a row each query has, as LightGBM reads it ("FILE.svm.xz" has "FILE.svm.query",
 * "FILE.svm.query.gz" or "FILE.svm.query.xz").
 *
 * The file is read twice: once to count, so that the arrays are made once with their exact size, and once to take the
 * numbers. A plain file is mapped; a packed one is unpacked twice, a piece at a time, or once where it is small;
 * standard input is kept as it came. Pieces are ranges of whole lines, so the arrays do not depend on how many threads
 * work. A byte order mark before all of it is left out.
 *
 * Values are the floats nearest to what is written, labels the doubles nearest.
 */
#ifndef THR_IO_SVMLIGHT_H
#define THR_IO_SVMLIGHT_H

#include "base/file.h"

#define THR_SVMLIGHT_MAX_INDEX UINT32_C(2147483647) /* LIBLINEAR's indices are ints */
#define THR_SVMLIGHT_MAX_ROWS  UINT32_C(4294967294)

/* Run fn for every piece; thr_parallel_for is one such. io stands beside the threads and does not know them. */
typedef void (*thr_svmlight_piece)(void *arg, size_t piece, uint32_t worker);
typedef void (*thr_svmlight_run)(thr_context *context, size_t n_pieces, thr_svmlight_piece fn, void *arg);

typedef struct thr_svmlight_options {
    bool need_queries;    /* rows without queries are an error */
    bool ignore_queries;  /* neither a qid nor a side file is wanted: queries is NULL */
    bool drop_comments;   /* comments is NULL */
    bool use_cache;       /* read FILE.thr-cache in place of FILE where it was made of it */
    bool write_cache;     /* and make it where it was not */
    thr_svmlight_run run; /* NULL: one piece after the other */
    size_t piece_bytes;   /* of text; 0: the usual; less, so that small files have several pieces */
} thr_svmlight_options;

/*
 * The rows in the file's order. Dense where that takes less memory than CSR does: where n_rows x n_features x 4 bytes
 * are at most n_values x 8 + n_rows x 8. Just one of dense and values is not NULL.
 */
typedef struct thr_svmlight {
    thr_context *context;
    size_t n_rows, n_values;        /* values as they are written, zeros too */
    uint32_t n_features;            /* the largest index */
    const double *labels;           /* n_rows */
    const uint64_t *queries;        /* n_rows, as written; of a side file 0, 1, 2, ...; NULL: the file has none */
    const uint64_t *starts;         /* n_rows + 1: the values of row r are starts[r] to starts[r + 1] - 1 */
    const uint32_t *columns;        /* n_values, from 0, ascending within a row */
    const float *values;            /* n_values */
    const float *dense;             /* n_rows x n_features, row-major; 64-byte aligned */
    const uint64_t *comment_starts; /* n_rows + 1; NULL: no row has a comment */
    const char *comments; /* what stands behind '#' and blanks, without blanks at its end; not NUL-terminated */
    bool from_cache;      /* the arrays lie in map and cannot be written; else they are the context's memory */
    thr_error cache;      /* why the cache that was to be made was not; THR_OK: it was */
    thr_map map;
} thr_svmlight;

/*
 * Read a file; .gz and .xz are read through, "-.svm" is standard input. options may be NULL: all as zeros have it.
 * progress tells bytes as "read".
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EIO; THR_EFORMAT for a line that is none (err names file, line and column), an
 * empty file, a row without a query where others have one, or need_queries and none; THR_ERANGE for a number that is
 * not finite or an index that is 0, not above the one before, or beyond THR_SVMLIGHT_MAX_INDEX; THR_EMISMATCH for a
 * side file of another number of rows; THR_ECORRUPT for damage in .gz or .xz; THR_ECHANGED where the file changed
 * meanwhile; THR_EDIM for too many rows; THR_EUNSUPPORTED; THR_ECANCELED; THR_ENOMEM. On failure *out holds nothing.
 */
thr_status thr_io_svmlight_read(thr_context *context, const char *path, const thr_svmlight_options *options,
                                thr_svmlight *out, thr_error *err);

/* The same of a text in memory, without side file and cache. name is for messages. */
thr_status thr_io_svmlight_read_memory(thr_context *context, const char *name, const void *text, size_t size,
                                       const thr_svmlight_options *options, thr_svmlight *out, thr_error *err);

/* Free what it holds; a zeroed one is allowed. */
void thr_io_svmlight_free(thr_svmlight *svmlight);

#endif
