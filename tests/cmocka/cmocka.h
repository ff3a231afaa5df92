/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmocka.h - as much of cmocka as these tests use, for builds that find no cmocka: those for another CPU above all.
 *
 * Same names, same meaning, plainer messages. Where cmocka is installed it is used.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* setup and teardown return 0 when they did their work. */
typedef struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
} CMUnitTest;

/* clang-format off */
#define cmocka_unit_test(test) {#test, test, NULL, NULL}
#define cmocka_unit_test_setup_teardown(test, setup, teardown) {#test, test, setup, teardown}
/* clang-format on */

/* Run all tests with the state that setup made (NULL: none). Returns how many failed. */
#define cmocka_run_group_tests(tests, setup, teardown)                                                                 \
    standin_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
int standin_run(const struct CMUnitTest *tests, size_t n_tests, int (*setup)(void **state),
                int (*teardown)(void **state));

/* Each of these ends the test it is called in. */
void standin_fail(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
void standin_skip(void) __attribute__((noreturn));

void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define fail_msg(...)               standin_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()                      fail_msg("failed")
#define _fail(file, line)           standin_fail((file), (line), "failed")
#define skip()                      standin_skip()

#define STANDIN_ASSERT(truth, text) ((truth) ? (void)0 : fail_msg("%s", text))
#define assert_true(x)              STANDIN_ASSERT(x, #x " is not true")
#define assert_false(x)             STANDIN_ASSERT(!(x), #x " is not false")
#define assert_null(x)              STANDIN_ASSERT((x) == NULL, #x " is not NULL")
#define assert_non_null(x)          STANDIN_ASSERT((x) != NULL, #x " is NULL")
#define assert_ptr_equal(a, b)      STANDIN_ASSERT((const void *)(a) == (const void *)(b), #a " is not " #b)

#define assert_int_equal(a, b)      standin_int((intmax_t)(a), (intmax_t)(b), 1, #a, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)  standin_int((intmax_t)(a), (intmax_t)(b), 0, #a, __FILE__, __LINE__)
#define assert_in_range(x, low, high)                                                                                  \
    standin_range((uintmax_t)(x), (uintmax_t)(low), (uintmax_t)(high), #x, __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b)          STANDIN_ASSERT((const void *)(a) != (const void *)(b), #a " is " #b)
#define assert_string_not_equal(a, b)       STANDIN_ASSERT(strcmp((a), (b)) != 0, #a " is " #b)
#define assert_string_equal(a, b)           standin_string((a), (b), #a, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size)     standin_memory((a), (b), (size), 1, #a, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, size) standin_memory((a), (b), (size), 0, #a, __FILE__, __LINE__)

void standin_int(intmax_t a, intmax_t b, int want_equal, const char *name, const char *file, int line);
void standin_range(uintmax_t x, uintmax_t low, uintmax_t high, const char *name, const char *file, int line);
void standin_string(const char *a, const char *b, const char *name, const char *file, int line);
void standin_memory(const void *a, const void *b, size_t size, int want_equal, const char *name, const char *file,
                    int line);
