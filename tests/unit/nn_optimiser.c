/* SPDX-License-Identifier: Apache-2.0 */
/* nn_optimiser.c - steps of SGD, Adam and FTRL-Proximal beside the papers' formulas in double. */
#include "nn/optimiser.h"

#include "nn_support.h"

enum { N = 150, STEPS = 60 };

typedef struct exact {
    double w[N], first[N], second[N];
} exact;

/* Kingma and Ba 2015, algorithm 1, with the decay taken off first (Loshchilov and Hutter 2019). */
static void adam_exactly(exact *e, const thr_optimiser *o, const float *gradient) {
    const double beta1 = (double)o->beta1, beta2 = (double)o->beta2, rate = (double)o->rate;
    for (size_t i = 0; i < N; i++) {
        const double g = (double)gradient[i] * (double)o->gradient_scale;
        e->first[i] = beta1 * e->first[i] + (1 - beta1) * g;
        e->second[i] = beta2 * e->second[i] + (1 - beta2) * g * g;
        const double m = e->first[i] / (1 - pow(beta1, (double)o->step));
        const double v = e->second[i] / (1 - pow(beta2, (double)o->step));
        e->w[i] -= rate * (double)o->l2 * e->w[i];
        e->w[i] -= rate * m / (sqrt(v) + (double)o->epsilon);
    }
}

/* McMahan et al. 2013, algorithm 1. */
static void ftrl_exactly(exact *e, const thr_optimiser *o, const float *gradient) {
    const double alpha = (double)o->rate, beta = (double)o->beta1, l1 = (double)o->l1, l2 = (double)o->l2;
    for (size_t i = 0; i < N; i++) {
        const double g = (double)gradient[i] * (double)o->gradient_scale;
        const double sigma = (sqrt(e->second[i] + g * g) - sqrt(e->second[i])) / alpha;
        e->first[i] += g - sigma * e->w[i];
        e->second[i] += g * g;
        const double z = e->first[i], sign = z < 0 ? -1 : 1;
        e->w[i] = fabs(z) <= l1 ? 0 : -(z - sign * l1) / ((beta + sqrt(e->second[i])) / alpha + l2);
    }
}

static void sgd_exactly(exact *e, const thr_optimiser *o, const float *gradient) {
    const double rate = (double)o->rate;
    for (size_t i = 0; i < N; i++)
        e->w[i] = e->w[i] * (1 - rate * (double)o->l2) - rate * (double)gradient[i] * (double)o->gradient_scale;
}

static void step_exactly(exact *e, const thr_optimiser *o, const float *gradient) {
    if (o->kind == THR_OPTIMISER_SGD)
        sgd_exactly(e, o, gradient);
    else if (o->kind == THR_OPTIMISER_ADAM)
        adam_exactly(e, o, gradient);
    else
        ftrl_exactly(e, o, gradient);
}

/* Gradients of a bowl around 1 with noise, so that weights go somewhere. */
static void check(thr_optimiser optimiser) {
    uint64_t rng = test_seed();
    const thr_kernels *kernels = thr_kernels_get(thr_kernel_isa_best()), *scalar = thr_kernels_get(THR_ISA_SCALAR);
    exact *e = test_new(1, sizeof *e);
    float w[N] = {0}, first[N] = {0}, second[N] = {0}, w2[N] = {0}, first2[N] = {0}, second2[N] = {0}, gradient[N];
    float *const slots[2] = {first, second}, *const slots2[2] = {first2, second2};
    for (size_t step = 1; step <= STEPS; step++) {
        optimiser.step = step;
        for (size_t i = 0; i < N; i++)
            gradient[i] = w[i] - 1.0f + test_normal(&rng);
        thr_nn_optimiser_step(kernels, &optimiser, w, gradient, slots, N);
        thr_nn_optimiser_step(scalar, &optimiser, w2, gradient, slots2, N);
        step_exactly(e, &optimiser, gradient);
        for (size_t i = 0; i < N; i++) {
            /* Steps of at most about 0.1 with a relative error of some 2^-24 each, and weights about 1. */
            assert_case(fabs((double)w[i] - e->w[i]) <= 2e-6 * (1 + fabs(e->w[i])),
                        "kind %d, step %zu: weight %zu is %.9g, should be %.9g", (int)optimiser.kind, step, i,
                        (double)w[i], e->w[i]);
        }
    }
    assert_memory_equal(w, w2, sizeof w);
    assert_memory_equal(first, first2, sizeof first);
    assert_memory_equal(second, second2, sizeof second);
}

TEST(steps_are_those_of_the_papers) {
    for (int kind = THR_OPTIMISER_SGD; kind <= THR_OPTIMISER_FTRL; kind++)
        for (int decay = 0; decay < 2; decay++) {
            thr_optimiser optimiser;
            thr_nn_optimiser_init(&optimiser, (thr_optimiser_kind)kind);
            optimiser.l2 = decay ? 0.05f : 0.0f;
            optimiser.gradient_scale = decay ? 0.25f : 1.0f;
            check(optimiser);
        }
}

TEST(defaults_are_those_of_the_header) {
    thr_optimiser o;
    thr_nn_optimiser_init(&o, THR_OPTIMISER_ADAM);
    assert_true(o.rate == 0.001f && o.beta1 == 0.9f && o.beta2 == 0.999f && o.epsilon == 1e-8f && o.step == 0);
    thr_nn_optimiser_init(&o, THR_OPTIMISER_FTRL);
    assert_true(o.rate == 0.1f && o.beta1 == 1.0f && o.l1 == 0.0f && o.l2 == 0.0f && o.gradient_scale == 1.0f);
    thr_nn_optimiser_init(&o, THR_OPTIMISER_SGD);
    assert_true(o.rate == 0.1f && o.gradient_scale == 1.0f);
    assert_int_equal(thr_nn_optimiser_n_slots(THR_OPTIMISER_SGD), 0);
    assert_int_equal(thr_nn_optimiser_n_slots(THR_OPTIMISER_ADAM), 2);
    assert_int_equal(thr_nn_optimiser_n_slots(THR_OPTIMISER_FTRL), 2);
}

/* Weights that only noise pulls at stay exactly 0 with l1; those with a cause do not, and most are found. */
RANDOM_TEST(l1_keeps_weights_without_a_cause_at_0) {
    thr_optimiser optimiser;
    thr_nn_optimiser_init(&optimiser, THR_OPTIMISER_FTRL);
    size_t zeros[2] = {0, 0};
    for (int with_l1 = 0; with_l1 < 2; with_l1++) {
        float w[N] = {0}, z[N] = {0}, n[N] = {0}, gradient[N];
        float *const slots[2] = {z, n};
        optimiser.l1 = with_l1 ? 8.0f : 0.0f;
        for (int step = 1; step <= 200; step++) {
            for (size_t i = 0; i < N; i++)
                gradient[i] = 0.2f * test_normal(&rng) + (i % 10 == 0 ? w[i] - 1.0f : 0.0f);
            thr_nn_optimiser_step(thr_kernels_get(thr_kernel_isa_best()), &optimiser, w, gradient, slots, N);
        }
        for (size_t i = 0; i < N; i++) {
            zeros[with_l1] += w[i] == 0.0f;
            assert_true(i % 10 != 0 || w[i] > 0.2f);
        }
    }
    assert_int_equal(zeros[0], 0);
    assert_in_range(zeros[1], N * 8 / 10, N * 9 / 10);
}

/* The correction of the bias is still right, and finite, where 1 - beta^t is 1. */
TEST(late_steps_of_adam_are_uncorrected) {
    thr_optimiser optimiser;
    thr_nn_optimiser_init(&optimiser, THR_OPTIMISER_ADAM);
    optimiser.step = UINT64_MAX;
    float w = 0, m = 0.5f, v = 0.25f, gradient = 0.5f;
    float *const slots[2] = {&m, &v};
    thr_nn_optimiser_step(thr_kernels_get(thr_kernel_isa_best()), &optimiser, &w, &gradient, slots, 1);
    assert_true(fabsf(w + 0.001f) <= 1e-9f && m == 0.5f && fabsf(v - 0.25f) <= 1e-7f);
}
