/* SPDX-License-Identifier: Apache-2.0 */
/* learner.h - the members of a dual tower's training on a device. Pointers are to device memory unless stated. */
#pragma once

#include "device/upload.h"
#include "dual_tower/trainer.h"

/* An array of weights on the device: thr_weights. */
typedef struct thr_dual_device_weights {
    float *values, *gradients, *slots[THR_WEIGHTS_SLOTS];
} thr_dual_device_weights;

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
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    thr_context *context;
    void *weights; /* all of them, and the discounts of ranks */
    thr_dual_device_weights tables[THR_N_SIDES], dense, hits;
    double *discounts;
    float *one; /* 1.0 */
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
