/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - the pair trees by row and depth, so that the GPU thread of a row finds the row's node at each depth. */
#include <string.h>

#include "base/error.h"
#include "base/minmax.h"
#include "rank/device/gpu_arrays.h"

_Static_assert(sizeof(thr_rank_op_node) == sizeof(thr_pair_node), "nodes are copied as they are");
_Static_assert(offsetof(thr_rank_op_node, middle) == offsetof(thr_pair_node, middle), "in the same order");

static bool has_parts(const thr_pair_node *node) {
    return node->middle > node->begin && node->middle < node->end;
}

/*
 * All queries' trees together. depths: for each node the number of nodes that contain it; of_rows: scratch memory, one
 * number per row.
 */
typedef struct tree_shape {
    uint32_t n_nodes, n_depths;
    uint32_t *depths, *of_rows, *leaves;
} tree_shape;

/* Nodes are in preorder, so a node's depth is the number of nodes that have visited its rows before. */
static void find_depths(const thr_rank_problem *problem, tree_shape *shape) {
    const size_t n_rows = (size_t)problem->view.n_rows;
    memset(shape->of_rows, 0, n_rows * sizeof *shape->of_rows);
    for (size_t i = 0; i < n_rows; i++)
        shape->leaves[i] = THR_RANK_OP_NONE;
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        for (size_t i = problem->node_starts[q]; i < problem->node_starts[q + 1]; i++) {
            const thr_pair_node *node = &problem->nodes[i];
            const size_t first = (size_t)problem->view.offsets[q];
            shape->depths[i] = shape->of_rows[first + node->begin];
            for (size_t row = first + node->begin; row < first + node->end; row++)
                if (has_parts(node))
                    shape->of_rows[row]++;
                else
                    shape->leaves[row] = (uint32_t)i;
            if (has_parts(node) && shape->depths[i] >= shape->n_depths)
                shape->n_depths = shape->depths[i] + 1;
        }
}

/* The node of every row at a depth. */
static void fill_depth(const thr_rank_problem *problem, const tree_shape *shape, uint32_t depth, uint32_t *by_row) {
    const size_t n_rows = (size_t)problem->view.n_rows;
    for (size_t i = 0; i < n_rows; i++)
        by_row[i] = THR_RANK_OP_NONE;
    for (uint64_t q = 0; q < problem->view.n_queries; q++)
        for (size_t i = problem->node_starts[q]; i < problem->node_starts[q + 1]; i++) {
            const thr_pair_node *node = &problem->nodes[i];
            const size_t first = (size_t)problem->view.offsets[q];
            for (size_t row = first + node->begin;
                 has_parts(node) && shape->depths[i] == depth && row < first + node->end; row++)
                by_row[row] = (uint32_t)i;
        }
}

static thr_status copy_depths(thr_rank_gpu_problem *d, const tree_shape *shape, thr_error *err) {
    const size_t n_rows = (size_t)d->problem->view.n_rows, row_bytes = n_rows * sizeof(uint32_t);
    const thr_backend *b = d->memory.backend;
    size_t n = 0;
    d->n_depths = shape->n_depths;
    if (!thr_mul_size(n_rows, shape->n_depths, &n))
        return thr_fail(err, THR_ENOMEM, "trees of %u depths over %zu rows: too many", shape->n_depths, n_rows);
    const thr_device_array table[] = {{NULL, n, sizeof(uint32_t), &d->nodes},
                                      {NULL, THR_MAX(n, n_rows), sizeof(uint32_t), &d->orders},
                                      {NULL, n, sizeof(uint32_t), &d->ranks},
                                      {NULL, n_rows, sizeof(uint32_t), &d->leaves},
                                      {NULL, shape->n_nodes, sizeof(thr_rank_op_node), &d->tree}};
    THR_TRY(thr_device_arrays_put(&d->memory, table, sizeof table / sizeof *table, err));
    THR_TRY(b->upload(d->memory.stream, d->leaves, shape->leaves, row_bytes, err));
    THR_TRY(b->upload(d->memory.stream, d->tree, d->problem->nodes, shape->n_nodes * sizeof(thr_rank_op_node), err));
    for (uint32_t depth = 0; depth < shape->n_depths; depth++) {
        fill_depth(d->problem, shape, depth, shape->of_rows);
        THR_TRY(b->upload(d->memory.stream, d->nodes + depth * n_rows, shape->of_rows, row_bytes, err));
        THR_TRY(b->wait(d->memory.stream, err)); /* before of_rows is overwritten */
    }
    return b->wait(d->memory.stream, err);
}

thr_status thr_rank_device_copy_tree(thr_rank_gpu_problem *d, thr_error *err) {
    const thr_rank_problem *problem = d->problem;
    thr_context *context = problem->context;
    const size_t n_rows = (size_t)problem->view.n_rows;
    tree_shape shape = {.n_nodes = (uint32_t)problem->node_starts[problem->view.n_queries]};
    thr_status status = THR_OK;
    THR_TRY_OUT(thr_alloc(context, shape.n_nodes, sizeof *shape.depths, &shape.depths, "depths of nodes", err));
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof *shape.of_rows, &shape.of_rows, "depths of rows", err));
    THR_TRY_OUT(thr_alloc(context, n_rows, sizeof *shape.leaves, &shape.leaves, "leaves of rows", err));
    find_depths(problem, &shape);
    status = copy_depths(d, &shape, err);
out:
    THR_RELEASE(context, shape.leaves, shape.of_rows, shape.depths);
    return status;
}
