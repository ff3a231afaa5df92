/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse.cuh - sums over the entries of a sparse row, or of a feature, in their order.
 *
 * Some adjacent lanes share a sum: each loads and multiplies one of as many adjacent entries, and then all add the
 * products in the order of entries. Loads are contiguous and in flight together; only the additions are sequential.
 */
#pragma once

#include "cuda/portable.cuh"

static const uint32_t ENTRY_LANES = 8; /* of a sum; divides a warp */

/*
 * Return the sum of product(e), e from begin to end - 1. The ENTRY_LANES lanes that share it call this with the same
 * range, and all get the sum. A 0 is added where entries are missing: the sum is never -0, so that keeps its bits.
 */
template <typename Product>
__device__ __forceinline__ double add_entries(uint64_t begin, uint64_t end, const Product &product) {
    const uint32_t lane = threadIdx.x % ENTRY_LANES, first = threadIdx.x % THR_WARP - lane;
    const uint32_t together = ((1u << ENTRY_LANES) - 1) << first;
    double sum = 0;
    for (uint64_t from = begin; from < end; from += ENTRY_LANES) {
        const double own = from + lane < end ? product(from + lane) : 0.0;
#pragma unroll
        for (uint32_t i = 0; i < ENTRY_LANES; i++)
            sum += __shfl_sync(together, own, (int)i, (int)ENTRY_LANES);
    }
    return sum;
}
