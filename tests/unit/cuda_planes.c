/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_planes.c - planes, residuals and the ways back on an emulated GPU have the bits of rooms nn and tower. */
#include "cuda_support.h"

#include "nn/dense.h"

#include <float.h>

static const size_t SIZES[] = {1, 31, 255, 257, 1000};

/* Numbers that estimators and tanh treat apart are among them. */
static float *some_numbers(uint64_t *rng, size_t n) {
    static const float edges[] = {1,           -1, 0,   -0.0f,   0x1.000002p0f, -0x1.000002p0f,
                                  FLT_MIN / 2, 30, -30, FLT_MAX, 0.625f};
    float *values = nn_normal(rng, n);
    for (size_t i = 0; i < n; i += 3)
        values[i] = edges[i / 3 % (COUNT_OF(edges))];
    return values;
}

/* ----------------------------------------------------------------------------------------------- planes */

static uint32_t broken_after(const thr_plane_op *op) {
    uint32_t *broken = gpu_get(op->broken, sizeof *broken);
    const uint32_t found = *broken;
    return found;
}

static thr_plane_op put_plane(const float *in, const float *last, size_t n) {
    const uint32_t whole = 0;
    return (thr_plane_op){.in = gpu_floats(in, n),
                          .last = last == NULL ? NULL : gpu_floats(last, n),
                          .out = gpu_floats(NULL, n),
                          .weight = 0.25f,
                          .n = n,
                          .broken = gpu_put(&whole, sizeof whole)};
}

static void check_plane(size_t n, uint64_t *rng) {
    float *in = some_numbers(rng, n), *last = nn_normal(rng, n), *right = test_new(n, sizeof *right);
    thr_plane_op op = put_plane(in, last, n);
    for (size_t i = 0; i < n; i++)
        right[i] = last[i] + (in[i] > 0 ? 0.25f : -0.25f);
    gpu_do(plane, &op);
    gpu_assert_same(op.out, right, n, "a plane and the ones before");
    op.last = NULL;
    op.weight = 1;
    thr_nn_sign_forward(gpu.context, in, n, right);
    gpu_do(plane, &op);
    gpu_assert_same(op.out, right, n, "a first plane");
    op.as_float = true;
    thr_nn_tanh_forward(gpu.context, in, n, right);
    gpu_do(plane, &op);
    gpu_assert_same(op.out, right, n, "an embedding of floats");
    assert_int_equal(broken_after(&op), 0);
    gpu_forget();
}

RANDOM_TEST(planes_are_signs_or_tanh) {
    for (size_t s = 0; s < COUNT_OF(SIZES); s++)
        check_plane(SIZES[s], &rng);
}

TEST(numbers_that_are_not_finite_are_refused) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    enum { N = 300 };
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        for (int as_float = 0; as_float < 2; as_float++) {
            float in[N] = {0};
            in[N - 1 - b] = bad[b];
            thr_plane_op op = put_plane(in, NULL, N);
            op.as_float = as_float != 0;
            gpu_do(plane, &op);
            assert_int_equal(broken_after(&op), 1);
            gpu_forget();
        }
}

static void check_plane_back(thr_device_estimator estimator, size_t n, bool in_place, uint64_t *rng) {
    const float weight = 0.5f, slope = 3.0f;
    float *in = some_numbers(rng, n), *d_out = nn_normal(rng, n), *right = test_new(n, sizeof *right);
    float *out = test_new(n, sizeof *out);
    thr_nn_tanh_forward(gpu.context, in, n, out);
    for (size_t i = 0; i < n; i++)
        right[i] = weight * d_out[i];
    if (estimator == THR_DEVICE_TANH)
        thr_nn_tanh_backward(gpu.context, out, right, n, right);
    else
        thr_nn_sign_backward(gpu.context, (thr_estimator)estimator, slope, in, right, n, right);
    float *there = gpu_floats(d_out, n);
    const thr_plane_back_op op = {.in = gpu_floats(in, n),
                                  .out = gpu_floats(out, n),
                                  .d_out = there,
                                  .d_in = in_place ? there : gpu_floats(NULL, n),
                                  .weight = weight,
                                  .slope = slope,
                                  .estimator = estimator,
                                  .n = n};
    gpu_do(plane_back, &op);
    gpu_assert_same(op.d_in, right, n, "a gradient through a plane");
    gpu_forget();
}

RANDOM_TEST(estimators_are_those_of_the_cpu) {
    rng += 1;
    assert_int_equal(THR_DEVICE_VARIANT, THR_ESTIMATOR_VARIANT);
    assert_int_equal(THR_DEVICE_STRAIGHT, THR_ESTIMATOR_STRAIGHT);
    assert_int_equal(THR_DEVICE_ANNEALED, THR_ESTIMATOR_TANH);
    for (int estimator = THR_DEVICE_VARIANT; estimator <= THR_DEVICE_TANH; estimator++)
        for (size_t s = 0; s < COUNT_OF(SIZES); s++)
            check_plane_back((thr_device_estimator)estimator, SIZES[s], s % 2 == 0, &rng);
}

/* -------------------------------------------------------------------------------------------- residuals */

static void check_residual(size_t n, uint64_t *rng) {
    float *rebuilt = some_numbers(rng, n), *pooled = nn_normal(rng, n), *residual = test_new(n, sizeof *residual);
    float *d_residual = nn_normal(rng, n), *d_pooled = nn_normal(rng, n);
    const thr_residual_op op = {gpu_floats(pooled, n), gpu_floats(rebuilt, n), gpu_floats(NULL, n), n};
    thr_nn_tanh_forward(gpu.context, rebuilt, n, rebuilt);
    for (size_t i = 0; i < n; i++)
        residual[i] = pooled[i] - rebuilt[i];
    gpu_do(residual, &op);
    gpu_assert_same(op.rebuilt, rebuilt, n, "what was rebuilt");
    gpu_assert_same(op.residual, residual, n, "what is missing");
    const thr_residual_back_op back = {op.rebuilt, gpu_floats(d_residual, n), gpu_floats(d_pooled, n), n};
    for (size_t i = 0; i < n; i++) {
        d_pooled[i] += d_residual[i];
        d_residual[i] = -d_residual[i];
    }
    thr_nn_tanh_backward(gpu.context, rebuilt, d_residual, n, d_residual);
    gpu_do(residual_back, &back);
    gpu_assert_same(back.d_pooled, d_pooled, n, "the gradient of what was pooled");
    gpu_assert_same(back.d_residual, d_residual, n, "the gradient of what was rebuilt");
    gpu_forget();
}

RANDOM_TEST(residuals_are_what_rebuilding_missed) {
    rng += 2;
    for (size_t s = 0; s < COUNT_OF(SIZES); s++)
        check_residual(SIZES[s], &rng);
}

TEST(nothing_to_do_is_no_failure) {
    const uint64_t launches = gpu.emulator.launches();
    gpu_do(plane, &(thr_plane_op){.n = 0});
    gpu_do(plane_back, &(thr_plane_back_op){.n = 0});
    gpu_do(residual, &(thr_residual_op){.n = 0});
    gpu_do(residual_back, &(thr_residual_back_op){.n = 0});
    assert_int_equal(gpu.emulator.launches(), launches);
}
