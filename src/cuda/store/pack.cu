/* SPDX-License-Identifier: Apache-2.0 */
/* Convert blocks as on disk to tiles as warps read them (ops.h). Runs once an index, so it is not optimised. */
#include "cuda/backend.cuh"

enum { PACK_THREADS = 256, BLOCK = 64 };

/* Each thread moves one byte of a code: row r, plane p, item i of a block. */
static __global__ void pack_blocks(const thr_pack_op op) {
    const uint32_t block_size = op.n_rows * op.n_planes * BLOCK;
    const uint32_t word_rows = op.n_rows / 4 * 4;
    const uint64_t n = (uint64_t)op.n_blocks * block_size, step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += step) {
        const uint32_t block = op.first_block + (uint32_t)(at / block_size), in_block = (uint32_t)(at % block_size);
        const uint32_t r = in_block / BLOCK / op.n_planes, p = in_block / BLOCK % op.n_planes;
        const uint32_t item = block % 2 * BLOCK + in_block % BLOCK;
        uint8_t *tile = (uint8_t *)op.tiles + (size_t)(block / 2) * 2 * block_size;
        const uint32_t place =
            r < word_rows ? 4 * ((r / 4 * op.n_planes + p) * THR_DEVICE_TILE + item) + r % 4
                          : (word_rows * op.n_planes + (r - word_rows) * op.n_planes + p) * THR_DEVICE_TILE + item;
        tile[place] = op.blocks[at];
    }
}

thr_status thr_cuda_pack(thr_stream *stream, const thr_pack_op *op, thr_error *err) {
    const uint64_t n = (uint64_t)op->n_blocks * op->n_rows * op->n_planes * BLOCK;
    return THR_RUN(pack_blocks, loop_blocks(stream, n, PACK_THREADS, 16), PACK_THREADS, stream, "packing codes", err,
                   *op);
}
