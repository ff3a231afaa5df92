/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of bags of rows (nn/bags.h): one block a bag, one thread a column. */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"

static __global__ void __launch_bounds__(COLUMN_THREADS) gather_bags(const thr_gather_op op) {
    const uint32_t bag = blockIdx.x, column = column_of_thread();
    if (column >= op.n_columns)
        return;
    const uint32_t first = op.offsets[bag], n = op.offsets[bag + 1] - first;
    op.out[(size_t)bag * op.n_columns + column] = sum_listed(op.table, op.n_columns, column, op.rows + first, n);
}

thr_status thr_cuda_gather(thr_stream *stream, const thr_gather_op *op, thr_error *err) {
    THR_TRY(thr_cuda_use(stream->device, err));
    if (op->n_bags == 0 || op->n_columns == 0)
        return THR_OK;
    THR_LAUNCH(gather_bags, column_blocks(op->n_bags, op->n_columns), COLUMN_THREADS, stream->stream, *op);
    return thr_cuda_launched(stream, "summing bags", err);
}
