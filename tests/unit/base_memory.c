/* SPDX-License-Identifier: Apache-2.0 */
/* base_memory.c - aligned, checked and counted memory. */
#include "support.h"

#include <string.h>

/* A context of nothing but an allocator is enough for memory. */
static thr_context bare(test_memory *memory) {
    return (thr_context){.allocator = test_memory_allocator(memory)};
}

static void memory_is_aligned_to_64_bytes_and_writable_to_its_end(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context context = bare(&memory);
    thr_error err;
    for (size_t size = 0; size < 300; size++) {
        unsigned char *bytes = NULL;
        assert_ok(thr_alloc(&context, size, 1, &bytes, "bytes", &err), &err);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        memset(bytes, 0xab, size);
        thr_release(&context, bytes);
    }
    assert_int_equal(memory.live, 0);
}

static void zeroed_memory_is_zero(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context context = bare(&memory);
    thr_error err;
    for (int round = 0; round < 8; round++) {
        uint32_t *values = NULL;
        assert_ok(thr_alloc_zero(&context, 1000, sizeof *values, &values, "values", &err), &err);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(values[i], 0);
        memset(values, 0xff, 4000);
        thr_release(&context, values);
    }
    assert_int_equal(memory.live, 0);
}

static void a_product_of_sizes_that_overflows_is_refused_without_asking(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context context = bare(&memory);
    const size_t cases[][2] = {
        {SIZE_MAX, 2},      {2, SIZE_MAX},       {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, 1},
        {SIZE_MAX - 64, 1}, {SIZE_MAX - 127, 1}, {SIZE_MAX / 4, 5},     {(size_t)1 << 33, (size_t)1 << 33}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        thr_error err;
        void *untouched = &memory;
        assert_error(thr_alloc(&context, cases[i][0], cases[i][1], &untouched, "a whale", &err), THR_ENOMEM, &err,
                     "a whale");
        assert_ptr_equal(untouched, &memory);
    }
    assert_int_equal(memory.calls, 0);
    size_t product = 0;
    assert_true(thr_mul_size(SIZE_MAX / 3, 3, &product));
    assert_false(thr_mul_size(SIZE_MAX / 3 + 1, 3, &product));
}

static void a_failing_allocator_is_enomem_with_the_numbers(void **state) {
    (void)state;
    test_memory memory = {.fail_at = 1};
    thr_context context = bare(&memory);
    thr_error err;
    void *block = NULL;
    assert_error(thr_alloc(&context, 12, 34, &block, "a fish", &err), THR_ENOMEM, &err, "a fish: 12 x 34");
    assert_null(block);
    assert_ok(thr_alloc(&context, 12, 34, &block, "a fish", &err), &err);
    thr_release(&context, block);
    assert_int_equal(memory.live, 0);
}

static void growing_keeps_the_contents_and_amortises(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context context = bare(&memory);
    thr_error err;
    uint64_t *values = NULL;
    size_t capacity = 0;
    for (size_t n = 0; n < 10000; n++) {
        assert_ok(thr_grow(&context, &values, &capacity, n + 1, sizeof *values, "values", &err), &err);
        assert_true(capacity >= n + 1);
        assert_int_equal((uintptr_t)values % 64, 0);
        values[n] = n * n;
    }
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(values[n], n * n);
    assert_case(memory.total < 40, "%zu allocations for 10000 values", (size_t)memory.total);
    thr_release(&context, values);
    assert_int_equal(memory.live, 0);
}

static void a_failed_growth_leaves_everything_as_it_was(void **state) {
    (void)state;
    test_memory memory = {0};
    thr_context context = bare(&memory);
    thr_error err;
    uint32_t *values = NULL, *before = NULL;
    size_t capacity = 0;
    assert_ok(thr_grow(&context, &values, &capacity, 3, sizeof *values, "values", &err), &err);
    values[2] = 77;
    before = values;
    assert_error(thr_grow(&context, &values, &capacity, SIZE_MAX / 2, sizeof *values, "values", &err), THR_ENOMEM, &err,
                 "values");
    memory.fail_at = memory.calls + 1;
    assert_error(thr_grow(&context, &values, &capacity, 4, sizeof *values, "values", &err), THR_ENOMEM, &err, "values");
    assert_ptr_equal(values, before);
    assert_int_equal(capacity, 3);
    assert_int_equal(values[2], 77);
    thr_release(&context, values);
    thr_release(&context, NULL);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_to_64_bytes_and_writable_to_its_end),
        cmocka_unit_test(zeroed_memory_is_zero),
        cmocka_unit_test(a_product_of_sizes_that_overflows_is_refused_without_asking),
        cmocka_unit_test(a_failing_allocator_is_enomem_with_the_numbers),
        cmocka_unit_test(growing_keeps_the_contents_and_amortises),
        cmocka_unit_test(a_failed_growth_leaves_everything_as_it_was),
    };
    return test_run_group(tests);
}
