/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_pool.c - every piece once, no two running pieces on one worker, whoever calls and from wherever. */
#include "test.h"

#include "parallel/pool.h"

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>

enum { MOST_THREADS = 8, MOST_PIECES = 3000 };

/* Worker threads must not end a test: they count errors, which the test checks afterwards. */
typedef struct loop {
    thr_context *context;
    size_t n_pieces;
    uint32_t n_threads;
    atomic_uint times[MOST_PIECES];
    atomic_uint busy[MOST_THREADS];
    atomic_uint workers_used;
    atomic_uint wrong;
    atomic_uint arrived;
    size_t last; /* nested loops: the piece before, all on one thread */
} loop;

static void count_piece(void *arg, size_t piece, uint32_t worker) {
    loop *l = arg;
    if (piece >= l->n_pieces || worker >= l->n_threads) {
        l->wrong++;
        return;
    }
    if (atomic_exchange(&l->busy[worker], 1) != 0)
        l->wrong++;
    l->times[piece]++;
    for (volatile unsigned i = 0; i < piece % 7 * 20; i++) {
    }
    atomic_store(&l->busy[worker], 0);
}

static loop *make_loop(thr_context *context, size_t n_pieces) {
    loop *l = test_new(1, sizeof *l);
    l->context = context;
    l->n_pieces = n_pieces;
    l->n_threads = thr_context_threads(context);
    return l;
}

static void check_loop(const loop *l) {
    assert_case(l->wrong == 0, "%u threads, %zu pieces: %u pieces out of range or on a busy worker", l->n_threads,
                l->n_pieces, (unsigned)l->wrong);
    for (size_t i = 0; i < l->n_pieces; i++)
        assert_case(l->times[i] == 1, "%u threads: piece %zu of %zu ran %u times", l->n_threads, i, l->n_pieces,
                    (unsigned)l->times[i]);
}

TEST(every_piece_runs_once_on_distinct_workers) {
    const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 64, 1000, MOST_PIECES};
    for (uint32_t n_threads = 1; n_threads <= MOST_THREADS; n_threads++) {
        OWNED(thr_context, context) = test_context(n_threads, THR_ISA_SCALAR, NULL);
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            loop *l = make_loop(context, sizes[s]);
            thr_parallel_for(context, sizes[s], count_piece, l);
            check_loop(l);
        }
    }
}

TEST(many_short_loops_in_a_row_lose_nothing) {
    OWNED(thr_context, context) = test_context(4, THR_ISA_SCALAR, NULL);
    loop *l = make_loop(context, 5);
    for (unsigned round = 1; round <= 3000; round++) {
        thr_parallel_for(context, 5, count_piece, l);
        for (size_t i = 0; i < 5; i++)
            assert_case(l->times[i] == round, "round %u: piece %zu ran %u times", round, i, (unsigned)l->times[i]);
    }
    assert_int_equal(l->wrong, 0);
}

/* Each piece waits until all have begun, which needs a thread for each. */
static void meet_piece(void *arg, size_t piece, uint32_t worker) {
    loop *l = arg;
    count_piece(arg, piece, worker);
    atomic_fetch_or(&l->workers_used, 1u << worker);
    l->arrived++;
    const double patience = thr_clock() + 20;
    while (l->arrived < l->n_pieces && thr_clock() < patience)
        (void)sched_yield();
    if (l->arrived < l->n_pieces)
        l->wrong++;
}

TEST(all_threads_work_at_once) {
    for (uint32_t n_threads = 1; n_threads <= MOST_THREADS; n_threads++) {
        OWNED(thr_context, context) = test_context(n_threads, THR_ISA_SCALAR, NULL);
        loop *l = make_loop(context, n_threads);
        thr_parallel_for(context, n_threads, meet_piece, l);
        check_loop(l);
        assert_int_equal(l->workers_used, (1u << n_threads) - 1);
    }
}

/* An inner loop runs on the calling thread, in order, as worker 0. */
static void inner_piece(void *arg, size_t piece, uint32_t worker) {
    loop *l = arg;
    if (worker != 0 || (piece > 0 && l->last + 1 != piece))
        l->wrong++;
    l->last = piece;
    l->times[piece]++;
}

static void outer_piece(void *arg, size_t piece, uint32_t worker) {
    loop *outer = arg;
    outer->times[piece]++;
    if (worker >= outer->n_threads)
        outer->wrong++;
    loop *inner = make_loop(outer->context, 50);
    thr_parallel_for(outer->context, 50, inner_piece, inner);
    for (size_t i = 0; i < 50; i++)
        outer->wrong += inner->times[i] != 1;
    outer->wrong += inner->wrong;
}

TEST(a_loop_inside_a_piece_runs_on_its_own_thread_in_order) {
    for (uint32_t n_threads = 1; n_threads <= MOST_THREADS; n_threads += 3) {
        OWNED(thr_context, context) = test_context(n_threads, THR_ISA_SCALAR, NULL);
        loop *l = make_loop(context, 100);
        thr_parallel_for(context, 100, outer_piece, l);
        check_loop(l);
    }
}

static void *caller_main(void *arg) {
    loop *mine = arg;
    for (unsigned round = 1; round <= 200; round++) {
        thr_parallel_for(mine->context, mine->n_pieces, count_piece, mine);
        for (size_t i = 0; i < mine->n_pieces; i++)
            mine->wrong += mine->times[i] != round;
    }
    return NULL;
}

TEST(callers_on_several_threads_each_get_all_their_pieces) {
    enum { CALLERS = 4 };
    OWNED(thr_context, context) = test_context(3, THR_ISA_SCALAR, NULL);
    pthread_t threads[CALLERS];
    loop *loops[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        loops[i] = make_loop(context, 20 + i);
        assert_int_equal(pthread_create(&threads[i], NULL, caller_main, loops[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(loops[i]->wrong, 0);
    }
}

TEST(pools_come_and_go_without_leaving_memory) {
    test_memory memory = {0};
    for (uint32_t round = 0; round < 100; round++) {
        thr_context *context = test_context(1 + round % MOST_THREADS, THR_ISA_SCALAR, &memory);
        if (round % 2 == 0) {
            loop *l = make_loop(context, 3);
            const size_t before = memory.calls;
            thr_parallel_for(context, 3, count_piece, l);
            assert_int_equal(memory.calls, before); /* a loop allocates nothing */
            check_loop(l);
        }
        thr_context_free(context);
        assert_int_equal(memory.live, 0);
    }
}

/* Fails at every piece whose bit is set, some time after later ones have. */
typedef struct failing {
    const char *fails;
    atomic_uint times[MOST_PIECES];
} failing;

static thr_status fail_piece(void *arg, size_t piece, uint32_t worker, thr_error *error) {
    failing *f = arg;
    (void)worker;
    f->times[piece]++;
    if (f->fails[piece] == 0)
        return THR_OK;
    for (int i = 0; i < (piece % 3 == 0 ? 50 : 0); i++)
        (void)sched_yield();
    return thr_fail(error, piece % 2 == 0 ? THR_ERANGE : THR_EIO, "piece %zu has failed", piece);
}

RANDOM_TEST(the_first_failed_piece_is_reported_on_any_number_of_threads) {
    enum { PIECES = 200, ROUNDS = 20 };
    failing *f = test_new(1, sizeof *f);
    for (uint32_t n_threads = 1; n_threads <= MOST_THREADS; n_threads++) {
        OWNED(thr_context, context) = test_context(n_threads, THR_ISA_SCALAR, NULL);
        for (int round = 0; round < ROUNDS; round++) {
            char fails[PIECES], text[64];
            err = (thr_error){.text = "as it was"};
            size_t first = PIECES;
            *f = (failing){.fails = fails};
            for (size_t i = PIECES; i-- > 0;)
                if ((fails[i] = thr_rng_below(&rng, (uint64_t)round * 20 + 1) == 1))
                    first = i;
            const thr_status status = thr_parallel_try(context, PIECES, fail_piece, f, &err);
            assert_int_equal(thr_parallel_try(context, PIECES, fail_piece, f, NULL), status);
            for (size_t i = 0; i < first; i++)
                assert_int_equal(f->times[i], 2);
            if (first == PIECES) {
                assert_int_equal(status, THR_OK);
                assert_string_equal(err.text, "as it was");
                continue;
            }
            (void)snprintf(text, sizeof text, "piece %zu has failed", first);
            assert_int_equal(status, first % 2 == 0 ? THR_ERANGE : THR_EIO);
            assert_int_equal(err.status, status);
            assert_string_equal(err.text, text);
        }
    }
}
