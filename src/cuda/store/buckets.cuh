/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.cuh - launch sizes for passes over buckets (bucket.cu, rescan.cu). */
#ifndef THR_CUDA_STORE_BUCKETS_CUH
#define THR_CUDA_STORE_BUCKETS_CUH

#include "cuda/backend.cuh"

enum { BUCKET_THREADS = 256, BUCKET_BLOCKS_A_SM = 8 };

/* Return the number of blocks for the work of n_warps warps. */
static inline uint32_t bucket_blocks(const thr_stream *stream, uint64_t n_warps) {
    const uint64_t wanted = (n_warps + BUCKET_THREADS / THR_WARP - 1) / (BUCKET_THREADS / THR_WARP);
    const uint64_t most = BUCKET_BLOCKS_A_SM * stream->device->n_multiprocessors;
    return (uint32_t)(wanted < most ? wanted : most);
}

#endif
