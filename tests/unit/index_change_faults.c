/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of an index on a failing machine: every allocation and every system call fails in turn, processes are killed,
 * and power is lost, so that writes that were not flushed are missing.
 */
#define _GNU_SOURCE
#include "faulty_calls.h"
#include "faulty_features.h"

#include <sys/wait.h>

static thr_error error;
static const char DIR_B[] = "index-faulty-start";
static const char DIR_A[] = "index-faulty", OLD[] = "index-faulty.old";
enum { DIMS = 8, N = 400, OPERATIONS = 24, STEP = 40 };

/* ------------------------------------------------------------------------------------------------ the changes */

/* What the index holds after a number of operations: one bit per id. */
static bool expected[OPERATIONS + 1][N + OPERATIONS * STEP];
static size_t n_expected[OPERATIONS + 1];

static thr_status add_ids(thr_context *context, const char *dir, const uint64_t *ids, uint64_t n) {
    thr_reader *reader = NULL;
    thr_index_add_options options;
    float rows[STEP * DIMS];
    for (uint64_t i = 0; i < n * DIMS; i++)
        rows[i] = value_of(ids[i / DIMS], (int)(i % DIMS));
    const thr_matrix matrix = thr_matrix_f32(rows, n, DIMS);
    thr_index_add_options_init(&options);
    options.ids = ids;
    options.n_ids = n;
    options.replace = true;
    uint64_t offsets[STEP + 1];
    uint32_t features[2 * STEP];
    const thr_item_features drawn = draw_features(ids, n, offsets, features);
    options.features = with_features ? &drawn : NULL;
    thr_status status = thr_reader_from_matrix(context, &matrix, &reader, &error);
    if (status == THR_OK)
        status = thr_index_add(context, dir, reader, &options, NULL, &error);
    thr_reader_free(reader);
    return status;
}

/* Operation number i: additions, some of which replace, removals, compactions of all kinds, and codes made anew. */
static thr_status operate(thr_context *context, const char *dir, int i) {
    uint64_t ids[STEP];
    for (uint64_t j = 0; j < STEP; j++)
        ids[j] = i % 4 == 1 ? (uint64_t)i * 7 + 3 * j : N + (uint64_t)i * STEP + j - (i % 3 == 0 ? STEP / 2 : 0);
    return i % 8 == 7   ? thr_index_compact(context, dir, NULL, &error)
           : i % 8 == 2 ? thr_index_rewrite(context, dir, NULL, &error)
           : i % 8 == 3 ? thr_index_recode(context, dir, NULL, &error)
           : i % 4 == 1 ? thr_index_remove(context, dir, ids, STEP, NULL, &error)
                        : add_ids(context, dir, ids, STEP);
}

static void make(thr_context *context) {
    float rows[N * DIMS];
    for (uint64_t i = 0; i < N * DIMS; i++)
        rows[i] = value_of(i / DIMS, (int)(i % DIMS));
    thr_index_build_options options = build_options(THR_METRIC_L2, THR_DTYPE_F32, 3);
    uint64_t offsets[N + 1];
    uint32_t features[2 * N];
    const thr_item_features drawn = draw_features(NULL, N, offsets, features);
    options.features = with_features ? &drawn : NULL;
    test_remove_directory(DIR_B);
    expect_ok(build_rows(context, DIR_B, rows, N, DIMS, &options, &error));
}

static void start_again(void) {
    test_copy_directory(DIR_B, DIR_A);
}

static void note_expected(thr_context *context, int after) {
    thr_index *index = NULL;
    uint64_t row;
    expect_ok(thr_index_open(context, DIR_A, &index, &error));
    for (uint64_t id = 0; id < N + OPERATIONS * STEP; id++) {
        expected[after][id] = thr_index_row(index, id, &row);
        n_expected[after] += expected[after][id];
    }
    assert_int_equal(thr_index_get_info(index).n_items, n_expected[after]);
    thr_index_free(index);
}

/* All operations without a fault. */
static void run_through(thr_context *context) {
    memset(n_expected, 0, sizeof n_expected);
    make(context);
    start_again();
    note_expected(context, 0);
    for (int i = 0; i < OPERATIONS; i++) {
        expect_ok(operate(context, DIR_A, i));
        note_expected(context, i + 1);
    }
}

/* Whether the index there is whole and holds what it should after so many operations. */
static bool holds(thr_context *context, int after) {
    thr_index *index = NULL;
    uint64_t row, ids[N + OPERATIONS * STEP];
    size_t n = 0;
    expect_ok(thr_index_open(context, DIR_A, &index, &error));
    expect_ok(thr_index_verify(index, &error));
    bool same = after <= OPERATIONS && thr_index_get_info(index).n_items == n_expected[after];
    for (uint64_t id = 0; same && id < N + OPERATIONS * STEP; id++) {
        same = thr_index_row(index, id, &row) == expected[after][id];
        if (expected[after][id])
            ids[n++] = id;
    }
    if (same)
        expect_items(index, ids, n, DIMS);
    thr_index_free(index);
    return same;
}

/* ------------------------------------------------------------------------------------------------ tests */

/* With features only an addition, a removal and a compaction. */
static bool is_tried(int i) {
    return !with_features || i < 3;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    run_through(context);
    for (int i = 0; i < 8; i++) {
        test_oom oom = test_oom_start(&memory);
        oom.tolerant = true; /* segments that cannot be written again wait for the next change */
        while (is_tried(i) && test_oom_next(&oom)) {
            start_again();
            test_oom_arm(&oom);
            const thr_status status = operate(context, DIR_A, i);
            (void)test_oom_check(&oom, status, &error, NULL);
            assert_true(holds(context, status == THR_OK ? i + 1 : i));
        }
        expect_ok(operate(context, DIR_B, i));
    }
    thr_context_free(context);
}

/* Let a call of operation number i fail, at a new place; false if there is none. */
static bool fail_a_call(thr_context *context, int i) {
    start_again();
    test_sites_begin(faults.sites);
    faults.at = FAIL;
    const thr_status status = operate(context, DIR_A, i);
    faults.at = NOTHING;
    if (!test_sites_end(faults.sites)) {
        expect_ok(status);
        return false;
    }
    assert_true(status == THR_OK ? holds(context, i + 1) : holds(context, i) || holds(context, i + 1));
    expect_ok(operate(context, DIR_A, i)); /* again: replaces, or removes nothing more */
    assert_true(holds(context, i + 1));
    return true;
}

/* After an error the index is as before; the next change works. A flush that failed after a rename may have been it. */
static void every_system_call_may_fail(void **state) {
    static const int WHYS[] = {EIO, ENOSPC};
    uint64_t n = 0;
    run_through(*state);
    for (int i = 0; i < 8; i++) {
        for (size_t w = 0; is_tried(i) && w < sizeof WHYS / sizeof *WHYS; w++) {
            begin_faults(WHYS[w], w, i == 0);
            while (fail_a_call(*state, i))
                n++;
        }
        expect_ok(operate(*state, DIR_B, i));
    }
    print_message("%llu calls failed\n", (unsigned long long)n);
}

/* Run all operations in a child that ends at a call; the number that it acknowledged. */
static int run_and_end(thr_context *context, outcome how, uint64_t call, uint64_t seed) {
    int fds[2], how_ended, acknowledged = 0;
    char byte;
    start_again();
    assert_int_equal(pipe(fds), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        faults.call = call;
        faults.n_calls = 0;
        faults.rng = seed;
        faults.at = how;
        n_dirty = n_renamed = 0;
        for (int i = 0; i < OPERATIONS; i++)
            if (operate(context, DIR_A, i) != THR_OK || write(fds[1], "x", 1) != 1)
                _exit(1);
        _exit(2);
    }
    (void)close(fds[1]);
    while (read(fds[0], &byte, 1) == 1)
        acknowledged++;
    (void)close(fds[0]);
    assert_int_equal(waitpid(child, &how_ended, 0), child);
    assert_true(WIFEXITED(how_ended) && WEXITSTATUS(how_ended) != 1);
    return WEXITSTATUS(how_ended) == 2 ? -1 : acknowledged;
}

/* End at many calls: acknowledged changes are there, and of the operation in progress all or nothing. */
static void end_at_calls(thr_context *context, outcome how, uint64_t most) {
    uint64_t seed = 7, n = 0;
    run_through(context);
    for (; n < most; n++) {
        const int done =
            run_and_end(context, how, 1 + thr_rng_below(&seed, with_features ? 1160 : 620), thr_rng_next(&seed));
        if (done < 0)
            continue; /* there are fewer calls */
        if (!holds(context, done) && !holds(context, done + 1))
            fail_msg("after %d operations the index holds something else", done);
        expect_ok(operate(context, DIR_A, done)); /* the next writer cleans up and goes on */
        assert_true(holds(context, done + 1));
    }
}

static uint64_t rounds(void) {
    const char *many = getenv("THR_TEST_ROUNDS");
    return many != NULL ? strtoull(many, NULL, 10) : with_features ? 15 : 60;
}

static void a_killed_writer_loses_nothing(void **state) {
    end_at_calls(*state, END, rounds());
}

static void a_power_failure_loses_nothing(void **state) {
    end_at_calls(*state, LOSE, rounds());
}

static int setup(void **state) {
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int teardown(void **state) {
    thr_context_free(*state);
    test_remove_directory(DIR_A);
    test_remove_directory(DIR_B);
    (void)unlink(OLD);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_system_call_may_fail),
        cmocka_unit_test(a_killed_writer_loses_nothing),
        cmocka_unit_test(a_power_failure_loses_nothing),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, begin_features, end_features),
        cmocka_unit_test_setup_teardown(every_system_call_may_fail, begin_features, end_features),
        cmocka_unit_test_setup_teardown(a_killed_writer_loses_nothing, begin_features, end_features),
        cmocka_unit_test_setup_teardown(a_power_failure_loses_nothing, begin_features, end_features),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
