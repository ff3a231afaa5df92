/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lstm.h - forward pass of an LSTM layer: one step of many rows, or sequences of different lengths.
 *
 * With i, f, g, o the four quarters of bias + x W_in + h W_own, in PyTorch's order,
 *   c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c'),  sigmoid(x) = 1 / (1 + exp(-x))
 * Products use kernel matmul, exp and tanh the kernels of layers.h, and the rest is computed as written: a row's bits
 * do not depend on the other rows, the threads or the CPU level.
 */
#pragma once

#include "kernel/kernel.h"

enum { THR_LSTM_GATES = 4 };

/* A view. in and own are the transposes of PyTorch's weights; bias is the sum of its two biases. */
typedef struct thr_lstm {
    size_t n_in, n_units;
    const float *in;   /* n_in x 4 n_units */
    const float *own;  /* n_units x 4 n_units */
    const float *bias; /* 4 n_units */
} thr_lstm;

/*
 * Sequences by steps, sorted by descending length: the inputs of step t are rows starts[t] to starts[t + 1] - 1, and
 * row i of them belongs to sequence i. A view. The number of rows per step never increases and is never 0.
 */
typedef struct thr_lstm_sequences {
    size_t n_steps;
    const size_t *starts; /* n_steps + 1, from 0 */
    bool backward;        /* process the last step first */
} thr_lstm_sequences;

/* gates = bias + x W_in for n rows, the part that does not depend on the state. 4 n_units floats per row. */
void thr_nn_lstm_inputs(thr_context *context, const thr_lstm *lstm, const float *x, size_t n, float *gates);

/* Advance n rows by one step: h and c, n_units floats each, are replaced. Overwrites gates. */
void thr_nn_lstm_step(thr_context *context, const thr_lstm *lstm, float *gates, size_t n, float *h, float *c);

/*
 * Run all steps from a zero state. Row r of out, n_units floats at out + r * out_row, is h after row r of the
 * sequences. c has n_units floats a sequence and ends as the c after its last step. gates: of all rows, overwritten.
 */
void thr_nn_lstm_run(thr_context *context, const thr_lstm *lstm, const thr_lstm_sequences *sequences, float *gates,
                     float *out, size_t out_row, float *c);
