/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimiser.h - the step from a gradient to new weights: SGD, Adam (Kingma and Ba 2015), FTRL-Proximal (McMahan et al.
 * 2013).
 *
 * State is one or two numbers a weight, in arrays beside the weights, so that a row of a table and its state can be
 * stepped alone: sparse rows are those that have a gradient, the others stay as they are (Adam's moments included).
 */
#ifndef THR_NN_OPTIMISER_H
#define THR_NN_OPTIMISER_H

#include "kernel/kernel.h"

typedef enum thr_optimiser_kind { THR_OPTIMISER_SGD, THR_OPTIMISER_ADAM, THR_OPTIMISER_FTRL } thr_optimiser_kind;

typedef struct thr_optimiser {
    thr_optimiser_kind kind;
    float rate;           /* SGD and Adam: of learning. FTRL: alpha */
    float beta1, beta2;   /* Adam: of the moments. FTRL: beta1 is beta */
    float epsilon;        /* Adam */
    float l1, l2;         /* FTRL; SGD and Adam: l2 is a decay of the weights by rate * l2, decoupled (AdamW) */
    uint64_t step;        /* this step's number, from 1: Adam's correction of the bias */
    float gradient_scale; /* gradients are multiplied by this first; 1 usually */
} thr_optimiser;

/* Adam 0.001, 0.9, 0.999, 1e-8; FTRL 0.1, 1, 0, 0; SGD 0.1. step 0, gradient_scale 1. */
void thr_nn_optimiser_init(thr_optimiser *optimiser, thr_optimiser_kind kind);

/* Arrays of state a weight takes: SGD 0, Adam 2 (moments), FTRL 2 (z, n). They start as 0. */
uint32_t thr_nn_optimiser_n_slots(thr_optimiser_kind kind);

/* One step of n weights. slots[i] has n places; those beyond n_slots are not looked at. */
void thr_nn_optimiser_step(const thr_kernels *kernels, const thr_optimiser *optimiser, float *weights,
                           const float *gradient, float *const slots[2], size_t n);

/* The same for many calls in one step: what depends on the step alone is computed once. */
typedef struct thr_optimiser_pass {
    const thr_kernels *kernels;
    thr_optimiser optimiser;
    thr_adam_step adam;
    thr_ftrl_step ftrl;
} thr_optimiser_pass;
thr_optimiser_pass thr_nn_optimiser_start(const thr_kernels *kernels, const thr_optimiser *optimiser);
void thr_nn_optimiser_pass_step(const thr_optimiser_pass *pass, float *weights, const float *gradient,
                                float *const slots[2], size_t n);

#endif
