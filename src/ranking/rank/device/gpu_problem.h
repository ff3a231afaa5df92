/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_problem.h - RankSVM's objective on a GPU: the same functions as rank/solver/problem.h, with the same bits.
 *
 * Rows, orders of labels and trees are uploaded once. An evaluation or a product is then one sequence of operations
 * (device/rank_ops.h) between an upload of n_features numbers and a download of about as many; scores, orders, counts
 * and sums stay on the device. Of several devices the first is used.
 *
 * Device memory: X, about 100 bytes per row and 12 more for each depth of the deepest tree, the problem's arrays by
 * chunk, and the preconditioner's sample: at most 516 n^2 bytes for n features, and 8 n for each sampled query. Sparse
 * rows take 16 bytes per entry, since X' is there, too, and 8 per chunk and feature.
 *
 * Threads: one at a time.
 */
#pragma once

#include "device/choice.h"
#include "rank/solver/precondition.h"

/* The copy of a problem on a GPU. */
typedef struct thr_rank_gpu_problem thr_rank_gpu_problem;

/*
 * Copy a thr_rank_problem to the first device. The problem and devices must outlive the thr_rank_gpu_problem. The
 * problem's costs may change between evaluations.
 *
 * Returns THR_OK; THR_EUNSUPPORTED for 2^32 rows or more; THR_ENOMEM for memory of the host or the device (err names
 * which); THR_EDEVICE.
 */
thr_status thr_rank_device_create(void *problem, const thr_devices *devices, void **device, thr_error *err);
void thr_rank_device_free(void *device);

/* As thr_rank_evaluate, with f in *value, and thr_rank_product. THR_OK; THR_EDEVICE; THR_ENOMEM. */
thr_status thr_rank_device_evaluate(thr_rank_gpu_problem *device, const double *w, double *gradient, double *diagonal,
                                    double *value, thr_error *err);
thr_status thr_rank_device_product(thr_rank_gpu_problem *device, const double *v, double *out, thr_error *err);

/* The preconditioner's scales and sums for the last evaluation, not yet factorised. THR_OK; THR_EDEVICE; THR_ENOMEM. */
thr_status thr_rank_device_matrix(thr_rank_gpu_problem *device, const thr_rank_sample *sample, double *scales,
                                  float *sums, thr_error *err);

/* Download the last evaluation's counts into the problem's, for tests. THR_OK; THR_EDEVICE. */
thr_status thr_rank_device_counts(thr_rank_gpu_problem *device, thr_error *err);
