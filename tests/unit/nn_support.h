/* SPDX-License-Identifier: Apache-2.0 */
/* nn_support.h - what the tests of room nn share: random numbers, and every context whose bits must be the same. */
#pragma once

#include "test.h"

#include "kernel/kernel.h"

static inline float *nn_normal(uint64_t *rng, size_t n) {
    float *values = test_new(n + 1, sizeof *values);
    test_gaussian(rng, values, n);
    return values;
}

static inline float *nn_copy(const float *values, size_t n) {
    float *copy = test_new(n + 1, sizeof *copy);
    return memcpy(copy, values, n * sizeof *copy);
}

/* Random vectors of length 1/2 at least: gradients grow with 1 / length, and so do their errors. */
static inline float *nn_long_vectors(size_t n, size_t n_dims, uint64_t *rng) {
    float *vectors = nn_normal(rng, n * n_dims);
    for (size_t i = 0; i < n; i++) {
        float square = 0;
        for (size_t d = 0; d < n_dims; d++)
            square += vectors[i * n_dims + d] * vectors[i * n_dims + d];
        if (square < 0.25f)
            vectors[i * n_dims] += vectors[i * n_dims] < 0 ? -0.5f : 0.5f;
    }
    return vectors;
}

/* Calls check with contexts of 1, 2, 3 and 7 threads at the best level, and of one at every other level. */
typedef void (*nn_check)(thr_context *context, void *arg);
static inline void nn_each_context(nn_check check, void *arg) {
    const uint32_t threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        thr_context *context = test_context(threads[i], THR_ISA_BEST, NULL);
        check(context, arg);
        thr_context_free(context);
    }
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        if (!thr_kernel_isa_has((thr_isa)isa))
            continue;
        thr_context *context = test_context(1, (thr_isa)isa, NULL);
        check(context, arg);
        thr_context_free(context);
    }
}

#define assert_same_floats(got, want, n, ...)                                                                          \
    do {                                                                                                               \
        for (size_t same_i = 0; same_i < (n); same_i++)                                                                \
            if (memcmp(&(got)[same_i], &(want)[same_i], sizeof(float)) != 0) {                                         \
                print_error("seed %llu, number %zu: %.9g, should be %.9g\n", (unsigned long long)test_seed(), same_i,  \
                            (double)(got)[same_i], (double)(want)[same_i]);                                            \
                fail_msg(__VA_ARGS__);                                                                                 \
            }                                                                                                          \
    } while (0)
