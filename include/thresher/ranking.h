/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranking.h - examples to learn a ranking from and to judge one by: queries, and for each some rows of features with a
 * label, the larger the better.
 *
 * They come from a file, as SVMrank, LETOR and LightGBM have it (a .svm with qid:N, or with a .query beside it), or
 * from arrays. Rows of a query may stand anywhere; here they stand together: queries in the order in which they first
 * appear, rows of a query in the order in which they were given. thr_ranking_view has where each row came from.
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
    size_t size;           /* sizeof(thr_ranking_options), set by _init */
    bool without_queries;  /* of a file: rows need no queries; where it has none, all rows are one query's */
    bool without_comments; /* of a file: comments are not kept */
    /*
     * Of a file: read FILE.thr-cache where it was made of FILE as it is now, else make it. Where it cannot be made,
     * thr_ranking_cache_status says why, and nothing is lost but the time of reading FILE again.
     */
    bool cache;
} thr_ranking_options;

/* Defaults: queries are needed, comments are kept, no cache. */
THR_API void thr_ranking_options_init(thr_ranking_options *options);

/*
 * Read a file of lines "label qid:N index:value ... # comment"; .gz and .xz are read through, "-.svm" is standard
 * input. Indices are from 1 and ascend; labels and values are any finite numbers, values kept as float32. Where no line
 * has a qid, FILE.query beside it (or FILE.query.gz, .xz) has the number of rows of each query, a line a query. options
 * may be NULL. All threads read. Memory: dense rows or 8 bytes a written value, whichever is less, 24 bytes a row, and
 * comments; of a small .gz or .xz (16 MiB, or 4 MiB a thread where that is more) its text, too, up to 16 times as much.
 *
 * Returns THR_OK; THR_ENOTFOUND; THR_EIO; THR_EFORMAT for a line that is no row (err names the line and the column), a
 * row without a qid, or a file without rows; THR_ERANGE for a number that is not finite, or an index that is 0, does
 * not ascend or is beyond THR_RANKING_MAX_FEATURES; THR_EMISMATCH for a .query of another number of rows; THR_ECORRUPT
 * for damage in .gz or .xz; THR_ECHANGED for a file that changes while it is read; THR_EDIM for more than
 * THR_RANKING_MAX_ROWS; THR_ENOSPACE; THR_EUNSUPPORTED; THR_EINVAL; THR_ECANCELED; THR_ENOMEM.
 */
THR_API thr_status thr_ranking_open(thr_context *context, const char *path, const thr_ranking_options *options,
                                    thr_ranking **ranking, thr_error *err);

/*
 * The same of arrays: row r has the features of row r, labels[r], and belongs to query queries[r], any number (NULL:
 * all rows are one query's). Everything is copied.
 *
 * Returns THR_OK; THR_EDIM for no rows, or more rows or features than there may be; THR_ERANGE for a number that is not
 * finite (err names the row); THR_EINVAL for a matrix with a dtype that is unknown, or for CSR whose starts do not
 * ascend from 0 or whose columns do not ascend below n_columns; THR_ENOMEM.
 */
THR_API thr_status thr_ranking_from_matrix(thr_context *context, const thr_matrix *features, const double *labels,
                                           const uint64_t *queries, thr_ranking **ranking, thr_error *err);
THR_API thr_status thr_ranking_from_csr(thr_context *context, const thr_csr *features, const double *labels,
                                        const uint64_t *queries, thr_ranking **ranking, thr_error *err);

/* All that is in it, good as long as it is. Rows are grouped by query. One of dense and sparse.values is not NULL. */
typedef struct thr_ranking_view {
    uint64_t n_rows, n_queries;
    uint32_t n_features;
    bool has_queries;        /* false: none were given, all rows are one query's */
    const uint64_t *offsets; /* n_queries + 1: query q has rows offsets[q] to offsets[q + 1] - 1, one at least */
    const uint64_t *queries; /* n_queries, the numbers they were given; of a .query file 0, 1, 2, ... */
    const double *labels;    /* n_rows */
    const uint64_t *rows;    /* n_rows: the number of each as it was given, from 0; NULL: they were grouped already */
    const float *dense;      /* n_rows x n_features, row-major; 64-byte aligned */
    thr_csr sparse;
} thr_ranking_view;

THR_API thr_ranking_view thr_ranking_get_view(const thr_ranking *ranking);

/*
 * The comment of a row (by its place in the view), without blanks at its ends, *length bytes with no NUL behind them;
 * NULL where it has none, or for a row that is not there.
 */
THR_API const char *thr_ranking_comment(const thr_ranking *ranking, uint64_t row, size_t *length);

/* THR_OK, or why the cache that was to be made could not be written. */
THR_API thr_status thr_ranking_cache_status(const thr_ranking *ranking, thr_error *err);

/* Free; NULL is allowed. */
THR_API void thr_ranking_free(thr_ranking *ranking);

#ifdef __cplusplus
}
#endif

#endif
