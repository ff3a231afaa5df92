/* SPDX-License-Identifier: Apache-2.0 */
/* keys.cuh - keys (device/keys.h) of scores given as floats. */
#pragma once

#include "cuda/portable.cuh"
#include "device/keys.h"

__device__ __forceinline__ uint32_t order_score(float score) {
    return thr_device_score_order(__float_as_uint(score));
}

/* Return the score below which no item has this key or a larger one. */
__device__ __forceinline__ float least_score(uint64_t key) {
    const uint32_t order = thr_device_key_order(key);
    return order == 0 ? -INFINITY : __uint_as_float(thr_device_order_score(order));
}
