/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernels of layers.h. */
#include "kcheck.h"

#include <string.h>

/* Timed: numbers as layers have them, without products that underflow, which take longer. */
static float *some(kcheck *check, size_t n) {
    float *values = kcheck_buffer(check, n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = kcheck_timed(check) ? (float)kcheck_below(check, 1001) * 0.01f - 5.0f : kcheck_float(check);
    return values;
}

/* ------------------------------------------------------------------------------------------------- matmul */

typedef struct product_input {
    thr_product product;
    const float *start; /* C before the call, gaps included */
    size_t c_size;
} product_input;

static void run_matmul(const thr_kernels *kernels, void *out, void *arg) {
    const product_input *in = arg;
    thr_product product = in->product;
    product.c = memcpy(out, in->start, in->c_size * sizeof(float));
    kernels->matmul(&product);
}

/* An item is one multiplication and one addition. */
static void check_product(kcheck *check, size_t n_rows, size_t n_columns, size_t n_inner, bool transposed) {
    const size_t gap = kcheck_timed(check) ? 0 : kcheck_below(check, 5);
    product_input in = {.product = {.n_rows = n_rows, .n_columns = n_columns, .n_inner = n_inner}};
    thr_product *p = &in.product;
    p->c_row = p->b_row = n_columns + gap;
    p->a_row = transposed ? 1 : n_inner + gap;
    p->a_step = transposed ? n_rows + gap : 1;
    in.c_size = n_rows == 0 || n_columns == 0 ? 0 : (n_rows - 1) * p->c_row + n_columns;
    in.start = some(check, in.c_size);
    p->a = some(check, n_rows == 0 || n_inner == 0 ? 0 : (n_rows - 1) * p->a_row + (n_inner - 1) * p->a_step + 1);
    p->b = some(check, n_columns == 0 || n_inner == 0 ? 0 : (n_inner - 1) * p->b_row + n_columns);
    kcheck_call(check, run_matmul, &in, in.c_size * sizeof(float), n_rows * n_columns * n_inner,
                (n_rows * (n_columns + n_inner) + n_columns * n_inner) * sizeof(float), "%zux%zux%zu%s", n_rows,
                n_inner, n_columns, transposed ? ", A transposed" : "");
}

void check_matmul(kcheck *check) {
    if (kcheck_timed(check)) {
        check_product(check, 1024, 64, 288, false);
        check_product(check, 1024, 288, 64, false);
        check_product(check, 288, 64, 1024, true);
        check_product(check, 1024, 64, 64, false);
        check_product(check, 1024, 864, 288, false);
        check_product(check, 1024, 1024, 64, false);
        check_product(check, 12, 21, 64, false);
        check_product(check, 1, 64, 288, false);
        return;
    }
    const bool deep = kcheck_below(check, 8) == 0;
    const size_t n_rows = kcheck_below(check, 30), n_columns = kcheck_below(check, 150);
    check_product(check, n_rows, n_columns, kcheck_below(check, deep ? 400 : 20), kcheck_below(check, 2) == 0);
}

/* ------------------------------------------------------------------------------------------------- tanh, exp */

typedef struct map_input {
    const float *in;
    size_t n;
    bool in_place;
} map_input;

static void run_map(const map_input *in, thr_map_kernel map, void *out) {
    if (in->in_place)
        memcpy(out, in->in, in->n * sizeof(float));
    map(out, in->in_place ? out : in->in, in->n);
}

static void run_tanh(const thr_kernels *kernels, void *out, void *arg) {
    run_map(arg, kernels->tanh_f32, out);
}

static void run_exp(const thr_kernels *kernels, void *out, void *arg) {
    run_map(arg, kernels->exp_f32, out);
}

/* Any bits at all are among the values: subnormals, infinities, NaNs. */
static void check_map(kcheck *check, kcheck_run run) {
    const size_t n = kcheck_timed(check) ? 4096 : kcheck_below(check, 140);
    float *values = some(check, n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)kcheck_random(check);
        if (!kcheck_timed(check) && kcheck_below(check, 2) == 0)
            memcpy(&values[i], &bits, sizeof bits);
        else if (!kcheck_timed(check))
            values[i] *= 4.0f;
    }
    map_input in = {values, n, !kcheck_timed(check) && kcheck_below(check, 2) == 0};
    kcheck_call(check, run, &in, n * sizeof(float), n, n * sizeof(float), "%zu floats", n);
}

void check_tanh_f32(kcheck *check) {
    check_map(check, run_tanh);
}

void check_exp_f32(kcheck *check) {
    check_map(check, run_exp);
}

/* ------------------------------------------------------------------------------------------- rows and windows */

typedef struct gather_input {
    const float *table, *bias, *weights;
    const uint32_t *rows;
    size_t n_columns, n_rows, n_ahead, n_sums;
} gather_input;

static uint32_t *some_rows(kcheck *check, size_t n, uint32_t n_table_rows) {
    uint32_t *rows = kcheck_buffer(check, n * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = kcheck_below(check, n_table_rows);
    return rows;
}

static void run_gather_sum(const thr_kernels *kernels, void *out, void *arg) {
    const gather_input *in = arg;
    for (size_t i = 0; i < in->n_sums; i++)
        kernels->gather_sum((float *)out + i * in->n_columns, in->table, in->n_columns, in->rows + i * in->n_rows,
                            in->n_rows, i + 1 < in->n_sums ? (in->n_sums - 1 - i) * in->n_rows : in->n_ahead);
}

static void run_gather_scaled(const thr_kernels *kernels, void *out, void *arg) {
    const gather_input *in = arg;
    for (size_t i = 0; i < in->n_sums; i++)
        kernels->gather_scaled((float *)out + i * in->n_columns, in->table, in->n_columns, in->rows + i * in->n_rows,
                               in->weights + i * in->n_rows, in->n_rows,
                               i + 1 < in->n_sums ? (in->n_sums - 1 - i) * in->n_rows : in->n_ahead);
}

/* Timed: bags of 7 rows, first of a table that the second level cache holds, then of one in memory. */
static void check_gather(kcheck *check, kcheck_run run, uint32_t n_table_rows, size_t n_columns, size_t n_sums) {
    gather_input in = {.n_columns = n_columns, .n_sums = n_sums};
    in.n_rows = kcheck_timed(check) ? 7 : kcheck_below(check, 30);
    in.n_ahead = kcheck_timed(check) ? 0 : kcheck_below(check, 20);
    in.table = kcheck_timed(check) ? kcheck_buffer(check, n_table_rows * n_columns * sizeof(float))
                                   : some(check, n_table_rows * n_columns);
    if (kcheck_timed(check)) /* pages of their own, and numbers that take no time to make */
        memset((void *)(uintptr_t)in.table, 1, n_table_rows * n_columns * sizeof(float));
    in.rows = some_rows(check, in.n_sums * in.n_rows + in.n_ahead, n_table_rows);
    in.weights = some(check, in.n_sums * in.n_rows);
    kcheck_call(check, run, &in, n_sums * n_columns * sizeof(float), n_sums * in.n_rows,
                n_sums * in.n_rows * n_columns * sizeof(float), "%zu x %zu of %u x %zu", n_sums, in.n_rows,
                n_table_rows, n_columns);
}

void check_gather_sum(kcheck *check) {
    if (kcheck_timed(check)) {
        check_gather(check, run_gather_sum, 128, 864, 500);
        check_gather(check, run_gather_sum, 49292, 864, 4000);
    } else {
        check_gather(check, run_gather_sum, 1 + kcheck_below(check, 20), kcheck_below(check, 150),
                     1 + kcheck_below(check, 3));
    }
}

void check_gather_scaled(kcheck *check) {
    if (kcheck_timed(check)) {
        check_gather(check, run_gather_scaled, 1000, 96, 500);
        check_gather(check, run_gather_scaled, 12000, 96, 4000);
        check_gather(check, run_gather_scaled, 24000, 32, 4000);
    } else {
        check_gather(check, run_gather_scaled, 1 + kcheck_below(check, 20), kcheck_below(check, 150),
                     1 + kcheck_below(check, 3));
    }
}

static void run_window_max(const thr_kernels *kernels, void *out, void *arg) {
    const gather_input *in = arg;
    float *best = out;
    uint16_t *where = (uint16_t *)(best + in->n_columns);
    kernels->window_max(best, where, in->table, in->rows, in->n_rows, in->bias, in->n_columns);
}

void check_window_max(kcheck *check) {
    const bool timed = kcheck_timed(check);
    const uint32_t n_words = timed ? 40 : 1 + kcheck_below(check, 5);
    gather_input in = {.n_columns = timed ? 288 : kcheck_below(check, 100)};
    in.n_rows = timed ? 5 : 1 + kcheck_below(check, 9);
    in.table = some(check, (size_t)n_words * 3 * in.n_columns);
    in.bias = some(check, in.n_columns);
    in.rows = some_rows(check, in.n_rows, n_words);
    /* best, then where, in whole floats: what follows an odd where must stay as it is. */
    kcheck_call(check, run_window_max, &in, (in.n_columns + (in.n_columns + 1) / 2) * sizeof(float), in.n_rows,
                in.n_rows * 3 * in.n_columns * sizeof(float), "%zu words x %zu", in.n_rows, in.n_columns);
}

typedef struct where_input {
    const float *start, *in;
    const uint16_t *where;
    size_t n;
} where_input;

static void run_add_where(const thr_kernels *kernels, void *out, void *arg) {
    const where_input *in = arg;
    memcpy(out, in->start, in->n * sizeof(float));
    kernels->add_where(out, in->in, in->where, 1, in->n);
}

void check_add_where(kcheck *check) {
    where_input in = {.n = kcheck_timed(check) ? 288 : kcheck_below(check, 100)};
    in.start = some(check, in.n);
    in.in = some(check, in.n);
    uint16_t *where = kcheck_buffer(check, in.n * sizeof *where);
    for (size_t i = 0; i < in.n; i++)
        where[i] = (uint16_t)kcheck_below(check, 4);
    in.where = where;
    kcheck_call(check, run_add_where, &in, in.n * sizeof(float), in.n, in.n * 10, "%zu floats", in.n);
}

/* ------------------------------------------------------------------------------------------------- pairs */

typedef struct pairs_input {
    const float *scores, *weights;
    size_t n;
    float score;
} pairs_input;

static void run_logistic_pairs(const thr_kernels *kernels, void *out, void *arg) {
    const pairs_input *in = arg;
    float *losses = out;
    kernels->logistic_pairs(losses, losses + in->n, in->scores, in->weights, in->n, in->score);
}

void check_logistic_pairs(kcheck *check) {
    pairs_input in = {.n = kcheck_timed(check) ? 29 : kcheck_below(check, 100)};
    in.scores = some(check, in.n);
    in.weights = some(check, in.n);
    in.score = *some(check, 1);
    kcheck_call(check, run_logistic_pairs, &in, 2 * in.n * sizeof(float), in.n, 4 * in.n * sizeof(float), "%zu pairs",
                in.n);
}

/* ------------------------------------------------------------------------------------------------- optimisers */

typedef struct step_input {
    const float *start, *gradient; /* start: the weights and two numbers of state each */
    size_t n;
    thr_adam_step adam;
    thr_ftrl_step ftrl;
} step_input;

static void run_adam_step(const thr_kernels *kernels, void *out, void *arg) {
    const step_input *in = arg;
    float *w = memcpy(out, in->start, 3 * in->n * sizeof(float));
    kernels->adam_step(w, w + in->n, w + 2 * in->n, in->gradient, in->n, &in->adam);
}

static void run_ftrl_step(const thr_kernels *kernels, void *out, void *arg) {
    const step_input *in = arg;
    float *w = memcpy(out, in->start, 3 * in->n * sizeof(float));
    kernels->ftrl_step(w, w + in->n, w + 2 * in->n, in->gradient, in->n, &in->ftrl);
}

/* The third number, a sum of squares, is never negative. */
static void check_step(kcheck *check, kcheck_run run) {
    step_input in = {.n = kcheck_timed(check) ? 864 : kcheck_below(check, 100),
                     .adam = {0.5f, 0.9f, 0.1f, 0.999f, 0.001f, 0.01f, 1.5f, 1e-8f, 0.999f},
                     .ftrl = {0.5f, 0.1f, 1.0f, 0.3f, 0.01f}};
    float *start = some(check, 3 * in.n);
    for (size_t i = 2 * in.n; i < 3 * in.n; i++)
        start[i] *= start[i];
    in.start = start;
    in.gradient = some(check, in.n);
    kcheck_call(check, run, &in, 3 * in.n * sizeof(float), in.n, 4 * in.n * sizeof(float), "%zu floats", in.n);
}

void check_adam_step(kcheck *check) {
    check_step(check, run_adam_step);
}

void check_ftrl_step(kcheck *check) {
    check_step(check, run_ftrl_step);
}
