/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learner.h - the steps of a dual tower's training on a GPU. Pointers are to device memory unless stated.
 *
 * The host assembles a batch as for the CPU and uploads it in one copy; gathers, layers, products of fields, scores
 * with hits, the loss, all gradients and the optimisers run on the device. Every sum has the CPU's order, so the
 * weights have the CPU's bits; the loss of a step may differ in the last bits of a double.
 */
#pragma once

#include "device/upload.h"
#include "dual_tower/trainer.h"
#include "training/learner.h"

/* Bags that were uploaded: of rows, or transposed. */
typedef struct thr_dual_device_bags {
    const uint32_t *offsets, *rows, *bags; /* rows: of transposed bags, which rows of the table */
    const float *weights;                  /* NULL: 1 */
    uint32_t n;
} thr_dual_device_bags;

typedef struct thr_dual_device_side {
    uint32_t n; /* examples */
    thr_dual_device_bags words, touched;
    float *inputs, *hidden, *vectors, *d_inputs, *d_hidden, *d_vectors;
} thr_dual_device_side;

typedef struct thr_dual_learner {
    thr_learner base;
    void *constants;
    double *discounts; /* of ranks */
    float *one;        /* 1.0 */
    /* The batch. */
    thr_device_upload upload;
    thr_device_buffer workspace, on_host; /* on_host: losses */
    thr_dual_device_side sides[THR_N_SIDES];
    thr_requests_op requests;
    float *turned; /* gradients by scores, in the order of items */
    thr_dual_device_bags shown, touched_hits;
    const uint32_t *shown_ads; /* of every entry of `shown`, its ad */
    uint32_t n_ads;
    /* Of the host: a slot for each item word; the features that ads hit. */
    uint32_t *slot_of, *ad_slot_offsets, *ad_slots, *slot_ads, *history_slots;
    size_t ad_slot_offsets_capacity, ad_slots_capacity, slot_ads_capacity, history_slots_capacity;
} thr_dual_learner;

/*
 * Assemble the batch of these requests, enqueue its upload, and lay the workspace out. THR_OK; THR_EUNSUPPORTED for
 * 2^24 ads or more; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_dual_device_batch_put(thr_dual_learner *learner, thr_dual_trainer *trainer, const uint32_t *numbers,
                                     thr_error *err);

/* Allocate memory for the weights on the first device and upload them. */
thr_status thr_dual_device_open(void *trainer, const thr_devices *devices, void **learner, thr_error *err);
void thr_dual_device_close(void *learner); /* NULL is allowed */

/*
 * Run a step, which changes the device's weights but not the trainer's. THR_OK; THR_ERANGE when the loss is not finite:
 * the device's weights are lost then.
 */
thr_status thr_dual_device_step(void *learner, void *trainer, const uint32_t *numbers, double *loss, thr_error *err);
