/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_arrays.h - the arrays of a problem on a device. */
#pragma once

#include "device/arrays.h"
#include "device/buffer.h"
#include "rank/device/gpu_problem.h"

struct thr_rank_gpu_problem {
    thr_rank_problem *problem;
    thr_device_arrays memory;
    /* Device memory. */
    thr_rank_matrix x;
    uint64_t *offsets;
    uint32_t *rows, *levels;  /* n_rows: as the problem's */
    uint32_t *leaves;         /* n_rows: the block or level that ends the row's path, or THR_RANK_OP_NONE */
    uint32_t *nodes;          /* n_depths x n_rows: the row's node at each depth, or THR_RANK_OP_NONE */
    uint32_t *orders, *ranks; /* n_depths x n_rows; orders: n_rows at least */
    uint32_t *listed;         /* n_queries: the first n_listed are queries of positive cost */
    uint32_t *chunks;         /* n_chunks + 1: chunk c has listed[chunks[c]] to listed[chunks[c + 1] - 1] */
    uint32_t *spare;          /* 2 n_rows: scratch memory */
    uint32_t *all;            /* n_queries: whether all pairs are active */
    thr_rank_op_node *tree;
    uint8_t *masks;                  /* n_rows */
    thr_rank_op_counts *pair_counts; /* n_rows */
    double *weights;                 /* n_rows, or NULL: all are 1 */
    double *costs, *query_costs;     /* n_queries: c_q; loss of listed[i] in query_costs[i] */
    double *scores, *r, *counts;     /* n_rows */
    double *sums;                    /* 4 n_rows: scratch memory */
    double *v, *out, *diagonal;      /* n_features */
    double *partial;                 /* n_chunks x n_features */
    double *values;                  /* n_chunks */
    uint32_t n_depths;
    bool sweeps; /* the problem's setting at the last evaluation */
    /* Host memory. */
    double *known_costs; /* n_queries: costs when the list was made; n_listed of them are positive */
    uint32_t *listing;   /* n_queries, then n_chunks + 1 */
    uint32_t n_listed;
    bool is_listed;
    uint32_t *sampled; /* n_queries, then n_queries + 1: the sample's queries, and the panel rows where they begin */
    uint32_t n_sampled;
    thr_device_buffer sample; /* device memory */
    double *pinned;           /* v, out and the diagonal, n_features each; then values, n_chunks */
};

/* Arguments that operations share. */
thr_rank_queries thr_rank_device_queries(const thr_rank_gpu_problem *device);
thr_rank_pairs thr_rank_device_pairs(const thr_rank_gpu_problem *device);

/* Upload sparse rows, and their entries by chunk and feature. Synchronises. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_copy_sparse(thr_rank_gpu_problem *device, thr_error *err);

/* Upload the trees' nodes by row and depth. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_copy_tree(thr_rank_gpu_problem *device, thr_error *err);
