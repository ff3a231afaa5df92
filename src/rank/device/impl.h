/* SPDX-License-Identifier: Apache-2.0 */
/* impl.h - what a problem on a device is made of, for the files that fill it and use it. */
#ifndef THR_RANK_DEVICE_IMPL_H
#define THR_RANK_DEVICE_IMPL_H

#include "rank/device/problem.h"

enum { THR_RANK_DEVICE_ARRAYS = 32 };

struct thr_rank_device {
    thr_rank_problem *problem;
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    void *arrays[THR_RANK_DEVICE_ARRAYS]; /* all memory of the device */
    uint32_t n_arrays;
    /* Of the device. */
    float *x;
    uint64_t *offsets;
    uint32_t *rows, *levels, *leaves, *nodes, *listed, *chunks, *orders, *ranks, *spare, *all;
    thr_rank_op_node *tree;
    uint8_t *masks;
    thr_rank_op_counts *pair_counts;
    double *weights; /* or NULL */
    double *costs, *query_costs, *scores, *sums, *force, *counts, *v, *out, *diagonal, *partial, *values;
    uint32_t n_depths;
    bool sweep, swept; /* from the next evaluation on; in the last one */
    /* Of the host. */
    double *known_costs; /* n_queries: what was listed by; n_listed tells how many take part */
    uint32_t *listing;   /* n_queries, then n_chunks + 1 */
    uint32_t n_listed;
    bool is_listed;
    uint32_t *sampled; /* n_queries, then n_queries + 1: queries of the sample, and where their rows begin */
    uint32_t n_sampled;
    void *sample_memory; /* of the device; grows */
    size_t sample_size;
    double *pinned; /* v, out, the diagonal: n_features each; then values, n_chunks */
};

/* What operations have in common. */
thr_rank_queries thr_rank_device_queries(const thr_rank_device *device);
thr_rank_pairs thr_rank_device_pairs(const thr_rank_device *device);

/* The tree's nodes by row and depth to the device. THR_ENOMEM; THR_EDEVICE. */
thr_status thr_rank_device_copy_tree(thr_rank_device *device, thr_error *err);

/* Room for n elements of the device, which is freed with it. */
thr_status thr_rank_device_alloc(thr_rank_device *device, size_t n, size_t size, void *memory_out, thr_error *err);

#endif
