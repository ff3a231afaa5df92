/* SPDX-License-Identifier: Apache-2.0 */
/* half.cuh - conversion of 16-bit floats. */
#pragma once

#include "cuda/portable.cuh"

/* Convert float16 to float by adjusting the exponent; exact, including subnormals. */
__device__ __forceinline__ float half_value(uint32_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    const float value =
        rest >= 0x7c00u ? __uint_as_float(rest << 13 | 0x7f800000u) : __fmul_rn(__uint_as_float(rest << 13), 0x1p112f);
    return __uint_as_float(__float_as_uint(value) | sign);
}
