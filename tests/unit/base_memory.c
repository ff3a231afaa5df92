/* SPDX-License-Identifier: Apache-2.0 */
/* base_memory.c - aligned, checked and counted memory. */
#include "test.h"

/* A context of nothing but an allocator is enough for memory. */
static thr_context bare(test_memory *memory) {
    return (thr_context){.allocator = test_memory_allocator(memory)};
}

TEST(memory_is_aligned_to_64_bytes_and_writable_to_its_end) {
    test_memory memory = {0};
    thr_context context = bare(&memory);
    for (size_t size = 0; size < 300; size++) {
        unsigned char *bytes = NULL;
        expect_ok(thr_alloc(&context, size, 1, &bytes, "bytes", &err));
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        memset(bytes, 0xab, size);
        thr_release(&context, bytes);
    }
    assert_int_equal(memory.live, 0);
}

TEST(zeroed_memory_is_zero) {
    test_memory memory = {0};
    thr_context context = bare(&memory);
    for (int round = 0; round < 8; round++) {
        uint32_t *values = NULL;
        expect_ok(thr_alloc_zero(&context, 1000, sizeof *values, &values, "values", &err));
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(values[i], 0);
        memset(values, 0xff, 4000);
        thr_release(&context, values);
    }
    assert_int_equal(memory.live, 0);
}

TEST(a_product_of_sizes_that_overflows_is_refused_without_asking) {
    test_memory memory = {0};
    thr_context context = bare(&memory);
    const size_t cases[][2] = {
        {SIZE_MAX, 2},      {2, SIZE_MAX},       {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, 1},
        {SIZE_MAX - 64, 1}, {SIZE_MAX - 127, 1}, {SIZE_MAX / 4, 5},     {(size_t)1 << 33, (size_t)1 << 33}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        void *untouched = &memory;
        expect_error(thr_alloc(&context, cases[i][0], cases[i][1], &untouched, "a whale", &err), THR_ENOMEM, "a whale");
        assert_ptr_equal(untouched, &memory);
    }
    assert_int_equal(memory.calls, 0);
    size_t product = 0;
    assert_true(thr_mul_size(SIZE_MAX / 3, 3, &product));
    assert_false(thr_mul_size(SIZE_MAX / 3 + 1, 3, &product));
}

TEST(a_failing_allocator_is_enomem_with_the_numbers) {
    test_memory memory = {.fail_at = 1};
    thr_context context = bare(&memory);
    void *block = NULL;
    expect_error(thr_alloc(&context, 12, 34, &block, "a fish", &err), THR_ENOMEM, "a fish: 12 x 34");
    assert_null(block);
    expect_ok(thr_alloc(&context, 12, 34, &block, "a fish", &err));
    thr_release(&context, block);
    assert_int_equal(memory.live, 0);
}

TEST(growing_keeps_the_contents_and_amortises) {
    test_memory memory = {0};
    thr_context context = bare(&memory);
    uint64_t *values = NULL;
    size_t capacity = 0;
    for (size_t n = 0; n < 10000; n++) {
        expect_ok(thr_grow(&context, &values, &capacity, n + 1, sizeof *values, "values", &err));
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

TEST(a_failed_growth_leaves_everything_as_it_was) {
    test_memory memory = {0};
    thr_context context = bare(&memory);
    uint32_t *values = NULL, *before = NULL;
    size_t capacity = 0;
    expect_ok(thr_grow(&context, &values, &capacity, 3, sizeof *values, "values", &err));
    values[2] = 77;
    before = values;
    expect_error(thr_grow(&context, &values, &capacity, SIZE_MAX / 2, sizeof *values, "values", &err), THR_ENOMEM,
                 "values");
    memory.fail_at = memory.calls + 1;
    expect_error(thr_grow(&context, &values, &capacity, 4, sizeof *values, "values", &err), THR_ENOMEM, "values");
    assert_ptr_equal(values, before);
    assert_int_equal(capacity, 3);
    assert_int_equal(values[2], 77);
    thr_release(&context, values);
    thr_release(&context, NULL);
    assert_int_equal(memory.live, 0);
}
