/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementwise.h - the formulas of element-wise kernels, for one element.
 *
 * The specification calls them directly; other levels compile the same loops for their instruction sets, and GPU
 * kernels (cuda/) call them, too. Nothing is contracted and there are no branches, so loops over them vectorise and
 * every level rounds the same operations.
 */
#pragma once

#include "base/host_device.h"
#include "base/minmax.h"
#include "kernel/layers.h"

#include <math.h>
#include <string.h>

THR_ANYWHERE uint32_t thr_kernel_float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

THR_ANYWHERE float thr_kernel_bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * 2^n exp(r) with n = round(x / ln 2), for x in [-87, 88]. Adding 1.5 * 2^23 rounds to an integer and leaves it in
 * the low bits. ln 2 is subtracted in two parts; the first has so few bits that its product with n is exact. The
 * polynomial is that of Cephes' expf.
 */
THR_ANYWHERE float thr_kernel_exp_held(float x) {
    const float rounder = 0x1.8p23f;
    const float shifted = x * 1.44269504088896341f + rounder;
    const float n = shifted - rounder;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    return p * thr_kernel_bits_float((thr_kernel_float_bits(shifted) + 127u) << 23);
}

THR_ANYWHERE float thr_kernel_exp_one(float x) {
    float held = THR_MAX(-87.0f, x);
    held = THR_MIN(88.0f, held);
    const float y = thr_kernel_exp_held(held);
    return x == x ? y : x;
}

/*
 * 1 - 2 / (exp(2 |x|) + 1) with the sign of x. Below 5/8, where that loses digits, Cephes' odd polynomial. Both are
 * computed for every x.
 */
THR_ANYWHERE float thr_kernel_tanh_one(float x) {
    const uint32_t sign = thr_kernel_float_bits(x) & 0x80000000u;
    const float size = thr_kernel_bits_float(thr_kernel_float_bits(x) & 0x7fffffffu);
    const float held = THR_MIN(10.0f, size);
    const float large = 1.0f - 2.0f / (thr_kernel_exp_held(held + held) + 1.0f);
    const float z = held * held;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z + -5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z + -3.33332819422e-1f;
    const float small = p * z * held + held;
    const float y = held < 0.625f ? small : large;
    const float with_sign = thr_kernel_bits_float(thr_kernel_float_bits(y) | sign);
    return x == x ? with_sign : x;
}

/*
 * ln(1 + exp(-x)) and the negative of its derivative. With e = exp(-|x|) nothing overflows, and ln(1 + e) is 2 artanh
 * s, s = e / (2 + e) <= 1/3: the first omitted term is below 2e-9 of the sum.
 */
THR_ANYWHERE float thr_kernel_logistic_one(float x, float *slope) {
    const float size = thr_kernel_bits_float(thr_kernel_float_bits(x) & 0x7fffffffu);
    const float e = thr_kernel_exp_one(-size);
    const float s = e / (2.0f + e), z = s * s;
    float p = 1.0f / 15;
    p = p * z + 1.0f / 13;
    p = p * z + 1.0f / 11;
    p = p * z + 1.0f / 9;
    p = p * z + 1.0f / 7;
    p = p * z + 1.0f / 5;
    p = p * z + 1.0f / 3;
    p = p * z + 1.0f;
    const float wrong = x > 0.0f ? 0.0f : -x;
    *slope = (x > 0.0f ? e : 1.0f) / (1.0f + e);
    return (s + s) * p + wrong;
}

THR_ANYWHERE void thr_kernel_adam_one(float *w, float *m, float *v, float gradient, const thr_adam_step *step) {
    const float g = gradient * step->scale;
    const float moment = step->beta1 * *m + step->rest1 * g;
    const float square = step->beta2 * *v + step->rest2 * (g * g);
    *m = moment;
    *v = square;
    *w = step->decay * *w - (step->rate * moment) / (sqrtf(square) * step->root + step->epsilon);
}

THR_ANYWHERE void thr_kernel_ftrl_one(float *w, float *z, float *n, float gradient, const thr_ftrl_step *step) {
    const float g = gradient * step->scale;
    const float after = *n + g * g, root = sqrtf(after);
    const float moved = (*z + g) - ((root - sqrtf(*n)) / step->alpha) * *w;
    const float signed_l1 = moved < 0.0f ? -step->l1 : step->l1;
    const float stepped = (signed_l1 - moved) / ((step->beta + root) / step->alpha + step->l2);
    *z = moved;
    *n = after;
    *w = fabsf(moved) <= step->l1 ? 0.0f : stepped;
}
