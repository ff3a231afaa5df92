/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c - inputs are multiplied for all steps at once; a step is then one product and its cell update. */
#include "nn/lstm.h"

#include <string.h>

#include "base/minmax.h"
#include "nn/dense.h"
#include "nn/products.h"
#include "parallel/pool.h"

enum { CELL_ROWS = 16 };

void thr_nn_lstm_inputs(thr_context *context, const thr_lstm *lstm, const float *x, size_t n, float *gates) {
    const thr_dense layer = {lstm->in, lstm->bias, lstm->n_in, THR_LSTM_GATES * lstm->n_units};
    thr_nn_dense_forward(context, &layer, x, n, gates);
}

/* gates += h W_own. */
static void add_own(thr_context *context, const thr_lstm *lstm, const float *h, size_t h_row, size_t n, float *gates) {
    thr_product product = thr_nn_product(gates, h, lstm->own, n, lstm->n_units, THR_LSTM_GATES * lstm->n_units);
    product.a_row = h_row;
    thr_nn_matmul(context, &product);
}

typedef struct cells {
    const thr_kernels *kernels;
    float *gates, *h, *c;
    size_t n_rows, n_units, h_row;
} cells;

/* exp(-x) in place. */
static void exp_of_minus(const thr_kernels *kernels, float *x, size_t n) {
    for (size_t j = 0; j < n; j++)
        x[j] = -x[j];
    kernels->exp_f32(x, x, n);
}

static void run_row(const cells *all, size_t row) {
    const size_t n = all->n_units;
    float *in = all->gates + row * THR_LSTM_GATES * n, *forget = in + n, *new = forget + n, *out = new + n;
    float *c = all->c + row * n, *h = all->h + row * all->h_row;
    exp_of_minus(all->kernels, in, 2 * n);
    all->kernels->tanh_f32(new, new, n);
    exp_of_minus(all->kernels, out, n);
    for (size_t j = 0; j < n; j++)
        c[j] = c[j] / (1.0f + forget[j]) + new[j] / (1.0f + in[j]);
    all->kernels->tanh_f32(h, c, n);
    for (size_t j = 0; j < n; j++)
        h[j] = h[j] / (1.0f + out[j]);
}

static void run_rows(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const cells *all = arg;
    for (size_t row = piece * CELL_ROWS; row < (piece + 1) * CELL_ROWS && row < all->n_rows; row++)
        run_row(all, row);
}

static void run_cells(thr_context *context, cells all) {
    all.kernels = context->kernels;
    thr_parallel_for(context, THR_CEIL_DIV(all.n_rows, CELL_ROWS), run_rows, &all);
}

void thr_nn_lstm_step(thr_context *context, const thr_lstm *lstm, float *gates, size_t n, float *h, float *c) {
    add_own(context, lstm, h, lstm->n_units, n, gates);
    run_cells(context,
              (cells){.gates = gates, .h = h, .c = c, .n_rows = n, .n_units = lstm->n_units, .h_row = lstm->n_units});
}

/*
 * In every step, row i belongs to sequence i, so the state of row i stays at index i. Of two adjacent steps, the rows
 * of the shorter one are the first rows of the longer one. Rows without an earlier step, whose h and c are zero, are
 * therefore the last ones.
 */
void thr_nn_lstm_run(thr_context *context, const thr_lstm *lstm, const thr_lstm_sequences *sequences, float *gates,
                     float *out, size_t out_row, float *c) {
    const size_t n_units = lstm->n_units, *starts = sequences->starts;
    size_t n_before = 0;
    const float *before = NULL;
    for (size_t i = 0; i < sequences->n_steps; i++) {
        const size_t t = sequences->backward ? sequences->n_steps - 1 - i : i, n = starts[t + 1] - starts[t];
        const size_t n_both = THR_MIN(n, n_before);
        float *h = out + starts[t] * out_row, *all = gates + starts[t] * THR_LSTM_GATES * n_units;
        if (n_both > 0)
            add_own(context, lstm, before, out_row, n_both, all);
        if (n > n_before)
            memset(c + n_before * n_units, 0, (n - n_before) * n_units * sizeof *c);
        run_cells(context, (cells){.gates = all, .h = h, .c = c, .n_rows = n, .n_units = n_units, .h_row = out_row});
        before = h;
        n_before = n;
    }
}
