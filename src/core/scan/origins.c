/* SPDX-License-Identifier: Apache-2.0 */
/* origins.c - a query's terms for the origins of codes. */
#include "base/minmax.h"
#include "scan/origins.h"

#include "kernel/kernel.h"
#include "scan/job.h"

#include <math.h>

/* Rounding errors make a distance at most this factor too small. */
static const float ROUNDING = 1 + 0x1p-12f;

/*
 * |q|^2 + w^2 |o|^2 - 2 w <q, o> in float32 errs by at most this share of |q|^2 + w^2 |o|^2. A distance of 0 becomes
 * its root.
 */
static float square_error(uint32_t n_dims) {
    return fmaxf(0x1p-18f, ((float)n_dims / 16 + 16) * 0x1p-24f);
}

/* By inner product: the weight of the query. */
static double find_weight(const thr_corpus_origins *origins, const thr_origin_term *terms) {
    double product = 0, length = 0;
    for (size_t s = 0; s < origins->n_segments; s++)
        for (uint32_t i = 0; i < origins->segments[s].n; i++)
            if ((double)terms[origins->segments[s].first + i].base > product) {
                product = (double)terms[origins->segments[s].first + i].base;
                length = (double)origins->segments[s].lengths[i];
            }
    return length > 0 ? product / length / length : 0;
}

/* Compilers vectorise this loop. */
static void set_distances(const thr_segment_origins *origins, float length, float weight, float error,
                          thr_origin_term *restrict terms) {
    const float *restrict lengths = origins->lengths;
    const size_t n = origins->n;
    for (size_t i = 0; i < n; i++) {
        const float of_origin = weight * lengths[i], sum = length * length + of_origin * of_origin;
        const float square = sum - 2 * weight * terms[i].base;
        terms[i].distance = sqrtf(THR_MAX(square, 0) + sum * error) * ROUNDING;
    }
}

/* Set the terms of n origins from their squared distances. */
static void set_l2(const float *restrict squares, size_t n, thr_origin_term *restrict terms) {
    for (size_t i = 0; i < n; i++)
        terms[i] = (thr_origin_term){-squares[i], 2 * sqrtf(squares[i]) * ROUNDING};
}

static void set_bases(const float *restrict products, size_t n, thr_origin_term *restrict terms) {
    for (size_t i = 0; i < n; i++)
        terms[i].base = products[i];
}

enum { AT_ONCE = 256 }; /* origins whose scores are computed by one call */

double thr_scan_origin_terms(const thr_scan_corpus *corpus, const thr_kernels *kernels, const float *vector,
                             double length, const float *scores, thr_origin_term *terms) {
    const thr_corpus_origins *origins = corpus->origins;
    const uint32_t n_dims = corpus->quantiser->n_dims;
    const bool l2 = corpus->metric == THR_METRIC_L2;
    float computed[AT_ONCE];
    for (size_t s = 0; s < origins->n_segments; s++) {
        const thr_segment_origins *some = &origins->segments[s];
        for (uint32_t first = 0, n; first < some->n; first += n) {
            n = THR_MIN(some->n - first, AT_ONCE);
            if (scores == NULL)
                (l2 ? kernels->l2_f32 : kernels->dot_f32)(computed, vector, some->points + (size_t)first * n_dims,
                                                          n_dims * sizeof(float), n, n_dims);
            (l2 ? set_l2 : set_bases)(scores == NULL ? computed : scores + some->first + first, n,
                                      terms + some->first + first);
        }
    }
    const double weight = corpus->metric == THR_METRIC_IP ? find_weight(origins, terms) : 1;
    for (size_t s = 0; s < origins->n_segments && !l2; s++)
        set_distances(&origins->segments[s], (float)length, (float)weight, square_error(n_dims),
                      terms + origins->segments[s].first);
    return weight;
}

thr_origin_term thr_scan_term_of(const thr_scan_corpus *corpus, const thr_origin_term *terms, uint64_t row) {
    if (terms == NULL)
        return (thr_origin_term){0, 1};
    const thr_segment *segment = thr_scan_segment_of(corpus, row);
    const uint64_t item = segment->first_item + (row - segment->first_row);
    return terms[segment->origins->first + thr_segment_origin_of(segment->origins, item)];
}
