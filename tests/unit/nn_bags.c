/* SPDX-License-Identifier: Apache-2.0 */
/* nn_bags.c - sums of rows, the transposed bags, and steps of touched rows, beside naive models. */
#include "nn/bags.h"

#include "nn_support.h"

enum { TABLE_ROWS = 50, MOST_BAGS = 300, MOST_ENTRIES = 12 };

typedef struct problem {
    size_t n_columns;
    thr_bags bags;
    size_t offsets[MOST_BAGS + 1];
    uint32_t rows[MOST_BAGS * MOST_ENTRIES];
    float *table, *slots[2], *d_out;
    thr_optimiser optimiser;
    float *out, *stepped, *stepped_slots[2]; /* what is right */
} problem;

/* Rows near 0 are in many bags, some of the last ones in none; a row may be in a bag twice. */
static problem *make_problem(size_t n_bags, size_t n_columns, thr_optimiser_kind kind, uint64_t *rng) {
    problem *p = test_array(1, sizeof *p);
    p->n_columns = n_columns;
    for (size_t i = 0; i < n_bags; i++) {
        const size_t n = (size_t)thr_rng_below(rng, MOST_ENTRIES + 1);
        p->offsets[i + 1] = p->offsets[i] + n;
        for (size_t e = p->offsets[i]; e < p->offsets[i + 1]; e++)
            p->rows[e] = (uint32_t)thr_rng_below(rng, 1 + thr_rng_below(rng, TABLE_ROWS - 2));
    }
    p->bags = (thr_bags){n_bags, p->offsets, p->rows};
    p->table = nn_normal(rng, TABLE_ROWS * n_columns);
    p->slots[0] = nn_normal(rng, TABLE_ROWS * n_columns);
    p->slots[1] = nn_normal(rng, TABLE_ROWS * n_columns);
    for (size_t i = 0; i < TABLE_ROWS * n_columns; i++)
        p->slots[1][i] *= p->slots[1][i];
    p->d_out = nn_normal(rng, n_bags * n_columns);
    thr_optimiser_init(&p->optimiser, kind);
    p->optimiser.step = 3;
    p->optimiser.gradient_scale = 0.5f;
    return p;
}

static void free_problem(problem *p) {
    float *const all[] = {p->table, p->slots[0], p->slots[1],         p->d_out,
                          p->out,   p->stepped,  p->stepped_slots[0], p->stepped_slots[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(p);
}

static void solve_naively(problem *p) {
    const size_t n = p->n_columns;
    p->out = test_array(p->bags.n_bags * n + 1, sizeof(float));
    float *gradient = test_array(TABLE_ROWS * n, sizeof *gradient);
    bool touched[TABLE_ROWS] = {false};
    for (size_t i = 0; i < p->bags.n_bags; i++)
        for (size_t e = p->offsets[i]; e < p->offsets[i + 1]; e++)
            for (size_t c = 0; c < n; c++) {
                p->out[i * n + c] += p->table[p->rows[e] * n + c];
                gradient[p->rows[e] * n + c] += p->d_out[i * n + c];
                touched[p->rows[e]] = true;
            }
    p->stepped = nn_copy(p->table, TABLE_ROWS * n);
    p->stepped_slots[0] = nn_copy(p->slots[0], TABLE_ROWS * n);
    p->stepped_slots[1] = nn_copy(p->slots[1], TABLE_ROWS * n);
    for (size_t row = 0; row < TABLE_ROWS; row++) {
        float *const slots[2] = {p->stepped_slots[0] + row * n, p->stepped_slots[1] + row * n};
        if (touched[row])
            thr_optimiser_step(thr_kernels_get(THR_ISA_SCALAR), &p->optimiser, p->stepped + row * n, gradient + row * n,
                               slots, n);
    }
    free(gradient);
}

static void check_problem(thr_context *context, void *arg) {
    const problem *p = arg;
    const size_t n = p->n_columns;
    float *out = nn_normal(&(uint64_t){1}, p->bags.n_bags * n), *table = nn_copy(p->table, TABLE_ROWS * n);
    float *slots[2] = {nn_copy(p->slots[0], TABLE_ROWS * n), nn_copy(p->slots[1], TABLE_ROWS * n)};
    thr_bags_transposed transposed = {0};
    thr_error err = {0};
    thr_bags_forward(context, table, n, &p->bags, out);
    assert_same_floats(out, p->out, p->bags.n_bags * n, "forward, %zu bags x %zu", p->bags.n_bags, n);
    for (int times = 0; times < 2; times++) /* the second one finds the memory of the first */
        assert_ok(thr_bags_transpose(context, &p->bags, TABLE_ROWS, &transposed, &err), &err);
    assert_ok(thr_bags_backward(context, &transposed, p->d_out, n, &p->optimiser, table, slots, &err), &err);
    assert_same_floats(table, p->stepped, TABLE_ROWS * n, "table, %zu bags x %zu", p->bags.n_bags, n);
    assert_same_floats(slots[0], p->stepped_slots[0], TABLE_ROWS * n, "first slot");
    assert_same_floats(slots[1], p->stepped_slots[1], TABLE_ROWS * n, "second slot");
    thr_bags_transposed_free(context, &transposed);
    free(out);
    free(table);
    free(slots[0]);
    free(slots[1]);
}

static void sums_and_steps_are_the_naive_ones(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    const size_t columns[] = {1, 15, 64, 100, 288}, bags[] = {0, 1, 2, 63, 64, 65, 200, MOST_BAGS};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (size_t b = 0; b < sizeof bags / sizeof *bags; b++) {
            problem *p = make_problem(bags[b], columns[c], (thr_optimiser_kind)((c + b) % 3), &rng);
            solve_naively(p);
            nn_each_context(check_problem, p);
            free_problem(p);
        }
}

static void bags_seen_from_the_rows_hold_the_same_entries(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    thr_context *context = test_context(1, THR_ISA_BEST, NULL);
    thr_bags_transposed t = {0};
    thr_error err = {0};
    for (int round = 0; round < 50; round++) {
        problem *p = make_problem((size_t)thr_rng_below(&rng, MOST_BAGS), 1, THR_OPTIMISER_SGD, &rng);
        assert_ok(thr_bags_transpose(context, &p->bags, TABLE_ROWS, &t, &err), &err);
        assert_int_equal(t.offsets[t.n_rows], p->offsets[p->bags.n_bags]);
        for (size_t i = 0; i < t.n_rows; i++) {
            assert_true(i == 0 || t.rows[i] > t.rows[i - 1]);
            size_t at = t.offsets[i];
            assert_true(at < t.offsets[i + 1]);
            for (size_t b = 0; b < p->bags.n_bags; b++)
                for (size_t e = p->offsets[b]; e < p->offsets[b + 1]; e++)
                    if (p->rows[e] == t.rows[i])
                        assert_int_equal(t.bags[at++], b);
            assert_int_equal(at, t.offsets[i + 1]);
        }
        for (size_t row = 0; row < TABLE_ROWS; row++)
            assert_int_equal(t.counts[row], 0);
        free_problem(p);
    }
    thr_bags_transposed_free(context, &t);
    thr_context_free(context);
}

static void a_sum_is_the_same_in_every_batch(void **state) {
    (void)state;
    enum { COLUMNS = 130 };
    uint64_t rng = test_seed();
    thr_context *context = test_context(2, THR_ISA_BEST, NULL);
    problem *p = make_problem(MOST_BAGS, COLUMNS, THR_OPTIMISER_SGD, &rng);
    solve_naively(p);
    float *out = test_array(MOST_BAGS * COLUMNS, sizeof *out);
    for (size_t i = 0; i < MOST_BAGS; i++) {
        const size_t offsets[2] = {0, p->offsets[i + 1] - p->offsets[i]};
        const thr_bags one = {1, offsets, p->rows + p->offsets[i]};
        thr_bags_forward(context, p->table, COLUMNS, &one, out + i * COLUMNS);
    }
    assert_same_floats(out, p->out, MOST_BAGS * COLUMNS, "one by one");
    free(out);
    free_problem(p);
    thr_context_free(context);
}

/* Without memory nothing is stepped, and what a transposition had stays usable. */
static void every_failing_allocation_is_told(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    problem *small = make_problem(3, 20, THR_OPTIMISER_SGD, &rng), *p = make_problem(100, 20, THR_OPTIMISER_SGD, &rng);
    solve_naively(p);
    thr_bags_transposed t = {0};
    thr_error err = {0};
    assert_ok(thr_bags_transpose(context, &small->bags, TABLE_ROWS, &t, &err), &err);
    thr_status status = THR_ENOMEM;
    for (size_t fail = 1; status != THR_OK; fail++) {
        memory.fail_at = memory.calls + fail;
        float *table = nn_copy(p->table, TABLE_ROWS * 20);
        status = thr_bags_transpose(context, &p->bags, TABLE_ROWS, &t, &err);
        if (status == THR_OK)
            status = thr_bags_backward(context, &t, p->d_out, 20, &p->optimiser, table, p->slots, &err);
        memory.fail_at = 0;
        if (status != THR_OK)
            assert_error(status, THR_ENOMEM, &err, "no memory for");
        assert_memory_equal(table, status == THR_OK ? p->stepped : p->table, TABLE_ROWS * 20 * sizeof *table);
        free(table);
    }
    thr_bags_transposed_free(context, &t);
    free_problem(p);
    free_problem(small);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_steps_are_the_naive_ones),
        cmocka_unit_test(bags_seen_from_the_rows_hold_the_same_entries),
        cmocka_unit_test(a_sum_is_the_same_in_every_batch),
        cmocka_unit_test(every_failing_allocation_is_told),
    };
    return test_run_group(tests);
}
