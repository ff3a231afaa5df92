/* SPDX-License-Identifier: Apache-2.0 */
/* learner.h - the members of a device learner. Pointers are to device memory unless stated otherwise. */
#pragma once

#include "text_tower/device/trainer.h"
#include "text_tower/trainer.h"

/* A table of letter trigrams, and the distinct words of the batch that it embeds. */
typedef struct thr_device_table {
    float *weights, *slots[THR_WEIGHTS_SLOTS];
    uint32_t n_words, n_touched;
    const uint32_t *offsets, *rows;                           /* bags: the trigrams of each word */
    const uint32_t *touched, *touched_offsets, *touched_bags; /* the bags transposed: the words of each touched row */
    float *vectors, *d_vectors;
} thr_device_table;

/* A side: its dense parameters, the texts of the batch, and their activations (thr_pass). */
typedef struct thr_device_side {
    const float *tensors[THR_TEXT_TENSORS_MAX];
    float *d_tensors[THR_TEXT_TENSORS_MAX];
    thr_device_texts texts;
    const uint32_t *first, *positions, *text_of; /* as thr_windows_back_op has them */
    uint16_t *where;
    float *pooled;
    float *before[1 + THR_STEPS_MAX], *sums[1 + THR_STEPS_MAX];
    float *rebuilt[THR_STEPS_MAX], *residual[THR_STEPS_MAX];
    float *d_embedding;
} thr_device_side;

struct thr_device_learner {
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    thr_context *context;
    uint32_t n; /* pairs in a batch */

    /* Weights, moments and gradients, allocated once. */
    void *weights;
    thr_device_table tables[THR_N_SIDES];
    float *dense, *d_dense, *dense_slots[THR_WEIGHTS_SLOTS];

    /* Memory of a batch whose size does not depend on its words. */
    void *workspace;
    thr_device_side sides[THR_N_SIDES];
    float *d_pooled, *d_rebuilt, *d_before; /* of the side in its backward pass */
    float *match_scratch;
    double *losses; /* n, followed by the 8 bytes of `broken`: one download brings both */
    uint32_t *broken;
    double *results; /* their copy in pinned host memory */

    /* Memory that depends on the words of the batch: grows, and is filled in every step. */
    float *vectors, *d_vectors; /* of all tables, in one allocation */
    size_t vectors_capacity;    /* floats of both */
    size_t n_vectors;           /* floats in use, of each */
    uint32_t *numbers;          /* texts, bags and their transposes, concatenated */
    uint32_t *pinned;           /* their copy in pinned host memory, uploaded at once */
    size_t numbers_capacity, n_numbers;
};

/* Allocate device memory; the message of THR_ENOMEM suggests what a user can do. */
thr_status thr_text_device_learner_alloc(const thr_device_learner *learner, size_t size, void *memory_out,
                                         const char *what, thr_error *err);

/*
 * Assemble the batch of these pairs, enqueue its upload, and reserve device memory for its words. THR_OK;
 * THR_EUNSUPPORTED for 2^32 words and trigrams or more; THR_ENOMEM; THR_EDEVICE.
 */
thr_status thr_text_device_batch_put(thr_device_learner *learner, thr_text_trainer *trainer, const uint32_t *numbers,
                                     thr_error *err);

/* Enqueue what thr_text_side_forward and thr_text_side_backward compute; the words' vectors are on the device. */
thr_status thr_text_device_side_forward(const thr_device_learner *learner, const thr_text_model *model, thr_side side,
                                        thr_error *err);
thr_status thr_text_device_side_backward(const thr_device_learner *learner, const thr_text_model *model, thr_side side,
                                         thr_slope slope, thr_error *err);

/* The table that embeds a side's words. */
static inline const thr_device_table *thr_device_side_table(const thr_device_learner *learner,
                                                            const thr_tower_config *config, thr_side side) {
    return &learner->tables[config->shared_words ? 0 : side];
}
