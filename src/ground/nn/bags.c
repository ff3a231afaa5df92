/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/bags.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "parallel/pool.h"

#include <string.h>

/* Bags in a forward work item; touched rows in a backward one; columns stepped at once; floats of a cache line. */
enum { PIECE_BAGS = 64, PIECE_ROWS = 32, STEP_COLUMNS = 64, LINE = 16 };

typedef struct sums {
    const thr_kernels *kernels;
    const float *table;
    const thr_bags *bags;
    size_t n_columns;
    float *out;
} sums;

/* Sum bag i. The rows of bags up to end may be prefetched. */
static void sum_bag(const thr_kernels *kernels, const thr_bags *bags, size_t i, size_t end, const float *table,
                    size_t n_columns, float *out) {
    const size_t first = bags->offsets[i], n_rows = bags->offsets[i + 1] - first;
    const size_t n_ahead = bags->offsets[end] - bags->offsets[i + 1];
    if (bags->weights != NULL)
        kernels->gather_scaled(out, table, n_columns, bags->rows + first, bags->weights + first, n_rows, n_ahead);
    else
        kernels->gather_sum(out, table, n_columns, bags->rows + first, n_rows, n_ahead);
}

static void sum_bags(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    const sums *s = arg;
    const thr_bags *bags = s->bags;
    const size_t first = piece * PIECE_BAGS;
    const size_t end = bags->n_bags - first < PIECE_BAGS ? bags->n_bags : first + PIECE_BAGS;
    for (size_t i = first; i < end; i++)
        sum_bag(s->kernels, bags, i, end, s->table, s->n_columns, s->out + i * s->n_columns);
}

void thr_nn_bags_forward(thr_context *context, const float *table, size_t n_columns, const thr_bags *bags, float *out) {
    sums s = {context->kernels, table, bags, n_columns, out};
    thr_parallel_for(context, THR_CEIL_DIV(bags->n_bags, PIECE_BAGS), sum_bags, &s);
}

/* ------------------------------------------------------------------------------------------------ transposed */

static thr_status make_room(thr_context *context, const thr_bags *bags, size_t n_table_rows, thr_bags_transposed *t,
                            thr_error *err) {
    const size_t n_entries = bags->offsets[bags->n_bags];
    const size_t n_rows = THR_MIN(n_entries, n_table_rows), old = t->counts_capacity;
    THR_TRY(thr_grow(context, &t->rows, &t->rows_capacity, n_rows, sizeof *t->rows, "touched rows", err));
    THR_TRY(thr_grow(context, &t->offsets, &t->offsets_capacity, n_rows + 2, sizeof *t->offsets, "touched rows", err));
    THR_TRY(thr_grow(context, &t->bags, &t->bags_capacity, n_entries, sizeof *t->bags, "transposed bags", err));
    if (bags->weights != NULL)
        THR_TRY(thr_grow(context, &t->weights, &t->weights_capacity, n_entries, sizeof *t->weights, "transposed bags",
                         err));
    THR_TRY(thr_grow(context, &t->counts, &t->counts_capacity, n_table_rows, sizeof *t->counts, "counts of rows", err));
    memset(t->counts + old, 0, (t->counts_capacity - old) * sizeof *t->counts);
    return THR_OK;
}

/*
 * Counting sort. A row's count is replaced by its index among the touched rows. offsets[index + 1] is where the row's
 * next bag goes: initially the start of its list, and after all bags its end, which is the start of the next list.
 */
thr_status thr_nn_bags_transpose(thr_context *context, const thr_bags *bags, size_t n_table_rows,
                                 thr_bags_transposed *transposed, thr_error *err) {
    thr_bags_transposed *t = transposed;
    THR_TRY(make_room(context, bags, n_table_rows, t, err));
    const size_t n_entries = bags->offsets[bags->n_bags];
    for (size_t e = 0; e < n_entries; e++)
        t->counts[bags->rows[e]]++;
    size_t start = 0;
    t->n_rows = 0;
    t->offsets[0] = 0;
    t->has_weights = bags->weights != NULL;
    for (size_t row = 0; row < n_table_rows; row++) {
        if (t->counts[row] == 0)
            continue;
        t->rows[t->n_rows] = (uint32_t)row;
        t->offsets[t->n_rows + 1] = start;
        start += t->counts[row];
        t->counts[row] = (uint32_t)t->n_rows++;
    }
    for (size_t i = 0; i < bags->n_bags; i++)
        for (size_t e = bags->offsets[i]; e < bags->offsets[i + 1]; e++) {
            const size_t at = t->offsets[t->counts[bags->rows[e]] + 1]++;
            t->bags[at] = (uint32_t)i;
            if (t->has_weights)
                t->weights[at] = bags->weights[e];
        }
    for (size_t i = 0; i < t->n_rows; i++)
        t->counts[t->rows[i]] = 0;
    return THR_OK;
}

void thr_nn_bags_transposed_free(thr_context *context, thr_bags_transposed *transposed) {
    THR_RELEASE(context, transposed->rows, transposed->offsets, transposed->bags, transposed->weights,
                transposed->counts);
    *transposed = (thr_bags_transposed){0};
}

/* ------------------------------------------------------------------------------------------------ backward */

typedef struct steps {
    thr_optimiser_pass pass;
    thr_bags rows; /* the touched rows */
    const uint32_t *numbers;
    const float *d_out;
    size_t n_columns;
    float *table, *slots[2];
    uint32_t n_slots;
    float *gradients; /* n_columns a worker */
} steps;

/* Prefetch to the L2 cache: the L1 cache has no room beside the rows of the gradient. */
static void fetch(const steps *s, size_t at, size_t n) {
    enum { TO_SECOND_LEVEL = 2 };
    for (size_t c = at; c < at + n; c += LINE) {
        __builtin_prefetch(s->table + c, 1, TO_SECOND_LEVEL);
        for (uint32_t slot = 0; slot < s->n_slots; slot++)
            __builtin_prefetch(s->slots[slot] + c, 1, TO_SECOND_LEVEL);
    }
}

/*
 * Step the row at `at` and prefetch the next one's weights and state, which no cache holds: a few lines after every
 * few columns, because a processor stalls when too many are outstanding.
 */
static void step_row(const steps *s, size_t at, size_t next, const float *gradient) {
    for (size_t c = 0; c < s->n_columns; c += STEP_COLUMNS) {
        const size_t n = THR_MIN(s->n_columns - c, STEP_COLUMNS);
        float *slots[2] = {NULL, NULL};
        for (uint32_t slot = 0; slot < s->n_slots; slot++)
            slots[slot] = s->slots[slot] + at + c;
        fetch(s, next + c, n);
        thr_nn_optimiser_pass_step(&s->pass, s->table + at + c, gradient + c, slots, n);
    }
}

static void step_rows(void *arg, size_t piece, uint32_t worker) {
    const steps *s = arg;
    const size_t n = s->n_columns, first = piece * PIECE_ROWS;
    const size_t end = s->rows.n_bags - first < PIECE_ROWS ? s->rows.n_bags : first + PIECE_ROWS;
    float *gradient = s->gradients + worker * n;
    fetch(s, s->numbers[first] * n, n);
    for (size_t i = first; i < end; i++) {
        sum_bag(s->pass.kernels, &s->rows, i, end, s->d_out, n, gradient);
        step_row(s, s->numbers[i] * n, s->numbers[i + 1 < end ? i + 1 : i] * n, gradient);
    }
}

thr_status thr_nn_bags_backward(thr_context *context, const thr_bags_transposed *transposed, const float *d_out,
                                const thr_optimiser *optimiser, const thr_bags_table *table, thr_error *err) {
    steps s = {.pass = thr_nn_optimiser_start(context->kernels, optimiser),
               .rows = thr_bags_of_rows(transposed),
               .numbers = transposed->rows,
               .d_out = d_out,
               .n_columns = table->n_columns,
               .table = table->weights,
               .n_slots = thr_nn_optimiser_n_slots(optimiser->kind)};
    for (uint32_t slot = 0; slot < s.n_slots; slot++)
        s.slots[slot] = table->slots[slot];
    THR_TRY(thr_alloc(context, (size_t)context->n_threads * s.n_columns, sizeof(float), &s.gradients,
                      "gradients of rows", err));
    thr_parallel_for(context, THR_CEIL_DIV(transposed->n_rows, PIECE_ROWS), step_rows, &s);
    thr_release(context, s.gradients);
    return THR_OK;
}
