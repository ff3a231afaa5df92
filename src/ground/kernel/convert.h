/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - float16 conversion with the context's kernels, for rooms that copy vectors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct thr_context;

/* IEEE binary16, round to nearest even; overflow gives infinity. */
void thr_kernel_f32_to_f16(const struct thr_context *context, const float *in, uint16_t *out, size_t n);
void thr_kernel_f16_to_f32(const struct thr_context *context, const uint16_t *in, float *out, size_t n);
