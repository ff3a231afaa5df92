/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learner.h - the steps of a training of texts on a GPU. Pointers are to device memory unless stated otherwise.
 *
 * The host assembles and transposes a batch as for the CPU, uploads some hundred kB of numbers, and downloads the
 * losses of the rows. Layers, gradients and Adam run on the device. The results have the same bits as the CPU's, except
 * for matrix products and the loss, whose sums the device adds in another order. One device gives the same bits in
 * every run.
 */
#pragma once

#include "text_tower/trainer.h"
#include "training/learner.h"

/* A table of letter trigrams, and the distinct words of the batch that it embeds. */
typedef struct thr_device_table {
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

typedef struct thr_device_learner {
    thr_learner base;
    uint32_t n; /* pairs in a batch */
    thr_device_table tables[THR_N_SIDES];

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
} thr_device_learner;

/*
 * Allocate what the trainer's steps need on the first device and upload the weights. A trial product loads cuBLAS, so
 * that a missing library is found before anything is learned.
 */
thr_status thr_text_device_learner_open(void *trainer, const thr_devices *devices, void **learner, thr_error *err);
void thr_text_device_learner_close(void *learner); /* NULL is allowed */

/*
 * Run a step, which changes the device's weights but not the trainer's. THR_OK; THR_ERANGE when the loss is not finite,
 * in which case the device's weights are lost; THR_EUNSUPPORTED for a batch of 2^32 words and trigrams or more.
 */
thr_status thr_text_device_learner_step(void *learner, void *trainer, const uint32_t *numbers, double *loss,
                                        thr_error *err);

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
