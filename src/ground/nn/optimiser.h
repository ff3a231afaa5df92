/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimiser.h - update weights from a gradient: SGD, Adam (Kingma and Ba 2015), FTRL-Proximal (McMahan et al. 2013).
 *
 * The state is one or two numbers per weight, in arrays parallel to the weights, so that one row of a table can be
 * stepped on its own. Only rows with a gradient are stepped; other rows and their state, including Adam's moments, do
 * not change.
 */
#pragma once

#include "kernel/kernel.h"

typedef enum thr_optimiser_kind { THR_OPTIMISER_SGD, THR_OPTIMISER_ADAM, THR_OPTIMISER_FTRL } thr_optimiser_kind;

typedef struct thr_optimiser {
    thr_optimiser_kind kind;
    float rate;           /* SGD and Adam: learning rate. FTRL: alpha */
    float beta1, beta2;   /* Adam: decay of the moments. FTRL: beta1 is beta */
    float epsilon;        /* Adam */
    float l1, l2;         /* FTRL; for SGD and Adam l2 is decoupled weight decay, rate * l2 (AdamW) */
    uint64_t step;        /* number of this step, from 1, for Adam's bias correction */
    float gradient_scale; /* multiplies gradients first; usually 1 */
} thr_optimiser;

/* Adam 0.001, 0.9, 0.999, 1e-8; FTRL 0.1, 1, 0, 0; SGD 0.1. step 0, gradient_scale 1. */
void thr_nn_optimiser_init(thr_optimiser *optimiser, thr_optimiser_kind kind);

/* Return the number of state arrays: SGD 0, Adam 2 (moments), FTRL 2 (z, n). They start as 0. */
uint32_t thr_nn_optimiser_n_slots(thr_optimiser_kind kind);

/* One step of n weights. slots[i] has n entries; slots after n_slots are not read. */
void thr_nn_optimiser_step(const thr_kernels *kernels, const thr_optimiser *optimiser, float *weights,
                           const float *gradient, float *const slots[2], size_t n);

/* For many calls in one step: the values that depend only on the step are computed once. */
typedef struct thr_optimiser_pass {
    const thr_kernels *kernels;
    thr_optimiser optimiser;
    thr_adam_step adam;
    thr_ftrl_step ftrl;
} thr_optimiser_pass;
thr_optimiser_pass thr_nn_optimiser_start(const thr_kernels *kernels, const thr_optimiser *optimiser);
void thr_nn_optimiser_pass_step(const thr_optimiser_pass *pass, float *weights, const float *gradient,
                                float *const slots[2], size_t n);
