/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

enum { PASSED, FAILED, SKIPPED };
static jmp_buf way_out;

void standin_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    longjmp(way_out, FAILED);
}

void standin_skip(void) {
    longjmp(way_out, SKIPPED);
}

void print_message(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
}

void print_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
}

void standin_int(intmax_t a, intmax_t b, int want_equal, const char *name, const char *file, int line) {
    if ((a == b) != (want_equal != 0))
        standin_fail(file, line, "%s is %" PRIdMAX ", should%s be %" PRIdMAX, name, a, want_equal ? "" : " not", b);
}

void standin_range(uintmax_t x, uintmax_t low, uintmax_t high, const char *name, const char *file, int line) {
    if (x < low || x > high)
        standin_fail(file, line, "%s is %" PRIuMAX ", should be %" PRIuMAX " to %" PRIuMAX, name, x, low, high);
}

void standin_string(const char *a, const char *b, const char *name, const char *file, int line) {
    if (strcmp(a, b) != 0)
        standin_fail(file, line, "%s is \"%s\", should be \"%s\"", name, a, b);
}

void standin_memory(const void *a, const void *b, size_t size, int want_equal, const char *name, const char *file,
                    int line) {
    const unsigned char *x = a, *y = b;
    size_t i = 0;
    while (i < size && x[i] == y[i])
        i++;
    if (want_equal && i < size)
        standin_fail(file, line, "%s: byte %zu of %zu is %02x, should be %02x", name, i, size, x[i], y[i]);
    if (!want_equal && i == size)
        standin_fail(file, line, "%s: all %zu bytes are equal", name, size);
}

/* A setup, a teardown, or none. */
static int run_hook(int (*hook)(void **state), void **state) {
    const int ended = setjmp(way_out);
    if (ended != PASSED)
        return FAILED;
    return hook == NULL || hook(state) == 0 ? PASSED : FAILED;
}

static int run_test(const struct CMUnitTest *test, void **state) {
    const int ended = setjmp(way_out);
    if (ended == PASSED)
        test->test(state);
    return ended;
}

int standin_run(const struct CMUnitTest *tests, size_t n_tests, int (*setup)(void **state),
                int (*teardown)(void **state)) {
    static const char *const words[] = {[PASSED] = "passed", [FAILED] = "FAILED", [SKIPPED] = "skipped"};
    void *state = NULL;
    int n_failed = 0;
    if (run_hook(setup, &state) == FAILED) {
        (void)fprintf(stderr, "the setup of the group failed\n");
        return (int)n_tests;
    }
    for (size_t i = 0; i < n_tests; i++) {
        void *own = state;
        int ended = run_hook(tests[i].setup, &own);
        if (ended == PASSED) {
            ended = run_test(&tests[i], &own);
            if (run_hook(tests[i].teardown, &own) == FAILED)
                ended = FAILED;
        }
        (void)printf("%s: %s\n", tests[i].name, words[ended]);
        (void)fflush(stdout);
        n_failed += ended == FAILED;
    }
    if (run_hook(teardown, &state) == FAILED) {
        (void)fprintf(stderr, "the teardown of the group failed\n");
        n_failed++;
    }
    return n_failed;
}
