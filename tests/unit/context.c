/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - options are checked, the environment lowers the level, and all memory is released. */
#include "kernel/kernel.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *some_allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void some_release(void *user, void *block) {
    (void)user;
    free(block);
}

/* Create must fail with this; *context must be NULL then. */
static void refused(const thr_context_options *options, thr_status status, const char *part) {
    thr_error err;
    thr_context *context = (thr_context *)(void *)&err;
    assert_error(thr_context_create(options, &context, &err), status, &err, part);
    assert_null(context);
    assert_int_equal(thr_context_create(options, &context, NULL), status);
}

static void no_options_mean_the_best_level_and_all_threads(void **state) {
    (void)state;
    thr_context *context = NULL;
    thr_error err;
    (void)unsetenv("THR_ISA");
    assert_ok(thr_context_create(NULL, &context, &err), &err);
    assert_int_equal(thr_context_isa(context), thr_kernel_isa_best());
    assert_true(thr_context_threads(context) >= 1);
    thr_context_free(context);
    thr_context_free(NULL);
}

static void half_an_allocator_is_refused(void **state) {
    (void)state;
    thr_context_options options;
    thr_context_options_init(&options);
    options.allocator.allocate = some_allocate;
    refused(&options, THR_EINVAL, "allocator");
    thr_context_options_init(&options);
    options.allocator.release = some_release;
    refused(&options, THR_EINVAL, "allocator");
}

static void more_than_1024_threads_are_refused(void **state) {
    (void)state;
    thr_context_options options;
    thr_context_options_init(&options);
    options.n_threads = 1025;
    refused(&options, THR_EINVAL, "1025");
    options.n_threads = UINT32_MAX;
    refused(&options, THR_EINVAL, "4294967295");
}

/* In a process that can start no thread, as a user other than root: the default is one thread, and 2 are refused. */
static int without_threads(void) {
    const struct rlimit limit = {1, 1};
    thr_context_options options;
    thr_context *context = NULL;
    thr_error err;
    if ((geteuid() == 0 && setuid(65533) != 0) || setrlimit(RLIMIT_NPROC, &limit) != 0)
        return 77;
    if (thr_context_create(NULL, &context, &err) != THR_OK || thr_context_threads(context) != 1)
        return 1;
    thr_context_free(context);
    thr_context_options_init(&options);
    options.n_threads = 2;
    return thr_context_create(&options, &context, &err) == THR_ENOMEM && context == NULL &&
                   strstr(err.text, "only 1 of 2 threads could be started") != NULL
               ? 0
               : 2;
}

static void the_default_is_the_threads_that_can_be_started(void **state) {
    (void)state;
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(without_threads());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void the_requested_level_is_the_level_in_use(void **state) {
    (void)state;
    (void)unsetenv("THR_ISA");
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        thr_context_options options;
        thr_context_options_init(&options);
        options.isa = (thr_isa)isa;
        if (!thr_kernel_isa_has((thr_isa)isa)) {
            refused(&options, THR_EUNSUPPORTED, thr_isa_name((thr_isa)isa));
            continue;
        }
        thr_context *context = test_context(1, (thr_isa)isa, NULL);
        assert_int_equal(thr_context_isa(context), isa);
        assert_ptr_equal(context->kernels, thr_kernels_get((thr_isa)isa));
        thr_context_free(context);
    }
}

static void a_level_that_is_none_is_refused(void **state) {
    (void)state;
    const int levels[] = {THR_ISA_LAST + 1, 99, 101, -1};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        thr_context_options options;
        thr_context_options_init(&options);
        memcpy(&options.isa, &levels[i], sizeof options.isa);
        refused(&options, THR_EINVAL, "level");
    }
}

/* The place of a level among those of all architectures, the lowest first. */
static size_t rank(int isa) {
    static const int order[] = {THR_ISA_SCALAR, THR_ISA_AVX2, THR_ISA_AVX512_VNNI,
                                THR_ISA_AVX512, THR_ISA_NEON, THR_ISA_NEON_DOT};
    size_t at = 0;
    while (order[at] != isa)
        at++;
    return at;
}

static void thr_isa_lowers_the_level_and_never_raises_it(void **state) {
    (void)state;
    for (int wanted = THR_ISA_SCALAR; wanted <= THR_ISA_LAST; wanted++)
        for (int named = THR_ISA_SCALAR; named <= THR_ISA_LAST; named++) {
            if (!thr_kernel_isa_has((thr_isa)wanted) || !thr_kernel_isa_is_built((thr_isa)named))
                continue;
            assert_int_equal(setenv("THR_ISA", thr_isa_name((thr_isa)named), 1), 0);
            thr_context *context = test_context(1, (thr_isa)wanted, NULL);
            assert_int_equal(thr_context_isa(context), rank(named) < rank(wanted) ? named : wanted);
            thr_context_free(context);
        }
    (void)unsetenv("THR_ISA");
}

static void an_empty_thr_isa_changes_nothing(void **state) {
    (void)state;
    assert_int_equal(setenv("THR_ISA", "", 1), 0);
    thr_context *context = test_context(1, THR_ISA_BEST, NULL);
    assert_int_equal(thr_context_isa(context), thr_kernel_isa_best());
    thr_context_free(context);
    (void)unsetenv("THR_ISA");
}

static void an_unknown_thr_isa_is_an_error_that_names_it(void **state) {
    (void)state;
    const char *values[] = {thr_kernel_isa_is_built(THR_ISA_NEON) ? "avx2" : "neon", "AVX2", "avx2 ", "best", "0"};
    thr_context_options options;
    thr_context_options_init(&options);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_int_equal(setenv("THR_ISA", values[i], 1), 0);
        refused(&options, THR_EINVAL, values[i]);
    }
    (void)unsetenv("THR_ISA");
}

static void an_unknown_thr_kernel_is_an_error_that_names_it(void **state) {
    (void)state;
    const char *values[] = {"popcount", "XOR", "tile ", "best", "0"};
    thr_context_options options;
    thr_context_options_init(&options);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_int_equal(setenv("THR_KERNEL", values[i], 1), 0);
        refused(&options, THR_EINVAL, values[i]);
    }
    assert_int_equal(setenv("THR_KERNEL", "", 1), 0);
    thr_context_free(test_context(1, THR_ISA_BEST, NULL));
    (void)unsetenv("THR_KERNEL");
}

static void everything_taken_is_given_back(void **state) {
    (void)state;
    test_memory memory = {0};
    for (uint32_t n_threads = 1; n_threads <= 5; n_threads++) {
        thr_context *context = test_context(n_threads, THR_ISA_BEST, &memory);
        assert_int_equal(thr_context_threads(context), n_threads);
        assert_true(memory.live > 0);
        thr_context_free(context);
        assert_int_equal(memory.live, 0);
    }
}

static void every_failing_allocation_is_enomem_and_leaves_nothing(void **state) {
    (void)state;
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_context_options options;
        thr_context *context = NULL;
        thr_error err;
        thr_context_options_init(&options);
        options.allocator = test_memory_allocator(&memory);
        options.n_threads = 3;
        test_oom_arm(&oom);
        const thr_status status = thr_context_create(&options, &context, &err);
        assert_int_equal(test_oom_check(&oom, status, &err, "no memory"), context != NULL);
        thr_context_free(context);
    }
    assert_true(oom.n_failed > 0);
}

static void names_and_features_are_never_null(void **state) {
    (void)state;
    assert_string_equal(thr_isa_name(THR_ISA_SCALAR), "scalar");
    assert_string_equal(thr_isa_name(THR_ISA_AVX2), "avx2");
    assert_string_equal(thr_isa_name(THR_ISA_AVX512), "avx512");
    assert_string_equal(thr_isa_name(THR_ISA_AVX512_VNNI), "avx512-vnni");
    assert_string_equal(thr_isa_name(THR_ISA_NEON), "neon");
    assert_string_equal(thr_isa_name(THR_ISA_NEON_DOT), "neon-dot");
    assert_non_null(thr_isa_name((thr_isa)42));
    assert_non_null(thr_build_features());
    assert_null(strchr(thr_build_features(), '\n'));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_options_mean_the_best_level_and_all_threads),
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(more_than_1024_threads_are_refused),
        cmocka_unit_test(the_default_is_the_threads_that_can_be_started),
        cmocka_unit_test(the_requested_level_is_the_level_in_use),
        cmocka_unit_test(a_level_that_is_none_is_refused),
        cmocka_unit_test(thr_isa_lowers_the_level_and_never_raises_it),
        cmocka_unit_test(an_empty_thr_isa_changes_nothing),
        cmocka_unit_test(an_unknown_thr_isa_is_an_error_that_names_it),
        cmocka_unit_test(an_unknown_thr_kernel_is_an_error_that_names_it),
        cmocka_unit_test(everything_taken_is_given_back),
        cmocka_unit_test(every_failing_allocation_is_enomem_and_leaves_nothing),
        cmocka_unit_test(names_and_features_are_never_null),
    };
    return test_run_group(tests);
}
