/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/dense.h"

#include "base/memory.h"
#include "base/minmax.h"
#include "nn/products.h"
#include "parallel/pool.h"

#include <string.h>

void thr_nn_dense_forward(thr_context *context, const thr_dense *layer, const float *x, size_t n_rows, float *y) {
    const size_t n_out = layer->n_out;
    for (size_t i = 0; i < n_rows; i++)
        if (layer->bias != NULL)
            memcpy(y + i * n_out, layer->bias, n_out * sizeof *y);
        else
            memset(y + i * n_out, 0, n_out * sizeof *y);
    const thr_product product = thr_nn_product(y, x, layer->weights, n_rows, layer->n_in, n_out);
    thr_nn_matmul(context, &product);
}

size_t thr_nn_dense_scratch(size_t n_in, size_t n_out) {
    return n_in * n_out;
}

/*
 * d_x += d_y W^T. The kernel reads rows of its right operand, so W is transposed first; it is small beside the batch.
 */
static void add_d_x(thr_context *context, const thr_dense *layer, const float *d_y, size_t n_rows, float *d_x,
                    float *transposed) {
    const size_t n_in = layer->n_in, n_out = layer->n_out;
    thr_nn_transpose(layer->weights, n_in, n_out, transposed);
    const thr_product product = thr_nn_product(d_x, d_y, transposed, n_rows, n_out, n_in);
    thr_nn_matmul(context, &product);
}

/* d_weights += x^T d_y. The strides of the left operand transpose it. */
static void add_d_weights(thr_context *context, const thr_dense *layer, const float *x, const float *d_y, size_t n_rows,
                          float *d_weights) {
    thr_product product = thr_nn_product(d_weights, x, d_y, layer->n_in, n_rows, layer->n_out);
    product.a_row = 1;
    product.a_step = layer->n_in;
    thr_nn_matmul(context, &product);
}

void thr_nn_dense_backward(thr_context *context, const thr_dense *layer, const float *x, const float *d_y,
                           size_t n_rows, const thr_dense_gradients *to) {
    if (to->d_x != NULL && !to->add_to_d_x)
        memset(to->d_x, 0, n_rows * layer->n_in * sizeof *to->d_x);
    if (to->d_x != NULL)
        add_d_x(context, layer, d_y, n_rows, to->d_x, to->scratch);
    if (to->d_weights != NULL)
        add_d_weights(context, layer, x, d_y, n_rows, to->d_weights);
    for (size_t i = 0; to->d_bias != NULL && i < n_rows; i++)
        for (size_t j = 0; j < layer->n_out; j++)
            to->d_bias[j] += d_y[i * layer->n_out + j];
}

/* -------------------------------------------------------------------------------------------- element by element */

/* Loops over n elements run in pieces that stay in the L1 cache. */
enum { PIECE = 4096 };

typedef struct elements elements;
typedef void (*elements_fn)(const elements *all, size_t first, size_t n);

struct elements {
    const thr_kernels *kernels;
    elements_fn fn;
    const float *in, *d_out; /* d_out: in the backward pass */
    float *out;
    size_t n;
    thr_estimator estimator;
    float slope;
};

static void run_piece(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const elements *all = arg;
    const size_t first = piece * PIECE, left = all->n - first;
    all->fn(all, first, THR_MIN(left, PIECE));
}

static void run_elements(thr_context *context, elements all) {
    all.kernels = context->kernels;
    thr_parallel_for(context, THR_CEIL_DIV(all.n, PIECE), run_piece, &all);
}

static void tanh_piece(const elements *all, size_t first, size_t n) {
    all->kernels->tanh_f32(all->out + first, all->in + first, n);
}

void thr_nn_tanh_forward(thr_context *context, const float *x, size_t n, float *y) {
    run_elements(context, (elements){.fn = tanh_piece, .in = x, .out = y, .n = n});
}

static void tanh_backward_piece(const elements *all, size_t first, size_t n) {
    for (size_t i = first; i < first + n; i++)
        all->out[i] = all->d_out[i] * (1.0f - all->in[i] * all->in[i]);
}

void thr_nn_tanh_backward(thr_context *context, const float *y, const float *d_y, size_t n, float *d_x) {
    run_elements(context, (elements){.fn = tanh_backward_piece, .in = y, .d_out = d_y, .out = d_x, .n = n});
}

static void sign_piece(const elements *all, size_t first, size_t n) {
    for (size_t i = first; i < first + n; i++)
        all->out[i] = all->in[i] > 0.0f ? 1.0f : -1.0f;
}

void thr_nn_sign_forward(thr_context *context, const float *x, size_t n, float *y) {
    run_elements(context, (elements){.fn = sign_piece, .in = x, .out = y, .n = n});
}

/* slope (1 - tanh(slope x)^2) d_y. */
static void annealed_piece(const elements *all, size_t first, size_t n) {
    float t[PIECE] = {0};
    for (size_t i = 0; i < n; i++)
        t[i] = all->slope * all->in[first + i];
    all->kernels->tanh_f32(t, t, n);
    for (size_t i = 0; i < n; i++)
        all->out[first + i] = all->d_out[first + i] * (all->slope * (1.0f - t[i] * t[i]));
}

static void sign_backward_piece(const elements *all, size_t first, size_t n) {
    switch (all->estimator) {
    case THR_ESTIMATOR_VARIANT:
        for (size_t i = first; i < first + n; i++) {
            const bool inside = all->in[i] >= -1.0f && all->in[i] <= 1.0f;
            all->out[i] = inside ? all->d_out[i] : 0.0f;
        }
        break;
    case THR_ESTIMATOR_STRAIGHT:
        if (all->out != all->d_out)
            memcpy(all->out + first, all->d_out + first, n * sizeof(float));
        break;
    case THR_ESTIMATOR_TANH:
        annealed_piece(all, first, n);
        break;
    }
}

void thr_nn_sign_backward(thr_context *context, thr_estimator estimator, float slope, const float *x, const float *d_y,
                          size_t n, float *d_x) {
    run_elements(context, (elements){.fn = sign_backward_piece,
                                     .in = x,
                                     .d_out = d_y,
                                     .out = d_x,
                                     .n = n,
                                     .estimator = estimator,
                                     .slope = slope});
}
