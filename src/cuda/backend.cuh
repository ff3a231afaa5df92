/* SPDX-License-Identifier: Apache-2.0 */
/* backend.cuh - shared by the files of the CUDA backend: device, stream, and conversion of CUDA errors to statuses. */
#pragma once

extern "C" {
#include "base/error.h"
}
#include "base/minmax.h"
#include "cuda/portable.cuh"
#include "device/device.h"

struct thr_device {
    int number;
    uint32_t n_multiprocessors;
};

struct cublasContext; /* the name that cuBLAS declares */

struct thr_stream {
    thr_device *device;
    cudaStream_t stream;
    cudaEvent_t event;       /* recorded when another stream was last made to wait for this one */
    cublasContext *products; /* cuBLAS handle, created by the first product */
};

/* Convert a CUDA error to a status; what: "copying to the device". */
thr_status thr_cuda_check(const thr_device *device, cudaError_t error, const char *what, thr_error *err);

/* Make the device current for the calling thread. */
thr_status thr_cuda_use(const thr_device *device, thr_error *err);

/* Make the device current, call launch(n_blocks) unless 0, and check for errors. what: "scoring rows". */
template <typename Launch>
static inline thr_status thr_cuda_run(const thr_stream *stream, dim3 n_blocks, const char *what, thr_error *err,
                                      Launch launch) {
    THR_TRY(thr_cuda_use(stream->device, err));
    if (n_blocks.x == 0 || n_blocks.y == 0 || n_blocks.z == 0)
        return THR_OK;
    launch(n_blocks);
    return thr_cuda_check(stream->device, cudaGetLastError(), what, err);
}

/* Run a kernel on a thr_stream; the last arguments are the kernel's. Write an instance of a template in parentheses. */
#define THR_RUN(kernel, n_blocks, n_threads, stream_, what, err, ...)                                                  \
    thr_cuda_run((stream_), (n_blocks), (what), (err),                                                                 \
                 [&](dim3 grid_) { THR_LAUNCH(kernel, grid_, (n_threads), (stream_)->stream, __VA_ARGS__); })

/* The blocks of a kernel that loops over n elements, per_block at once; as many as run at once, blocks_per_sm each. */
static inline uint32_t loop_blocks(const thr_stream *stream, uint64_t n, uint64_t per_block, uint32_t blocks_per_sm) {
    const uint64_t wanted = THR_CEIL_DIV(n, per_block);
    const uint64_t most = (uint64_t)blocks_per_sm * stream->device->n_multiprocessors;
    return (uint32_t)THR_MIN(wanted, most);
}

thr_status thr_cuda_pack(thr_stream *stream, const thr_pack_op *op, thr_error *err);
thr_status thr_cuda_screen(thr_stream *stream, const thr_screen_op *op, thr_error *err);
thr_status thr_cuda_listed(thr_stream *stream, const thr_listed_op *op, thr_error *err);
uint32_t thr_cuda_batch_limit(const thr_device *device, uint32_t n_dims, uint32_t n_planes, uint32_t query_bits);
thr_status thr_cuda_batch(thr_stream *stream, const thr_batch_op *op, thr_error *err);
thr_status thr_cuda_threshold(thr_stream *stream, const thr_threshold_op *op, thr_error *err);
thr_status thr_cuda_count_keys(thr_stream *stream, const thr_count_op *op, thr_error *err);
thr_status thr_cuda_select(thr_stream *stream, const thr_select_op *op, thr_error *err);
thr_status thr_cuda_rescore(thr_stream *stream, const thr_rescore_op *op, thr_error *err);
thr_status thr_cuda_refine(thr_stream *stream, const thr_refine_op *op, thr_error *err);

thr_status thr_cuda_hit_lists(thr_stream *stream, const thr_hit_lists_op *op, thr_error *err);
thr_status thr_cuda_hit_tiles(thr_stream *stream, const thr_hit_tiles_op *op, thr_error *err);
thr_status thr_cuda_hit_dense(thr_stream *stream, const thr_hit_dense_op *op, thr_error *err);
thr_status thr_cuda_hit_terms(thr_stream *stream, const thr_hit_terms_op *op, thr_error *err);

thr_status thr_cuda_head_hash(thr_stream *stream, const thr_head_hash_op *op, thr_error *err);
thr_status thr_cuda_head_hits(thr_stream *stream, const thr_head_hits_op *op, thr_error *err);
thr_status thr_cuda_head_found(thr_stream *stream, const thr_head_found_op *op, thr_error *err);
thr_status thr_cuda_head_list(thr_stream *stream, const thr_head_list_op *op, thr_error *err);
thr_status thr_cuda_head_product(thr_stream *stream, const thr_head_product_op *op, thr_error *err);
thr_status thr_cuda_head_sums(thr_stream *stream, const thr_head_sums_op *op, thr_error *err);
thr_status thr_cuda_head_best(thr_stream *stream, const thr_head_best_op *op, thr_error *err);

thr_status thr_cuda_gather(thr_stream *stream, const thr_gather_op *op, thr_error *err);
thr_status thr_cuda_layer(thr_stream *stream, const thr_layer_op *op, thr_error *err);
thr_status thr_cuda_lstm(thr_stream *stream, const thr_lstm_op *op, thr_error *err);
thr_status thr_cuda_attend(thr_stream *stream, const thr_attend_op *op, thr_error *err);
thr_status thr_cuda_adam(thr_stream *stream, const thr_adam_op *op, thr_error *err);
thr_status thr_cuda_adam_rows(thr_stream *stream, const thr_adam_rows_op *op, thr_error *err);
thr_status thr_cuda_ftrl_rows(thr_stream *stream, const thr_ftrl_rows_op *op, thr_error *err);
thr_status thr_cuda_requests(thr_stream *stream, const thr_requests_op *op, thr_error *err);
thr_status thr_cuda_windows(thr_stream *stream, const thr_windows_op *op, thr_error *err);
thr_status thr_cuda_windows_back(thr_stream *stream, const thr_windows_back_op *op, thr_error *err);
thr_status thr_cuda_product(thr_stream *stream, const thr_product_op *op, thr_error *err);
thr_status thr_cuda_fill_rows(thr_stream *stream, const thr_fill_rows_op *op, thr_error *err);
thr_status thr_cuda_sum_rows(thr_stream *stream, const thr_sum_rows_op *op, thr_error *err);
thr_status thr_cuda_plane(thr_stream *stream, const thr_plane_op *op, thr_error *err);
thr_status thr_cuda_plane_back(thr_stream *stream, const thr_plane_back_op *op, thr_error *err);
thr_status thr_cuda_residual(thr_stream *stream, const thr_residual_op *op, thr_error *err);
thr_status thr_cuda_residual_back(thr_stream *stream, const thr_residual_back_op *op, thr_error *err);
thr_status thr_cuda_match(thr_stream *stream, const thr_match_op *op, thr_error *err);

thr_status thr_cuda_rank_scores(thr_stream *stream, const thr_rank_scores_op *op, thr_error *err);
thr_status thr_cuda_rank_order(thr_stream *stream, const thr_rank_order_op *op, thr_error *err);
thr_status thr_cuda_rank_costs(thr_stream *stream, const thr_rank_costs_op *op, thr_error *err);
thr_status thr_cuda_rank_hessian(thr_stream *stream, const thr_rank_hessian_op *op, thr_error *err);
thr_status thr_cuda_rank_add(thr_stream *stream, const thr_rank_add_op *op, thr_error *err);
thr_status thr_cuda_rank_diagonal(thr_stream *stream, const thr_rank_diagonal_op *op, thr_error *err);
thr_status thr_cuda_rank_sample(thr_stream *stream, const thr_rank_sample_op *op, thr_error *err);

/* Call before closing a stream. */
void thr_cuda_end_products(thr_stream *stream);
