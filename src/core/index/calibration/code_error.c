/* SPDX-License-Identifier: Apache-2.0 */
/* code_error.c - measures how well codes fit the items, by coding a sample of them again. */
#include "index/calibration/code_error.h"

#include "base/error.h"
#include "base/minmax.h"
#include "code/encode.h"

#include <thresher/index_change.h>

#include <math.h>
#include <string.h>

enum { MEASURED_ROWS = 16384, MEASURED_FLOATS = 1 << 22 }; /* the most */

/* Memory for the codes of all rows, and their measured error. */
typedef struct measuring {
    float *vectors; /* of all rows, scaled to length 1 where the quantiser is for such */
    double *mean;
    uint8_t *codes;
    thr_measures m;
} measuring;

static thr_status allocate(thr_context *context, const thr_quantiser *q, uint64_t n, measuring *a, thr_error *err) {
    static const char what[] = "a sample of the items";
    const size_t blocks = (size_t)(thr_padded_rows(n) / THR_BLOCK_ITEMS);
    THR_TRY(thr_alloc(context, (size_t)n, q->n_dims * sizeof(float), &a->vectors, what, err));
    THR_TRY(thr_alloc_zero(context, q->n_dims, sizeof *a->mean, &a->mean, what, err));
    THR_TRY(thr_alloc(context, blocks, thr_block_size(q->n_dims, q->item_bits), &a->codes, what, err));
    THR_TRY(thr_alloc(context, (size_t)n, sizeof *a->m.norms, &a->m.norms, what, err));
    THR_TRY(thr_alloc(context, (size_t)n, sizeof *a->m.residuals, &a->m.residuals, what, err));
    THR_TRY(thr_alloc(context, (size_t)n, sizeof *a->m.code_squares, &a->m.code_squares, what, err));
    return thr_alloc(context, (size_t)n, sizeof *a->m.products, &a->m.products, what, err);
}

static void release(thr_context *context, measuring *a) {
    THR_RELEASE(context, a->vectors, a->mean, a->codes, a->m.norms, a->m.residuals, a->m.code_squares, a->m.products);
}

/* The least error that is stored: 0 means not measured, and later errors are compared with a multiple of it. */
static const double LEAST_ERROR = 0x1p-20;

/* The sum of |x - m|^2: that of |x|^2, less n |m|^2. 0 if that is all rounding. */
static double spread_of(const thr_quantiser *q, measuring *a, uint64_t n) {
    double squares = 0, mean = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < q->n_dims; d++) {
            const double length = q->unit ? (double)a->m.norms[i] : 1;
            const double x = length > 0 ? (double)a->vectors[i * q->n_dims + d] / length : 0;
            squares += x * x;
            a->mean[d] += x / (double)n;
        }
    for (uint32_t d = 0; d < q->n_dims; d++)
        mean += a->mean[d] * a->mean[d];
    const double spread = squares - (double)n * mean;
    return spread > 0x1p-40 * squares ? spread : 0;
}

/* The sum of |r - c|^2 = |r|^2 (1 - <r / |r|, b>^2 / |b|^2). */
static double lost_of(const measuring *a, uint64_t n) {
    double lost = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double r = (double)a->m.residuals[i], p = (double)a->m.products[i];
        const double kept = a->m.code_squares[i] > 0 ? p * p / (double)a->m.code_squares[i] : 0;
        lost += r * r * fmax(1 - kept, 0);
    }
    return lost;
}

static uint64_t rows_to_measure(uint32_t n_dims) {
    return THR_MIN(MEASURED_FLOATS / n_dims, MEASURED_ROWS);
}

thr_status thr_index_code_error_of(thr_context *context, const thr_quantiser *quantiser, const thr_matrix *rows,
                                   float *error, thr_error *err) {
    const uint64_t most = rows_to_measure(quantiser->n_dims), n = THR_MIN(rows->n_rows, most);
    measuring a = {.vectors = NULL};
    thr_status status = THR_OK;
    *error = 0;
    THR_TRY_OUT(allocate(context, quantiser, n, &a, err));
    for (uint64_t i = 0; i < n; i++) /* from all of the rows */
        THR_TRY_OUT(thr_matrix_to_f32(rows, i * rows->n_rows / n, 1, a.vectors + i * quantiser->n_dims));
    const thr_matrix some = thr_matrix_f32(a.vectors, n, quantiser->n_dims);
    THR_TRY_OUT(thr_code_encode_blocks(context, quantiser, &some, 0, a.codes, &a.m, err));
    const double spread = spread_of(quantiser, &a, n), lost = lost_of(&a, n);
    *error = (float)fmax(LEAST_ERROR, spread > 0 ? sqrt(lost / spread) : 0);
out:
    release(context, &a);
    return status;
}

thr_status thr_index_sample_items(const thr_index *index, uint64_t most, float **vectors, uint64_t *n, thr_error *err) {
    const uint64_t n_rows = index->manifest.n_rows, wanted = THR_MIN(most, n_rows);
    const uint32_t n_dims = index->manifest.quantiser.n_dims;
    THR_TRY(
        thr_alloc(index->context, (size_t)wanted, n_dims * sizeof **vectors, vectors, "a sample of the items", err));
    *n = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        const uint64_t row = (uint64_t)((unsigned __int128)n_rows * i / wanted);
        if (thr_live_has(&index->live, row))
            thr_index_row_vector(index, row, *vectors + (*n)++ * n_dims);
    }
    return THR_OK;
}

thr_status thr_index_code_error(const thr_index *index, float *now, float *learned, thr_error *err) {
    float *vectors = NULL;
    uint64_t n = 0;
    if (index == NULL || now == NULL || learned == NULL)
        return thr_fail(err, THR_EINVAL, "the error of codes needs an index and pointers for the results");
    *now = *learned = 0;
    if (index->n_segments == 0 || index->manifest.keep == THR_DTYPE_NONE || index->manifest.model.codes)
        return THR_OK;
    THR_TRY(thr_index_check_unchanged(index, err));
    thr_status status =
        thr_index_sample_items(index, rows_to_measure(index->manifest.quantiser.n_dims), &vectors, &n, err);
    const thr_matrix rows = thr_matrix_f32(vectors, n, index->manifest.quantiser.n_dims);
    if (status == THR_OK && n > 0)
        status = thr_index_code_error_of(index->context, &index->manifest.quantiser, &rows, now, err);
    *learned = index->manifest.n_commits == 0 ? *now : index->manifest.code_error;
    thr_release(index->context, vectors);
    return thr_index_check_after(index, status, err);
}

thr_status thr_index_spread_of(const thr_index *index, uint64_t most, float *spread, thr_error *err) {
    const thr_manifest *m = &index->manifest;
    const uint32_t n_dims = m->quantiser.n_dims;
    float *vectors = NULL;
    double *mean = NULL, squares = 0, common = 0;
    uint64_t n = 0;
    thr_status status = THR_OK;
    *spread = 1;
    if (m->n_rows == 0 || m->metric == THR_METRIC_L2 || m->keep == THR_DTYPE_NONE || m->model.codes)
        return THR_OK;
    THR_TRY_OUT(thr_alloc_zero(index->context, n_dims, sizeof *mean, &mean, "a sample of the items", err));
    THR_TRY_OUT(thr_index_sample_items(index, most, &vectors, &n, err));
    for (uint64_t i = 0; i < n; i++) {
        const float *x = vectors + i * n_dims;
        const double square = index->context->kernels->sum_squares(x, n_dims);
        const double scale = m->metric == THR_METRIC_IP ? 1 : square > 0 ? 1 / sqrt(square) : 0;
        squares += square * scale * scale;
        for (uint32_t d = 0; d < n_dims; d++)
            mean[d] += scale * (double)x[d];
    }
    for (uint32_t d = 0; d < n_dims; d++)
        common += mean[d] * mean[d];
    if (n > 1 && squares > 0)
        *spread = (float)fmax(0, 1 - common / (double)n / squares);
out:
    THR_RELEASE(index->context, mean, vectors);
    return status;
}

thr_status thr_index_spread(const thr_index *index, float *spread, thr_error *err) {
    if (index == NULL || spread == NULL)
        return thr_fail(err, THR_EINVAL, "the spread of items needs an index and a pointer for the result");
    THR_TRY(thr_index_check_unchanged(index, err));
    const uint64_t most = rows_to_measure(index->manifest.quantiser.n_dims);
    return thr_index_check_after(index, thr_index_spread_of(index, most, spread, err), err);
}
