/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - whether a training runs on a GPU (device/policy.h). solver/dispatch.c then evaluates there. */
#include "base/error.h"
#include "rank/device/gpu_problem.h"
#include "rank/solver/solver.h"

/*
 * Estimates for the policy: readings of X in a training; numbers of X per second and thread on the CPU; seconds on a
 * GPU for each row of the longest query, whose sums are sequential; bytes to copy for each number of X.
 */
static const double READINGS = 40, DENSE_RATE = 1e9, SPARSE_RATE = 6e8, ROW_SECONDS = 2e-8;
static const double DENSE_BYTES = sizeof(float), SPARSE_BYTES = 2 * (sizeof(float) + sizeof(uint32_t));

static const thr_device_copier PROBLEM = {.copy = thr_rank_device_create, .free = thr_rank_device_free, .wake_ups = 1};

thr_status thr_rank_solver_choose_device(thr_rank_solver *solver, thr_error *err) {
    thr_rank_problem *problem = solver->problem;
    thr_context *context = problem->context;
    const bool dense = problem->view.dense != NULL;
    const double values = (double)thr_rank_rows_values(&problem->view, 0, problem->view.n_rows);
    const double cpu = READINGS * values / (dense ? DENSE_RATE : SPARSE_RATE) / (double)context->n_threads;
    const thr_device_use use = {.copier = &PROBLEM,
                                .object = problem,
                                .name = "a ranking",
                                .bytes = values * (dense ? DENSE_BYTES : SPARSE_BYTES),
                                .seconds = cpu - READINGS * ROW_SECONDS * (double)problem->longest};
    THR_TRY(thr_device_enter(&solver->on_device, &use, &solver->device, err));
    return solver->device == NULL
               ? THR_OK
               : thr_alloc_zero(context, solver->n, sizeof(double), &solver->device_w, "weights", err);
}
