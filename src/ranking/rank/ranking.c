/* SPDX-License-Identifier: Apache-2.0 */
/* ranking.c - creating rankings from files and arrays: rows in any order become rows grouped by query. */
#include "rank/ranking.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "parallel/pool.h"
#include "rank/group_queries.h"

static thr_status make(thr_context *context, thr_ranking **ranking, thr_error *err) {
    THR_TRY(thr_alloc_zero(context, 1, sizeof **ranking, ranking, "a ranking", err));
    (*ranking)->context = thr_context_retain(context);
    (*ranking)->text = (thr_svmlight){.context = context};
    return THR_OK;
}

/* Point the view to what was read or copied, grouped by query, unless status is an error; free it on errors. */
static thr_status finish(thr_ranking *r, thr_status status, thr_ranking **ranking, thr_error *err) {
    const thr_svmlight *text = &r->text;
    r->view = (thr_ranking_view){.n_rows = text->n_rows,
                                 .n_features = text->n_features,
                                 .has_queries = text->queries != NULL,
                                 .labels = text->labels,
                                 .dense = text->dense,
                                 .sparse = {.starts = text->starts,
                                            .columns = text->columns,
                                            .values = text->values,
                                            .n_rows = text->dense == NULL ? text->n_rows : 0,
                                            .n_columns = text->dense == NULL ? text->n_features : 0}};
    if (status == THR_OK)
        status = thr_ranking_group(r, err);
    THR_RETURN_MADE(status, r, ranking, thr_ranking_free);
}

/* ------------------------------------------------------------------------------------------------ from files */

thr_status thr_ranking_open(thr_context *context, const char *path, const thr_ranking_options *options,
                            thr_ranking **ranking, thr_error *err) {
    const thr_ranking_options o = options != NULL ? *options : (thr_ranking_options){0};
    thr_ranking *r = NULL;
    *ranking = NULL;
    THR_TRY(thr_check_path(path, "the ranking to read", err));
    THR_TRY(make(context, &r, err));
    const thr_svmlight_options how = {.need_queries = !o.without_queries,
                                      .drop_comments = o.without_comments,
                                      .use_cache = o.cache,
                                      .write_cache = o.cache,
                                      .run = thr_parallel_for};
    const thr_status status = thr_svmlight_read(context, path, &how, &r->text, err);
    return finish(r, status, ranking, err);
}

thr_status thr_ranking_cache_status(const thr_ranking *ranking, thr_error *err) {
    const thr_error *why = &ranking->text.cache;
    return why->status == THR_OK ? THR_OK : thr_fail(err, why->status, "%s", why->text);
}

/* ------------------------------------------------------------------------------------------------ from arrays */

static thr_status check_shape(uint64_t n_rows, uint32_t n_features, thr_error *err) {
    if (n_rows == 0 || n_rows > THR_RANKING_MAX_ROWS)
        return thr_fail(err, THR_EDIM, "%" PRIu64 " rows: a ranking has 1 to %" PRIu32, n_rows, THR_RANKING_MAX_ROWS);
    if (n_features == 0 || n_features > THR_RANKING_MAX_FEATURES)
        return thr_fail(err, THR_EDIM, "%" PRIu32 " features: a ranking has 1 to %" PRIu32, n_features,
                        THR_RANKING_MAX_FEATURES);
    return THR_OK;
}

static thr_status check_finite(const float *values, size_t n, uint64_t row, thr_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return thr_fail(err, THR_ERANGE, "row %" PRIu64 ": value %zu is %g, not a finite float32", row, i,
                            (double)values[i]);
    return THR_OK;
}

static thr_status check_starts(const thr_csr *csr, thr_error *err) {
    if (csr->starts[0] != 0)
        return thr_fail(err, THR_EINVAL, "row 0 starts at value %" PRIu64 ", not at 0", csr->starts[0]);
    for (uint64_t r = 0; r < csr->n_rows; r++)
        if (csr->starts[r] > csr->starts[r + 1])
            return thr_fail(err, THR_EINVAL, "row %" PRIu64 " ends at value %" PRIu64 ", before its start, %" PRIu64, r,
                            csr->starts[r + 1], csr->starts[r]);
    return THR_OK;
}

static thr_status check_csr_row(const thr_csr *csr, uint64_t r, thr_error *err) {
    const uint64_t first = csr->starts[r], end = csr->starts[r + 1];
    for (uint64_t v = first; v < end; v++) {
        if (csr->columns[v] >= csr->n_columns)
            return thr_fail(err, THR_EINVAL, "row %" PRIu64 ": column %" PRIu32 " of %" PRIu32, r, csr->columns[v],
                            csr->n_columns);
        if (v != first && csr->columns[v] <= csr->columns[v - 1])
            return thr_fail(err, THR_EINVAL,
                            "row %" PRIu64 ": column %" PRIu32 " comes after %" PRIu32 ": columns of a row must ascend",
                            r, csr->columns[v], csr->columns[v - 1]);
    }
    return first == end ? THR_OK : check_finite(csr->values + first, (size_t)(end - first), r, err);
}

/* Copy labels and query numbers into the same arrays that a file's reader fills. */
static thr_status copy_labels(thr_ranking *r, size_t n_rows, const double *labels, const uint64_t *queries,
                              thr_error *err) {
    double *own = NULL;
    uint64_t *own_queries = NULL;
    r->text.n_rows = n_rows;
    THR_TRY(thr_alloc(r->context, n_rows, sizeof *own, &own, "labels", err));
    r->text.labels = own;
    for (size_t i = 0; i < n_rows; i++) {
        if (!isfinite(labels[i]))
            return thr_fail(err, THR_ERANGE, "row %zu: the label is %g, which is not finite", i, labels[i]);
        own[i] = labels[i];
    }
    THR_TRY(thr_alloc(r->context, n_rows, sizeof *own_queries, &own_queries, "queries of rows", err));
    r->text.queries = own_queries;
    memcpy(own_queries, queries, n_rows * sizeof *own_queries);
    return THR_OK;
}

static thr_status copy_matrix(thr_ranking *r, const thr_matrix *features, thr_error *err) {
    float *dense = NULL;
    size_t n_cells;
    THR_TRY(check_shape(features->n_rows, features->n_dims, err));
    if (thr_dtype_size(features->dtype) == 0)
        return thr_fail(err, THR_EINVAL, "features of dtype %s", thr_dtype_name(features->dtype));
    if (!thr_mul_size((size_t)features->n_rows, features->n_dims, &n_cells))
        return thr_fail(err, THR_ENOMEM, "no memory for %" PRIu64 " rows of %" PRIu32 " features", features->n_rows,
                        features->n_dims);
    THR_TRY(thr_alloc(r->context, n_cells, sizeof *dense, &dense, "rows of features", err));
    r->text.dense = dense;
    r->text.n_features = features->n_dims;
    r->text.n_values = n_cells;
    THR_TRY(thr_matrix_to_f32(features, 0, features->n_rows, dense));
    for (size_t row = 0; row < (size_t)features->n_rows; row++)
        THR_TRY(check_finite(dense + row * features->n_dims, features->n_dims, row, err));
    return THR_OK;
}

static thr_status copy_csr(thr_ranking *r, const thr_csr *features, thr_error *err) {
    uint64_t *starts = NULL;
    uint32_t *columns = NULL;
    float *values = NULL;
    THR_TRY(check_shape(features->n_rows, features->n_columns, err));
    THR_TRY(check_starts(features, err));
    for (uint64_t row = 0; row < features->n_rows; row++)
        THR_TRY(check_csr_row(features, row, err));
    const size_t n_rows = (size_t)features->n_rows, n_values = (size_t)features->starts[n_rows];
    THR_TRY(thr_alloc(r->context, n_rows + 1, sizeof *starts, &starts, "rows of features", err));
    r->text.starts = starts;
    THR_TRY(thr_alloc(r->context, n_values, sizeof *columns, &columns, "columns of values", err));
    r->text.columns = columns;
    THR_TRY(thr_alloc(r->context, n_values, sizeof *values, &values, "values of features", err));
    r->text.values = values;
    memcpy(starts, features->starts, (n_rows + 1) * sizeof *starts);
    if (n_values != 0) {
        memcpy(columns, features->columns, n_values * sizeof *columns);
        memcpy(values, features->values, n_values * sizeof *values);
    }
    r->text.n_features = features->n_columns;
    r->text.n_values = n_values;
    return THR_OK;
}

/* Exactly one of matrix and csr is not NULL. */
static thr_status make_of_arrays(thr_context *context, const thr_matrix *matrix, const thr_csr *csr,
                                 const double *labels, const uint64_t *queries, thr_ranking **ranking, thr_error *err) {
    thr_ranking *r = NULL;
    *ranking = NULL;
    if (matrix == NULL && csr == NULL)
        return thr_fail(err, THR_EINVAL, "the features of a ranking are NULL");
    if (labels == NULL || queries == NULL)
        return thr_fail(
            err, THR_EINVAL,
            "the %s of a ranking are NULL: pairs are of rows of one query, so give the query of each row, or the "
            "same number for all rows if they are one query",
            labels == NULL ? "labels" : "queries");
    const size_t n_rows = (size_t)(matrix != NULL ? matrix->n_rows : csr->n_rows);
    THR_TRY(make(context, &r, err));
    thr_status status = matrix != NULL ? copy_matrix(r, matrix, err) : copy_csr(r, csr, err);
    if (status == THR_OK)
        status = copy_labels(r, n_rows, labels, queries, err);
    return finish(r, status, ranking, err);
}

thr_status thr_ranking_from_matrix(thr_context *context, const thr_matrix *features, const double *labels,
                                   const uint64_t *queries, thr_ranking **ranking, thr_error *err) {
    return make_of_arrays(context, features, NULL, labels, queries, ranking, err);
}

thr_status thr_ranking_from_csr(thr_context *context, const thr_csr *features, const double *labels,
                                const uint64_t *queries, thr_ranking **ranking, thr_error *err) {
    return make_of_arrays(context, NULL, features, labels, queries, ranking, err);
}

/* ------------------------------------------------------------------------------------------------ accessors */

thr_ranking_view thr_ranking_get_view(const thr_ranking *ranking) {
    return ranking->view;
}

const char *thr_ranking_comment(const thr_ranking *ranking, uint64_t row, size_t *length) {
    const thr_svmlight *text = &ranking->text;
    *length = 0;
    if (row >= ranking->view.n_rows || text->comment_starts == NULL)
        return NULL;
    const uint64_t given = ranking->rows != NULL ? ranking->rows[row] : row;
    *length = (size_t)(text->comment_starts[given + 1] - text->comment_starts[given]);
    return *length != 0 ? text->comments + text->comment_starts[given] : NULL;
}

void thr_ranking_free(thr_ranking *ranking) {
    if (ranking == NULL)
        return;
    thr_context *context = ranking->context;
    void *const arrays[] = {ranking->offsets, ranking->queries, ranking->rows,    ranking->labels,
                            ranking->dense,   ranking->starts,  ranking->columns, ranking->values};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        thr_release(context, arrays[i]);
    thr_svmlight_free(&ranking->text);
    thr_release(context, ranking);
    thr_context_free(context);
}
