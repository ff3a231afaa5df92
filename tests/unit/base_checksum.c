/* SPDX-License-Identifier: Apache-2.0 */
/* base_checksum.c - a running sum is the sum at once, and is XXH3-64. */
#include "test.h"

#include "base/files/checksum.h"

TEST(known_sums_are_xxh3_64) {
    /* From xxHash's own documentation and `xxhsum -H3`. */
    assert_true(thr_checksum_of("", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(thr_checksum_of("abc", 3) == UINT64_C(0x78af5f94892f3950));
}

RANDOM_TEST(a_running_sum_is_the_sum_at_once_however_it_is_cut) {
    enum { MOST = 5000 };
    uint8_t bytes[MOST];
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (uint8_t)thr_rng_next(&rng);
    for (size_t size = 0; size <= MOST; size += size < 600 ? 1 : 97) {
        thr_checksum_room room;
        thr_checksum *sum = thr_checksum_start(&room);
        for (size_t at = 0; at < size;) {
            size_t piece = (size_t)thr_rng_below(&rng, 400);
            piece = piece < size - at ? piece : size - at;
            thr_checksum_add(sum, bytes + at, piece);
            at += piece;
            (void)thr_checksum_end(sum); /* asking does not disturb */
        }
        assert_case(thr_checksum_end(sum) == thr_checksum_of(bytes, size), "size %zu", size);
    }
}

RANDOM_TEST(every_flipped_bit_changes_the_sum) {
    uint8_t bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)thr_rng_next(&rng);
    const uint64_t sum = thr_checksum_of(bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(thr_checksum_of(bytes, sizeof bytes) != sum);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
