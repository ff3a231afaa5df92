/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faulty_changes.h - a sequence of operations on an index, which every allocation and every system call lets fail in
 * turn, which ends at many calls with the process, and which loses with the power what was not flushed. After each
 * fault the index is whole and holds what was acknowledged.
 *
 * The includer defines what faulty_calls.h needs, DIR_B, where the index begins, and the two functions below.
 */
#pragma once

#include "faulty_calls.h"

#include <sys/wait.h>

static const char DIR_B[];
enum { DIMS = 8, N = 512, OPERATIONS = 24, STEP = 40 };

/* Operation number i on the index in dir; repeated, it changes nothing more. */
static thr_status operate(thr_context *context, const char *dir, int i);

/* What stays open between operations is closed. */
static void end_operations(void);

/* How many runs end at a call by default. THR_TEST_ROUNDS=N: N runs, and every call fails, not only every place. */
#ifdef THR_SANITIZED
enum { ROUNDS = 10, WITH_FEATURES = 2 };
#else
enum { ROUNDS = 60, WITH_FEATURES = 8 };
#endif

/* ------------------------------------------------------------------------------------------------ items */

/* In an index with features, each item has two, which follow from its id. */
static bool with_features;

static void features_of(uint64_t id, uint32_t features[2]) {
    features[0] = (uint32_t)(id % 23);
    features[1] = 100 + (uint32_t)(id % 7);
}

/* Features of n items, numbered from 0 if ids is NULL. offsets has room for n + 1 numbers, features for 2 n. */
static thr_item_features draw_features(const uint64_t *ids, uint64_t n, uint64_t *offsets, uint32_t *features) {
    for (uint64_t i = 0; i < n; i++)
        features_of(ids == NULL ? i : ids[i], features + 2 * i);
    for (uint64_t i = 0; i <= n; i++)
        offsets[i] = 2 * i;
    return (thr_item_features){offsets, features, n};
}

/* The item has its features. One item of eight is also asked for all others, which it does not have. */
static void expect_features(thr_index *index, uint64_t id) {
    enum { ALL = 107 };
    uint32_t features[ALL], own[2];
    float shares[ALL] = {0};
    const uint64_t ends[] = {0, id % 8 == 0 ? ALL : 2};
    const thr_hits_queries all = {1, ends, features, NULL};
    features_of(id, own);
    for (uint32_t f = 0; f < ends[1]; f++)
        features[f] = ends[1] == 2 ? own[f] : f;
    expect_ok(thr_hits_explain(thr_index_hits(index), id, &all, 0, shares, NULL, &err));
    for (uint32_t f = 0; f < ends[1]; f++)
        assert_true((shares[f] != 0) == (features[f] == own[0] || features[f] == own[1]));
}

static float value_of(uint64_t id, int d) {
    return (float)((id * 31 + (uint64_t)d * 17) % 101) / 50 - 1;
}

/* The items have the vectors that follow from their ids, and with_features their features. */
static void expect_items(thr_index *index, const uint64_t *ids, size_t n, int n_dims) {
    float *vectors = test_new(n * (size_t)n_dims, sizeof *vectors);
    expect_ok(thr_index_vectors(index, ids, n, vectors, &err));
    for (size_t i = 0; i < n; i++) {
        for (int d = 0; d < n_dims; d++)
            assert_true(vectors[i * (size_t)n_dims + (size_t)d] == value_of(ids[i], d));
        if (with_features)
            expect_features(index, ids[i]);
    }
}

/* Items of operation i, some of which replace others, or exist if they are to be removed. */
static bool removes_items(int i) {
    return i % 4 == 1;
}

static void items_of(int i, uint64_t ids[STEP], float rows[STEP * DIMS]) {
    for (uint64_t j = 0; j < STEP; j++)
        ids[j] = removes_items(i) ? (uint64_t)i * 7 + 3 * j : N + (uint64_t)i * STEP + j - (i % 3 == 0 ? STEP / 2 : 0);
    for (uint64_t j = 0; j < STEP * DIMS; j++)
        rows[j] = value_of(ids[j / DIMS], (int)(j % DIMS));
}

/* Options that add them with their features, or replace them; valid until the next call. */
static thr_index_add_options options_of(const uint64_t ids[STEP]) {
    static uint64_t offsets[STEP + 1];
    static uint32_t features[2 * STEP];
    static thr_item_features drawn;
    thr_index_add_options options = {0};
    drawn = draw_features(ids, STEP, offsets, features);
    options.ids = ids;
    options.n_ids = STEP;
    options.replace = true;
    options.features = with_features ? &drawn : NULL;
    return options;
}

/* ------------------------------------------------------------------------------------------------ operations */

/* What the index holds after a number of operations: one bit per id. */
static bool expected[OPERATIONS + 1][N + OPERATIONS * STEP];
static size_t n_expected[OPERATIONS + 1];
static uint64_t n_changes; /* calls that change files, of all operations */

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
    expect_ok(build_rows(context, DIR_B, rows, N, DIMS, &options, &err));
}

static void start_again(void) {
    end_operations();
    test_copy_directory(DIR_B, DIR_A);
}

static uint64_t rounds(uint64_t by_default) {
    const char *many = getenv("THR_TEST_ROUNDS");
    return many != NULL ? strtoull(many, NULL, 10) : with_features ? by_default / WITH_FEATURES : by_default;
}

static void note_expected(thr_context *context, int after) {
    uint64_t row;
    OWNED(thr_index, index) = test_index_open(context, DIR_A);
    for (uint64_t id = 0; id < N + OPERATIONS * STEP; id++) {
        expected[after][id] = thr_index_row(index, id, &row);
        n_expected[after] += expected[after][id];
    }
    assert_int_equal(thr_index_get_info(index).n_items, n_expected[after]);
}

/* All operations without a fault. */
static void run_through(thr_context *context) {
    memset(n_expected, 0, sizeof n_expected);
    make(context);
    start_again();
    note_expected(context, 0);
    faults.call = UINT64_MAX; /* counted, and none fails */
    faults.n_calls = 0;
    faults.at = END;
    for (int i = 0; i < OPERATIONS; i++) {
        expect_ok(operate(context, DIR_A, i));
        note_expected(context, i + 1);
    }
    end_operations();
    faults.at = NOTHING;
    n_changes = faults.n_calls;
}

/* Whether the index there is whole and holds what it should after so many operations. */
static bool holds(thr_context *context, int after) {
    thr_index *index = NULL;
    uint64_t row, ids[N + OPERATIONS * STEP];
    size_t n = 0;
    expect_ok(thr_index_open(context, DIR_A, &index, &err));
    thr_status status = thr_index_verify(index, &err);
    for (; status == THR_ECHANGED; status = thr_index_verify(index, &err)) { /* it has published meanwhile */
        thr_index_free(index);
        expect_ok(thr_index_open(context, DIR_A, &index, &err));
    }
    expect_ok(status);
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

/* ------------------------------------------------------------------------------------------------ faults */

/* With features only an addition, a removal and another operation. */
static int n_tried(void) {
    return with_features ? 3 : 8;
}

static void fail_every_allocation(void) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    run_through(context);
    for (int i = 0; i < n_tried(); i++) {
        test_oom oom = test_oom_start(&memory);
        oom.tolerant = true; /* segments that cannot be written again wait for the next change */
        while (test_oom_next(&oom)) {
            start_again();
            test_oom_arm(&oom);
            const thr_status status = operate(context, DIR_A, i);
            end_operations();
            (void)test_oom_check(&oom, status, &err, NULL);
            assert_true(holds(context, status == THR_OK ? i + 1 : i));
        }
        end_operations();
        expect_ok(operate(context, DIR_B, i));
        end_operations();
    }
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
    assert_true(status == THR_OK || faults.why != SHORT);
    expect_ok(operate(context, DIR_A, i)); /* again: replaces, or removes nothing more */
    assert_true(holds(context, i + 1));
    return true;
}

/* After an error the index is as before; the next change works. A flush that failed after a rename may have been it. */
static void fail_every_call(thr_context *context, const int *whys, size_t n_whys) {
    uint64_t n = 0;
    run_through(context);
    for (int i = 0; i < n_tried(); i++) {
        for (size_t w = 0; w < n_whys; w++) {
            begin_faults(whys[w], w, i == 0);
            while (fail_a_call(context, i))
                n++;
        }
        end_operations();
        expect_ok(operate(context, DIR_B, i));
        end_operations();
    }
    print_message("%llu calls failed or did half their work\n", (unsigned long long)n);
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
        faults.state[0] = faults.state[1] = 0;
        faults.n_calls = 0;
        faults.rng = seed;
        faults.at = how;
        n_dirty = n_renamed = 0;
        for (int i = 0; i < OPERATIONS; i++)
            if (operate(context, DIR_A, i) != THR_OK || write(fds[1], "x", 1) != 1)
                _exit(1);
        end_operations(); /* when merges that are due have ended */
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

/* After an end of the process: what was acknowledged is there, and of the operation in progress all or nothing. */
static void check_after_end(thr_context *context, int done) {
    if (done == OPERATIONS) { /* in a merge after them */
        assert_true(holds(context, done));
        return;
    }
    if (!holds(context, done) && !holds(context, done + 1))
        fail_msg("after %d operations the index holds something else", done);
    expect_ok(operate(context, DIR_A, done)); /* the next writer cleans up and goes on */
    assert_true(holds(context, done + 1));
}

/* Add a state to those seen. */
static void note_state(uint64_t *states, uint64_t *n) {
    for (uint64_t i = 0; i < *n; i++)
        if (states[i] == *faults.state)
            return;
    states[(*n)++] = *faults.state;
}

/*
 * End at random calls, with needs_merger often after the merger has changed files. With lost writes, until there were
 * enough distinct states: pairs of how many calls had changed files, and what was lost of these changes.
 */
static void end_at_calls(thr_context *context, outcome how, bool needs_merger) {
    const uint64_t wanted = rounds(ROUNDS);
    uint64_t seed = 7, n_runs = 0, n_ended = 0, n_states = 0, n_merged = 0;
    uint64_t *states = test_new(wanted, sizeof *states);
    faults.state = mmap(NULL, 2 * sizeof *faults.state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(states != NULL && faults.state != MAP_FAILED);
    run_through(context);
    for (; (how == LOSE ? n_states : n_ended) < wanted; n_runs++) {
        if (n_runs > 8 * wanted)
            fail_msg("%llu distinct states of %llu runs", (unsigned long long)n_states, (unsigned long long)n_runs);
        const int done = run_and_end(context, how, 1 + thr_rng_below(&seed, n_changes), thr_rng_next(&seed));
        if (done < 0)
            continue; /* there are fewer calls */
        n_ended++;
        n_merged += faults.state[1] > 0;
        note_state(states, &n_states);
        check_after_end(context, done);
    }
    end_operations(); /* a merger notes its calls in faults.state */
    (void)munmap(faults.state, 2 * sizeof *faults.state);
    faults.state = NULL;
    print_message("%llu of %llu runs ended at a call, %llu after the merger had changed files, %llu distinct states: "
                  "nothing lost\n",
                  (unsigned long long)n_ended, (unsigned long long)n_runs, (unsigned long long)n_merged,
                  (unsigned long long)n_states);
    assert_true(!needs_merger || n_merged > n_ended / 4);
}
