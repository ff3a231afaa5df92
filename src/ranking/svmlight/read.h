/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - read files of ranking examples in the format of SVMrank, LIBSVM and LETOR into plain arrays:
 *
 *     2 qid:10 1:0.03 2:0.67 46:0.5 # docid = GX008-86-4444840
 *
 * A line is a row: a label, any real number; the number of its query; values with the index of their feature, from 1,
 * ascending; after '#' a comment. Separators are spaces or tabs; lines end in \n or \r\n and may have any length.
 * Empty lines and lines with only a comment are no rows. If no line has a qid, FILE.query next to the file, also as
 * .gz or .xz, gives the number of consecutive rows of each query, as in LightGBM ("FILE.svm.xz" has "FILE.svm.query",
 * "FILE.svm.query.gz" or "FILE.svm.query.xz").
 *
 * The file is read twice: once to count, so that the arrays are allocated once with their exact size, and once to
 * parse. A plain file is mapped. A compressed one is decompressed twice, piece by piece, or once if it is small.
 * Standard input is kept in memory. Pieces are ranges of whole lines, so the arrays do not depend on the number of
 * threads. A byte order mark at the start is skipped.
 *
 * Values are rounded to the nearest float, labels to the nearest double.
 */
#pragma once

#include "base/files/file.h"

#define THR_SVMLIGHT_MAX_INDEX UINT32_C(2147483647) /* indices in LIBLINEAR are of type int */
#define THR_SVMLIGHT_MAX_ROWS  UINT32_C(4294967294)

/* Run fn for every piece, as thr_parallel_for does. A callback, because io may not include parallel. */
typedef void (*thr_svmlight_piece)(void *arg, size_t piece, uint32_t worker);
typedef void (*thr_svmlight_run)(thr_context *context, size_t n_pieces, thr_svmlight_piece fn, void *arg);

typedef struct thr_svmlight_options {
    bool need_queries;    /* fail if there are no queries */
    bool ignore_queries;  /* read neither qid nor side file: queries is NULL */
    bool drop_comments;   /* set comments to NULL */
    bool use_cache;       /* read FILE.thr-cache instead of FILE if it was made from it */
    bool write_cache;     /* write the cache if it was not used */
    thr_svmlight_run run; /* NULL: run pieces one by one */
    size_t piece_bytes;   /* bytes of text; 0: the default; smaller in tests, so that small files have several pieces */
} thr_svmlight_options;

/*
 * The rows in the file's order. Dense if that takes no more memory than CSR: n_rows x n_features x 4 <= n_values x 8
 * + n_rows x 8 bytes. Exactly one of dense and values is not NULL.
 */
typedef struct thr_svmlight {
    thr_context *context;
    size_t n_rows, n_values;        /* n_values: as written, including zeros */
    uint32_t n_features;            /* the largest index */
    const double *labels;           /* n_rows */
    const uint64_t *queries;        /* n_rows, as written, or 0, 1, 2, ... from a side file; NULL: no queries */
    const uint64_t *starts;         /* n_rows + 1: the values of row r are starts[r] to starts[r + 1] - 1 */
    const uint32_t *columns;        /* n_values, from 0, ascending within a row */
    const float *values;            /* n_values */
    const float *dense;             /* n_rows x n_features, row-major; 64-byte aligned */
    const uint64_t *comment_starts; /* n_rows + 1; NULL: no row has a comment */
    const char *comments;           /* text after '#', trimmed; not NUL-terminated */
    bool from_cache;                /* the arrays are in map, read-only; otherwise in the context's memory */
    thr_error cache;                /* why writing the cache failed; THR_OK: written */
    thr_map map;
} thr_svmlight;

/*
 * Read a file; .gz and .xz are decompressed, "-.svm" is standard input. options NULL: all zeros. Progress is in
 * bytes, named "read".
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EIO; THR_EFORMAT for a malformed line (err names file, line and column),
 * a row without a query where others have one, or need_queries without queries; THR_ERANGE for a number
 * that is not finite or an index that is 0, not ascending, or above THR_SVMLIGHT_MAX_INDEX; THR_EMISMATCH for a side
 * file with another number of rows; THR_ECORRUPT for damaged .gz or .xz; THR_ECHANGED if the file changed while it
 * was read; THR_EDIM for too many rows; THR_EUNSUPPORTED; THR_ECANCELED; THR_ENOMEM. On failure *out holds nothing.
 */
thr_status thr_svmlight_read(thr_context *context, const char *path, const thr_svmlight_options *options,
                             thr_svmlight *out, thr_error *err);

/* The same for a text in memory, without side file and cache. name is for messages. */
thr_status thr_svmlight_read_memory(thr_context *context, const char *name, const void *text, size_t size,
                                    const thr_svmlight_options *options, thr_svmlight *out, thr_error *err);

/* Free the arrays; a zeroed struct is allowed. */
void thr_svmlight_free(thr_svmlight *svmlight);
