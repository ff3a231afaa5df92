/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/convert.h"

#include "base/memory.h"
#include "kernel/kernel.h"

void thr_kernel_f32_to_f16(const thr_context *context, const float *in, uint16_t *out, size_t n) {
    context->kernels->f32_to_f16(out, in, n);
}

void thr_kernel_f16_to_f32(const thr_context *context, const uint16_t *in, float *out, size_t n) {
    context->kernels->f16_to_f32(out, in, n);
}
