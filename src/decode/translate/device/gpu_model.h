/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_model.h - the members of a translation model on a device. Pointers are to device memory unless stated otherwise.
 *
 * A row's state is h and c of all layers, 2 n_units floats a layer, in one piece: rows are reordered by one gather.
 */
#pragma once

#include "device/arrays.h"
#include "device/upload.h"
#include "translate/device/copy.h"
#include "translate/workspace.h"

typedef enum thr_seq2seq_buffer {
    THR_SEQ2SEQ_PLACES,
    THR_SEQ2SEQ_INPUTS, /* of a layer */
    THR_SEQ2SEQ_LAYER,  /* outputs of the encoder's layer */
    THR_SEQ2SEQ_GATES,
    THR_SEQ2SEQ_CELLS, /* c of the encoder */
    THR_SEQ2SEQ_MEMORY,
    THR_SEQ2SEQ_KEYS,
    THR_SEQ2SEQ_FIRST, /* the initial state of each sentence */
    THR_SEQ2SEQ_NOW,
    THR_SEQ2SEQ_OTHER,
    THR_SEQ2SEQ_SENTENCES, /* of rows */
    THR_SEQ2SEQ_SHARES,
    THR_SEQ2SEQ_COMBINED,
    THR_SEQ2SEQ_STATES,
    THR_SEQ2SEQ_ATTENDED,
    THR_SEQ2SEQ_N_BUFFERS
} thr_seq2seq_buffer;

struct thr_seq2seq_device {
    thr_context *context;
    const thr_seq2seq *model; /* of the host */
    thr_device_arrays arrays; /* all weights */
    thr_seq2seq here;         /* the model with addresses on the device; it has no words */
    thr_device_buffer buffers[THR_SEQ2SEQ_N_BUFFERS];
    thr_device_upload upload;
    size_t n_sentences, most_places, n_rows;
    thr_row_sentences sentences, other; /* of the host; `other` is where reordered rows are built */
};

/* Reserve n_rows x n_columns floats, or other numbers of their size. */
thr_status thr_translate_device_reserve(thr_seq2seq_device *device, thr_seq2seq_buffer name, size_t n_rows,
                                        size_t n_columns, void *memory_out, thr_error *err);

/* The address of a buffer that is reserved. */
static inline void *thr_seq2seq_at(const thr_seq2seq_device *d, thr_seq2seq_buffer name) {
    return d->buffers[name].memory;
}

/* Floats of a row's state. */
static inline size_t thr_seq2seq_state(const thr_seq2seq *model) {
    return 2 * model->n_layers * model->n_units;
}

/* gates = bias + x W_in, for n rows of x. */
thr_status thr_translate_device_inputs(thr_seq2seq_device *device, const thr_lstm *lstm, const float *x, size_t x_row,
                                       size_t n, float *gates, thr_error *err);

/* gates += h W_own, for n rows of h. */
thr_status thr_translate_device_own(thr_seq2seq_device *device, const thr_lstm *lstm, const float *h, size_t h_row,
                                    size_t n, float *gates, thr_error *err);
