/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rescore the screen's survivors by the other planes of nested codes: one warp per record. The products are integers,
 * and the estimate is computed in the order of scan/rescore.c, so it has the same bits.
 */
#include "cuda/backend.cuh"
#include "cuda/tiles.cuh"

static const uint32_t RESCORE_THREADS = 256;

/* Expand four bits to four bytes, 0 or 0xff. */
__device__ __forceinline__ uint32_t mask_of(uint32_t nibble) {
    return (nibble * 0x00204081u & 0x01010101u) * 0xffu;
}

/* Sum the digits of a byte's eight dimensions whose bits are set. */
__device__ __forceinline__ int32_t byte_sum(uint32_t byte, uint2 digits) {
    const int32_t low = __dp4a((int32_t)(digits.x & mask_of(byte & 15)), 0x01010101, 0);
    return __dp4a((int32_t)(digits.y & mask_of(byte >> 4)), 0x01010101, low);
}

__device__ __forceinline__ float read_number(const uint8_t *record, uint32_t i, bool wide) {
    if (!wide)
        return bf16((uint32_t)record[2 * i] | (uint32_t)record[2 * i + 1] << 8);
    uint32_t bits = 0;
    for (uint32_t b = 0; b < 4; b++)
        bits |= (uint32_t)record[4 * i + b] << 8 * b;
    return __uint_as_float(bits);
}

static __global__ void __launch_bounds__(RESCORE_THREADS) rescore_rows(THR_PARAMETER(thr_rescore_op) op) {
    const uint32_t lane = threadIdx.x % THR_WARP, n_warps = gridDim.x * (RESCORE_THREADS / THR_WARP);
    for (uint32_t i = blockIdx.x * (RESCORE_THREADS / THR_WARP) + threadIdx.x / THR_WARP; i < op.n_scored;
         i += n_warps) {
        const thr_device_row row = op.rows[i];
        const thr_rescore_query query = op.queries[row.query];
        const uint8_t *record = op.records + (size_t)row.item * op.record_size;
        const uint2 *digits = (const uint2 *)(op.digits + (size_t)row.query * op.digits_size);
        int32_t sum = 0;
        for (uint32_t r = lane; r < op.n_rows; r += THR_WARP)
            for (uint32_t j = 0; j < op.n_planes; j++)
                sum += byte_sum(record[op.head + j * op.n_rows + r], digits[r]) * (1 << (op.n_planes - j));
        for (uint32_t step = THR_WARP / 2; step > 0; step /= 2)
            sum += __shfl_xor_sync(THR_ALL_LANES, sum, (int)step);
        if (lane != 0)
            continue;
        const int32_t rest = sum - ((1 << op.n_planes) - 1) * query.digit_sum;
        const float factor = read_number(record, 0, op.wide);
        const float offset = op.has_offset ? read_number(record, 1, op.wide) : 0.0f;
        const float product = __fadd_rn(__fmul_rn(product_of(query.total, row.distance), query.lead_gain),
                                        __fmul_rn(__int2float_rn(rest), query.rest_gain));
        op.scores[i] = __fsub_rn(__fmul_rn(product, factor), __fmul_rn(offset, query.weight));
    }
}

thr_status thr_cuda_rescore(thr_stream *stream, const thr_rescore_op *op, thr_error *err) {
    const uint32_t n_blocks = loop_blocks(stream, op->n_scored, RESCORE_THREADS / THR_WARP, 8);
    return THR_RUN(rescore_rows, n_blocks, RESCORE_THREADS, stream, "rescoring rows", err, *op);
}
