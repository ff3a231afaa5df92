/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four rounds of random signs and a Hadamard transform. The transform needs a power of two, so rounds alternate
 * between the first and the last 2^k components, with the largest 2^k <= n_dims. Where these two windows hardly
 * overlap (255 = 128 + 127), they would never mix, so between the two pairs of rounds component i of the first half
 * and component i of the second are replaced by their sum and difference. After the first transform this would undo
 * it: half of the components of a rotated unit vector would be 0. Rows and columns of the whole matrix have the
 * moments of a dense random rotation at every number of dimensions tried.
 *
 * No transform scales: its factor 1 / sqrt(2^k) is multiplied into the next round's signs.
 */
#include "code/rotate.h"

#include "base/error.h"
#include "base/rng.h"

#include <math.h>

enum { ROUNDS = 4, FOLDED = 2 /* the round before which halves are mixed */ };

struct thr_rotation {
    uint32_t n_dims;
    uint32_t window; /* 2^k */
    uint32_t half;   /* components of one half that are mixed with the other; 0: one window holds all */
    float factors[]; /* (ROUNDS + 1) * n_dims: the multipliers before each round and at the end */
};

static uint32_t window_start(uint32_t n_dims, uint32_t window, uint32_t round) {
    return round % 2 == 0 ? 0 : n_dims - window;
}

static void fill_factors(thr_rotation *rotation, uint64_t seed) {
    const uint32_t n_dims = rotation->n_dims, window = rotation->window;
    const double shrink = 1 / sqrt((double)window), fold = sqrt(0.5);
    uint64_t bits = 0;
    for (uint32_t round = 0, drawn = 0; round <= ROUNDS; round++) {
        const uint32_t start = round == 0 ? n_dims : window_start(n_dims, window, round - 1);
        for (uint32_t d = 0; d < n_dims; d++) {
            double factor = d >= start && d - start < window ? shrink : 1;
            if (round == FOLDED && (d < rotation->half || n_dims - 1 - d < rotation->half))
                factor *= fold;
            if (round < ROUNDS) {
                bits = drawn++ % 64 == 0 ? thr_rng_next(&seed) : bits >> 1;
                factor = (bits & 1) != 0 ? -factor : factor;
            }
            rotation->factors[(size_t)round * n_dims + d] = (float)factor;
        }
    }
}

thr_status thr_code_rotation_create(thr_context *context, uint32_t n_dims, uint64_t seed, thr_rotation **rotation,
                                    thr_error *err) {
    thr_rotation *made = NULL;
    THR_TRY(
        thr_alloc(context, 1, sizeof *made + (size_t)n_dims * (ROUNDS + 1) * sizeof(float), &made, "a rotation", err));
    made->n_dims = n_dims;
    made->window = 1;
    while (made->window <= n_dims / 2)
        made->window *= 2;
    made->half = made->window < n_dims ? n_dims / 2 : 0;
    fill_factors(made, seed);
    *rotation = made;
    return THR_OK;
}

void thr_code_rotation_free(thr_context *context, const thr_rotation *rotation) {
    thr_release(context, (void *)rotation);
}

/* Replace x[i], y[i] by their sum and difference. */
static inline void mix(float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float sum = x[i] + y[i], difference = x[i] - y[i];
        x[i] = sum;
        y[i] = difference;
    }
}

/* Two steps of the transform at once, which halves loads and stores. */
static inline void mix_four(float *restrict x, float *restrict y, float *restrict z, float *restrict w, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float a = x[i] + y[i], b = x[i] - y[i], c = z[i] + w[i], d = z[i] - w[i];
        x[i] = a + c;
        y[i] = b + d;
        z[i] = a - c;
        w[i] = b - d;
    }
}

/* Do steps h and 2 h of a transform of n. Specialised for constant h: each gets its own copy of the loop. */
static inline __attribute__((always_inline)) void two_steps(float *x, size_t n, const size_t h) {
    for (size_t i = 0; i < n; i += 4 * h)
        mix_four(x + i, x + i + h, x + i + 2 * h, x + i + 3 * h, h);
}

/* The unscaled Hadamard transform of n (a power of two) numbers. */
static void transform(float *x, size_t n) {
    size_t h = 1;
    if (n >= 4) {
        two_steps(x, n, 1);
        h = 4;
    }
    if (n >= 16) {
        two_steps(x, n, 4);
        h = 16;
    }
    for (; 4 * h <= n; h *= 4)
        two_steps(x, n, h);
    if (h < n)
        mix(x, x + h, h);
}

static void multiply(float *x, const float *factors, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] *= factors[i];
}

void thr_code_rotation_apply(const thr_rotation *rotation, float *x) {
    const uint32_t n_dims = rotation->n_dims;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        multiply(x, rotation->factors + (size_t)round * n_dims, n_dims);
        if (round == FOLDED)
            mix(x, x + n_dims - rotation->half, rotation->half);
        transform(x + window_start(n_dims, rotation->window, round), rotation->window);
    }
    multiply(x, rotation->factors + (size_t)ROUNDS * n_dims, n_dims);
}
