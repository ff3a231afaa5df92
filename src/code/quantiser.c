/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration: the range of the quantiser is a percentile of |component| over unit vectors, and the percentile is
 * searched (XFBQ errata 2). The measure is the mean cosine between vectors and their codes: the length of a code is
 * divided out at search time, so the angle is the only error left.
 */
#include "base/error.h"
#include "code/encode.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { SEARCH_ROWS = 1024, BINS = 1 << 16 };

static const double SHORTEST = 0x1p-100;
static const double SHORTEST_CENTRE = 0x1p-50; /* products with it stay far above the smallest float */
static const double WORTH_A_CENTRE =
    0.02; /* of the mean square; below it the saved noise is less than a tenth of a bit */
static const double PERCENTILES[] = {0.70, 0.80, 0.85, 0.90, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.9995, 1.0};
enum { N_PERCENTILES = sizeof PERCENTILES / sizeof *PERCENTILES };

/* The value below which a share of all |component| lies, from a histogram over [0, 1]; never 0. */
static void percentiles(const float *rows, size_t n, uint32_t *histogram, float values[N_PERCENTILES]) {
    memset(histogram, 0, BINS * sizeof *histogram);
    for (size_t i = 0; i < n; i++) {
        float bin = fabsf(rows[i]) * (float)BINS;
        histogram[bin < (float)BINS ? (size_t)bin : BINS - 1]++;
    }
    uint64_t seen = 0;
    size_t next = 0;
    for (size_t bin = 0; bin < BINS; bin++) {
        seen += histogram[bin];
        while (next < N_PERCENTILES && (double)seen >= PERCENTILES[next] * (double)n)
            values[next++] = (float)(bin + 1) / (float)BINS;
    }
    while (next < N_PERCENTILES)
        values[next++] = 1.0f;
}

static double mean_cosine(const float *rows, size_t n_rows, uint32_t n_dims, float range, uint32_t bits) {
    const float half = (float)(1u << (bits - 1)), scale = half / range, top = 2 * half - 1;
    double total = 0;
    for (size_t r = 0; r < n_rows; r++) {
        const float *x = rows + r * n_dims;
        double product = 0, square = 0;
        for (uint32_t d = 0; d < n_dims; d++) {
            /* Adding half first makes truncation the floor. */
            float cell = x[d] * scale + half;
            cell = cell < 0 ? 0 : cell > top ? top : (float)(int)cell;
            double v = 2 * (double)cell - (double)top;
            product += v * (double)x[d];
            square += v * v;
        }
        total += product / sqrt(square);
    }
    return total / (double)n_rows;
}

/* Row r of the sample as the quantiser sees it before the centre: its length is 1, or, where lengths count, what it was. */
static thr_status read_row(thr_context *context, const thr_matrix *sample, uint64_t row, bool unit, float *x,
                           double *norm, thr_error *err) {
    THR_TRY(thr_matrix_to_f32(sample, row, 1, x));
    *norm = sqrt(context->kernels->sum_squares(x, sample->n_dims));
    if (!isfinite(*norm))
        return thr_fail(err, THR_ERANGE, "sample row %llu has a component that is not finite", (unsigned long long)row);
    if (unit && *norm >= SHORTEST) {
        for (uint32_t d = 0; d < sample->n_dims; d++)
            x[d] = (float)((double)x[d] / *norm);
        *norm = 1;
    }
    return THR_OK;
}

/*
 * The mean of the rows, kept as the centre when it holds enough of their mean square to be worth two numbers an item.
 * On word vectors it can hold most of it: without a centre the planes would spend their bits on what all rows share.
 */
static thr_status find_centre(thr_context *context, const thr_matrix *sample, thr_quantiser *quantiser, float *x,
                              thr_error *err) {
    const uint32_t n_dims = sample->n_dims;
    double *mean = NULL, square = 0;
    THR_TRY(thr_alloc_zero(context, n_dims, sizeof *mean, &mean, "a mean", err));
    thr_status status = THR_OK;
    for (uint64_t row = 0; row < sample->n_rows; row++) {
        double norm = 0;
        THR_TRY_OUT(read_row(context, sample, row, quantiser->unit, x, &norm, err));
        square += norm * norm;
        for (uint32_t d = 0; d < n_dims; d++)
            mean[d] += (double)x[d];
    }
    double length = 0;
    for (uint32_t d = 0; d < n_dims; d++) {
        mean[d] /= (double)sample->n_rows;
        length += mean[d] * mean[d];
    }
    square /= (double)sample->n_rows;
    /* The mean of n independent rows around 0 has a mean square of square / n by chance. */
    if (length < SHORTEST_CENTRE * SHORTEST_CENTRE ||
        !(length > (WORTH_A_CENTRE + 2.0 / (double)sample->n_rows) * square))
        goto out;
    THR_TRY_OUT(thr_alloc(context, n_dims, sizeof(float), &quantiser->centre, "a centre", err));
    for (uint32_t d = 0; d < n_dims; d++)
        quantiser->centre[d] = (float)mean[d];
out:
    thr_release(context, mean);
    return status;
}

/* Unit residuals, evenly spaced through the sample, those without direction left out. */
static thr_status take_rows(thr_context *context, const thr_matrix *sample, const thr_quantiser *quantiser, float *unit,
                            size_t *n_unit, thr_error *err) {
    const uint64_t wanted = sample->n_rows < SEARCH_ROWS ? sample->n_rows : SEARCH_ROWS;
    *n_unit = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        float *x = unit + *n_unit * sample->n_dims;
        double norm = 0;
        THR_TRY(read_row(context, sample, i * sample->n_rows / wanted, quantiser->unit, x, &norm, err));
        if (quantiser->centre != NULL) {
            for (uint32_t d = 0; d < sample->n_dims; d++)
                x[d] -= quantiser->centre[d];
            norm = sqrt(context->kernels->sum_squares(x, sample->n_dims));
        }
        if (norm < SHORTEST)
            continue;
        for (uint32_t d = 0; d < sample->n_dims; d++)
            x[d] = (float)((double)x[d] / norm);
        ++*n_unit;
    }
    return THR_OK;
}

/* For each number of bits the percentile that keeps most of the angle. */
static void find_ranges(thr_quantiser *quantiser, const float *unit, size_t n_unit, uint32_t *histogram) {
    float ranges[N_PERCENTILES];
    percentiles(unit, n_unit * quantiser->n_dims, histogram, ranges);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
        double best = -2;
        for (size_t p = 0; p < N_PERCENTILES; p++) {
            double cosine = mean_cosine(unit, n_unit, quantiser->n_dims, ranges[p], bits);
            if (cosine > best) {
                best = cosine;
                quantiser->ranges[bits - 1] = ranges[p];
            }
        }
    }
}

thr_status thr_quantiser_train(thr_context *context, const thr_matrix *sample, uint32_t item_bits, uint32_t flags,
                               thr_quantiser *quantiser, thr_error *err) {
    *quantiser =
        (thr_quantiser){.n_dims = sample->n_dims, .item_bits = item_bits, .unit = (flags & THR_QUANTISER_UNIT) != 0};
    if ((flags & ~(uint32_t)(THR_QUANTISER_UNIT | THR_QUANTISER_CENTRE)) != 0)
        return thr_fail(err, THR_EINVAL, "%u is no sum of THR_QUANTISER_ flags", flags);
    if (item_bits < 1 || item_bits > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "%u bits a dimension: choose 1 to %d", item_bits, (int)THR_MAX_BITS);
    if (sample->n_dims < 1 || sample->n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%u dimensions: 1 to %d are possible", sample->n_dims, (int)THR_MAX_DIMS);
    for (int b = 0; b < THR_MAX_BITS; b++)
        quantiser->ranges[b] = 1.0f;
    THR_TRY(thr_check_rows(sample, err));
    thr_status status = THR_OK;
    float *rows = NULL;
    uint32_t *histogram = NULL;
    size_t n_rows = 0;
    THR_TRY_OUT(thr_alloc(context, SEARCH_ROWS, sizeof(float) * sample->n_dims, &rows, "a sample", err));
    THR_TRY_OUT(thr_alloc(context, BINS, sizeof *histogram, &histogram, "a histogram", err));
    if ((flags & THR_QUANTISER_CENTRE) != 0 && sample->n_rows > 0)
        THR_TRY_OUT(find_centre(context, sample, quantiser, rows, err));
    THR_TRY_OUT(take_rows(context, sample, quantiser, rows, &n_rows, err));
    if (n_rows > 0)
        find_ranges(quantiser, rows, n_rows, histogram);
out:
    thr_release(context, rows);
    thr_release(context, histogram);
    if (status != THR_OK)
        thr_quantiser_free(context, quantiser);
    return status;
}

void thr_quantiser_free(thr_context *context, thr_quantiser *quantiser) {
    if (quantiser == NULL)
        return;
    thr_release(context, quantiser->centre);
    quantiser->centre = NULL;
}
