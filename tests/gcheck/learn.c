/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of training (device/learn_ops.h), in the order of a step, with a batch as a training has them: each on
 * the first device beside the CPU's layers, and how long it takes there. Sums of cuBLAS and of the loss are in an order
 * of their own, and may be off by the bounds given with them; all else must be the same in every bit.
 */
#include "gcheck.h"

#include "base/clock.h"
#include "kernel/kernel.h"
#include "nn/bags.h"
#include "nn/dense_op.h"
#include "nn/lstm.h"
#include "nn/match_loss.h"
#include "nn/windows.h"

#include <assert.h>

enum { MOST_ARRAYS = 96, PARTS = 3, WORD_GRAMS = 8, TEXT_WORDS = 10, MOST_PLACES = 2 * TEXT_WORDS + 1 };

typedef struct sizes {
    uint32_t n_texts, n_words, n_rows; /* words: distinct ones; rows: of the table */
    uint32_t n_pooled, n_dims, n_negatives, rounds;
} sizes;

/* By effort. */
static const sizes SIZES[] = {
    {24, 60, 50, 33, 17, 5, 2}, {256, 1500, 5000, 288, 64, 50, 20}, {1024, 4000, 30000, 288, 64, 100, 50}};

typedef struct batch {
    gcheck *g;
    const thr_backend *backend;
    thr_device *device;
    thr_stream *stream;
    sizes n;
    bool timed;
    uint64_t rng;
    void *on_host[MOST_ARRAYS], *on_device[MOST_ARRAYS]; /* until the end */
    size_t n_on_host, n_on_device;
    uint64_t n_compared, n_wrong;
    /* The host's: words as bags of trigrams, texts of words, and the places of every word. */
    thr_bags bags;
    thr_texts texts;
    uint32_t *first, *positions, *text_of;
    float *vectors, *pooled, *bias; /* what the layers made */
    uint16_t *where;
} batch;

/* ------------------------------------------------------------------------------------- numbers and memory */

static void *host(batch *b, size_t n, size_t size) {
    assert(b->n_on_host < MOST_ARRAYS);
    return b->on_host[b->n_on_host++] = test_array(n + 1, size);
}

/* Uniform in [-1, 1). */
static float *numbers(batch *b, size_t n) {
    float *x = host(b, n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(thr_rng_next(&b->rng) >> 40) * 0x1p-23f - 1.0f;
    return x;
}

static void finish(batch *b) {
    gcheck_must(b->backend->wait(b->stream, &err), &err, "an operation of training");
}

/* Memory of the device with a copy of x, or with nothing. */
static void *device(batch *b, const void *x, size_t n, size_t size) {
    void *memory = NULL;
    assert(b->n_on_device < MOST_ARRAYS);
    gcheck_must(b->backend->alloc(b->device, n * size, &memory, "a batch", &err), &err, "memory for a batch");
    b->on_device[b->n_on_device++] = memory;
    if (x != NULL)
        gcheck_must(b->backend->upload(b->stream, memory, x, n * size, &err), &err, "copying a batch");
    finish(b);
    return memory;
}

static float *device_floats(batch *b, const float *x, size_t n) {
    return device(b, x, n, sizeof *x);
}

static uint32_t *device_offsets(batch *b, const size_t *offsets, size_t n) {
    uint32_t *narrow = host(b, n, sizeof *narrow);
    for (size_t i = 0; i < n; i++)
        narrow[i] = (uint32_t)offsets[i];
    return device(b, narrow, n, sizeof *narrow);
}

/* Numbers of the device are at most so far from those that are right; 0: the same bits. */
static void compare(batch *b, const char *what, const void *memory, const float *right, size_t n, double most) {
    float *got = test_array(n, sizeof *got);
    gcheck_must(b->backend->download(b->stream, got, memory, n * sizeof *got, &err), &err, "copying answers");
    finish(b);
    b->n_compared++;
    for (size_t i = 0; i < n; i++) {
        const bool same = memcmp(&got[i], &right[i], sizeof *got) == 0;
        if (same || (most > 0 && fabs((double)got[i] - (double)right[i]) <= most))
            continue;
        (void)printf("FAIL training: %s: number %zu is %.9g, should be %.9g\n", what, i, (double)got[i],
                     (double)right[i]);
        b->n_wrong++;
        break;
    }
    free(got);
}

/* Runs an operation; TIME repeats it into the same memory. */
#define DO(b, name, op)                                                                                                \
    do {                                                                                                               \
        thr_error do_error;                                                                                            \
        gcheck_must((b)->backend->name((b)->stream, &(op), &do_error), &do_error, #name);                              \
    } while (0)

#define TIME(b, name, op)                                                                                              \
    do {                                                                                                               \
        const double time_start = thr_clock();                                                                         \
        for (uint32_t time_round = 0; (b)->timed && time_round < (b)->n.rounds; time_round++)                          \
            DO(b, name, op);                                                                                           \
        finish(b);                                                                                                     \
        if ((b)->timed)                                                                                                \
            gcheck_figure((b)->g, (thr_clock() - time_start) / (b)->n.rounds, "learn." #name "_s");                    \
    } while (0)

/* ------------------------------------------------------------------------------------------- the batch */

/* Lists of 0 to twice `usual` numbers below n_numbers, of which some are everywhere and most are rare. */
static void make_lists(batch *b, size_t n, size_t usual, size_t n_numbers, size_t **offsets, uint32_t **list) {
    size_t *ends = *offsets = host(b, n + 1, sizeof *ends);
    uint32_t *all = *list = host(b, 2 * usual * n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        ends[i + 1] = ends[i] + thr_rng_below(&b->rng, 2 * usual + 1);
        for (size_t e = ends[i]; e < ends[i + 1]; e++)
            all[e] =
                (uint32_t)thr_rng_below(&b->rng, 1 + thr_rng_below(&b->rng, 1 + thr_rng_below(&b->rng, n_numbers)));
    }
}

static void find_positions(batch *b) {
    const size_t n_positions = b->texts.offsets[b->texts.n_texts];
    b->first = host(b, b->n.n_words + 2, sizeof *b->first);
    b->positions = host(b, n_positions, sizeof *b->positions);
    b->text_of = host(b, n_positions, sizeof *b->text_of);
    for (size_t e = 0; e < n_positions; e++)
        b->first[b->texts.words[e] + 2]++;
    for (size_t w = 2; w <= b->n.n_words; w++)
        b->first[w] += b->first[w - 1];
    for (size_t i = 0; i < b->texts.n_texts; i++)
        for (size_t e = b->texts.offsets[i]; e < b->texts.offsets[i + 1]; e++) {
            b->text_of[e] = (uint32_t)i;
            b->positions[b->first[b->texts.words[e] + 1]++] = (uint32_t)e;
        }
}

static void make_batch(batch *b) {
    size_t *offsets = NULL;
    uint32_t *list = NULL;
    make_lists(b, b->n.n_words, WORD_GRAMS, b->n.n_rows, &offsets, &list);
    b->bags = (thr_bags){.n_bags = b->n.n_words, .offsets = offsets, .rows = list};
    make_lists(b, b->n.n_texts, TEXT_WORDS, b->n.n_words, &offsets, &list);
    b->texts = (thr_texts){b->n.n_texts, offsets, list};
    find_positions(b);
}

static thr_device_texts device_texts(batch *b) {
    return (thr_device_texts){.offsets = device_offsets(b, b->texts.offsets, b->texts.n_texts + 1),
                              .words = device(b, b->texts.words, b->texts.offsets[b->texts.n_texts], sizeof(uint32_t)),
                              .n_texts = b->n.n_texts};
}

/* ------------------------------------------------------------------------------------ words and their table */

static thr_optimiser some_adam(void) {
    thr_optimiser adam;
    thr_nn_optimiser_init(&adam, THR_OPTIMISER_ADAM);
    adam.step = 2;
    return adam;
}

static thr_device_adam numbers_of(const batch *b, const thr_optimiser *adam) {
    const thr_adam_step s = thr_nn_optimiser_start(b->g->context->kernels, adam).adam;
    return (thr_device_adam){s.scale, s.beta1, s.rest1, s.beta2, s.rest2, s.rate, s.root, s.epsilon, s.decay};
}

static float *squares(batch *b, size_t n) {
    float *x = numbers(b, n);
    for (size_t i = 0; i < n; i++)
        x[i] *= x[i];
    return x;
}

static void check_gather(batch *b, const float *table) {
    const size_t n_columns = PARTS * (size_t)b->n.n_pooled, n = b->n.n_words * n_columns;
    const thr_gather_op op = {.table = device_floats(b, table, b->n.n_rows * n_columns),
                              .offsets = device_offsets(b, b->bags.offsets, b->bags.n_bags + 1),
                              .rows = device(b, b->bags.rows, b->bags.offsets[b->bags.n_bags], sizeof(uint32_t)),
                              .n_bags = b->n.n_words,
                              .n_columns = (uint32_t)n_columns,
                              .out = device_floats(b, NULL, n)};
    b->vectors = host(b, n, sizeof *b->vectors);
    thr_nn_bags_forward(b->g->context, table, n_columns, &b->bags, b->vectors);
    DO(b, gather, op);
    compare(b, "sums of bags", op.out, b->vectors, n, 0);
    TIME(b, gather, op);
}

static void check_adam_rows(batch *b, float *table) {
    const size_t n_columns = PARTS * (size_t)b->n.n_pooled, n = b->n.n_rows * n_columns;
    float *const slots[] = {numbers(b, n), squares(b, n)}, *d_out = numbers(b, b->n.n_words * n_columns);
    const thr_optimiser adam = some_adam();
    thr_bags_transposed t = {0};
    gcheck_must(thr_nn_bags_transpose(b->g->context, &b->bags, b->n.n_rows, &t, &err), &err, "transposing bags");
    const thr_adam_rows_op op = {.table = device_floats(b, table, n),
                                 .m = device_floats(b, slots[0], n),
                                 .v = device_floats(b, slots[1], n),
                                 .d_out = device_floats(b, d_out, b->n.n_words * n_columns),
                                 .rows = device(b, t.rows, t.n_rows, sizeof *t.rows),
                                 .offsets = device_offsets(b, t.offsets, t.n_rows + 1),
                                 .bags = device(b, t.bags, t.offsets[t.n_rows], sizeof *t.bags),
                                 .n_rows = (uint32_t)t.n_rows,
                                 .n_columns = (uint32_t)n_columns,
                                 .adam = numbers_of(b, &adam)};
    DO(b, adam_rows, op);
    gcheck_must(thr_nn_bags_backward(b->g->context, &t, d_out, &adam, &(thr_bags_table){table, slots, n_columns}, &err),
                &err, "Adam");
    compare(b, "rows after a step", op.table, table, n, 0);
    compare(b, "second moments of rows", op.v, slots[1], n, 0);
    TIME(b, adam_rows, op);
    thr_nn_bags_transposed_free(b->g->context, &t);
}

static void check_adam(batch *b) {
    const size_t n = (size_t)b->n.n_pooled * b->n.n_dims;
    float *weights = numbers(b, n), *const slots[] = {numbers(b, n), squares(b, n)}, *gradient = numbers(b, n);
    const thr_optimiser adam = some_adam();
    const thr_adam_op op = {.weights = device_floats(b, weights, n),
                            .m = device_floats(b, slots[0], n),
                            .v = device_floats(b, slots[1], n),
                            .gradient = device_floats(b, gradient, n),
                            .n = n,
                            .adam = numbers_of(b, &adam)};
    thr_nn_optimiser_step(b->g->context->kernels, &adam, weights, gradient, slots, n);
    DO(b, adam, op);
    compare(b, "weights after a step", op.weights, weights, n, 0);
    TIME(b, adam, op);
}

/* --------------------------------------------------------------------------------------------- windows */

static void check_windows(batch *b) {
    const size_t n_columns = b->n.n_pooled, n = b->n.n_texts * n_columns, n_vectors = b->n.n_words * PARTS * n_columns;
    float *d_pooled = numbers(b, n), *d_vectors = numbers(b, n_vectors);
    b->bias = numbers(b, n_columns);
    const thr_windows_op op = {.texts = device_texts(b),
                               .vectors = device_floats(b, b->vectors, n_vectors),
                               .bias = device_floats(b, b->bias, n_columns),
                               .n_columns = b->n.n_pooled,
                               .pooled = device_floats(b, NULL, n),
                               .where = device(b, NULL, n, sizeof(uint16_t))};
    b->pooled = host(b, n, sizeof *b->pooled);
    b->where = host(b, n, sizeof *b->where);
    thr_nn_windows_forward(b->g->context, &b->texts, b->vectors, b->bias, n_columns, b->pooled, b->where);
    thr_nn_tanh_forward(b->g->context, b->pooled, n, b->pooled);
    DO(b, windows, op);
    compare(b, "what is pooled", op.pooled, b->pooled, n, 0);
    TIME(b, windows, op);
    const thr_windows_back_op back = {.texts = op.texts,
                                      .first = device(b, b->first, b->n.n_words + 1, sizeof *b->first),
                                      .positions = device(b, b->positions, b->first[b->n.n_words], sizeof(uint32_t)),
                                      .text_of = device(b, b->text_of, b->first[b->n.n_words], sizeof(uint32_t)),
                                      .n_words = b->n.n_words,
                                      .n_columns = b->n.n_pooled,
                                      .pooled = op.pooled,
                                      .where = op.where,
                                      .d_pooled = device_floats(b, d_pooled, n),
                                      .d_vectors = device_floats(b, d_vectors, n_vectors)};
    const thr_sum_rows_op sum = {device_floats(b, b->bias, n_columns), back.d_pooled, b->n.n_texts, b->n.n_pooled};
    thr_nn_tanh_backward(b->g->context, b->pooled, d_pooled, n, d_pooled);
    thr_nn_windows_backward(b->g->context, &b->texts, b->where, d_pooled, n_columns, d_vectors, b->bias);
    DO(b, windows_back, back);
    DO(b, sum_rows, sum);
    compare(b, "gradients of words", back.d_vectors, d_vectors, n_vectors, 0);
    compare(b, "a bias's gradient", sum.sum, b->bias, n_columns, 0);
    TIME(b, windows_back, back);
    TIME(b, sum_rows, sum);
}

/* ---------------------------------------------------------------------------------------------- planes */

static bool has_cublas(batch *b, const thr_product_op *op) {
    const thr_status status = b->backend->product(b->stream, op, &err);
    if (status == THR_EDEVICE && strstr(err.text, "needs cuBLAS") != NULL) {
        gcheck_words(b->g, err.text, "learn.product");
        return false;
    }
    gcheck_must(status, &err, "a product");
    return true;
}

/* A layer's product, within so many roundings of the largest sum of terms below 1. */
static void check_layer(batch *b) {
    const size_t n_rows = b->n.n_texts, n_in = b->n.n_pooled, n_out = b->n.n_dims;
    float *weights = numbers(b, n_in * n_out), *bias = numbers(b, n_out), *y = host(b, n_rows * n_out, sizeof *y);
    const thr_fill_rows_op fill = {device_floats(b, NULL, n_rows * n_out), device_floats(b, bias, n_out), b->n.n_texts,
                                   b->n.n_dims};
    const thr_product_op op = {.c = fill.x,
                               .a = device_floats(b, b->pooled, n_rows * n_in),
                               .b = device_floats(b, weights, n_in * n_out),
                               .n_rows = b->n.n_texts,
                               .n_columns = b->n.n_dims,
                               .n_inner = b->n.n_pooled,
                               .add = true};
    for (size_t i = 0; i < n_rows; i++)
        memcpy(y + i * n_out, bias, n_out * sizeof *y);
    DO(b, fill_rows, fill);
    compare(b, "rows of a bias", fill.x, y, n_rows * n_out, 0);
    TIME(b, fill_rows, fill);
    thr_nn_dense_forward(b->g->context, &(thr_dense){weights, bias, n_in, n_out}, b->pooled, n_rows, y);
    const thr_layer_op ordered = thr_nn_dense_op(&(thr_dense){op.b, fill.row, n_in, n_out}, op.a, n_in, n_rows,
                                                 device_floats(b, NULL, n_rows * n_out));
    DO(b, layer, ordered);
    compare(b, "a layer in the CPU's order", ordered.c, y, n_rows * n_out, 0);
    TIME(b, layer, ordered);
    if (!has_cublas(b, &op))
        return;
    compare(b, "a layer", op.c, y, n_rows * n_out, (double)n_in * 0x1p-23 * (double)n_in);
    TIME(b, product, op);
}

/* Cells of a decoder's rows. Weights of the own state are 0, so that the gates are those given. */
static void check_cells(batch *b) {
    const size_t n_rows = b->n.n_texts, n = b->n.n_dims;
    float *gates = numbers(b, n_rows * THR_LSTM_GATES * n), *h = numbers(b, n_rows * n), *c = numbers(b, n_rows * n);
    const thr_lstm lstm = {.n_units = n, .own = host(b, n * THR_LSTM_GATES * n, sizeof(float))};
    const thr_lstm_op op = {.gates = device_floats(b, gates, n_rows * THR_LSTM_GATES * n),
                            .h = device_floats(b, h, n_rows * n),
                            .c = device_floats(b, c, n_rows * n),
                            .n_rows = b->n.n_texts,
                            .n_old = b->n.n_texts,
                            .n_units = b->n.n_dims,
                            .h_row = b->n.n_dims,
                            .c_row = b->n.n_dims};
    thr_nn_lstm_step(b->g->context, &lstm, gates, n_rows, h, c);
    DO(b, lstm, op);
    compare(b, "cells", op.c, c, n_rows * n, 0);
    compare(b, "outputs of cells", op.h, h, n_rows * n, 0);
    TIME(b, lstm, op);
}

/* What an output of n_dims attends to, and the output. */
static void attend_naively(const batch *b, const float *output, const float *keys, const float *memory, size_t n_places,
                           float *right) {
    const thr_kernels *kernels = b->g->context->kernels;
    const size_t n = b->n.n_dims;
    float shares[MOST_PLACES], largest = -INFINITY;
    double sum = 0;
    kernels->dot_f32(shares, output, keys, n * sizeof(float), n_places, n);
    for (size_t j = 0; j < n_places; j++)
        largest = fmaxf(largest, shares[j]);
    for (size_t j = 0; j < n_places; j++)
        shares[j] -= largest;
    kernels->exp_f32(shares, shares, n_places);
    for (size_t j = 0; j < n_places; j++)
        sum += (double)shares[j];
    memset(right, 0, n * sizeof *right);
    for (size_t j = 0; j < n_places; j++)
        for (size_t column = 0; column < n; column++) {
            const float term = (float)((double)shares[j] / sum) * memory[j * n + column];
            right[column] = j == 0 ? term : right[column] + term;
        }
    memcpy(right + n, output, n * sizeof *right);
}

/* Row i attends to all words of its text: i's words are keys and memory, numbers of n_dims each. */
static void check_attention(batch *b) {
    const size_t n_rows = b->n.n_texts, n = b->n.n_dims;
    uint32_t *places = host(b, n_rows + 1, sizeof *places), *sentences = host(b, n_rows, sizeof *sentences);
    for (size_t i = 0; i < n_rows; i++) {
        sentences[i] = (uint32_t)i;
        places[i + 1] = places[i] + (uint32_t)(b->texts.offsets[i + 1] - b->texts.offsets[i]) + 1;
    }
    const size_t n_places = places[n_rows];
    float *outputs = numbers(b, n_rows * n), *keys = numbers(b, n_places * n), *memory = numbers(b, n_places * n);
    float *right = host(b, n_rows * 2 * n, sizeof *right);
    const thr_attend_op op = {.outputs = device_floats(b, outputs, n_rows * n),
                              .keys = device_floats(b, keys, n_places * n),
                              .memory = device_floats(b, memory, n_places * n),
                              .sentences = device(b, sentences, n_rows, sizeof *sentences),
                              .places = device(b, places, n_rows + 1, sizeof *places),
                              .n_rows = b->n.n_texts,
                              .n_units = b->n.n_dims,
                              .output_row = b->n.n_dims,
                              .most_places = MOST_PLACES,
                              .shares = device_floats(b, NULL, n_rows * MOST_PLACES),
                              .combined = device_floats(b, NULL, n_rows * 2 * n),
                              .attended = device(b, NULL, n_rows, sizeof(uint32_t))};
    for (size_t i = 0; i < n_rows; i++)
        attend_naively(b, outputs + i * n, keys + places[i] * n, memory + places[i] * n, places[i + 1] - places[i],
                       right + i * 2 * n);
    DO(b, attend, op);
    compare(b, "what rows attend to", op.combined, right, n_rows * 2 * n, 0);
    TIME(b, attend, op);
}

static void check_planes(batch *b) {
    const size_t n = (size_t)b->n.n_texts * b->n.n_dims;
    float *in = numbers(b, n), *last = numbers(b, n), *d_out = numbers(b, n), *right = host(b, n, sizeof *right);
    const uint32_t whole = 0;
    const thr_plane_op op = {.in = device_floats(b, in, n),
                             .last = device_floats(b, last, n),
                             .out = device_floats(b, NULL, n),
                             .weight = 0.5f,
                             .n = n,
                             .broken = device(b, &whole, 1, sizeof whole)};
    for (size_t i = 0; i < n; i++)
        right[i] = last[i] + (in[i] > 0 ? 0.5f : -0.5f);
    DO(b, plane, op);
    compare(b, "a plane", op.out, right, n, 0);
    TIME(b, plane, op);
    const thr_plane_back_op back = {.in = op.in,
                                    .out = op.out,
                                    .d_out = device_floats(b, d_out, n),
                                    .d_in = device_floats(b, NULL, n),
                                    .weight = 1,
                                    .slope = 3,
                                    .estimator = THR_DEVICE_ANNEALED,
                                    .n = n};
    thr_nn_sign_backward(b->g->context, THR_ESTIMATOR_TANH, 3, in, d_out, n, right);
    DO(b, plane_back, back);
    compare(b, "a gradient through a plane", back.d_in, right, n, 0);
    TIME(b, plane_back, back);
}

static void check_residual(batch *b) {
    const size_t n = (size_t)b->n.n_texts * b->n.n_pooled;
    float *rebuilt = numbers(b, n), *residual = host(b, n, sizeof *residual), *d_residual = numbers(b, n);
    const thr_residual_op op = {device_floats(b, b->pooled, n), device_floats(b, rebuilt, n), device_floats(b, NULL, n),
                                n};
    const thr_residual_back_op back = {op.rebuilt, device_floats(b, d_residual, n), device_floats(b, b->pooled, n), n};
    thr_nn_tanh_forward(b->g->context, rebuilt, n, rebuilt);
    for (size_t i = 0; i < n; i++) {
        residual[i] = b->pooled[i] - rebuilt[i];
        d_residual[i] = -d_residual[i];
    }
    thr_nn_tanh_backward(b->g->context, rebuilt, d_residual, n, d_residual);
    DO(b, residual, op);
    compare(b, "a residual", op.residual, residual, n, 0);
    DO(b, residual_back, back);
    compare(b, "a gradient through a residual", back.d_residual, d_residual, n, 0);
    TIME(b, residual, op);
    TIME(b, residual_back, back);
}

/* ------------------------------------------------------------------------------------------------ loss */

/* Within 1e-5 of a gradient's size, gamma / n, for rows of length 1/2 and more. */
static void check_match(batch *b) {
    const size_t n = (size_t)b->n.n_texts * b->n.n_dims, n_texts = b->n.n_texts;
    const thr_match_loss loss = {.gamma = 10, .shift = 1, .n_negatives = b->n.n_negatives};
    const double most = 1e-5 * (double)loss.gamma / (double)n_texts;
    float *queries = numbers(b, n), *items = numbers(b, n), *const right[] = {numbers(b, n), numbers(b, n)};
    float *scratch = host(b, thr_nn_match_loss_scratch(&loss, n_texts, b->n.n_dims), sizeof *scratch);
    for (size_t i = 0; i < n_texts; i++) {
        queries[i * b->n.n_dims] = 0.75f;
        items[i * b->n.n_dims] = -0.75f;
    }
    const thr_match_op op = {.queries = device_floats(b, queries, n),
                             .items = device_floats(b, items, n),
                             .n_rows = b->n.n_texts,
                             .n_dims = b->n.n_dims,
                             .n_negatives = loss.n_negatives,
                             .shift = loss.shift,
                             .gamma = loss.gamma,
                             .losses = device(b, NULL, n_texts, sizeof(double)),
                             .d_queries = device_floats(b, NULL, n),
                             .d_items = device_floats(b, NULL, n),
                             .scratch = device_floats(b, NULL, 2 * n + n_texts * (loss.n_negatives + 3))};
    const thr_match_batch all = {.queries = queries,
                                 .items = items,
                                 .n_rows = n_texts,
                                 .n_dims = b->n.n_dims,
                                 .d_queries = right[0],
                                 .d_items = right[1]};
    (void)thr_nn_match_loss_run(b->g->context, &loss, &all, scratch);
    DO(b, match, op);
    compare(b, "the loss's gradient by queries", op.d_queries, right[0], n, most);
    compare(b, "the loss's gradient by items", op.d_items, right[1], n, most);
    TIME(b, match, op);
}

/* ------------------------------------------------------------------------------------------------- all */

void gcheck_learn(gcheck *g, bool timed) {
    batch b = {.g = g,
               .backend = g->opened_one->backend,
               .device = g->opened_one->devices[0],
               .n = SIZES[g->effort],
               .timed = timed,
               .rng = g->seed};
    gcheck_say("training: %u texts, %u words, %u rows of a table", b.n.n_texts, b.n.n_words, b.n.n_rows);
    gcheck_must(b.backend->open_stream(b.device, &b.stream, &err), &err, "a stream");
    make_batch(&b);
    float *table = numbers(&b, (size_t)b.n.n_rows * PARTS * b.n.n_pooled);
    check_gather(&b, table);
    check_adam_rows(&b, table);
    check_adam(&b);
    check_windows(&b);
    check_layer(&b);
    check_cells(&b);
    check_attention(&b);
    check_planes(&b);
    check_residual(&b);
    check_match(&b);
    gcheck_figure(g, b.n.n_texts, "learn.texts");
    gcheck_figure(g, (double)b.n_compared, "learn.compared");
    gcheck_figure(g, (double)b.n_wrong, "learn.wrong");
    g->n_failed += b.n_wrong;
    while (b.n_on_device > 0)
        b.backend->release(b.device, b.on_device[--b.n_on_device]);
    while (b.n_on_host > 0)
        free(b.on_host[--b.n_on_host]);
    b.backend->close_stream(b.stream);
}
