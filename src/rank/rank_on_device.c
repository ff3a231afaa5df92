/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_on_device.c - whether a solver's evaluations and products are a GPU's, and what happens when that fails. Either
 * has the other's bits: the CPU goes on where a GPU was.
 */
#include <string.h>

#include "base/error.h"
#include "context/gpus.h"
#include "rank/rank_device.h"
#include "rank/rank_solver.h"

/*
 * "auto": readings of X that a training takes, about; numbers of X a second and thread on the CPU; bytes a second that
 * are copied to a GPU; and seconds that a row of the longest query takes there, as its sums are one thread's.
 */
static const double READINGS = 40, CPU_RATE = 1e9, COPY_RATE = 5e9, ROW_SECONDS = 2e-8;

static bool is_worth_it(const thr_rank_problem *problem) {
    const double values = (double)problem->view.n_rows * (double)problem->view.n_features;
    const double cpu = READINGS * values / CPU_RATE / (double)problem->context->n_threads;
    const double gpu = values * sizeof(float) / COPY_RATE + READINGS * ROW_SECONDS * (double)problem->longest;
    return cpu > gpu + thr_gpus_wake_up(problem->context);
}

/* Whether the CPU takes over where GPUs have failed so. */
static bool falls_back(const thr_context *context, thr_status status) {
    return !thr_gpus_required(context) && (status == THR_EDEVICE || status == THR_ENOMEM);
}

static thr_status fail_with(const thr_error *why, thr_status status, thr_error *err) {
    if (err != NULL)
        *err = *why;
    return status;
}

thr_status thr_rank_solver_choose_device(thr_rank_solver *solver, thr_error *err) {
    thr_rank_problem *problem = solver->problem;
    thr_context *context = problem->context;
    thr_error why = {.status = THR_OK};
    if (context->gpus == NULL)
        return THR_OK;
    if (!thr_gpus_required(context) && (problem->view.dense == NULL || !is_worth_it(problem)))
        return THR_OK;
    const thr_devices *devices = thr_gpus_get(context);
    if (devices == NULL)
        return THR_OK;
    thr_status status = thr_alloc_zero(context, solver->n, sizeof(double), &solver->device_w, "weights", err);
    if (status != THR_OK)
        return status;
    status = thr_rank_device_create(problem, devices, &solver->device, &why);
    if (status == THR_OK)
        return THR_OK;
    if (!falls_back(context, status) && (status != THR_EUNSUPPORTED || thr_gpus_required(context)))
        return fail_with(&why, status, err);
    thr_gpus_give_up(context, &why);
    return THR_OK;
}

/* After a failure of the GPU: the CPU's from now on, or the failure. */
static thr_status leave_device(thr_rank_solver *solver, thr_status status, const thr_error *why, thr_error *err) {
    if (!falls_back(solver->problem->context, status))
        return fail_with(why, status, err);
    thr_gpus_give_up(solver->problem->context, why);
    thr_rank_device_free(solver->device);
    solver->device = NULL;
    return THR_OK;
}

thr_status thr_rank_solver_f(thr_rank_solver *solver, double *gradient, double *diagonal, double *value,
                             thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (solver->device != NULL) {
        const thr_status status = thr_rank_device_evaluate(solver->device, solver->w, gradient, diagonal, value, &why);
        memcpy(solver->device_w, solver->w, solver->n * sizeof(double));
        if (status == THR_OK)
            return THR_OK;
        THR_TRY(leave_device(solver, status, &why, err));
    }
    *value = thr_rank_evaluate(solver->problem, solver->w, gradient, diagonal);
    return THR_OK;
}

/* What the device knew of its last evaluation, on the CPU. room: n_features numbers. */
static void evaluate_again(thr_rank_solver *solver, double *room) {
    (void)thr_rank_evaluate(solver->problem, solver->device_w, room, NULL);
}

thr_status thr_rank_solver_multiply(thr_rank_solver *solver, const double *v, double *out, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (solver->device != NULL) {
        const thr_status status = thr_rank_device_product(solver->device, v, out, &why);
        if (status == THR_OK)
            return THR_OK;
        THR_TRY(leave_device(solver, status, &why, err));
        evaluate_again(solver, out);
    }
    thr_rank_product(solver->problem, v, out);
    return THR_OK;
}

thr_status thr_rank_solver_precondition(thr_rank_solver *solver, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (solver->device != NULL && !solver->preconditioner.is_diagonal) {
        const thr_status status = thr_rank_device_counts(solver->device, &why);
        if (status != THR_OK) {
            THR_TRY(leave_device(solver, status, &why, err));
            evaluate_again(solver, solver->hp);
        }
    }
    thr_rank_preconditioner_set(&solver->preconditioner, solver->diagonal);
    return THR_OK;
}
