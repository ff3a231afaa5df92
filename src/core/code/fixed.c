/* SPDX-License-Identifier: Apache-2.0 */
#include "code/fixed.h"

#include "code/encode.h"

#include <math.h>

bool thr_code_is_fixed(const float *x, uint32_t n_dims, uint32_t n_planes) {
    const float units = (float)(1u << (n_planes - 1)), end = (float)(1u << n_planes);
    for (uint32_t d = 0; d < n_dims; d++) {
        const float scaled = x[d] * units;
        if (!(fabsf(scaled) < end) || (float)(int)scaled != scaled || ((int)scaled & 1) == 0)
            return false;
    }
    return true;
}

void thr_code_read(const uint8_t *blocks, uint32_t n_dims, uint32_t n_planes, uint64_t item, float *out) {
    const uint8_t *bytes = blocks + item / THR_BLOCK_ITEMS * thr_block_size(n_dims, n_planes) + item % THR_BLOCK_ITEMS;
    for (uint32_t d = 0; d < n_dims; d++) {
        float weight = 1, sum = 0;
        for (uint32_t p = 0; p < n_planes; p++) {
            sum += (bytes[((size_t)d / 8 * n_planes + p) * THR_BLOCK_ITEMS] >> d % 8 & 1) != 0 ? weight : -weight;
            weight /= 2;
        }
        out[d] = sum;
    }
}

/*
 * A code of n planes has the odd integers v = x 2^(n - 1), |v| < 2^n. With query_bits >= n, floor(x s) with s =
 * 2^(n - 2) is still the cell of v; a query of length l is scaled by 2^(query_bits - 1) / (2 l).
 */
double thr_code_fixed_query_length(const float *query, uint32_t n_dims, uint32_t query_bits) {
    float largest = 0;
    for (uint32_t n_planes = 1; n_planes <= query_bits; n_planes++)
        if (thr_code_is_fixed(query, n_dims, n_planes))
            return (double)(1u << (query_bits - n_planes));
    for (uint32_t d = 0; d < n_dims; d++)
        largest = fmaxf(largest, fabsf(query[d]));
    return largest > 0 ? (double)largest / (double)THR_FIXED_RANGE : 1;
}
