/* SPDX-License-Identifier: Apache-2.0 */
/* scan_way.c - the fastest measured kernel is chosen once, unless THR_KERNEL names another. */
#include "owned.h"

#include "scan/way.h"

#include "parallel/pool.h"

static thr_context *context_with(const char *forced) {
    assert_int_equal(forced == NULL ? unsetenv("THR_KERNEL") : setenv("THR_KERNEL", forced, 1), 0);
    thr_context *context = test_context(1, THR_ISA_BEST, NULL);
    (void)unsetenv("THR_KERNEL");
    return context;
}

TEST(the_way_with_the_highest_rate_is_taken) {
    OWNED(thr_context, context) = context_with(NULL);
    static const uint32_t shapes[][4] = {{200, 3, 4, 1}, {200, 3, 4, 64}, {64, 1, 1, 2}, {1, 8, 8, 5}, {5000, 2, 5, 7}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const uint32_t *s = shapes[i];
        thr_way_choice choice;
        expect_ok(thr_way_choose(context, s[0], s[1], s[2], s[3], &choice, &err));
        assert_int_equal(choice.n_dims, s[0]);
        assert_int_equal(choice.item_bits, s[1]);
        assert_int_equal(choice.query_bits, s[2]);
        assert_int_equal(choice.n_queries, s[3]);
        assert_false(choice.forced);
        for (int way = 0; way < THR_N_WAYS; way++) {
            assert_true(choice.rates[way] > 0);
            assert_true(choice.rates[way] <= choice.rates[choice.way]);
        }
        assert_int_equal(thr_scan_way_choose(context, s[0], s[1], s[2], s[3]), choice.way);
    }
}

TEST(thr_kernel_takes_the_choice) {
    for (int way = 0; way < THR_N_WAYS; way++) {
        OWNED(thr_context, context) = context_with(thr_way_name((thr_way)way));
        for (uint32_t n = 1; n < 40; n += 13) {
            assert_int_equal(thr_scan_way_choose(context, 96, 3, 4, n), way);
            thr_way_choice choice;
            expect_ok(thr_way_choose(context, 96, 3, 4, n, &choice, &err));
            assert_int_equal(choice.way, way);
            assert_true(choice.forced);
            assert_true(choice.rates[THR_WAY_TILE] > 0);
        }
    }
}

TEST(a_context_measures_a_shape_once) {
    thr_way_choice first, again;
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    expect_ok(thr_way_choose(context, 77, 3, 4, 5, &first, &err));
    const size_t calls = memory.calls;
    expect_ok(thr_way_choose(context, 77, 3, 4, 7, &again, &err)); /* fours of queries: the same rates */
    assert_int_equal(thr_scan_way_choose(context, 77, 3, 4, 5), again.way);
    assert_int_equal(memory.calls, calls);
    assert_memory_equal(first.rates, again.rates, sizeof first.rates);
    assert_int_equal(first.way, again.way);
    (void)thr_scan_way_choose(context, 78, 3, 4, 5);
    assert_true(memory.calls > calls);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

/* More shapes than are kept: the oldest is measured again, and nothing else is forgotten. */
TEST(shapes_may_be_more_than_are_kept) {
    test_memory memory = {0};
    OWNED(thr_context, context) = test_context(1, THR_ISA_BEST, &memory);
    for (uint32_t n_dims = 300; n_dims < 364; n_dims++)
        (void)thr_scan_way_choose(context, n_dims, 1, 4, 1);
    size_t calls = memory.calls;
    for (uint32_t n_dims = 300; n_dims < 364; n_dims++)
        (void)thr_scan_way_choose(context, n_dims, 1, 4, 1);
    assert_int_equal(memory.calls, calls);
    (void)thr_scan_way_choose(context, 364, 1, 4, 1);
    (void)thr_scan_way_choose(context, 301, 1, 4, 1);
    calls = memory.calls;
    (void)thr_scan_way_choose(context, 300, 1, 4, 1);
    assert_true(memory.calls > calls);
}

TEST(without_memory_a_search_takes_the_table_and_measures_later) {
    test_memory memory = {0};
    thr_context *context = test_context(1, THR_ISA_BEST, &memory);
    memory.fail_at = memory.calls + 1;
    memory.fail_on = true;
    thr_way_choice choice;
    assert_int_equal(thr_scan_way_choose(context, 501, 8, 8, 16), THR_WAY_TABLE);
    expect_error(thr_way_choose(context, 501, 8, 8, 16, &choice, &err), THR_ENOMEM, "probe");
    memory.fail_at = 0;
    memory.fail_on = false;
    const size_t calls = memory.calls;
    expect_ok(thr_way_choose(context, 501, 8, 8, 16, &choice, &err));
    assert_true(memory.calls > calls);
    thr_context_free(context);
    assert_int_equal(memory.live, 0);
}

TEST(shapes_out_of_range_are_refused) {
    static const struct {
        uint32_t shape[4];
        thr_status status;
        const char *part;
    } wrong[] = {
        {{0, 3, 4, 1}, THR_EDIM, "0 dimensions"}, {{THR_MAX_DIMS + 1, 3, 4, 1}, THR_EDIM, "32769"},
        {{8, 0, 4, 1}, THR_EINVAL, "0 planes"},   {{8, 9, 4, 1}, THR_EINVAL, "9 planes"},
        {{8, 3, 0, 1}, THR_EINVAL, "of 0 bits"},  {{8, 3, 9, 1}, THR_EINVAL, "of 9 bits"},
        {{8, 3, 4, 0}, THR_EINVAL, "one query"},
    };
    OWNED(thr_context, context) = context_with(NULL);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const uint32_t *s = wrong[i].shape;
        thr_way_choice choice;
        expect_error(thr_way_choose(context, s[0], s[1], s[2], s[3], &choice, &err), wrong[i].status, wrong[i].part);
    }
}

typedef struct racers {
    thr_context *context;
    thr_way_choice choices[16];
} racers;

static void race(void *arg, size_t piece, uint32_t worker) {
    (void)worker;
    racers *r = arg;
    if (thr_way_choose(r->context, 123, 3, 4, 9, &r->choices[piece], NULL) != THR_OK)
        r->choices[piece].n_dims = 0;
}

TEST(threads_that_measure_at_once_agree) {
    racers r = {.context = test_context(4, THR_ISA_BEST, NULL)};
    thr_parallel_for(r.context, 16, race, &r);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(r.choices[i].n_dims, 123);
        assert_memory_equal(r.choices[i].rates, r.choices[0].rates, sizeof r.choices[0].rates);
        assert_int_equal(r.choices[i].way, r.choices[0].way);
    }
    thr_context_free(r.context);
}
