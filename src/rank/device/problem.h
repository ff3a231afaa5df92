/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h - RankSVM's function on a GPU: what problem.h has for CPUs, to the bit.
 *
 * Rows, orders of labels and trees are copied once and stay. An evaluation or a product is then one stream of
 * operations (device/rank_ops.h) between a copy of n_features numbers to the device and one of about as many from it:
 * scores, orders, counts and sums never leave it. Of several devices the first is used.
 *
 * Memory of the device: X, about 100 bytes a row and 12 for each depth of the deepest tree; and what the problem has by
 * chunk.
 *
 * Threads: one at a time.
 */
#ifndef THR_RANK_DEVICE_PROBLEM_H
#define THR_RANK_DEVICE_PROBLEM_H

#include "device/choice.h"
#include "rank/precondition.h"

typedef struct thr_rank_device thr_rank_device;

/*
 * Copy a problem of dense rows; it and devices must live as long. Its costs may be changed between evaluations.
 *
 * THR_OK; THR_EUNSUPPORTED for 2^32 rows or more; THR_ENOMEM where memory of the host or the device lacks
 * (err says which); THR_EDEVICE.
 */
thr_status thr_rank_device_create(thr_rank_problem *problem, const thr_devices *devices, thr_rank_device **device,
                                  thr_error *err);
void thr_rank_device_free(thr_rank_device *device);

/* From the next evaluation on find and add over pairs by sweeps (RankSVM, algorithm 2), for tests and comparisons. */
void thr_rank_device_sweep(thr_rank_device *device, bool sweep);

/* As thr_rank_evaluate, to *value, and thr_rank_product. THR_EDEVICE; THR_ENOMEM. */
thr_status thr_rank_device_evaluate(thr_rank_device *device, const double *w, double *gradient, double *diagonal,
                                    double *value, thr_error *err);
thr_status thr_rank_device_product(thr_rank_device *device, const double *v, double *out, thr_error *err);

/* The preconditioner's scales and sums for the last evaluation, before they are factorised. THR_EDEVICE; THR_ENOMEM. */
thr_status thr_rank_device_matrix(thr_rank_device *device, const thr_rank_sample *sample, double *scales, float *sums,
                                  thr_error *err);

/* The counts of the last evaluation, to the problem's, for tests. THR_EDEVICE. */
thr_status thr_rank_device_counts(thr_rank_device *device, thr_error *err);

#endif
