/* SPDX-License-Identifier: Apache-2.0 */
/* nn_bags.c - sums of rows, the transposed bags, and steps of touched rows, beside naive models. */
#include "nn_bags_support.h"

typedef struct problem {
    nn_bags *given;
    float *weights; /* of the rows in bags, NULL: none */
    thr_optimiser optimiser;
    float *out, *stepped, *stepped_slots[2]; /* expected; NULL until computed */
} problem;

static problem make_problem(size_t n_bags, size_t n_columns, thr_optimiser_kind kind, uint64_t *rng) {
    problem p = {.given = nn_make_bags(n_bags, n_columns, rng)};
    thr_nn_optimiser_init(&p.optimiser, kind);
    p.optimiser.step = 3;
    p.optimiser.gradient_scale = 0.5f;
    return p;
}

static void give_weights(problem *p, uint64_t *rng) {
    p->given->bags.weights = p->weights = nn_normal(rng, NN_MOST_BAGS * NN_MOST_ENTRIES);
}

static void solve_naively(problem *p) {
    const nn_bags *b = p->given;
    const size_t n = b->n_columns;
    p->out = test_new(b->bags.n_bags * n + 1, sizeof(float));
    float *gradient = test_new(NN_TABLE_ROWS * n, sizeof *gradient);
    bool touched[NN_TABLE_ROWS] = {false};
    for (size_t i = 0; i < b->bags.n_bags; i++)
        for (size_t e = b->offsets[i]; e < b->offsets[i + 1]; e++)
            for (size_t c = 0; c < n; c++) {
                const float weight = p->weights != NULL ? p->weights[e] : 1.0f;
                const float number = weight * b->table[b->rows[e] * n + c];
                p->out[i * n + c] = e == b->offsets[i] ? number : p->out[i * n + c] + number; /* -0 stays -0 */
                gradient[b->rows[e] * n + c] += weight * b->d_out[i * n + c];
                touched[b->rows[e]] = true;
            }
    p->stepped = nn_copy(b->table, NN_TABLE_ROWS * n);
    p->stepped_slots[0] = nn_copy(b->slots[0], NN_TABLE_ROWS * n);
    p->stepped_slots[1] = nn_copy(b->slots[1], NN_TABLE_ROWS * n);
    for (size_t row = 0; row < NN_TABLE_ROWS; row++) {
        float *const slots[2] = {p->stepped_slots[0] + row * n, p->stepped_slots[1] + row * n};
        if (touched[row])
            thr_nn_optimiser_step(thr_kernels_get(THR_ISA_SCALAR), &p->optimiser, p->stepped + row * n,
                                  gradient + row * n, slots, n);
    }
}

static void check_problem(thr_context *context, void *arg) {
    const problem *p = arg;
    const nn_bags *b = p->given;
    const size_t n = b->n_columns;
    float *out = nn_normal(&(uint64_t){1}, b->bags.n_bags * n), *table = nn_copy(b->table, NN_TABLE_ROWS * n);
    float *slots[2] = {nn_copy(b->slots[0], NN_TABLE_ROWS * n), nn_copy(b->slots[1], NN_TABLE_ROWS * n)};
    thr_bags_transposed transposed = {0};
    thr_nn_bags_forward(context, table, n, &b->bags, out);
    assert_same_floats(out, p->out, b->bags.n_bags * n, "forward, %zu bags x %zu", b->bags.n_bags, n);
    for (int times = 0; times < 2; times++) /* the second one finds the memory of the first */
        expect_ok(thr_nn_bags_transpose(context, &b->bags, NN_TABLE_ROWS, &transposed, &err));
    expect_ok(
        thr_nn_bags_backward(context, &transposed, b->d_out, &p->optimiser, &(thr_bags_table){table, slots, n}, &err));
    assert_same_floats(table, p->stepped, NN_TABLE_ROWS * n, "table, %zu bags x %zu", b->bags.n_bags, n);
    assert_same_floats(slots[0], p->stepped_slots[0], NN_TABLE_ROWS * n, "first slot");
    assert_same_floats(slots[1], p->stepped_slots[1], NN_TABLE_ROWS * n, "second slot");
    thr_nn_bags_transposed_free(context, &transposed);
}

RANDOM_TEST(sums_and_steps_are_the_naive_ones) {
    const size_t columns[] = {1, 15, 64, 100, 288}, bags[] = {0, 1, 2, 63, 64, 65, 200, NN_MOST_BAGS};
    for (size_t c = 0; c < COUNT_OF(columns); c++)
        for (size_t b = 0; b < COUNT_OF(bags); b++) {
            problem p = make_problem(bags[b], columns[c], (thr_optimiser_kind)((c + b) % 3), &rng);
            if (b % 2 == 1)
                give_weights(&p, &rng);
            solve_naively(&p);
            nn_each_context(check_problem, &p);
        }
}

RANDOM_TEST(bags_seen_from_the_rows_hold_the_same_entries) {
    thr_context *context = test_new_context(1);
    thr_bags_transposed t = {0};
    for (int round = 0; round < 50; round++) {
        nn_bags *b = nn_make_bags((size_t)thr_rng_below(&rng, NN_MOST_BAGS), 1, &rng);
        expect_ok(thr_nn_bags_transpose(context, &b->bags, NN_TABLE_ROWS, &t, &err));
        assert_int_equal(t.offsets[t.n_rows], b->offsets[b->bags.n_bags]);
        for (size_t i = 0; i < t.n_rows; i++) {
            assert_true(i == 0 || t.rows[i] > t.rows[i - 1]);
            size_t at = t.offsets[i];
            assert_true(at < t.offsets[i + 1]);
            for (size_t bag = 0; bag < b->bags.n_bags; bag++)
                for (size_t e = b->offsets[bag]; e < b->offsets[bag + 1]; e++)
                    if (b->rows[e] == t.rows[i])
                        assert_int_equal(t.bags[at++], bag);
            assert_int_equal(at, t.offsets[i + 1]);
        }
        for (size_t row = 0; row < NN_TABLE_ROWS; row++)
            assert_int_equal(t.counts[row], 0);
    }
    thr_nn_bags_transposed_free(context, &t);
}

RANDOM_TEST(a_sum_is_the_same_in_every_batch) {
    enum { COLUMNS = 130 };
    thr_context *context = test_new_context(2);
    problem p = make_problem(NN_MOST_BAGS, COLUMNS, THR_OPTIMISER_SGD, &rng);
    const nn_bags *b = p.given;
    solve_naively(&p);
    float *out = test_new(NN_MOST_BAGS * COLUMNS, sizeof *out);
    for (size_t i = 0; i < NN_MOST_BAGS; i++) {
        const size_t offsets[2] = {0, b->offsets[i + 1] - b->offsets[i]};
        const thr_bags one = {.n_bags = 1, .offsets = offsets, .rows = b->rows + b->offsets[i]};
        thr_nn_bags_forward(context, b->table, COLUMNS, &one, out + i * COLUMNS);
    }
    assert_same_floats(out, p.out, NN_MOST_BAGS * COLUMNS, "one by one");
}

/* Without memory nothing is stepped, and what a transposition had stays usable. */
RANDOM_TEST(every_failing_allocation_is_enomem) {
    test_memory memory = {0};
    thr_context *context = test_context(2, THR_ISA_BEST, &memory);
    nn_bags *small = nn_make_bags(3, 20, &rng);
    problem p = make_problem(100, 20, THR_OPTIMISER_SGD, &rng);
    const nn_bags *b = p.given;
    give_weights(&p, &rng);
    solve_naively(&p);
    thr_bags_transposed t = {0};
    expect_ok(thr_nn_bags_transpose(context, &small->bags, NN_TABLE_ROWS, &t, &err));
    test_oom oom = test_oom_start(&memory);
    oom.keeps = true; /* the arrays of t grow */
    while (test_oom_next(&oom)) {
        float *table = nn_copy(b->table, NN_TABLE_ROWS * 20);
        test_oom_arm(&oom);
        thr_status status = thr_nn_bags_transpose(context, &b->bags, NN_TABLE_ROWS, &t, &err);
        if (status == THR_OK)
            status =
                thr_nn_bags_backward(context, &t, b->d_out, &p.optimiser, &(thr_bags_table){table, b->slots, 20}, &err);
        (void)test_oom_check(&oom, status, &err, "no memory for");
        assert_memory_equal(table, status == THR_OK ? p.stepped : b->table, NN_TABLE_ROWS * 20 * sizeof *table);
    }
    thr_nn_bags_transposed_free(context, &t);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}
