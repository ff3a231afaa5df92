/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - the members of a problem on a device, for the files of this folder. */
#pragma once

#include "rank/device/problem.h"

enum { THR_RANK_DEVICE_ARRAYS = 40 };

struct thr_rank_device {
    thr_rank_problem *problem;
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    void *arrays[THR_RANK_DEVICE_ARRAYS]; /* every allocation on the device, for freeing */
    uint32_t n_arrays;
    /* Device memory. */
    thr_rank_matrix x;
    uint64_t *offsets;
    uint32_t *rows, *levels, *leaves, *nodes, *listed, *chunks, *orders, *ranks, *spare, *all;
    thr_rank_op_node *tree;
    uint8_t *masks;
    thr_rank_op_counts *pair_counts;
    double *weights; /* or NULL */
    double *costs, *query_costs, *scores, *sums, *force, *counts, *v, *out, *diagonal, *partial, *values;
    uint32_t n_depths;
    bool sweeps; /* the problem's setting at the last evaluation */
    /* Host memory. */
    double *known_costs; /* n_queries: costs when the list was made; n_listed of them are positive */
    uint32_t *listing;   /* n_queries, then n_chunks + 1 */
    uint32_t n_listed;
    bool is_listed;
    uint32_t *sampled; /* n_queries, then n_queries + 1: the sample's queries, and the panel rows where they begin */
    uint32_t n_sampled;
    void *sample_memory; /* device memory; grows */
    size_t sample_size;
    double *pinned; /* v, out and the diagonal, n_features each; then values, n_chunks */
};

/* Arguments that operations share. */
thr_rank_queries thr_rank_device_queries(const thr_rank_device *device);
thr_rank_pairs thr_rank_device_pairs(const thr_rank_device *device);

/* Allocate n elements on the device and enqueue their upload. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_upload(thr_rank_device *device, const void *from, size_t n, size_t size, void *memory_out,
                                  thr_error *err);

/* Upload sparse rows, and their entries by chunk and feature. Synchronises. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_copy_sparse(thr_rank_device *device, thr_error *err);

/* Upload the trees' nodes by row and depth. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_copy_tree(thr_rank_device *device, thr_error *err);

/* Allocate n elements on the device; thr_rank_device_free frees them. THR_OK; THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_alloc(thr_rank_device *device, size_t n, size_t size, void *memory_out, thr_error *err);
