/* SPDX-License-Identifier: Apache-2.0 */
/* dot.cuh - products of two vectors by 16 lanes, with the bits of kernel dot_f32. */
#pragma once

#include "cuda/portable.cuh"

static const uint32_t DOT_LANES = 16;

/* Lane 0 of the 16 has the product. All lanes of a warp must call it. */
__device__ __forceinline__ float dot_of(const float *query, const float *row, uint32_t n, uint32_t lane) {
    float sum = 0;
    for (uint32_t d = lane; d < n; d += DOT_LANES)
        sum = __fadd_rn(sum, __fmul_rn(query[d], row[d]));
    for (uint32_t half = DOT_LANES / 2; half > 0; half /= 2)
        sum = __fadd_rn(sum, __shfl_down_sync(THR_ALL_LANES, sum, half, (int)DOT_LANES));
    return sum;
}
