/* SPDX-License-Identifier: Apache-2.0 */
/* keep_vectors.c - converts vectors to residuals in float16 or int8, and measures what the rounding loses. */
#include "index/build/keep_vectors.h"

#include "base/shortest.h"
#include "base/error.h"
#include "base/half.h"
#include "base/minmax.h"
#include "kernel/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_ROWS = 16,
    CENTRE_ROWS = 1024, /* of the sample */
    F16_LEAST = -2,     /* from 2^-3 on the scale is 1: numbers below 2^-14 add little to the error of the largest */
    F16_EXPONENT = 15,  /* float16 numbers are scaled to below 2^15; smaller ones keep their precision down to 2^-14 */
    I8_LARGEST = 127
};

static const double LEAST_SCALE = 0x1p-126;                /* a smaller float32 loses precision */
static const double UPWARDS = 1 + 0x1p-20;                 /* makes a measured number a bound */
static const double UNIT_F16 = 0x1p-13, UNIT_I8 = 0x1p-10; /* largest relative change by unit_scale */
static const float OUTLIER = 4;                            /* times the median distance from the medians */
static const double FLOAT32 = 0x1p-23;                     /* a relative error that float32 scores have anyway */

thr_status thr_index_keeper_open(thr_context *context, const thr_keep_form *form, uint64_t max_rows, thr_keeper *keeper,
                                 thr_error *err) {
    static const char what[] = "kept vectors";
    const uint32_t n_dims = form->n_dims;
    *keeper = (thr_keeper){.context = context, .form = *form};
    if (form->keep == THR_DTYPE_NONE)
        return THR_OK;
    for (uint32_t d = 0; thr_keep_is_scaled(form->keep) && d < n_dims; d++)
        keeper->centred = keeper->centred || form->centre[d] != 0;
    for (uint32_t d = 0; keeper->centred && d < n_dims; d++)
        keeper->centre_square += (double)form->centre[d] * (double)form->centre[d];
    THR_TRY(thr_alloc(context, (size_t)max_rows * n_dims, thr_dtype_size(form->keep), &keeper->out, what, err));
    THR_TRY(thr_alloc(context, n_dims, sizeof *keeper->residual, &keeper->residual, what, err));
    return thr_alloc(context, (size_t)PIECE_ROWS * n_dims, sizeof(float), &keeper->floats, what, err);
}

void thr_index_keeper_close(thr_keeper *keeper) {
    THR_RELEASE(keeper->context, keeper->out, keeper->floats, keeper->residual);
    keeper->out = NULL;
    keeper->floats = NULL;
    keeper->residual = NULL;
}

/* 1 / length, computed in double and rounded once; 0 for zero vectors. */
static float inverse(double length) {
    return length > 0 ? (float)(1 / length) : 0;
}

/* Four sums in a fixed order, which gives the same bits with every compiler. */
#define SUM_UP(sum, n_dims, term)                                                                                      \
    do {                                                                                                               \
        double sums_[4] = {0, 0, 0, 0};                                                                                \
        for (uint32_t d = 0; d < (n_dims); d++)                                                                        \
            sums_[d % 4] += (term);                                                                                    \
        (sum) = (sums_[0] + sums_[1]) + (sums_[2] + sums_[3]);                                                         \
    } while (0)

static double length_of(const float *x, uint32_t n_dims) {
    double square;
    SUM_UP(square, n_dims, (double)x[d] * (double)x[d]);
    return sqrt(square);
}

/* ------------------------------------------------------------------------------------------------ a row */

/*
 * A row while it is converted. y, the vector that scores are of, is shrink times the row. Without a centre the row
 * itself is rounded, since its values may be numbers of the kept type already.
 */
typedef struct kept_row {
    double shrink;  /* 1, or for cosine 1 / length */
    double scale;   /* y is about centre + scale v */
    double square;  /* |v|^2 */
    double product; /* <centre, v> */
    double error;   /* |y - centre - scale v| */
    double length;  /* |centre + scale v| */
} kept_row;

/* Set the residual of row x, and return its largest magnitude. */
static double set_residual(thr_keeper *k, const float *x, double shrink) {
    const float *centre = k->form.centre;
    double largest = 0;
    for (uint32_t d = 0; d < k->form.n_dims; d++) {
        const double r = k->centred ? (double)x[d] * shrink - (double)centre[d] : (double)x[d];
        k->residual[d] = r;
        largest = THR_MAX(fabs(r), largest);
    }
    return largest;
}

/* Round the residual to float16 numbers in `out`, and to the same as floats; returns their scale. */
static double round_to_f16(thr_keeper *k, double largest, void *out, float *floats) {
    int exponent = 0;
    (void)frexp(largest, &exponent);
    const bool fits = largest <= 0 || (exponent >= F16_LEAST && exponent <= F16_EXPONENT);
    const double scale = fits ? 1 : fmax(ldexp(1, exponent - F16_EXPONENT), LEAST_SCALE);
    const double factor = 1 / scale;
    for (uint32_t d = 0; d < k->form.n_dims; d++)
        floats[d] = (float)(k->residual[d] * factor);
    thr_kernel_f32_to_f16(k->context, floats, out, k->form.n_dims);
    thr_kernel_f16_to_f32(k->context, out, floats, k->form.n_dims);
    return scale;
}

/* The same for integers from -127 to 127. The scale is 0 if the residual is 0, or too small for one. */
static double round_to_i8(thr_keeper *k, double largest, int8_t *out, float *floats) {
    static const double ROUND = 6755399441055744.0; /* 1.5 * 2^52: adding and subtracting it rounds to an integer */
    const double scale = largest / I8_LARGEST, factor = scale > LEAST_SCALE ? 1 / scale : 0;
    for (uint32_t d = 0; d < k->form.n_dims; d++) {
        const double v = (k->residual[d] * factor + ROUND) - ROUND;
        out[d] = (int8_t)v;
        floats[d] = (float)v;
    }
    return factor > 0 ? scale : 0;
}

/*
 * By cosine: the scale that gives the kept vector the length 1, if it differs so little that the error hardly grows.
 * Then rounding does not change the length, which matters for items that are not near the query.
 */
static double unit_scale(const thr_keeper *k, const kept_row *row) {
    const double rest = row->product * row->product + row->square * (1 - k->centre_square);
    if (!(row->square > 0 && rest >= 0))
        return row->scale;
    const double unit = (sqrt(rest) - row->product) / row->square;
    const double most = k->form.keep == THR_DTYPE_F16 ? UNIT_F16 : UNIT_I8;
    return fabs(unit - row->scale) <= most * row->scale ? unit : row->scale;
}

/* Measure the row v, given as floats, and choose its final scale. */
static void measure(const thr_keeper *k, const float *floats, kept_row *row) {
    const uint32_t n_dims = k->form.n_dims;
    const double before = k->centred ? 1 : row->shrink;
    SUM_UP(row->square, n_dims, (double)floats[d] * (double)floats[d]);
    SUM_UP(row->product, k->centred ? n_dims : 0, (double)k->form.centre[d] * (double)floats[d]);
    row->scale *= before;
    if (k->form.metric == THR_METRIC_COSINE)
        row->scale = unit_scale(k, row);
    row->scale = (double)(float)row->scale;
    const double scale = row->scale;
    double error;
    SUM_UP(error, n_dims,
           (k->residual[d] * before - scale * (double)floats[d]) *
               (k->residual[d] * before - scale * (double)floats[d]));
    row->error = sqrt(error);
    row->length = sqrt(fmax(k->centre_square + scale * (2 * row->product + scale * row->square), 0));
}

/* Raise the bounds of the keeper to those of a row. */
static void note_errors(thr_keeper *k, const kept_row *row) {
    const double stored = row->scale * sqrt(row->square); /* |scale v| */
    const bool cosine = k->form.metric == THR_METRIC_COSINE, exact = row->error <= FLOAT32 * stored;
    const double error = exact ? 0 : row->error * UPWARDS;
    const thr_kept_errors errors = {.error = (float)error,
                                    .ratio = row->scale > 0 ? (float)(error / row->scale * UPWARDS) : 0,
                                    .unit_error = cosine && !exact ? (float)(fabs(row->length - 1) * UPWARDS) : 0,
                                    .longest = (float)(stored * UPWARDS)};
    thr_kept_errors_join(&k->errors, &errors);
}

/* Store the scale of row `at`; for cosine also its half and inverse norm. */
static void store_numbers(const thr_keeper *k, const kept_row *row, thr_kept_rows *kept, uint64_t at) {
    kept->scales[at] = (float)row->scale;
    if (k->form.metric != THR_METRIC_COSINE)
        return;
    kept->halves[at] = row->shrink > 0 ? (float)(row->scale * row->scale * row->square / 2) : -1;
    kept->inverse_norms[at] = (float)row->shrink;
}

/* Convert row x to `out`. Overwrites x. */
static void convert_row(thr_keeper *k, float *x, bool is_zero, void *out, kept_row *row) {
    const bool cosine = k->form.metric == THR_METRIC_COSINE;
    *row = (kept_row){.shrink = 1};
    if (cosine)
        row->shrink = is_zero ? 0 : 1 / length_of(x, k->form.n_dims);
    if (row->shrink == 0) {
        memset(out, 0, k->form.n_dims * thr_dtype_size(k->form.keep));
        return;
    }
    const double largest = set_residual(k, x, row->shrink);
    row->scale = k->form.keep == THR_DTYPE_F16 ? round_to_f16(k, largest, out, x) : round_to_i8(k, largest, out, x);
    measure(k, x, row);
    note_errors(k, row);
}

/* Measure a row that is kept as it is. x are its values. */
static void measure_exact_row(thr_keeper *k, const float *x, bool is_zero, kept_row *row) {
    const double length = length_of(x, k->form.n_dims);
    *row = (kept_row){.shrink = 1, .scale = 1, .square = length * length, .length = length};
    if (k->form.metric == THR_METRIC_COSINE) {
        row->shrink = is_zero ? 0 : 1 / length;
        row->scale = (double)(float)row->shrink;
        row->length = 1;
    }
    note_errors(k, row);
}

/* ------------------------------------------------------------------------------------------------ rows */

/* Return the rows unconverted: the source's own memory, or a dense copy if they have another stride. */
static const uint8_t *as_they_are(thr_keeper *k, const thr_matrix *rows) {
    const uint8_t *in = rows->data;
    size_t row_bytes = k->form.n_dims * thr_dtype_size(k->form.keep);
    if (rows->stride == row_bytes)
        return in;
    for (uint64_t r = 0; r < rows->n_rows; r++)
        memcpy(k->out + r * row_bytes, in + r * rows->stride, row_bytes);
    return k->out;
}

/* Keep float32. */
static thr_status keep_floats(thr_keeper *k, const thr_matrix *rows, const float *norms, thr_kept_rows *kept) {
    if (rows->dtype == THR_DTYPE_F32)
        kept->bytes = as_they_are(k, rows);
    else
        THR_TRY(thr_matrix_to_f32(rows, 0, rows->n_rows, (float *)(void *)k->out));
    for (uint64_t r = 0; kept->inverse_norms != NULL && r < rows->n_rows; r++)
        kept->inverse_norms[r] = inverse((double)norms[r]);
    return THR_OK;
}

thr_status thr_index_keep_rows(thr_keeper *k, const thr_matrix *rows, const float *norms, thr_kept_rows *kept) {
    const uint32_t n_dims = k->form.n_dims;
    const size_t row_bytes = n_dims * thr_dtype_size(k->form.keep);
    const bool same = rows->dtype == k->form.keep && !k->centred;
    uint64_t n = 0;
    kept->bytes = k->out;
    if (k->form.keep == THR_DTYPE_F32)
        return keep_floats(k, rows, norms, kept);
    if (same)
        kept->bytes = as_they_are(k, rows);
    for (uint64_t first = 0; first < rows->n_rows; first += n) {
        n = THR_MIN(rows->n_rows - first, PIECE_ROWS);
        THR_TRY(thr_matrix_to_f32(rows, first, n, k->floats));
        for (uint64_t r = 0; r < n; r++) {
            kept_row row;
            float *x = k->floats + r * n_dims;
            const bool is_zero = norms[first + r] == 0;
            if (same)
                measure_exact_row(k, x, is_zero, &row);
            else
                convert_row(k, x, is_zero, k->out + (first + r) * row_bytes, &row);
            store_numbers(k, &row, kept, first + r);
        }
    }
    return THR_OK;
}

/* ------------------------------------------------------------------------------------------------ the centre */

/* Whether a kept type holds the values of a row as they are. x are its values. */
static bool holds(thr_dtype keep, thr_dtype dtype, const float *x, uint32_t n_dims) {
    for (uint32_t d = 0; keep == THR_DTYPE_F16 && d < n_dims; d++)
        if (thr_half_to_f32(thr_half_from_f32(x[d])) != x[d])
            return false;
    return keep == THR_DTYPE_F16 || dtype == keep;
}

/* Rows from which the centre is computed, and what it needs of them. */
typedef struct centre_sample {
    uint64_t n;
    uint32_t n_dims;
    float *rows;      /* n x n_dims: as scores see them */
    float *numbers;   /* n, to find a median */
    float *distances; /* of each row from the medians */
    float *medians;   /* n_dims */
    bool exact;       /* the kept type holds the rows as they are */
} centre_sample;

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float median(float *numbers, uint64_t n) {
    qsort(numbers, (size_t)n, sizeof *numbers, ascending);
    return numbers[n / 2];
}

static thr_status read_sample(const thr_matrix *sample, thr_metric metric, thr_dtype keep, centre_sample *s) {
    s->exact = true;
    for (uint64_t i = 0; i < s->n; i++) {
        float *row = s->rows + i * s->n_dims;
        THR_TRY(thr_matrix_to_f32(sample, i * sample->n_rows / s->n, 1, row));
        s->exact = s->exact && holds(keep, sample->dtype, row, s->n_dims);
        const double length = length_of(row, s->n_dims);
        const double shrink = metric != THR_METRIC_COSINE ? 1 : length > THR_SHORTEST ? 1 / length : 0;
        for (uint32_t d = 0; d < s->n_dims; d++)
            row[d] = (float)((double)row[d] * shrink);
    }
    return THR_OK;
}

/* The median of each dimension, and the distance of each row from them in its farthest dimension. */
static void find_distances(centre_sample *s) {
    memset(s->distances, 0, (size_t)s->n * sizeof *s->distances);
    for (uint32_t d = 0; d < s->n_dims; d++) {
        for (uint64_t i = 0; i < s->n; i++)
            s->numbers[i] = s->rows[i * s->n_dims + d];
        s->medians[d] = median(s->numbers, s->n);
        for (uint64_t i = 0; i < s->n; i++)
            s->distances[i] = fmaxf(s->distances[i], fabsf(s->rows[i * s->n_dims + d] - s->medians[d]));
    }
}

/* The mean of the rows that are not outliers: a single long one would move it away from all others. */
static void take_mean(centre_sample *s, float *centre) {
    memcpy(s->numbers, s->distances, (size_t)s->n * sizeof *s->numbers);
    const float farthest = OUTLIER * median(s->numbers, s->n);
    for (uint32_t d = 0; d < s->n_dims; d++) {
        double sum = 0, n = 0;
        for (uint64_t i = 0; i < s->n; i++)
            if (s->distances[i] <= farthest) {
                sum += (double)s->rows[i * s->n_dims + d];
                n++;
            }
        centre[d] = n > 0 ? (float)(sum / n) : 0;
    }
}

thr_status thr_index_keep_centre(thr_context *context, const thr_matrix *sample, thr_metric metric, thr_dtype keep,
                                 float **centre, thr_error *err) {
    static const char what[] = "a centre";
    centre_sample s = {.n = THR_MIN(sample->n_rows, CENTRE_ROWS), .n_dims = sample->n_dims};
    const size_t n = (size_t)s.n;
    thr_status status = THR_OK;
    *centre = NULL;
    if (!thr_keep_is_scaled(keep))
        return THR_OK;
    THR_TRY_OUT(thr_alloc(context, n, s.n_dims * sizeof *s.rows, &s.rows, what, err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *s.numbers, &s.numbers, what, err));
    THR_TRY_OUT(thr_alloc(context, n, sizeof *s.distances, &s.distances, what, err));
    THR_TRY_OUT(thr_alloc(context, s.n_dims, sizeof *s.medians, &s.medians, what, err));
    THR_TRY_OUT(read_sample(sample, metric, keep, &s));
    THR_TRY_OUT(thr_alloc_zero(context, s.n_dims, sizeof **centre, centre, what, err));
    if (s.exact)
        goto out;
    find_distances(&s);
    take_mean(&s, *centre);
out:
    THR_RELEASE(context, s.rows, s.numbers, s.distances, s.medians);
    return status;
}
