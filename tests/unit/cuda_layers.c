/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_layers.c - products, weighted sums and LSTM cells on an emulated GPU have the bits of room nn's. */
#include "cuda_support.h"
#include "nn_bags_support.h"

#include "nn/lstm.h"
#include "nn/products.h"

/* ------------------------------------------------------------------------------------------------ products */

typedef struct shape {
    uint32_t n_rows, n_columns, n_inner;
    bool a_transposed, b_transposed, add, tanh, biased;
} shape;

static const shape SHAPES[] = {
    {1, 1, 1, false, false, false, false, false},   {3, 5, 0, false, false, false, true, true},
    {64, 64, 16, false, false, true, false, false}, {65, 7, 33, true, false, true, false, false},
    {7, 130, 15, false, true, false, false, true},  {70, 66, 40, true, true, false, true, true},
    {12, 40, 100, false, false, false, true, false}};

/* out = x transposed. */
static float *turn(const float *x, size_t n_rows, size_t n_columns) {
    float *out = test_new(n_rows * n_columns + 1, sizeof *out);
    thr_nn_transpose(x, n_rows, n_columns, out);
    return out;
}

static void check_product(const shape *s, uint64_t *rng) {
    const size_t n = s->n_rows, m = s->n_columns, k = s->n_inner, n_c = n * m;
    float *a = nn_normal(rng, n * k + 1), *b = nn_normal(rng, k * m + 1), *bias = nn_normal(rng, m);
    float *c = nn_normal(rng, n_c), *a_turned = turn(a, n, k), *b_turned = turn(b, k, m);
    for (size_t i = 0; i < n_c; i += 3)
        c[i] = -0.0f;
    const thr_layer_op op = {.c = gpu_floats(c, n_c),
                             .a = gpu_floats(s->a_transposed ? a_turned : a, n * k),
                             .b = gpu_floats(s->b_transposed ? b_turned : b, k * m),
                             .bias = s->biased ? gpu_floats(bias, m) : NULL,
                             .c_row = s->n_columns,
                             .a_row = s->a_transposed ? 1 : s->n_inner,
                             .a_step = s->a_transposed ? s->n_rows : 1,
                             .b_step = s->b_transposed ? 1 : s->n_columns,
                             .b_column = s->b_transposed ? s->n_inner : 1,
                             .n_rows = s->n_rows,
                             .n_columns = s->n_columns,
                             .n_inner = s->n_inner,
                             .add = s->add,
                             .tanh = s->tanh};
    for (size_t i = 0; !s->add && i < n_c; i++)
        c[i] = s->biased ? bias[i % m] : 0.0f;
    thr_nn_matmul(gpu.context, &(thr_product){c, a, b, m, k, 1, m, n, m, k});
    if (s->tanh)
        gpu.context->kernels->tanh_f32(c, c, n_c);
    gpu_do(layer, &op);
    gpu_assert_same(op.c, c, n_c, "a product");
    gpu_forget();
}

RANDOM_TEST(products_are_added_in_the_order_of_the_sum) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++)
        check_product(&SHAPES[i], &rng);
}

/* ------------------------------------------------------------------------------------------------ weighted sums */

RANDOM_TEST(bags_with_weights_are_summed_in_order) {
    rng += 1;
    nn_bags *p = nn_make_bags(23, 37, &rng);
    float *weights = nn_normal(&rng, NN_MOST_BAGS * NN_MOST_ENTRIES), *right = test_new(23 * 37, sizeof *right);
    p->bags.weights = weights;
    thr_nn_bags_forward(gpu.context, p->table, 37, &p->bags, right);
    const thr_gather_op op = {.table = gpu_floats(p->table, (size_t)NN_TABLE_ROWS * 37),
                              .offsets = gpu_offsets(p->offsets, 24),
                              .rows = gpu_put(p->rows, sizeof p->rows),
                              .weights = gpu_floats(weights, NN_MOST_BAGS * NN_MOST_ENTRIES),
                              .n_bags = 23,
                              .n_columns = 37,
                              .out = gpu_floats(NULL, (size_t)23 * 37)};
    gpu_do(gather, &op);
    gpu_assert_same(op.out, right, (size_t)23 * 37, "weighted sums");
    gpu_forget();
}

/* Part of each row, into rows that are longer. */
RANDOM_TEST(rows_are_copied_with_strides) {
    enum { N = 9, FROM = 11, TO = 13, COLUMNS = 5 };
    static const uint32_t rows[N] = {3, 3, 0, 8, 1, 2, 7, 7, 4};
    rng += 2;
    for (int listed = 0; listed < 2; listed++) {
        float *from = nn_normal(&rng, N * FROM), *to = nn_normal(&rng, N * TO);
        const thr_gather_op op = {.table = gpu_floats(from, N * FROM),
                                  .rows = listed ? gpu_put(rows, sizeof rows) : NULL,
                                  .n_bags = N,
                                  .n_columns = COLUMNS,
                                  .table_row = FROM,
                                  .out_row = TO,
                                  .out = gpu_floats(to, N * TO)};
        for (size_t i = 0; i < N; i++)
            memcpy(to + i * TO, from + (listed ? rows[i] : i) * FROM, COLUMNS * sizeof *to);
        gpu_do(gather, &op);
        gpu_assert_same(op.out, to, N * TO, "copied rows");
        gpu_forget();
    }
}

/* ------------------------------------------------------------------------------------------------ cells */

/* The last rows begin with c = 0; weights of the own state are 0, so gates are what is given. */
RANDOM_TEST(cells_are_those_of_a_layer) {
    enum { N = 6, OLD = 4, UNITS = 99, H_ROW = 120, C_ROW = 101 };
    rng += 3;
    float *gates = nn_normal(&rng, N * 4 * UNITS), *h = nn_normal(&rng, N * H_ROW), *c = nn_normal(&rng, N * C_ROW);
    float *own = test_new((size_t)UNITS * 4 * UNITS, sizeof *own);
    const thr_lstm lstm = {.n_in = 1, .n_units = UNITS, .own = own};
    const thr_lstm_op op = {.gates = gpu_floats(gates, N * 4 * UNITS),
                            .h = gpu_floats(h, N * H_ROW),
                            .c = gpu_floats(c, N * C_ROW),
                            .n_rows = N,
                            .n_old = OLD,
                            .n_units = UNITS,
                            .h_row = H_ROW,
                            .c_row = C_ROW};
    for (size_t i = 0; i < N; i++) {
        float zeros[UNITS] = {0};
        thr_nn_lstm_step(gpu.context, &lstm, gates + i * 4 * UNITS, 1, h + i * H_ROW, i < OLD ? c + i * C_ROW : zeros);
        if (i >= OLD)
            memcpy(c + i * C_ROW, zeros, sizeof zeros);
    }
    gpu_do(lstm, &op);
    gpu_assert_same(op.h, h, N * H_ROW, "outputs");
    gpu_assert_same(op.c, c, N * C_ROW, "cells");
    gpu_forget();
}

TEST(nothing_to_do_is_no_failure) {
    const uint64_t launches = gpu.emulator.launches();
    gpu_do(layer, &(thr_layer_op){.n_rows = 3});
    gpu_do(lstm, &(thr_lstm_op){.n_units = 3});
    gpu_do(attend, &(thr_attend_op){.n_units = 3});
    assert_int_equal(gpu.emulator.launches(), launches);
}
