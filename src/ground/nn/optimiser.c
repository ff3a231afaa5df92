/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optimiser.h"

#include <math.h>

void thr_nn_optimiser_init(thr_optimiser *optimiser, thr_optimiser_kind kind) {
    *optimiser = (thr_optimiser){.kind = kind, .rate = 0.1f, .gradient_scale = 1.0f};
    if (kind == THR_OPTIMISER_ADAM) {
        optimiser->rate = 0.001f;
        optimiser->beta1 = 0.9f;
        optimiser->beta2 = 0.999f;
        optimiser->epsilon = 1e-8f;
    } else if (kind == THR_OPTIMISER_FTRL) {
        optimiser->beta1 = 1.0f;
    }
}

uint32_t thr_nn_optimiser_n_slots(thr_optimiser_kind kind) {
    return kind == THR_OPTIMISER_SGD ? 0 : 2;
}

/* x^n by squaring. The C library's pow may differ in the last bit between machines. */
static double power(double x, uint64_t n) {
    double result = 1.0;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1)
            result *= x;
        x *= x;
    }
    return result;
}

/* Bias correction of Adam: 1 / (1 - beta1^t) is folded into the rate, 1 / (1 - beta2^t) into a factor of the root. */
static thr_adam_step adam_step(const thr_optimiser *o) {
    const double beta1 = (double)o->beta1, beta2 = (double)o->beta2, rate = (double)o->rate;
    return (thr_adam_step){.scale = o->gradient_scale,
                           .beta1 = o->beta1,
                           .rest1 = (float)(1.0 - beta1),
                           .beta2 = o->beta2,
                           .rest2 = (float)(1.0 - beta2),
                           .rate = (float)(rate / (1.0 - power(beta1, o->step))),
                           .root = (float)(1.0 / sqrt(1.0 - power(beta2, o->step))),
                           .epsilon = o->epsilon,
                           .decay = (float)(1.0 - rate * (double)o->l2)};
}

thr_optimiser_pass thr_nn_optimiser_start(const thr_kernels *kernels, const thr_optimiser *optimiser) {
    thr_optimiser_pass pass = {.kernels = kernels, .optimiser = *optimiser};
    if (optimiser->kind == THR_OPTIMISER_ADAM)
        pass.adam = adam_step(optimiser);
    pass.ftrl = (thr_ftrl_step){.scale = optimiser->gradient_scale,
                                .alpha = optimiser->rate,
                                .beta = optimiser->beta1,
                                .l1 = optimiser->l1,
                                .l2 = optimiser->l2};
    return pass;
}

static void sgd(const thr_optimiser *o, float *weights, const float *gradient, size_t n) {
    const float decay = (float)(1.0 - (double)o->rate * (double)o->l2);
    for (size_t i = 0; i < n; i++)
        weights[i] = decay * weights[i] - o->rate * (gradient[i] * o->gradient_scale);
}

void thr_nn_optimiser_pass_step(const thr_optimiser_pass *pass, float *weights, const float *gradient,
                                float *const slots[2], size_t n) {
    switch (pass->optimiser.kind) {
    case THR_OPTIMISER_SGD:
        sgd(&pass->optimiser, weights, gradient, n);
        break;
    case THR_OPTIMISER_ADAM:
        pass->kernels->adam_step(weights, slots[0], slots[1], gradient, n, &pass->adam);
        break;
    case THR_OPTIMISER_FTRL:
        pass->kernels->ftrl_step(weights, slots[0], slots[1], gradient, n, &pass->ftrl);
        break;
    }
}

void thr_nn_optimiser_step(const thr_kernels *kernels, const thr_optimiser *optimiser, float *weights,
                           const float *gradient, float *const slots[2], size_t n) {
    const thr_optimiser_pass pass = thr_nn_optimiser_start(kernels, optimiser);
    thr_nn_optimiser_pass_step(&pass, weights, gradient, slots, n);
}
