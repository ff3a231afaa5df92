/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranking.h - labelled rows grouped by query, for training and evaluating a ranking. A larger label is better.
 *
 * Rows come from arrays, or from a file in the format of SVMrank, LETOR and LightGBM. The rows of a query need not be
 * adjacent in the input. A thr_ranking groups them: queries in order of first appearance, rows of a query in input
 * order. thr_ranking_view.rows maps back to input rows.
 *
 * Threads: a thr_ranking is immutable and may be shared.
 */
#ifndef THRESHER_RANKING_H
#define THRESHER_RANKING_H

#include <thresher/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct thr_ranking thr_ranking;

#define THR_RANKING_MAX_ROWS     UINT32_C(4294967294)
#define THR_RANKING_MAX_FEATURES UINT32_C(2147483647)

typedef struct thr_ranking_options {
    bool without_queries;  /* files: rows need no queries; without any, all rows belong to one query */
    bool without_comments; /* files: drop comments */
    /*
     * Files: read FILE.thr-cache if it was made from the current FILE, else write it. A cache that cannot be written is
     * not an error: see thr_ranking_cache_status.
     */
    bool cache;
} thr_ranking_options;

/*
 * Read a file with one row per line, also .gz and .xz; "-.svm" is standard input. options may be NULL. Uses all
 * threads.
 *
 *   2 qid:1 1:0.5 7:-3 # comment          label, query, features as index:value
 *
 * Indices start at 1 and ascend. Labels and values are finite; values are kept as float32. If no line has a qid, the
 * file FILE.query (or FILE.query.gz, .xz) gives the number of rows of each query, one query per line.
 *
 * Memory: dense rows, or 8 bytes per value in the file, whichever is less; 24 bytes per row; the comments. A small .gz
 * or .xz (16 MiB, or 4 MiB per thread if that is more) is also kept as text, up to 16 times its size.
 *
 * Returns THR_OK, or
 *   THR_EFORMAT    a line is malformed (err names line and column) or has no qid. A file without rows is no error
 *   THR_ERANGE     a number is not finite, or an index is 0, does not ascend or exceeds THR_RANKING_MAX_FEATURES
 *   THR_EMISMATCH  .query counts another number of rows
 *   THR_ECORRUPT   .gz or .xz data is damaged
 *   THR_ECHANGED   the file changed while it was read
 *   THR_EDIM       more than THR_RANKING_MAX_ROWS
 *   THR_ENOTFOUND, THR_EIO, THR_ENOSPACE, THR_EUNSUPPORTED, THR_EINVAL, THR_ECANCELED, THR_ENOMEM
 */
THR_API thr_status thr_ranking_open(thr_context *context, const char *path, const thr_ranking_options *options,
                                    thr_ranking **ranking, thr_error *err);

/*
 * Make a ranking of arrays, which are copied: row r has features row r, labels[r] and query number queries[r]. If
 * all rows belong to one query, all have the same number.
 *
 * Returns THR_OK; THR_EDIM for no rows, or too many rows or features; THR_ERANGE for a number that is not finite (err
 * names the row); THR_EINVAL for labels or queries that are NULL, an unknown dtype, or CSR whose starts do not ascend
 * from 0 or whose columns do not ascend below n_columns; THR_ENOMEM.
 */
THR_API thr_status thr_ranking_from_matrix(thr_context *context, const thr_matrix *features, const double *labels,
                                           const uint64_t *queries, thr_ranking **ranking, thr_error *err);
THR_API thr_status thr_ranking_from_csr(thr_context *context, const thr_csr *features, const double *labels,
                                        const uint64_t *queries, thr_ranking **ranking, thr_error *err);

/* A ranking's data, grouped by query; valid until it is freed. Either dense or sparse.values is NULL. */
typedef struct thr_ranking_view {
    uint64_t n_rows, n_queries;
    uint32_t n_features;
    bool has_queries;        /* false: the input had none, all rows belong to one query */
    const uint64_t *offsets; /* n_queries + 1: query q has rows offsets[q] to offsets[q + 1] - 1, at least one */
    const uint64_t *queries; /* n_queries input numbers of the queries; from a .query file 0, 1, 2, ... */
    const double *labels;    /* n_rows */
    const uint64_t *rows;    /* n_rows input row numbers, from 0; NULL: the input was grouped */
    const float *dense;      /* n_rows x n_features, row-major, 64-byte aligned */
    thr_csr sparse;
} thr_ranking_view;

THR_API thr_ranking_view thr_ranking_get_view(const thr_ranking *ranking);

/*
 * The comment of a row of the view, without leading and trailing blanks: *length bytes, not NUL-terminated. NULL if the
 * row has none or does not exist.
 */
THR_API const char *thr_ranking_comment(const thr_ranking *ranking, uint64_t row, size_t *length);

/* THR_OK, or the error that prevented writing the cache. */
THR_API thr_status thr_ranking_cache_status(const thr_ranking *ranking, thr_error *err);

/* Free; NULL is allowed. */
THR_API void thr_ranking_free(thr_ranking *ranking);

#ifdef __cplusplus
}
#endif

#endif
