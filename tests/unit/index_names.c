/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of a segment's names, and that of a journal's rows. */

#include "index/journal/row_table.h"
#include "index_support.h"

#include "index/name_slots.h"

enum { MOST = 300, ROOM = 16 };

static uint64_t key_of(const char *name) {
    return thr_index_name_key(name, strlen(name) + 1);
}

TEST(every_name_is_found_and_no_other) {
    for (uint64_t n = 1; n <= MOST; n += n < 5 ? 1 : 37) {
        static uint64_t offsets[MOST + 1];
        static char bytes[MOST * ROOM];
        thr_name_slot *slots = test_new((size_t)thr_name_slots_count(n), sizeof *slots);
        uint32_t item;
        char name[ROOM];
        for (uint64_t i = 0; i < n; i++)
            offsets[i + 1] = offsets[i] + (uint64_t)snprintf(bytes + offsets[i], ROOM, "n%d", (int)i * 7) + 1;
        const thr_strings names = {offsets, bytes, n, offsets[n]};
        thr_index_name_slots_fill(&names, slots);
        for (int i = 0; i < MOST * 7; i++) {
            (void)snprintf(name, sizeof name, "n%d", i);
            const bool there = i % 7 == 0 && i / 7 < (int)n;
            assert_true(thr_index_name_slots_find(slots, &names, name, key_of(name), &item) == there);
            assert_true(!there || item == (uint32_t)i / 7);
        }
    }
}

TEST(damaged_slots_find_nothing_wrong_and_end) {
    static const char bytes[] = "a\0b";
    static const uint64_t offsets[] = {0, 2, 4};
    const thr_strings names = {offsets, bytes, 2, sizeof bytes};
    thr_name_slot slots[4];
    uint32_t item;
    assert_int_equal(thr_name_slots_count(2), 4);
    for (uint32_t place = 1; place < 5; place++) { /* no slot is empty; places 3 and 4 do not exist */
        for (int i = 0; i < 4; i++)
            slots[i] = (thr_name_slot){(uint32_t)key_of("b"), place};
        assert_true(thr_index_name_slots_find(slots, &names, "b", key_of("b"), &item) == (place == 2));
        assert_false(thr_index_name_slots_find(slots, &names, "a", key_of("a"), &item));
    }
}

TEST(rows_with_a_key_come_in_their_order) {
    thr_row_table table = {.slots = NULL};
    uint32_t row, expected = 0;
    expect_ok(thr_row_table_create(*state, MOST, &table, &err));
    for (uint32_t i = 0; i < MOST; i++)
        thr_row_table_add(&table, i % 3 == 0 ? 77 : i, i);
    for (uint64_t at = thr_row_table_at(77); thr_row_table_next(&table, &at, &row);)
        if (row % 3 == 0) {
            assert_int_equal(row, expected);
            expected += 3;
        }
    assert_int_equal(expected, MOST);
    thr_release(*state, (void *)table.slots);
}

TEST_IN_CONTEXT(1, NULL)
