/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_rows.c - sums of rows and steps of Adam on an emulated GPU have the bits of room nn's. */
#include "cuda_support.h"
#include "nn_bags_support.h"

static const struct {
    size_t n_bags, n_columns;
} SHAPES[] = {{1, 1}, {7, 33}, {NN_MOST_BAGS, 5}, {40, 96}, {21, 97}, {12, 288}, {5, 864}};

static thr_optimiser some_adam(void) {
    thr_optimiser optimiser;
    thr_nn_optimiser_init(&optimiser, THR_OPTIMISER_ADAM);
    optimiser.step = 3;
    optimiser.l2 = 0.25f;
    optimiser.gradient_scale = 0.5f;
    return optimiser;
}

static thr_device_adam numbers_of(const thr_optimiser *optimiser) {
    const thr_adam_step s = thr_nn_optimiser_start(gpu.context->kernels, optimiser).adam;
    return (thr_device_adam){s.scale, s.beta1, s.rest1, s.beta2, s.rest2, s.rate, s.root, s.epsilon, s.decay};
}

/* ------------------------------------------------------------------------------------------------ bags */

static void check_gather(const nn_bags *p) {
    const size_t n = p->bags.n_bags * p->n_columns;
    float *right = test_new(n + 1, sizeof *right);
    thr_nn_bags_forward(gpu.context, p->table, p->n_columns, &p->bags, right);
    const thr_gather_op op = {.table = gpu_floats(p->table, NN_TABLE_ROWS * p->n_columns),
                              .offsets = gpu_offsets(p->offsets, p->bags.n_bags + 1),
                              .rows = gpu_put(p->rows, sizeof p->rows),
                              .n_bags = (uint32_t)p->bags.n_bags,
                              .n_columns = (uint32_t)p->n_columns,
                              .out = gpu_floats(NULL, n)};
    gpu_do(gather, &op);
    gpu_assert_same(op.out, right, n, "sums of bags");
    gpu_forget();
}

RANDOM_TEST(bags_are_summed_in_order) {
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        nn_bags *p = nn_make_bags(SHAPES[s].n_bags, SHAPES[s].n_columns, &rng);
        check_gather(p);
    }
}

static void check_adam_rows(const nn_bags *p) {
    const size_t n = NN_TABLE_ROWS * p->n_columns;
    const thr_optimiser optimiser = some_adam();
    thr_bags_transposed t = {0};
    float *const right[] = {nn_copy(p->table, n), nn_copy(p->slots[0], n), nn_copy(p->slots[1], n)};
    expect_ok(thr_nn_bags_transpose(gpu.context, &p->bags, NN_TABLE_ROWS, &t, &err));
    expect_ok(thr_nn_bags_backward(gpu.context, &t, p->d_out, &optimiser,
                                   &(thr_bags_table){right[0], right + 1, p->n_columns}, &err));
    const thr_adam_rows_op op = {.table = gpu_floats(p->table, n),
                                 .m = gpu_floats(p->slots[0], n),
                                 .v = gpu_floats(p->slots[1], n),
                                 .d_out = gpu_floats(p->d_out, p->bags.n_bags * p->n_columns),
                                 .rows = gpu_put(t.rows, t.n_rows * sizeof *t.rows),
                                 .offsets = gpu_offsets(t.offsets, t.n_rows + 1),
                                 .bags = gpu_put(t.bags, t.offsets[t.n_rows] * sizeof *t.bags),
                                 .n_rows = (uint32_t)t.n_rows,
                                 .n_columns = (uint32_t)p->n_columns,
                                 .adam = numbers_of(&optimiser)};
    gpu_do(adam_rows, &op);
    gpu_assert_same(op.table, right[0], n, "rows of the table");
    gpu_assert_same(op.m, right[1], n, "their first moments");
    gpu_assert_same(op.v, right[2], n, "their second moments");
    thr_nn_bags_transposed_free(gpu.context, &t);
    gpu_forget();
}

RANDOM_TEST(touched_rows_are_stepped_and_others_stay) {
    rng += 1;
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        nn_bags *p = nn_make_bags(SHAPES[s].n_bags, SHAPES[s].n_columns, &rng);
        check_adam_rows(p);
    }
}

/* ------------------------------------------------------------------------------------ weights that lie together */

RANDOM_TEST(weights_are_stepped) {
    static const size_t sizes[] = {1, 31, 256, 1000};
    const thr_optimiser optimiser = some_adam();
    rng += 2;
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        const size_t n = sizes[s];
        float *const numbers[] = {nn_normal(&rng, n), nn_normal(&rng, n), nn_normal(&rng, n), nn_normal(&rng, n)};
        for (size_t i = 0; i < n; i++)
            numbers[2][i] *= numbers[2][i];
        const thr_adam_op op = {.weights = gpu_floats(numbers[0], n),
                                .m = gpu_floats(numbers[1], n),
                                .v = gpu_floats(numbers[2], n),
                                .gradient = gpu_floats(numbers[3], n),
                                .n = n,
                                .adam = numbers_of(&optimiser)};
        thr_nn_optimiser_step(gpu.context->kernels, &optimiser, numbers[0], numbers[3], numbers + 1, n);
        gpu_do(adam, &op);
        gpu_assert_same(op.weights, numbers[0], n, "weights");
        gpu_assert_same(op.m, numbers[1], n, "first moments");
        gpu_assert_same(op.v, numbers[2], n, "second moments");
        gpu_forget();
    }
}

/* ------------------------------------------------------------------------------------------------ bias */

static void check_bias(uint32_t n_rows, uint32_t n_columns, uint64_t *rng) {
    const size_t n = (size_t)n_rows * n_columns;
    float *x = nn_normal(rng, n), *row = nn_normal(rng, n_columns), *right = nn_copy(row, n_columns);
    const thr_sum_rows_op sum = {gpu_floats(row, n_columns), gpu_floats(x, n), n_rows, n_columns};
    for (size_t i = 0; i < n; i++)
        right[i % n_columns] += x[i];
    gpu_do(sum_rows, &sum);
    gpu_assert_same(sum.sum, right, n_columns, "sums of columns");
    const thr_fill_rows_op fill = {gpu_floats(NULL, n), gpu_floats(row, n_columns), n_rows, n_columns};
    for (size_t i = 0; i < n; i++)
        x[i] = row[i % n_columns];
    gpu_do(fill_rows, &fill);
    gpu_assert_same(fill.x, x, n, "rows that are filled");
    gpu_forget();
}

RANDOM_TEST(rows_are_added_to_a_bias_and_filled_with_it) {
    static const uint32_t rows[] = {1, 5, 255, 256, 600}, columns[] = {1, 31, 64, 97};
    rng += 3;
    for (size_t r = 0; r < COUNT_OF(rows); r++)
        for (size_t c = 0; c < COUNT_OF(columns); c++)
            check_bias(rows[r], columns[c], &rng);
}

TEST(nothing_to_do_is_no_failure) {
    const uint64_t launches = gpu.emulator.launches();
    gpu_do(gather, &(thr_gather_op){.n_columns = 3});
    gpu_do(gather, &(thr_gather_op){.n_bags = 3});
    gpu_do(adam, &(thr_adam_op){.n = 0});
    gpu_do(adam_rows, &(thr_adam_rows_op){.n_columns = 3});
    gpu_do(fill_rows, &(thr_fill_rows_op){.n_columns = 3});
    gpu_do(sum_rows, &(thr_sum_rows_op){.n_columns = 3});
    assert_int_equal(gpu.emulator.launches(), launches);
}
