/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - options are checked, the environment lowers the level, and all memory is released. */
#include "test.h"

#include "kernel/kernel.h"

#include <sys/resource.h>
#include <sys/wait.h>

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
    thr_context *context = (thr_context *)(void *)&err;
    expect_error(thr_context_create(options, &context, &err), status, part);
    assert_null(context);
    assert_int_equal(thr_context_create(options, &context, NULL), status);
}

TEST(no_options_mean_the_best_level_and_all_threads) {
    thr_context *context = NULL;
    (void)unsetenv("THR_ISA");
    expect_ok(thr_context_create(NULL, &context, &err));
    assert_int_equal(thr_context_isa(context), thr_kernel_isa_best());
    assert_true(thr_context_threads(context) >= 1);
    thr_context_free(context);
    thr_context_free(NULL);
}

TEST(half_an_allocator_is_refused) {
    thr_context_options options = {0};
    options.allocator.allocate = some_allocate;
    refused(&options, THR_EINVAL, "allocator");
    options = (thr_context_options){0};
    options.allocator.release = some_release;
    refused(&options, THR_EINVAL, "allocator");
}

TEST(more_than_1024_threads_are_refused) {
    thr_context_options options = {0};
    options.n_threads = 1025;
    refused(&options, THR_EINVAL, "1025");
    options.n_threads = UINT32_MAX;
    refused(&options, THR_EINVAL, "4294967295");
}

/* In a process that can start no thread, as a user other than root: the default is one thread, and 2 are refused. */
static int without_threads(void) {
    const struct rlimit limit = {1, 1};
    thr_context_options options = {0};
    thr_context *context = NULL;
    if ((geteuid() == 0 && setuid(65533) != 0) || setrlimit(RLIMIT_NPROC, &limit) != 0)
        return 77;
    if (thr_context_create(NULL, &context, &err) != THR_OK || thr_context_threads(context) != 1)
        return 1;
    thr_context_free(context);
    options.n_threads = 2;
    return thr_context_create(&options, &context, &err) == THR_ENOMEM && context == NULL &&
                   strstr(err.text, "only 1 of 2 threads could be started") != NULL
               ? 0
               : 2;
}

TEST(the_default_is_the_threads_that_can_be_started) {
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

TEST(the_requested_level_is_the_level_in_use) {
    (void)unsetenv("THR_ISA");
    for (int isa = THR_ISA_SCALAR; isa <= THR_ISA_LAST; isa++) {
        thr_context_options options = {0};
        options.isa = (thr_isa)isa;
        if (!thr_kernel_isa_has((thr_isa)isa)) {
            refused(&options, THR_EUNSUPPORTED, thr_isa_name((thr_isa)isa));
            continue;
        }
        OWNED(thr_context, context) = test_context(1, (thr_isa)isa, NULL);
        assert_int_equal(thr_context_isa(context), isa);
        assert_ptr_equal(context->kernels, thr_kernels_get((thr_isa)isa));
    }
}

TEST(a_level_that_is_none_is_refused) {
    const int levels[] = {THR_ISA_LAST + 1, 99, 101, -1};
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        thr_context_options options = {0};
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

TEST(thr_isa_lowers_the_level_and_never_raises_it) {
    for (int wanted = THR_ISA_SCALAR; wanted <= THR_ISA_LAST; wanted++)
        for (int named = THR_ISA_SCALAR; named <= THR_ISA_LAST; named++) {
            if (!thr_kernel_isa_has((thr_isa)wanted) || !thr_kernel_isa_is_built((thr_isa)named))
                continue;
            assert_int_equal(setenv("THR_ISA", thr_isa_name((thr_isa)named), 1), 0);
            OWNED(thr_context, context) = test_context(1, (thr_isa)wanted, NULL);
            assert_int_equal(thr_context_isa(context), rank(named) < rank(wanted) ? named : wanted);
        }
    (void)unsetenv("THR_ISA");
}

TEST(an_empty_thr_isa_changes_nothing) {
    assert_int_equal(setenv("THR_ISA", "", 1), 0);
    thr_context *context = test_new_context(1);
    assert_int_equal(thr_context_isa(context), thr_kernel_isa_best());
    (void)unsetenv("THR_ISA");
}

TEST(an_unknown_thr_isa_is_an_error_that_names_it) {
    const char *values[] = {thr_kernel_isa_is_built(THR_ISA_NEON) ? "avx2" : "neon", "AVX2", "avx2 ", "best", "0"};
    thr_context_options options = {0};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        assert_int_equal(setenv("THR_ISA", values[i], 1), 0);
        refused(&options, THR_EINVAL, values[i]);
    }
    (void)unsetenv("THR_ISA");
}

TEST(an_unknown_thr_kernel_is_an_error_that_names_it) {
    const char *values[] = {"popcount", "XOR", "tile ", "best", "0"};
    thr_context_options options = {0};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        assert_int_equal(setenv("THR_KERNEL", values[i], 1), 0);
        refused(&options, THR_EINVAL, values[i]);
    }
    assert_int_equal(setenv("THR_KERNEL", "", 1), 0);
    thr_context_free(test_context(1, THR_ISA_BEST, NULL));
    (void)unsetenv("THR_KERNEL");
}

TEST(everything_taken_is_given_back) {
    test_memory memory = {0};
    for (uint32_t n_threads = 1; n_threads <= 5; n_threads++) {
        thr_context *context = test_context(n_threads, THR_ISA_BEST, &memory);
        assert_int_equal(thr_context_threads(context), n_threads);
        assert_true(memory.live > 0);
        thr_context_free(context);
        assert_int_equal(memory.live, 0);
    }
}

TEST(every_failing_allocation_is_enomem_and_leaves_nothing) {
    test_memory memory = {0};
    test_oom oom = test_oom_start(&memory);
    while (test_oom_next(&oom)) {
        thr_context_options options = {0};
        thr_context *context = NULL;
        options.allocator = test_memory_allocator(&memory);
        options.n_threads = 3;
        test_oom_arm(&oom);
        const thr_status status = thr_context_create(&options, &context, &err);
        assert_int_equal(test_oom_check(&oom, status, &err, "no memory"), context != NULL);
        thr_context_free(context);
    }
    assert_true(oom.n_failed > 0);
}

TEST(names_and_features_are_never_null) {
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
