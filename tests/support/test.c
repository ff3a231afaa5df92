/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <pthread.h>

enum { MOST_TESTS = 128 };

typedef int fixture(void **state);

static struct CMUnitTest tests[MOST_TESTS];
static size_t n_tests;
static fixture *group_setup, *group_teardown, *each_setup, *each_teardown;
static bool (*is_possible)(void);
static void (*writer)(void);

/* Blocks of test_new, the newest first. */
typedef struct block {
    struct block *next;
    max_align_t values[];
} block;

static block *of_group, *of_test;
static bool in_test;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void test_set_group(fixture *setup, fixture *teardown) {
    group_setup = setup;
    group_teardown = teardown;
}

void test_set_each(fixture *setup, fixture *teardown) {
    each_setup = setup;
    each_teardown = teardown;
}

void test_set_condition(bool (*condition)(void)) {
    is_possible = condition;
}

void test_set_writer(void (*write)(void)) {
    writer = write;
}

void *test_new(size_t n, size_t size) {
    const size_t all = n * size;
    block *made = size != 0 && all / size != n ? NULL : calloc(1, sizeof *made + (all > 0 ? all : 1));
    if (made == NULL)
        fail_msg("no memory for the test: %zu x %zu bytes", n, size);
    (void)pthread_mutex_lock(&mutex);
    block **list = in_test ? &of_test : &of_group;
    made->next = *list;
    *list = made;
    (void)pthread_mutex_unlock(&mutex);
    return made->values;
}

void *test_copy(const void *values, size_t n, size_t size) {
    void *copy = test_new(n, size);
    if (n * size != 0)
        memcpy(copy, values, n * size);
    return copy;
}

uint8_t *test_bytes_of(const char *path, size_t *size) {
    uint8_t *bytes = test_read_file(path, size), *copy = test_copy(bytes, *size + 1, 1);
    free(bytes);
    return copy;
}

static void release(block **list) {
    while (*list != NULL) {
        block *first = *list;
        *list = first->next;
        free(first);
    }
}

static int begin_test(void **state) {
    in_test = true;
    return each_setup != NULL ? each_setup(state) : 0;
}

static int end_test(void **state) {
    const int ended = each_teardown != NULL ? each_teardown(state) : 0;
    release(&of_test);
    in_test = false;
    return ended;
}

void test_add(const char *name, void (*test)(void **state)) {
    if (n_tests == MOST_TESTS)
        abort();
    tests[n_tests] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(test, begin_test, end_test);
    tests[n_tests++].name = name;
}

static int begin_group(void **state) {
    (void)test_say_seed(state);
    return group_setup != NULL ? group_setup(state) : 0;
}

static int end_group(void **state) {
    const int ended = group_teardown != NULL ? group_teardown(state) : 0;
    release(&of_group);
    return ended;
}

int test_main(int argc, char **argv) {
    if (is_possible != NULL && !is_possible())
        return 77;
    if (argc > 1 && strcmp(argv[1], "--write") == 0 && writer != NULL) {
        writer();
        return 0;
    }
    struct CMUnitTest all[n_tests];
    memcpy(all, tests, sizeof all);
    return cmocka_run_group_tests(all, begin_group, end_group);
}
