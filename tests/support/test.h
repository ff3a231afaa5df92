/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test.h - a file of unit tests: what it includes, its tests, what they have in common. main is in main.c.
 *
 *     #include "test.h"
 *
 *     TEST(ties_go_to_the_smaller_row) {
 *         float *rows = test_new(N, sizeof *rows);
 *         expect_ok(thr_x_make(rows, N, &err));
 *         expect_error(thr_x_make(NULL, N, &err), THR_EINVAL, "no rows");
 *     }
 *
 * Tests run in the order of the file, with the group's state if there is one (TEST_GROUP, TEST_IN_CONTEXT). The seed is
 * printed first: THR_TEST_SEED=N repeats a failure.
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <thresher/context.h>
#include <thresher/matrix.h>

#include "files.h"
#include "support.h"

#define TEST_PASTE_(a, b) a##b
#define TEST_PASTE(a, b)  TEST_PASTE_(a, b)
#define TEST_AT_START     __attribute__((constructor)) static void TEST_PASTE(test_at_start_, __COUNTER__)(void)

/* The function of a test; `state` points to what the group's setup left there. */
#define TEST(name)                                                                                                     \
    static void name(void **state);                                                                                    \
    TEST_AT_START {                                                                                                    \
        test_add(#name, name);                                                                                         \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state)

/* The same of a test that draws numbers: `rng` is the seed. */
#define RANDOM_TEST(name)                                                                                              \
    static void name(void **state, uint64_t rng);                                                                      \
    static void TEST_PASTE(name, _with_seed)(void **state) {                                                           \
        name(state, test_seed());                                                                                      \
    }                                                                                                                  \
    TEST_AT_START {                                                                                                    \
        test_add(#name, TEST_PASTE(name, _with_seed));                                                                 \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state, uint64_t rng)
void test_add(const char *name, void (*test)(void **state));

/* setup runs before all tests of the file, teardown after them; NULL: nothing. The last TEST_GROUP counts. */
#define TEST_GROUP(setup, teardown)                                                                                    \
    TEST_AT_START {                                                                                                    \
        test_set_group((setup), (teardown));                                                                           \
    }
void test_set_group(int (*setup)(void **state), int (*teardown)(void **state));

/* The same of each test. */
#define TEST_EACH(setup, teardown)                                                                                     \
    TEST_AT_START {                                                                                                    \
        test_set_each((setup), (teardown));                                                                            \
    }
void test_set_each(int (*setup)(void **state), int (*teardown)(void **state));

/* The group's state is a context of n_threads; the directory is deleted after the tests (NULL: none). */
#define TEST_IN_CONTEXT(n_threads, directory)                                                                          \
    TEST_AT_START {                                                                                                    \
        test_group_needs((n_threads), (directory));                                                                    \
        test_set_group(test_make_context, test_drop_context);                                                          \
    }

/* All tests are skipped where the condition is false when main begins. */
#define TEST_NEEDS(condition)                                                                                          \
    static bool test_is_possible(void) {                                                                               \
        return condition;                                                                                              \
    }                                                                                                                  \
    TEST_AT_START {                                                                                                    \
        test_set_condition(test_is_possible);                                                                          \
    }
void test_set_condition(bool (*is_possible)(void));

/* With the argument --write, the program calls this function instead of the tests. */
#define TEST_WRITER(write)                                                                                             \
    TEST_AT_START {                                                                                                    \
        test_set_writer(write);                                                                                        \
    }
void test_set_writer(void (*write)(void));

/* What the calls of a test write their errors to: each thread has its own. */
__attribute__((unused)) static _Thread_local thr_error err;

/* The call, which writes to err, succeeds; or it returns this status, with part in its message (NULL: any message). */
#define expect_ok(call)                  test_assert_ok((call), &err, __FILE__, __LINE__)
#define expect_error(call, wanted, part) test_assert_error((call), (wanted), &err, (part), __FILE__, __LINE__)

/* Zeroed memory that is released when the test ends; of a group's setup, when the group does. */
void *test_new(size_t n, size_t size);

/* The same at a multiple of 64 bytes. */
static inline void *test_new_aligned(size_t size) {
    char *memory = test_new(size + 63, 1);
    return memory + (-(uintptr_t)memory & 63);
}

/* A copy of n values, released as test_new's. */
void *test_copy(const void *values, size_t n, size_t size);

/* Calls release(object) when the test ends, or the group, as of test_new; what came last is released first. */
void test_later(void (*release)(void *object), void *object);

/* test_context at the best level, which is released so. */
thr_context *test_new_context(uint32_t n_threads);

/* A handle that is freed where its name ends, the last one first; a test that fails frees nothing. */
#define OWNED(type, name) __attribute__((unused, cleanup(test_free_##type))) type *name

#define TEST_OWNABLE(type)                                                                                             \
    static inline void test_free_##type(type **handle) {                                                               \
        type##_free(*handle);                                                                                          \
    }

TEST_OWNABLE(thr_context)
TEST_OWNABLE(thr_reader)

/* A value that type's function _init has filled. */
#define DEFAULTS(type)                                                                                                 \
    ({                                                                                                                 \
        type defaults_;                                                                                                \
        type##_init(&defaults_);                                                                                       \
        defaults_;                                                                                                     \
    })

/* A file's bytes, as test_read_file's; released as test_new's. */
uint8_t *test_bytes_of(const char *path, size_t *size);

/* Rows of floats, as functions take them that read a matrix. */
#define ROWS(data, n_rows, n_dims)                                                                                     \
    (&(const thr_matrix){(data), (n_rows), (n_dims), THR_DTYPE_F32, (n_dims) * sizeof(float)})

/* How many elements an array has. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Runs all tests. Returns what main does: how many failed, or 77 if they were skipped. */
int test_main(int argc, char **argv);
