/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of bags of rows (nn/bags.h): one block per bag, one thread per column. */
#include "cuda/backend.cuh"
#include "cuda/grid.cuh"

static __global__ void __launch_bounds__(COLUMN_THREADS) gather_bags(const thr_gather_op op) {
    const uint32_t bag = blockIdx.x, column = column_of_thread();
    if (column >= op.n_columns)
        return;
    const uint32_t first = op.offsets != nullptr ? op.offsets[bag] : bag;
    const uint32_t n = op.offsets != nullptr ? op.offsets[bag + 1] - first : 1;
    const uint32_t *rows = op.rows != nullptr ? op.rows + first : &first;
    const float *weights = op.weights != nullptr ? op.weights + first : nullptr;
    op.out[(size_t)bag * op.out_row + column] = sum_listed(op.table, op.table_row, column, rows, weights, n);
}

thr_status thr_cuda_gather(thr_stream *stream, const thr_gather_op *op, thr_error *err) {
    thr_gather_op dense = *op;
    dense.table_row = op->table_row != 0 ? op->table_row : op->n_columns;
    dense.out_row = op->out_row != 0 ? op->out_row : op->n_columns;
    return THR_RUN(gather_bags, column_blocks(op->n_bags, op->n_columns), COLUMN_THREADS, stream, "summing bags", err,
                   dense);
}
