/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c - evaluations and products of a solver: by a leader's parts; else on the GPU that device/policy.c chose,
 * else on the CPU. Both compute the same bits, so the CPU can continue where a GPU failed.
 */
#include <string.h>

#include "base/error.h"
#include "rank/device/gpu_problem.h"
#include "rank/solver/solver.h"

/* After a failure of the GPU: continue on the CPU, or return the failure if the policy requires the GPU. */
static thr_status leave_device(thr_rank_solver *solver, thr_status status, const thr_error *why, thr_error *err) {
    solver->device = NULL;
    return thr_device_leave(&solver->on_device, status, why, NULL, err);
}

thr_status thr_rank_dispatch_evaluate(thr_rank_solver *solver, double *gradient, double *diagonal, double *value,
                                      thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (solver->leader != NULL)
        return thr_rank_leader_evaluate(solver->leader, solver->w, gradient, diagonal, value, err);
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

/* Repeat the device's last evaluation on the CPU. gradient: n_features numbers, overwritten. */
static void evaluate_again(thr_rank_solver *solver, double *gradient) {
    (void)thr_rank_evaluate(solver->problem, solver->device_w, gradient, NULL);
}

thr_status thr_rank_dispatch_product(thr_rank_solver *solver, const double *v, double *out, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (solver->leader != NULL)
        return thr_rank_leader_product(solver->leader, v, out, err);
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

thr_status thr_rank_dispatch_precondition(thr_rank_solver *solver, thr_error *err) {
    thr_error why = {.status = THR_OK};
    if (solver->leader != NULL && !solver->preconditioner.is_diagonal)
        return thr_rank_leader_precondition(solver->leader, &solver->preconditioner, err);
    if (solver->device != NULL && !solver->preconditioner.is_diagonal) {
        thr_rank_preconditioner *p = &solver->preconditioner;
        const thr_rank_sample sample = thr_rank_sample_choose(solver->problem);
        const thr_status status = thr_rank_device_matrix(solver->device, &sample, p->scales, p->sums, &why);
        if (status == THR_OK) {
            thr_rank_preconditioner_factorise(p);
            return THR_OK;
        }
        THR_TRY(leave_device(solver, status, &why, err));
        evaluate_again(solver, solver->hp);
    }
    thr_rank_preconditioner_set(&solver->preconditioner, solver->diagonal);
    return THR_OK;
}

thr_status thr_rank_dispatch_right_pairs(thr_rank_solver *solver, uint64_t *n_right, thr_error *err) {
    uint64_t n_pairs;
    if (solver->leader != NULL)
        return thr_rank_leader_right_pairs(solver->leader, solver->w, n_right, err);
    *n_right = thr_rank_right_pairs(solver->problem, solver->w, NULL, &n_pairs);
    return THR_OK;
}
