/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range is a percentile of |component| over unit vectors, and the percentile is searched (XFBQ errata 2). The measure
 * is the mean cosine between vectors and their codes: the length of a code is divided out at search time, so the angle is
 * the only error left.
 */
#include "code/calibrate.h"

#include <math.h>
#include <string.h>

enum { BINS = THR_CALIBRATE_BINS };

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

double thr_mean_cosine(const float *rows, size_t n_rows, uint32_t n_dims, float range, uint32_t bits) {
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

void thr_calibrate(const float *rows, size_t n_rows, uint32_t n_dims, uint32_t *histogram, float ranges[THR_MAX_BITS]) {
    float candidates[N_PERCENTILES];
    percentiles(rows, n_rows * n_dims, histogram, candidates);
    for (uint32_t bits = 1; bits <= THR_MAX_BITS; bits++) {
        double best = -2;
        for (size_t p = 0; p < N_PERCENTILES; p++) {
            const double cosine = thr_mean_cosine(rows, n_rows, n_dims, candidates[p], bits);
            if (cosine > best) {
                best = cosine;
                ranges[bits - 1] = candidates[p];
            }
        }
    }
}
