/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer and its journal on a failing machine: every allocation and every system call fails in turn, processes are
 * killed at calls and at random times, and power is lost, so that writes that were not flushed are missing.
 */
#define _GNU_SOURCE
#include "faulty_calls.h"
#include "faulty_features.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static thr_error error;
static const char DIR_B[] = "index-journal-faulty-start";
static const char DIR_A[] = "index-journal-faulty", OLD[] = "index-journal-faulty.old";
enum { DIMS = 8, N = 512, OPERATIONS = 24, STEP = 40, RECODE = 3 };

/* How many runs end at a call by default. THR_TEST_ROUNDS=N: N runs, and every call fails, not only every place. */
#ifdef THR_SANITIZED
enum { ROUNDS = 10, KILL_RUNS = 12, WITH_FEATURES = 2 };
#else
enum { ROUNDS = 60, KILL_RUNS = 24, WITH_FEATURES = 8 };
#endif

static uint64_t rounds(uint64_t by_default) {
    const char *many = getenv("THR_TEST_ROUNDS");
    return many != NULL ? strtoull(many, NULL, 10) : with_features ? by_default / WITH_FEATURES : by_default;
}

/* ------------------------------------------------------------------------------------------------ the changes */

/* What the index holds after a number of operations: one bit per id. */
static bool expected[OPERATIONS + 1][N + OPERATIONS * STEP];
static size_t n_expected[OPERATIONS + 1];

static thr_index_writer *writer; /* NULL: closed */
static bool merger;              /* segments are merged by a thread: calls are not the same in every run */
static bool merges;              /* each addition is a segment, so that merges are due all the time */
static uint64_t n_changes;       /* calls that change files, of all operations */

static void close_writer(void) {
    thr_index_writer_free(writer);
    writer = NULL;
}

/* The journal takes few operations, so that it becomes a segment every few. */
static thr_status open_writer(thr_context *context, const char *dir) {
    thr_index_writer_options options;
    thr_index_writer_options_init(&options);
    options.journal_rows = merges ? 1 : 4 * STEP;
    options.merge_in_calls = !merger;
    return writer != NULL ? THR_OK : thr_index_writer_open(context, dir, &options, &writer, &error);
}

static thr_status upsert(const thr_matrix *rows, const uint64_t *ids) {
    uint64_t offsets[STEP + 1];
    uint32_t features[2 * STEP];
    thr_index_add_options options;
    if (!with_features)
        return thr_index_writer_upsert(writer, rows, ids, NULL, NULL, &error);
    const thr_item_features drawn = draw_features(ids, rows->n_rows, offsets, features);
    thr_index_add_options_init(&options);
    options.ids = ids;
    options.n_ids = rows->n_rows;
    options.replace = true;
    options.features = &drawn;
    return thr_index_writer_write(writer, rows, NULL, &options, NULL, &error);
}

/* Operation number i: additions, some of which replace, removals, flushes, compactions, and codes made anew. */
static thr_status operate(thr_context *context, const char *dir, int i) {
    uint64_t ids[STEP];
    float rows[STEP * DIMS];
    const thr_matrix matrix = thr_matrix_f32(rows, STEP, DIMS);
    const thr_status status = open_writer(context, dir);
    for (uint64_t j = 0; j < STEP; j++)
        ids[j] = i % 4 == 1 ? (uint64_t)i * 7 + 3 * j : N + (uint64_t)i * STEP + j - (i % 3 == 0 ? STEP / 2 : 0);
    for (uint64_t j = 0; j < STEP * DIMS; j++)
        rows[j] = value_of(ids[j / DIMS], (int)(j % DIMS));
    if (merges)
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* the merger gets a CPU */
    return status != THR_OK ? status
           : merges       ? i % 4 == 1 ? thr_index_writer_remove(writer, ids, STEP, NULL, &error) : upsert(&matrix, ids)
                 : i % 12 == 11 ? thr_index_writer_compact(writer, NULL, &error)
           : i == RECODE  ? thr_index_writer_recode(writer, NULL, &error)
           : i % 12 == 6  ? thr_index_writer_flush(writer, &error)
           : i % 4 == 1   ? thr_index_writer_remove(writer, ids, STEP, NULL, &error)
                          : upsert(&matrix, ids);
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
    close_writer();
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
    faults.call = UINT64_MAX; /* counted, and none fails */
    faults.n_calls = 0;
    faults.at = END;
    for (int i = 0; i < OPERATIONS; i++) {
        expect_ok(operate(context, DIR_A, i));
        note_expected(context, i + 1);
    }
    close_writer();
    faults.at = NOTHING;
    n_changes = faults.n_calls;
}

/* Whether the index there is whole and holds what it should after so many operations. */
static bool holds(thr_context *context, int after) {
    thr_index *index = NULL;
    uint64_t row, ids[N + OPERATIONS * STEP];
    size_t n = 0;
    expect_ok(thr_index_open(context, DIR_A, &index, &error));
    thr_status status = thr_index_verify(index, &error);
    for (; merger && status == THR_ECHANGED;
         status = thr_index_verify(index, &error)) { /* it has published meanwhile */
        thr_index_free(index);
        expect_ok(thr_index_open(context, DIR_A, &index, &error));
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

/* ------------------------------------------------------------------------------------------------ tests */

/* With features only an upsert, a removal and another upsert. */
static int n_tried(void) {
    return with_features ? 3 : 8;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    run_through(context);
    for (int i = 0; i < n_tried(); i++) {
        test_oom oom = test_oom_start(&memory);
        oom.tolerant = true; /* segments that cannot be written again wait for the next change */
        while (test_oom_next(&oom)) {
            start_again();
            test_oom_arm(&oom);
            const thr_status status = operate(context, DIR_A, i);
            close_writer();
            (void)test_oom_check(&oom, status, &error, NULL);
            assert_true(holds(context, status == THR_OK ? i + 1 : i));
        }
        close_writer();
        expect_ok(operate(context, DIR_B, i));
        close_writer();
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
    assert_true(status == THR_OK || faults.why != SHORT);
    expect_ok(operate(context, DIR_A, i)); /* again: replaces, or removes nothing more */
    assert_true(holds(context, i + 1));
    return true;
}

/* After an error the index is as before; the next change works. A flush that failed after a rename may have been it. */
static void every_system_call_may_fail(void **state) {
    static const int WHYS[] = {EIO, ENOSPC, EINTR, SHORT};
    uint64_t n = 0;
    run_through(*state);
    for (int i = 0; i < n_tried(); i++) {
        for (size_t w = 0; w < sizeof WHYS / sizeof *WHYS; w++) {
            begin_faults(WHYS[w], w, i == 0);
            while (fail_a_call(*state, i))
                n++;
        }
        close_writer();
        expect_ok(operate(*state, DIR_B, i));
        close_writer();
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
        close_writer(); /* when merges that are due have ended */
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
 * End at random calls. With lost writes, until there were `wanted` distinct states: pairs of how many calls had changed
 * files, and what was lost of these changes.
 */
static void end_at_calls(thr_context *context, outcome how, uint64_t wanted) {
    uint64_t seed = 7, n_runs = 0, n_ended = 0, n_states = 0, n_merged = 0;
    uint64_t *states = calloc(wanted, sizeof *states);
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
    close_writer(); /* its merger notes its calls in faults.state */
    (void)munmap(faults.state, 2 * sizeof *faults.state);
    faults.state = NULL;
    free(states);
    print_message("%llu of %llu runs ended at a call, %llu after the merger had changed files, %llu distinct states: "
                  "nothing lost\n",
                  (unsigned long long)n_ended, (unsigned long long)n_runs, (unsigned long long)n_merged,
                  (unsigned long long)n_states);
    assert_true(!merges || n_merged > n_ended / 4);
}

static void a_killed_writer_loses_nothing(void **state) {
    end_at_calls(*state, END, rounds(ROUNDS));
}

static void a_power_failure_loses_nothing(void **state) {
    end_at_calls(*state, LOSE, rounds(ROUNDS));
}

/* ------------------------------------------------------------------------------------------------ with a merger */

/*
 * Run all operations with a merger thread, and let a call fail at a new place: an operation's own failure is its error
 * alone, and a failure of the merger is none. false if there is no new place.
 */
static bool fail_a_call_beside_merger(thr_context *context) {
    start_again();
    test_sites_begin(faults.sites);
    faults.at = FAIL;
    for (int i = 0; i < OPERATIONS; i++)
        if (operate(context, DIR_A, i) != THR_OK) {
            end_faults();
            assert_true(faults.why != SHORT);
            assert_true(holds(context, i) || holds(context, i + 1));
            expect_ok(operate(context, DIR_A, i));
        }
    close_writer();
    faults.at = NOTHING;
    assert_true(holds(context, OPERATIONS));
    return test_sites_end(faults.sites);
}

static void every_system_call_may_fail_beside_a_merger(void **state) {
    static const int WHYS[] = {EIO, ENOSPC, EINTR, SHORT};
    uint64_t n = 0;
    run_through(*state);
    /* The calls of other threads fail in every_system_call_may_fail. */
    faults.merger_only = getenv("THR_TEST_ROUNDS") == NULL;
    faults.n_merger_faults = 0;
    for (size_t w = 0; w < sizeof WHYS / sizeof *WHYS; w++) {
        begin_faults(WHYS[w], w, true);
        for (uint64_t misses = 0; misses < 3;) { /* in a row: not all runs have the same calls */
            const bool failed = fail_a_call_beside_merger(*state);
            misses = failed ? 0 : misses + 1;
            n += failed;
        }
    }
    faults.merger_only = false;
    print_message("%llu calls failed or did half their work, %llu of them in the merger: nothing lost\n",
                  (unsigned long long)n, (unsigned long long)faults.n_merger_faults);
    assert_true(faults.n_merger_faults > 0);
}

static int begin_merger(void **state) {
    (void)state;
    merger = true;
    return 0;
}

static int begin_merges(void **state) {
    merges = true;
    return begin_merger(state);
}

static int begin_features_and_merges(void **state) {
    (void)begin_features(state);
    return begin_merges(state);
}

static int end_merger(void **state) {
    merger = merges = false;
    return end_features(state);
}

/* ------------------------------------------------------------------------------------------------ random times */

enum { THREADS = 4, OWN = 40 };

/* What a thread does: operation k of it writes version k of an item, or removes the item. */
typedef struct hand {
    pthread_t thread;
    uint64_t number;
    int pipe;
} hand;

static uint64_t item_of(uint64_t thread, uint64_t k) {
    return N + thread * OWN + k * 7 % OWN;
}

static bool removes(uint64_t k) {
    return k % 9 == 8;
}

static void *work(void *arg) {
    const hand *h = arg;
    thr_error err;
    for (uint64_t k = 0;; k++) {
        float row[DIMS];
        const uint64_t id = item_of(h->number, k);
        const thr_matrix one = thr_matrix_f32(row, 1, DIMS);
        for (int d = 0; d < DIMS; d++)
            row[d] = (float)k + (float)d / 16;
        thr_status status = removes(k) ? thr_index_writer_remove(writer, &id, 1, NULL, &err)
                                       : thr_index_writer_upsert(writer, &one, &id, NULL, NULL, &err);
        if (status == THR_OK && h->number == 0 && k % 64 == 63)
            status = thr_index_writer_compact(writer, NULL, &err);
        const char byte = (char)h->number;
        if (status != THR_OK || write(h->pipe, &byte, 1) != 1)
            _exit(1);
    }
    return NULL;
}

static void write_until_killed(thr_context *context, int pipe) {
    hand hands[THREADS];
    if (open_writer(context, DIR_A) != THR_OK)
        _exit(1);
    for (uint64_t i = 0; i < THREADS; i++) {
        hands[i] = (hand){.number = i, .pipe = pipe};
        if (pthread_create(&hands[i].thread, NULL, work, &hands[i]) != 0)
            _exit(1);
    }
    (void)pthread_join(hands[0].thread, NULL);
}

/* Whether the index shows a thread's items as after operations 0 to n - 1. */
static bool shows(thr_index *index, uint64_t thread, uint64_t n) {
    bool there[OWN] = {false};
    uint64_t versions[OWN] = {0}, row;
    float vector[DIMS];
    for (uint64_t k = 0; k < n; k++) {
        there[item_of(thread, k) - N - thread * OWN] = !removes(k);
        versions[item_of(thread, k) - N - thread * OWN] = k;
    }
    for (uint64_t i = 0; i < OWN; i++) {
        const uint64_t id = N + thread * OWN + i;
        if (thr_index_row(index, id, &row) != there[i])
            return false;
        if (!there[i])
            continue;
        expect_ok(thr_index_vector(index, id, vector, &error));
        for (int d = 0; d < DIMS; d++)
            if (vector[d] != (float)versions[i] + (float)d / 16)
                return false;
    }
    return true;
}

/* Read while the child writes; its items have whole vectors. */
static void read_for(thr_context *context, uint64_t ms) {
    thr_index *index = NULL, *newer = NULL;
    float query[DIMS] = {1};
    uint64_t answer[8];
    struct timespec start, now;
    const thr_matrix queries = thr_matrix_f32(query, 1, DIMS);
    expect_ok(thr_index_open(context, DIR_A, &index, &error));
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        expect_ok(thr_index_refresh(index, &newer, &error));
        if (newer != NULL) {
            thr_index_free(index);
            index = newer;
        }
        expect_ok(thr_index_search(index, &queries, 8, NULL, answer, NULL, &error));
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000) < ms);
    thr_index_free(index);
}

/* Write in a process that is killed after a while; add the operations that it acknowledged to done, by thread. */
static void write_and_kill(thr_context *context, uint64_t *seed, uint64_t done[THREADS]) {
    char acknowledged[4096];
    ssize_t got;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        write_until_killed(context, fds[1]);
        _exit(1);
    }
    (void)close(fds[1]);
    read_for(context, thr_rng_below(seed, 60));
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    while ((got = read(fds[0], acknowledged, sizeof acknowledged)) > 0)
        for (ssize_t i = 0; i < got; i++)
            done[(uint8_t)acknowledged[i]]++;
    (void)close(fds[0]);
}

/* Of each thread all acknowledged operations are there, and of the one in progress all or nothing. */
static void a_writer_killed_at_any_time_loses_nothing(void **state) {
    const uint64_t runs = rounds(KILL_RUNS);
    uint64_t seed = (uint64_t)time(NULL), total = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    merger = true;
    make(*state);
    for (uint64_t run = 0; run < runs; run++) {
        uint64_t done[THREADS] = {0};
        thr_index *index = NULL;
        start_again();
        write_and_kill(*state, &seed, done);
        expect_ok(thr_index_open(*state, DIR_A, &index, &error));
        expect_ok(thr_index_verify(index, &error));
        for (uint64_t i = 0; i < THREADS; i++) {
            if (!shows(index, i, done[i]) && !shows(index, i, done[i] + 1))
                fail_msg("run %d: thread %d: not what was acknowledged", (int)run, (int)i);
            total += done[i];
        }
        thr_index_free(index);
        expect_ok(operate(*state, DIR_A, 0));                      /* the next writer goes on */
        expect_ok(thr_index_writer_compact(writer, NULL, &error)); /* and a commit cleans up */
        close_writer();
        assert_int_equal(count_files(DIR_A, ".tmp", NULL), 0);
    }
    merger = false;
    print_message("%llu runs killed, with a merger and a reader, %llu operations acknowledged: nothing lost\n",
                  (unsigned long long)runs, (unsigned long long)total);
    assert_true(total > 0);
}

static int setup(void **state) {
    *state = test_context(1, THR_ISA_BEST, NULL);
    return 0;
}

static int teardown(void **state) {
    close_writer();
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
        cmocka_unit_test_setup_teardown(every_system_call_may_fail_beside_a_merger, begin_merger, end_merger),
        cmocka_unit_test_setup_teardown(a_killed_writer_loses_nothing, begin_merges, end_merger),
        cmocka_unit_test_setup_teardown(a_power_failure_loses_nothing, begin_merges, end_merger),
        cmocka_unit_test(a_writer_killed_at_any_time_loses_nothing),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, begin_features, end_features),
        cmocka_unit_test_setup_teardown(every_system_call_may_fail, begin_features, end_features),
        cmocka_unit_test_setup_teardown(a_killed_writer_loses_nothing, begin_features, end_features),
        cmocka_unit_test_setup_teardown(a_power_failure_loses_nothing, begin_features, end_features),
        cmocka_unit_test_setup_teardown(a_killed_writer_loses_nothing, begin_features_and_merges, end_merger),
        cmocka_unit_test_setup_teardown(a_power_failure_loses_nothing, begin_features_and_merges, end_merger),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
