/* SPDX-License-Identifier: Apache-2.0 */
/* add_sparse.cuh - launches that accumulate sparse rows into features, for add.cu; the caller checks for errors. */
#pragma once

#include "cuda/backend.cuh"

/* Fill op->partial, and op->values if there are costs. THR_OK; THR_EDEVICE. */
thr_status thr_cuda_add_sparse_rows(thr_stream *stream, const thr_rank_add_op *op, thr_error *err);

/* Fill op->partial. THR_OK; THR_EDEVICE. */
thr_status thr_cuda_add_sparse_squares(thr_stream *stream, const thr_rank_diagonal_op *op, thr_error *err);
