/* SPDX-License-Identifier: Apache-2.0 */
/* select_bitmap.c - counting in bitmaps and going through them, against one bit at a time. */
#include "test.h"

#include "select/bitmap.h"

enum { N_WORDS = 200, N_BITS = 64 * N_WORDS };

static bool bit(const uint64_t *words, uint64_t row) {
    return (words[row / 64] >> row % 64 & 1) != 0;
}

static uint64_t naive_count(const uint64_t *words, uint64_t first, uint64_t end) {
    uint64_t n = 0;
    for (uint64_t row = first; row < end; row++)
        n += bit(words, row);
    return n;
}

/* Bitmaps of all kinds: empty, full, every n-th bit, random ones of several densities, a few runs. */
enum { KINDS = 10 };
static void fill(uint64_t *words, int kind, uint64_t *rng) {
    memset(words, kind == 1 ? 0xff : 0, N_WORDS * sizeof *words);
    const uint64_t one_in[KINDS] = {0, 0, 1, 2, 3, 64, 1000, 5000, 20000, 0};
    for (uint64_t row = 0; one_in[kind] != 0 && row < N_BITS; row++)
        if (thr_rng_below(rng, one_in[kind]) == 0)
            thr_bitmap_set(words, row);
    for (int run = 0; kind == KINDS - 1 && run < 5; run++)
        for (uint64_t row = thr_rng_below(rng, N_BITS - 700), i = 0; i < 700; i++)
            thr_bitmap_set(words, row + i);
}

TEST(counts_are_those_of_single_bits) {
    uint64_t rng = test_seed(), *words = test_new(N_WORDS, sizeof *words);
    for (int kind = 0; kind < KINDS; kind++) {
        fill(words, kind, &rng);
        for (size_t n = 0; n <= N_WORDS; n++)
            assert_int_equal(thr_select_bitmap_count_words(words, n), naive_count(words, 0, 64 * n));
        for (int trial = 0; trial < 2000; trial++) {
            const uint64_t first = thr_rng_below(&rng, N_BITS + 1);
            const uint64_t end = trial % 2 == 0 ? thr_rng_below(&rng, N_BITS + 1) : first + thr_rng_below(&rng, 130);
            if (end > N_BITS)
                continue;
            assert_case(thr_select_bitmap_count_range(words, first, end) == naive_count(words, first, end),
                        "seed %llu: kind %d, [%llu, %llu): %llu bits, not %llu", (unsigned long long)test_seed(), kind,
                        (unsigned long long)first, (unsigned long long)end,
                        (unsigned long long)thr_select_bitmap_count_range(words, first, end),
                        (unsigned long long)naive_count(words, first, end));
        }
        assert_int_equal(thr_bitmap_count(words, N_BITS - 7), naive_count(words, 0, N_BITS - 7));
    }
}

TEST(the_next_word_is_the_first_that_is_not_zero) {
    uint64_t *words = test_new(N_WORDS, sizeof *words);
    for (size_t from = 0; from <= N_WORDS; from++)
        assert_int_equal(thr_select_bitmap_next_word(words, from, N_WORDS), N_WORDS);
    for (size_t at = 0; at < N_WORDS; at++) {
        words[at] = UINT64_C(1) << at % 64;
        for (size_t from = 0; from <= N_WORDS; from++) {
            assert_int_equal(thr_select_bitmap_next_word(words, from, N_WORDS), from <= at ? at : N_WORDS);
            if (from <= at)
                assert_int_equal(thr_select_bitmap_next_word(words, from, at), at); /* an end before it */
        }
        words[at] = 0;
    }
}

TEST(rows_come_in_order_and_none_is_missed) {
    uint64_t rng = test_seed(), *words = test_new(N_WORDS, sizeof *words);
    uint64_t *rows = test_new(N_BITS + 1, sizeof *rows);
    for (int kind = 0; kind < KINDS; kind++)
        for (int trial = 0; trial < 50; trial++) {
            fill(words, kind, &rng);
            const uint64_t first = thr_rng_below(&rng, N_BITS), end = thr_rng_below(&rng, N_BITS + 1);
            const size_t room = (size_t)(1 + thr_rng_below(&rng, trial % 2 == 0 ? 3 : N_BITS));
            uint64_t from = first, wanted = first;
            for (size_t n; (n = thr_select_bitmap_next_rows(words, &from, end, rows, room)) > 0;) {
                assert_true(n <= room);
                for (size_t i = 0; i < n; i++, wanted++) {
                    while (wanted < end && !bit(words, wanted))
                        wanted++;
                    assert_int_equal(rows[i], wanted);
                    assert_true(wanted < end);
                }
            }
            assert_int_equal(naive_count(words, wanted, end), 0);
            assert_int_equal(thr_select_bitmap_next_rows(words, &from, end, rows, room), 0); /* the end stays the end */
        }
}

TEST(the_next_row_is_the_first_that_is_set) {
    uint64_t rng = test_seed(), *words = test_new(N_WORDS, sizeof *words);
    for (int kind = 0; kind < KINDS; kind++) {
        fill(words, kind, &rng);
        for (uint64_t from = 0, wanted = 0; from <= N_BITS; from++) {
            wanted = wanted > from ? wanted : from;
            while (wanted < N_BITS && !bit(words, wanted))
                wanted++;
            assert_int_equal(thr_select_bitmap_next_row(words, from, N_BITS), wanted);
        }
    }
}

/* The words after the last requested one are not ours; under AddressSanitizer, reading it ends the test. */
TEST(no_word_past_the_end_is_read) {
    for (size_t n = 1; n < 20; n++) {
        uint64_t *words = test_new(n, sizeof *words), from = 0, row;
        assert_int_equal(thr_select_bitmap_count_words(words, n), 0);
        assert_int_equal(thr_select_bitmap_next_word(words, 0, n), n);
        assert_int_equal(thr_select_bitmap_next_row(words, 0, 64 * n), 64 * n);
        assert_int_equal(thr_select_bitmap_next_rows(words, &from, 64 * n - 5, &row, 1), 0);
        memset(words, 0xff, n * sizeof *words);
        assert_int_equal(thr_bitmap_count(words, 64 * n - 63), 64 * n - 63);
        assert_int_equal(thr_select_bitmap_next_row(words, 64 * n - 1, 64 * n), 64 * n - 1);
        assert_int_equal(thr_select_bitmap_next_row(words, 64 * n, 64 * n), 64 * n);
    }
    assert_int_equal(thr_bitmap_count(NULL, 0), 0);
}

TEST(a_bitmap_holds_the_rows_it_is_made_from) {
    uint64_t words[3];
    const uint64_t rows[] = {129, 3, 64, 3, 0, 63};
    memset(words, 0xff, sizeof words);
    expect_ok(thr_bitmap_from_rows(rows, 6, 130, words, &err));
    assert_true(words[0] == (UINT64_C(1) << 63 | 9) && words[1] == 1 && words[2] == 2);
    assert_int_equal(thr_bitmap_count(words, 130), 5);
    expect_ok(thr_bitmap_from_rows(NULL, 0, 130, words, &err));
    assert_int_equal(thr_bitmap_count(words, 130), 0);
    expect_ok(thr_bitmap_from_rows(NULL, 0, 0, NULL, &err));
}

TEST(a_row_beyond_the_end_is_refused) {
    uint64_t words[3] = {1, 2, 3};
    const uint64_t rows[] = {5, 130, 999, 7};
    expect_error(thr_bitmap_from_rows(rows, 4, 130, words, &err), THR_EINVAL, "999");
    assert_true(words[0] == 0 && words[1] == 0 && words[2] == 0);
    expect_error(thr_bitmap_from_rows(rows, 2, 130, words, &err), THR_EINVAL, "130");
    expect_error(thr_bitmap_from_rows(rows, 1, 0, NULL, &err), THR_EINVAL, "0 rows");
    expect_error(thr_bitmap_from_rows(NULL, 1, 130, words, &err), THR_EINVAL, "numbers");
    expect_error(thr_bitmap_from_rows(rows, 1, 130, NULL, &err), THR_EINVAL, "words");
    assert_int_equal(thr_bitmap_from_rows(rows, 4, 130, words, NULL), THR_EINVAL);
}
