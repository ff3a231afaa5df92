/* SPDX-License-Identifier: Apache-2.0 */
/* A mapped file that is cut: guarded maps read as zeros and are reported; every other SIGBUS is passed on. */
#define _DEFAULT_SOURCE /* SA_ONSTACK */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/files/file.h"
#include "base/files/guard.h"

static const char FILE_A[] = "base-guard.bin";
enum { SIZE = 5 * 4096 + 100 };

static void write_file(void) {
    uint8_t *bytes = test_new(1, SIZE);
    memset(bytes, 7, SIZE);
    test_write_file(FILE_A, bytes, SIZE);
}

/* Run work in a child, whose exit status is returned, or 256 + the signal that ended it. */
static int in_child(int (*work)(void)) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGBUS, SIG_DFL); /* the test framework has a handler of its own */
        _exit(work());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static volatile sig_atomic_t handled;

static void note(int number) {
    (void)number;
    handled = 1;
    _exit(42);
}

static int read_past_the_end(bool guarded) {
    thr_map map;
    thr_error error;
    if (thr_map_open(FILE_A, &map, &error) != THR_OK)
        return 1;
    if (guarded)
        thr_map_guard(&map);
    if (truncate(FILE_A, 4096) != 0)
        return 2;
    unsigned sum = 0;
    for (size_t i = 0; i < SIZE; i++)
        sum += ((const volatile uint8_t *)map.data)[i];
    if (sum != 7 * 4096 || !thr_guard_fired())
        return 3;
    const thr_status status = thr_map_check(&map, FILE_A, &error);
    write_file(); /* as large as before, and yet the map is not that file */
    const bool lost = thr_guard_lost(map.guard);
    thr_map_close(&map);
    return status == THR_ECHANGED && strstr(error.text, FILE_A) != NULL && lost ? 0 : 4;
}

static int guarded(void) {
    thr_error error;
    return thr_guard_files(&error) == THR_OK && thr_guard_files(&error) == THR_OK ? read_past_the_end(true) : 5;
}

static int not_guarded(void) {
    return thr_guard_files(NULL) == THR_OK ? read_past_the_end(false) : 5;
}

static int another_handler(void) {
    (void)signal(SIGBUS, note);
    return not_guarded();
}

static int sent(void) {
    if (thr_guard_files(NULL) != THR_OK)
        return 5;
    (void)raise(SIGBUS);
    return 6;
}

static int sent_and_ignored(void) {
    (void)signal(SIGBUS, SIG_IGN);
    if (thr_guard_files(NULL) != THR_OK)
        return 5;
    (void)raise(SIGBUS);
    return 0;
}

TEST(a_guarded_map_reads_as_zeros_and_is_reported) {
    write_file();
    assert_int_equal(in_child(guarded), 0);
}

TEST(other_signals_are_passed_on) {
    write_file();
    assert_int_equal(in_child(another_handler), 42);
    write_file();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which have handlers of their own */
    assert_int_equal(in_child(not_guarded), 256 + SIGBUS);
    assert_int_equal(in_child(sent), 256 + SIGBUS);
#else
    assert_int_not_equal(in_child(not_guarded), 0);
    assert_int_not_equal(in_child(sent), 6);
#endif
    assert_int_equal(in_child(sent_and_ignored), 0);
}

static int fill_places(void) {
    static char page[4096];
    uint32_t guards[4097];
    if (thr_guard_begin(page, sizeof page) != 0 || thr_guard_files(NULL) != THR_OK)
        return 1;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4097; i++)
            guards[i] = thr_guard_begin(page, sizeof page);
        for (int i = 0; i < 4096; i++)
            if (guards[i] == 0 || thr_guard_lost(guards[i]))
                return 2;
        if (guards[4096] != 0)
            return 3;
        for (int i = 0; i < 4097; i++)
            thr_guard_end(guards[i]);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------ other handlers */

static struct sigaction replaced;
static volatile sig_atomic_t n_noted;

/* As Python's faulthandler: it puts back what it has replaced, and raises the signal again. */
static void put_back_and_raise(int number) {
    if (n_noted++ > 3)
        _exit(43);
    (void)sigaction(number, &replaced, NULL);
    (void)raise(number);
}

/* It calls what it has replaced, with the signal's arguments. */
static void call_replaced(int number, siginfo_t *info, void *where) {
    if (n_noted++ > 3)
        _exit(43);
    if ((replaced.sa_flags & SA_SIGINFO) != 0)
        replaced.sa_sigaction(number, info, where);
    else
        _exit(42);
}

/* As one that was switched off, but is still called. */
static void do_nothing(int number) {
    (void)number;
}

static void install(void (*plain)(int), void (*with_info)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = flags | (with_info != NULL ? SA_SIGINFO : 0);
    if (with_info != NULL)
        action.sa_sigaction = with_info;
    else
        action.sa_handler = plain;
    (void)sigaction(SIGBUS, &action, &replaced);
}

enum { PLAIN, NODEFER, CALLS, IDLE, N_KINDS };

static void install_kind(int kind) {
    switch (kind) {
    case PLAIN:
        install(put_back_and_raise, NULL, 0);
        break;
    case NODEFER:
        install(put_back_and_raise, NULL, SA_NODEFER);
        break;
    case CALLS:
        install(NULL, call_replaced, SA_ONSTACK);
        break;
    default:
        install(do_nothing, NULL, SA_ONSTACK);
    }
}

static int kind, guards_file;

/* The guard, then the other handler. */
static int after(void) {
    if (thr_guard_files(NULL) != THR_OK)
        return 5;
    install_kind(kind);
    return read_past_the_end(guards_file != 0);
}

/* The other handler, then the guard; then the other one is switched off, and puts back the default. */
static int before_and_switched_off(void) {
    install_kind(kind);
    if (thr_guard_files(NULL) != THR_OK)
        return 5;
    (void)sigaction(SIGBUS, &replaced, NULL);
    return read_past_the_end(guards_file != 0);
}

/* On and off again and again, and files are opened meanwhile. */
static int again_and_again(void) {
    for (int i = 0; i < 100; i++) {
        struct sigaction off;
        if (thr_guard_files(NULL) != THR_OK)
            return 5;
        install_kind(i % N_KINDS);
        off = replaced;
        thr_guard_renew();
        if (i % 3 != 0)
            (void)sigaction(SIGBUS, &off, NULL);
    }
    install_kind(kind);
    return read_past_the_end(guards_file != 0);
}

TEST(a_guarded_map_survives_other_handlers_in_every_order) {
    int (*const orders[])(void) = {after, before_and_switched_off, again_and_again};
    (void)state;
    guards_file = 1;
    for (kind = 0; kind < N_KINDS; kind++)
        for (size_t i = 0; i < COUNT_OF(orders); i++) {
            write_file();
            assert_int_equal(in_child(orders[i]), 0);
        }
}

/* The guard is on top of a handler that is on top of the guard. */
static int sent_in_a_ring(void) {
    const int status = thr_guard_files(NULL) != THR_OK ? 5 : 0;
    install_kind(kind);
    thr_guard_renew();
    (void)raise(SIGBUS);
    return status;
}

static int read_in_a_ring(void) {
    if (thr_guard_files(NULL) != THR_OK)
        return 5;
    install_kind(kind);
    thr_guard_renew();
    return read_past_the_end(false);
}

TEST(a_signal_that_is_not_ours_ends_the_process_in_every_order) {
    guards_file = 0;
    for (kind = 0; kind < N_KINDS; kind++) {
        write_file();
        assert_int_equal(in_child(read_in_a_ring), 256 + SIGBUS);
        if (kind != IDLE) /* which takes signals that are sent */
            assert_int_equal(in_child(sent_in_a_ring), 256 + SIGBUS);
    }
}

TEST(places_are_used_again) {
    assert_int_equal(in_child(fill_places), 0);
}

static int teardown(void **state) {
    (void)state;
    (void)unlink(FILE_A);
    return 0;
}

TEST_GROUP(NULL, teardown)
