/* SPDX-License-Identifier: Apache-2.0 */
/* weight_formats.c - rounding a row of floats to a storage format, and widening it again. */
#include "head/weight_formats.h"

#include <string.h>

#include "base/half.h"
#include "base/int8.h"

void thr_head_keep_row(const thr_head_contents *c, const thr_kernels *kernels, const float *row, void *kept,
                       float *scale) {
    uint16_t *halves = kept;
    if (c->dtype == THR_DTYPE_F32)
        memcpy(kept, row, thr_head_row_size(c));
    else if (c->dtype == THR_DTYPE_F16)
        kernels->f32_to_f16(halves, row, c->n_dims);
    else if (c->dtype == THR_DTYPE_I8)
        *scale = thr_int8_from_f32(kept, row, c->n_dims);
    else
        for (uint32_t d = 0; d < c->n_dims; d++)
            halves[d] = thr_bf16_from_f32(row[d]);
}

void thr_head_row(const thr_head_contents *c, const thr_kernels *kernels, uint32_t w, float *out) {
    const void *kept = (const char *)c->weights + w * thr_head_row_size(c);
    const uint16_t *halves = kept;
    const int8_t *bytes = kept;
    if (c->dtype == THR_DTYPE_F32)
        memcpy(out, kept, thr_head_row_size(c));
    else if (c->dtype == THR_DTYPE_F16)
        kernels->f16_to_f32(out, halves, c->n_dims);
    else if (c->dtype == THR_DTYPE_I8)
        for (uint32_t d = 0; d < c->n_dims; d++)
            out[d] = (float)bytes[d] * c->scales[w];
    else
        for (uint32_t d = 0; d < c->n_dims; d++)
            out[d] = thr_bf16_to_f32(halves[d]);
}
