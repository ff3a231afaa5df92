/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_components.c - the items' dominant subspace by orthogonal iteration, V = orth(C V) with the second moments C, in
 * doubles and in one order. The components are then rotated at random, so that all have about the same variance: a
 * plane gives each dimension one bit.
 */
#include "text_tower/init_components.h"

#include <thresher/tower.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/rng.h"

enum { ITERATIONS = 24 };

/* Memory of the iteration; matrices are row-major. */
typedef struct frame {
    size_t n_in, n_out;
    double *moments;              /* n_in x n_in */
    double *basis, *next, *turns; /* n_out x n_in, a vector per row; the same; n_out x n_out */
} frame;

static void draw(uint64_t *rng, double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(thr_rng_next(rng) >> 11) * 0x1p-52 - 1;
}

/* Gram-Schmidt over n rows, each twice. A row that others span becomes 0. */
static void orthonormalise(double *rows, size_t n, size_t width) {
    for (size_t i = 0; i < 2 * n; i++) {
        double *row = rows + i / 2 * width, square = 0;
        for (size_t j = 0; j < i / 2; j++) {
            double product = 0;
            for (size_t d = 0; d < width; d++)
                product += row[d] * rows[j * width + d];
            for (size_t d = 0; d < width; d++)
                row[d] -= product * rows[j * width + d];
        }
        for (size_t d = 0; d < width; d++)
            square += row[d] * row[d];
        for (size_t d = 0; d < width; d++)
            row[d] = square > 1e-30 ? row[d] / sqrt(square) : 0;
    }
}

static void find_moments(const thr_vector_sample *sample, frame *f) {
    for (size_t r = 0; r < sample->n; r++) {
        const float *item = thr_vector_of(sample->pairs, THR_SIDE_ITEM, sample->numbers[r]);
        for (size_t i = 0; i < f->n_in; i++)
            for (size_t j = 0; j < f->n_in; j++)
                f->moments[i * f->n_in + j] += (double)item[i] * (double)item[j];
    }
}

static void iterate(frame *f) {
    for (int i = 0; i < ITERATIONS; i++) {
        memset(f->next, 0, f->n_out * f->n_in * sizeof *f->next);
        for (size_t o = 0; o < f->n_out; o++)
            for (size_t r = 0; r < f->n_in; r++)
                for (size_t d = 0; d < f->n_in; d++)
                    f->next[o * f->n_in + d] += f->basis[o * f->n_in + r] * f->moments[r * f->n_in + d];
        memcpy(f->basis, f->next, f->n_out * f->n_in * sizeof *f->basis);
        orthonormalise(f->basis, f->n_out, f->n_in);
    }
}

static void put(const frame *f, float *weight) {
    for (size_t o = 0; o < f->n_out; o++) {
        for (size_t d = 0; d < f->n_in; d++) {
            double sum = 0;
            for (size_t k = 0; k < f->n_out; k++)
                sum += f->turns[k * f->n_out + o] * f->basis[k * f->n_in + d];
            weight[d * f->n_out + o] = (float)(sum * sqrt((double)f->n_in));
        }
    }
}

thr_status thr_text_init_components(thr_context *context, const thr_vector_sample *sample, uint64_t seed, size_t n_out,
                                    float *weight, thr_error *err) {
    frame f = {.n_in = sample->pairs->n_dims, .n_out = n_out};
    const size_t n_in = f.n_in, wide = THR_MAX(n_out, n_in);
    double *memory = NULL;
    uint64_t rng = seed;
    THR_TRY(thr_alloc_zero(context, n_in * n_in + 2 * wide * n_in + n_out * n_out, sizeof *memory, &memory,
                           "initial weights", err));
    f.moments = memory;
    f.basis = f.moments + n_in * n_in;
    f.next = f.basis + wide * n_in;
    f.turns = f.next + wide * n_in;
    find_moments(sample, &f);
    draw(&rng, f.basis, n_out * n_in);
    for (size_t o = 0; o < n_out; o++)
        f.turns[o * n_out + o] = 1;
    if (n_out <= n_in) {
        iterate(&f);
        draw(&rng, f.turns, n_out * n_out);
        orthonormalise(f.turns, n_out, n_out);
    }
    put(&f, weight);
    thr_release(context, memory);
    return THR_OK;
}
