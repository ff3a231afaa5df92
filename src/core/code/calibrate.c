/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose the range as a percentile of |component| over unit vectors by searching over percentiles (XFBQ errata 2).
 * The objective is the mean cosine between vectors and their codes: search divides by the length of a code, so the
 * angle is the only remaining error.
 */
#include "code/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/minmax.h"

enum { BINS = THR_CALIBRATE_BINS, LANES = 16 };

static const double PERCENTILES[] = {0.70, 0.80, 0.85, 0.90, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.9995, 1.0};
enum { N_PERCENTILES = sizeof PERCENTILES / sizeof *PERCENTILES };

/* Compute each percentile of |component| from a histogram over [0, 1]; never 0. */
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

/*
 * Return the cosine of a row and its code. <x, v> and |v|^2 have 16 partial sums each, so that compilers vectorise
 * them.
 */
static double cosine(const float *x, uint32_t n_dims, float scale, float half) {
    const float top = 2 * half - 1;
    float products[LANES] = {0}, squares[LANES] = {0};
    double product = 0, square = 0;
    for (uint32_t d = 0; d < n_dims; d += LANES) {
        float padded[LANES] = {0};
        const uint32_t n = THR_MIN(n_dims - d, LANES);
        const float *at = n < LANES ? memcpy(padded, x + d, n * sizeof *x) : x + d;
        for (uint32_t l = 0; l < LANES; l++) {
            /* Adding half before truncation makes it a floor. */
            float cell = at[l] * scale + half;
            cell = THR_MAX(0, cell);
            cell = THR_MIN(top, cell);
            const float v = 2 * (float)(int)cell - top;
            products[l] += v * at[l];
            squares[l] += v * v;
        }
        for (uint32_t l = n; l < LANES; l++)
            squares[l] -= 1; /* padding is coded as 1 */
    }
    for (uint32_t l = 0; l < LANES; l++) {
        product += (double)products[l];
        square += (double)squares[l];
    }
    return product / sqrt(square);
}

double thr_code_mean_cosine(const float *rows, size_t n_rows, uint32_t n_dims, float range, uint32_t bits) {
    const float half = (float)(1u << (bits - 1));
    double total = 0;
    for (size_t r = 0; r < n_rows; r++)
        total += cosine(rows + r * n_dims, n_dims, half / range, half);
    return total / (double)n_rows;
}

void thr_code_calibrate(const float *rows, size_t n_rows, uint32_t n_dims, uint32_t *histogram,
                        float ranges[THR_MAX_BITS]) {
    float candidates[N_PERCENTILES];
    percentiles(rows, n_rows * n_dims, histogram, candidates);
    ranges[0] = candidates[0]; /* one bit is a sign at any range */
    for (uint32_t bits = 2; bits <= THR_MAX_BITS; bits++) {
        double best = -2;
        for (size_t p = 0; p < N_PERCENTILES; p++) {
            const double cosine = thr_code_mean_cosine(rows, n_rows, n_dims, candidates[p], bits);
            if (cosine > best) {
                best = cosine;
                ranges[bits - 1] = candidates[p];
            }
        }
    }
}
