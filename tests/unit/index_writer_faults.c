/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer and its journal on a failing machine: every allocation and every system call fails in turn, processes are
 * killed at calls and at random times, and power is lost, so that writes that were not flushed are missing.
 */
#define _GNU_SOURCE
#include "faulty_changes.h"

#include <signal.h>
#include <time.h>

static const char DIR_B[] = "index-journal-faulty-start";
static const char DIR_A[] = "index-journal-faulty", OLD[] = "index-journal-faulty.old";
enum { RECODE = 3, KILL_RUNS = ROUNDS / 5 * 2 };

/* ------------------------------------------------------------------------------------------------ the changes */

static thr_index_writer *writer; /* NULL: closed */
static bool merger;              /* segments are merged by a thread: calls are not the same in every run */
static bool merges;              /* each addition is a segment, so that merges are due all the time */

/* The journal takes few operations, so that it becomes a segment every few. */
static thr_status open_writer(thr_context *context, const char *dir) {
    thr_index_writer_options options = {.journal_rows = merges ? 1 : 4 * STEP, .merge_in_calls = !merger};
    return writer != NULL ? THR_OK : thr_index_writer_open(context, dir, &options, &writer, &err);
}

static void end_operations(void) {
    thr_index_writer_free(writer);
    writer = NULL;
}

static thr_status change_items(const uint64_t ids[STEP], const float rows[STEP * DIMS], int i) {
    const thr_matrix matrix = thr_matrix_f32(rows, STEP, DIMS);
    if (removes_items(i))
        return thr_index_writer_remove(writer, ids, STEP, NULL, &err);
    if (!with_features)
        return thr_index_writer_upsert(writer, &matrix, ids, NULL, NULL, &err);
    const thr_index_add_options options = options_of(ids);
    return thr_index_writer_write(writer, &matrix, NULL, &options, NULL, &err);
}

/* Operation number i: additions, some of which replace, removals, flushes, compactions, and codes made anew. */
static thr_status operate(thr_context *context, const char *dir, int i) {
    uint64_t ids[STEP];
    float rows[STEP * DIMS];
    items_of(i, ids, rows);
    THR_TRY(open_writer(context, dir));
    if (merges)
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* the merger gets a CPU */
    return merges || (i % 12 != 11 && i != RECODE && i % 12 != 6) ? change_items(ids, rows, i)
           : i % 12 == 11                                         ? thr_index_writer_compact(writer, NULL, &err)
           : i == RECODE                                          ? thr_index_writer_recode(writer, NULL, &err)
                                                                  : thr_index_writer_flush(writer, &err);
}

static const int WHYS[] = {EIO, ENOSPC, EINTR, SHORT};

/* ------------------------------------------------------------------------------------------------ tests */

static const struct { bool features, merges; } WAYS[] = {{false, false}, {true, false}, {false, true}, {true, true}};

/* In way number i segments are merged by a thread, or not; items have features, or not. */
static void begin_way(size_t i) {
    end_operations();
    with_features = WAYS[i].features;
    merger = merges = WAYS[i].merges;
}

TEST(every_allocation_may_fail) {
    for (size_t i = 0; i < 2; i++) {
        begin_way(i);
        fail_every_allocation();
    }
}

TEST(every_system_call_may_fail) {
    for (size_t i = 0; i < 2; i++) {
        begin_way(i);
        fail_every_call(*state, WHYS, COUNT_OF(WHYS));
    }
}

TEST(a_killed_writer_loses_nothing) {
    for (size_t i = 0; i < COUNT_OF(WAYS); i++) {
        begin_way(i);
        end_at_calls(*state, END, merges);
    }
}

TEST(a_power_failure_loses_nothing) {
    for (size_t i = 0; i < COUNT_OF(WAYS); i++) {
        begin_way(i);
        end_at_calls(*state, LOSE, merges);
    }
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
    end_operations();
    faults.at = NOTHING;
    assert_true(holds(context, OPERATIONS));
    return test_sites_end(faults.sites);
}

TEST(every_system_call_may_fail_beside_a_merger) {
    uint64_t n = 0;
    begin_way(0);
    merger = true;
    run_through(*state);
    /* The calls of other threads fail in every_system_call_may_fail. */
    faults.merger_only = getenv("THR_TEST_ROUNDS") == NULL;
    faults.n_merger_faults = 0;
    for (size_t w = 0; w < COUNT_OF(WHYS); w++) {
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
        expect_ok(thr_index_vector(index, id, vector, &err));
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
    expect_ok(thr_index_open(context, DIR_A, &index, &err));
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        expect_ok(thr_index_refresh(index, &newer, &err));
        if (newer != NULL) {
            thr_index_free(index);
            index = newer;
        }
        expect_ok(thr_index_search(index, &queries, 8, NULL, answer, NULL, &err));
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
TEST(a_writer_killed_at_any_time_loses_nothing) {
    const uint64_t runs = rounds(KILL_RUNS);
    uint64_t seed = (uint64_t)time(NULL), total = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    begin_way(0);
    merger = true;
    make(*state);
    for (uint64_t run = 0; run < runs; run++) {
        uint64_t done[THREADS] = {0};
        start_again();
        write_and_kill(*state, &seed, done);
        thr_index *index = test_index_open(*state, DIR_A);
        expect_ok(thr_index_verify(index, &err));
        for (uint64_t i = 0; i < THREADS; i++) {
            if (!shows(index, i, done[i]) && !shows(index, i, done[i] + 1))
                fail_msg("run %d: thread %d: not what was acknowledged", (int)run, (int)i);
            total += done[i];
        }
        thr_index_free(index);
        expect_ok(operate(*state, DIR_A, 0));                    /* the next writer goes on */
        expect_ok(thr_index_writer_compact(writer, NULL, &err)); /* and a commit cleans up */
        end_operations();
        assert_int_equal(count_files(DIR_A, ".tmp", NULL), 0);
    }
    print_message("%llu runs killed, with a merger and a reader, %llu operations acknowledged: nothing lost\n",
                  (unsigned long long)runs, (unsigned long long)total);
    assert_true(total > 0);
}

TEST_IN_CONTEXT(1, NULL)
