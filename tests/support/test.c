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

/* What is released at an end, the newest first: object by its function, and the block itself. */
typedef struct block {
    struct block *next;
    void (*release)(void *object); /* NULL: there is no object */
    void *object;
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

static block *add_block(size_t size) {
    block *made = calloc(1, sizeof *made + size);
    if (made == NULL)
        fail_msg("no memory for the test: %zu bytes", size);
    (void)pthread_mutex_lock(&mutex);
    block **list = in_test ? &of_test : &of_group;
    made->next = *list;
    *list = made;
    (void)pthread_mutex_unlock(&mutex);
    return made;
}

void *test_new(size_t n, size_t size) {
    assert_true(size == 0 || n <= SIZE_MAX / 2 / size);
    return add_block(n * size > 0 ? n * size : 1)->values;
}

void test_later(void (*release)(void *object), void *object) {
    block *made = add_block(0);
    made->object = object;
    made->release = release;
}

static void release_context(void *context) {
    thr_context_free(context);
}

thr_context *test_new_context(uint32_t n_threads) {
    thr_context *context = test_context(n_threads, THR_ISA_BEST, NULL);
    test_later(release_context, context);
    return context;
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
        if (first->release != NULL)
            first->release(first->object);
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
