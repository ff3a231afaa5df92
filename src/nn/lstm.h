/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lstm.h - a layer of long short-term memory, forward: a step of many rows at once, and sequences of many lengths.
 *
 * With i, f, g, o the four quarters of bias + x W_in + h W_own, in PyTorch's order,
 *   c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c'),  sigmoid(x) = 1 / (1 + exp(-x))
 * Products are kernel matmul's, exp and tanh the kernels' (layers.h), all else as it is written: a row's bits depend
 * neither on the rows beside it nor on the threads or the CPU level.
 */
#ifndef THR_NN_LSTM_H
#define THR_NN_LSTM_H

#include "kernel/kernel.h"

enum { THR_LSTM_GATES = 4 };

/* A view. PyTorch's weights are the transposed ones, its two biases added up are this one. */
typedef struct thr_lstm {
    size_t n_in, n_units;
    const float *in;   /* n_in x 4 n_units */
    const float *own;  /* n_units x 4 n_units */
    const float *bias; /* 4 n_units */
} thr_lstm;

/*
 * Sequences by steps, the longest first: those of step t are rows starts[t] to starts[t + 1] - 1 of what goes in, row i
 * of them the sequence i. A view; starts never grow further apart, and no step is without rows.
 */
typedef struct thr_lstm_sequences {
    size_t n_steps;
    const size_t *starts; /* n_steps + 1, from 0 */
    bool backward;        /* the last step is made first */
} thr_lstm_sequences;

/* gates = bias + x W_in: of n rows what does not depend on the state. 4 n_units floats a row. */
void thr_nn_lstm_inputs(thr_context *context, const thr_lstm *lstm, const float *x, size_t n, float *gates);

/* n rows go a step on: h and c, n_units floats each, are replaced. gates are overwritten. */
void thr_nn_lstm_step(thr_context *context, const thr_lstm *lstm, float *gates, size_t n, float *h, float *c);

/*
 * All steps from zeros. Row r of out, n_units floats at
 * out + r * out_row, is h behind row r of the sequences; c has n_units floats a sequence, at last the c behind its
 * last step. gates: of all rows, overwritten.
 */
void thr_nn_lstm_run(thr_context *context, const thr_lstm *lstm, const thr_lstm_sequences *sequences, float *gates,
                     float *out, size_t out_row, float *c);

#endif
