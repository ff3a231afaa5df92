/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Train a quantiser from a sample: the centre, whether to rotate, and the ranges of the residuals.
 */
#include "base/minmax.h"
#include "base/shortest.h"
#include "base/error.h"
#include "code/calibrate.h"
#include "code/encode.h"
#include "code/fixed.h"
#include "code/rotate.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { SEARCH_ROWS = 1024, JUDGING_QUERIES = 192 };

static const uint64_t ROTATION_SEED = 1;       /* arbitrary, not 0 */
static const double SHORTEST_CENTRE = 0x1p-50; /* products with it stay far above the smallest float */
static const double WORTH_A_CENTRE =
    0.02; /* of the mean square; below it the saved noise is less than a tenth of a bit */
/*
 * The largest loss in the mean logarithm of neighbours' ranks. Between samples of word vectors the difference varied
 * from -0.03 to 0.03 and more, while searches took the same time. By 48 queries instead of JUDGING_QUERIES, vectors
 * without preferred directions lost 0.1 by chance.
 */
static const double ROTATION_LOSS = 0.1;

/* Read row r of the sample as it is before centring: scaled to length 1 if unit, otherwise unscaled. */
static thr_status read_row(thr_context *context, const thr_matrix *sample, uint64_t row, bool unit, float *x,
                           double *norm, thr_error *err) {
    THR_TRY(thr_matrix_to_f32(sample, row, 1, x));
    *norm = sqrt(context->kernels->sum_squares(x, sample->n_dims));
    if (!isfinite(*norm))
        return thr_fail(err, THR_ERANGE, "sample row %llu has a component that is not finite", (unsigned long long)row);
    if (unit && *norm >= THR_SHORTEST) {
        for (uint32_t d = 0; d < sample->n_dims; d++)
            x[d] = (float)((double)x[d] / *norm);
        *norm = 1;
    }
    return THR_OK;
}

/*
 * Compute the mean of the rows and keep it as the centre if it holds enough of their mean square to justify two
 * numbers per item. On word vectors it can hold most of it: without a centre, planes would encode what all rows share.
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

/* Compute unit residuals of `wanted` rows, evenly spaced through the sample, and skip those without direction. */
static thr_status sample_unit_rows(thr_context *context, const thr_matrix *sample, const thr_quantiser *quantiser,
                                   uint64_t wanted, float *unit, size_t *n_unit, thr_error *err) {
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
        if (norm < THR_SHORTEST)
            continue;
        for (uint32_t d = 0; d < sample->n_dims; d++)
            x[d] = (float)((double)x[d] / norm);
        ++*n_unit;
    }
    return THR_OK;
}

static void rotate_rows(const thr_quantiser *quantiser, float *rows, size_t n_rows) {
    for (size_t r = 0; r < n_rows; r++)
        thr_code_rotation_apply(quantiser->rotation, rows + r * quantiser->n_dims);
}

/*
 * Find the ranges and, if flags request it, whether to rotate. rows has room for 2 SEARCH_ROWS rows; the second half is
 * scratch memory.
 */
static thr_status find_ranges(thr_context *context, const thr_matrix *sample, uint32_t flags, thr_quantiser *quantiser,
                              float *rows, uint32_t *histogram, thr_error *err) {
    const uint64_t wanted = THR_MIN(sample->n_rows, SEARCH_ROWS);
    float plain[THR_MAX_BITS];
    size_t n_rows = 0;
    THR_TRY(sample_unit_rows(context, sample, quantiser, wanted, rows, &n_rows, err));
    if (n_rows > 0)
        thr_code_calibrate(rows, n_rows, quantiser->n_dims, histogram, quantiser->ranges);
    if ((flags & (uint32_t)(THR_QUANTISER_ROTATE | THR_QUANTISER_ROTATED)) == 0)
        return THR_OK;
    THR_TRY(thr_code_quantiser_rotate(context, quantiser, ROTATION_SEED, err));
    memcpy(plain, quantiser->ranges, sizeof plain);
    float *signs = rows + (size_t)SEARCH_ROWS * quantiser->n_dims;
    const double cost = thr_code_rank_cost(context->kernels, rows, signs, n_rows, quantiser->n_dims, JUDGING_QUERIES);
    rotate_rows(quantiser, rows, n_rows);
    if (n_rows > 0)
        thr_code_calibrate(rows, n_rows, quantiser->n_dims, histogram, quantiser->ranges);
    if ((flags & THR_QUANTISER_ROTATED) != 0)
        return THR_OK;
    if (thr_code_rank_cost(context->kernels, rows, signs, n_rows, quantiser->n_dims, JUDGING_QUERIES) <=
        cost + ROTATION_LOSS)
        return THR_OK;
    memcpy(quantiser->ranges, plain, sizeof plain);
    return thr_code_quantiser_rotate(context, quantiser, 0, err);
}

thr_status thr_code_quantiser_train(thr_context *context, const thr_matrix *sample, uint32_t item_bits, uint32_t flags,
                                    thr_quantiser *quantiser, thr_error *err) {
    *quantiser = (thr_quantiser){.n_dims = sample->n_dims,
                                 .item_bits = item_bits,
                                 .unit = (flags & THR_QUANTISER_UNIT) != 0,
                                 .fixed = (flags & THR_QUANTISER_FIXED) != 0};
    const uint32_t learnt = THR_QUANTISER_CENTRE | THR_QUANTISER_ROTATE | THR_QUANTISER_ROTATED;
    if ((flags & ~(learnt | THR_QUANTISER_UNIT | THR_QUANTISER_FIXED)) != 0)
        return thr_fail(err, THR_EINVAL, "%u is not a sum of THR_QUANTISER_ flags", flags);
    if (quantiser->fixed && (flags & learnt) != 0)
        return thr_fail(err, THR_EINVAL, "given codes are neither centred nor rotated: leave those flags out");
    if (item_bits < 1 || item_bits > THR_MAX_BITS)
        return thr_fail(err, THR_EINVAL, "%u bits per dimension: choose 1 to %d", item_bits, (int)THR_MAX_BITS);
    if (sample->n_dims < 1 || sample->n_dims > THR_MAX_DIMS)
        return thr_fail(err, THR_EDIM, "%u dimensions: 1 to %d are possible", sample->n_dims, (int)THR_MAX_DIMS);
    for (int b = 0; b < THR_MAX_BITS; b++)
        quantiser->ranges[b] = quantiser->fixed ? THR_FIXED_RANGE : 1.0f;
    THR_TRY(thr_code_check_rows(sample, err));
    if (quantiser->fixed)
        return THR_OK;
    thr_status status = THR_OK;
    float *rows = NULL;
    uint32_t *histogram = NULL;
    THR_TRY_OUT(thr_alloc(context, 2 * SEARCH_ROWS, sizeof(float) * sample->n_dims, &rows, "a sample", err));
    THR_TRY_OUT(thr_alloc(context, THR_CALIBRATE_BINS, sizeof *histogram, &histogram, "a histogram", err));
    if ((flags & THR_QUANTISER_CENTRE) != 0 && sample->n_rows > 0)
        THR_TRY_OUT(find_centre(context, sample, quantiser, rows, err));
    THR_TRY_OUT(find_ranges(context, sample, flags, quantiser, rows, histogram, err));
out:
    THR_RELEASE(context, rows, histogram);
    if (status != THR_OK)
        thr_code_quantiser_free(context, quantiser);
    return status;
}

thr_status thr_code_quantiser_rotate(thr_context *context, thr_quantiser *quantiser, uint64_t seed, thr_error *err) {
    thr_rotation *rotation = NULL;
    if (seed != 0)
        THR_TRY(thr_code_rotation_create(context, quantiser->n_dims, seed, &rotation, err));
    thr_code_rotation_free(context, quantiser->rotation);
    quantiser->rotation = rotation;
    quantiser->rotation_seed = seed;
    return THR_OK;
}

void thr_code_quantiser_free(thr_context *context, thr_quantiser *quantiser) {
    if (quantiser == NULL)
        return;
    thr_release(context, quantiser->centre);
    quantiser->centre = NULL;
    thr_code_rotation_free(context, quantiser->rotation);
    quantiser->rotation = NULL;
}
