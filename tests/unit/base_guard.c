/* SPDX-License-Identifier: Apache-2.0 */
/* A mapped file that is cut: guarded maps read as zeros and are reported; every other SIGBUS is passed on. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/files/guard.h"
#include "files.h"
#include "support.h"

static const char FILE_A[] = "base-guard.bin";
enum { SIZE = 5 * 4096 + 100 };

static void write_file(void) {
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    memset(bytes, 7, SIZE);
    test_write_file(FILE_A, bytes, SIZE);
    free(bytes);
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

static void a_guarded_map_reads_as_zeros_and_is_reported(void **state) {
    (void)state;
    write_file();
    assert_int_equal(in_child(guarded), 0);
}

static void other_signals_are_passed_on(void **state) {
    (void)state;
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

static void places_are_used_again(void **state) {
    (void)state;
    assert_int_equal(in_child(fill_places), 0);
}

static int teardown(void **state) {
    (void)state;
    (void)unlink(FILE_A);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guarded_map_reads_as_zeros_and_is_reported),
        cmocka_unit_test(other_signals_are_passed_on),
        cmocka_unit_test(places_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
