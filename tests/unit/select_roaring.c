/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select_roaring.c - Roaring bitmaps as CRoaring writes them (where the tests have it) and as a naive writer does, and
 * every kind of damage.
 */
#include "test.h"

#include "select/bitmap.h"
#include "select/roaring.h"

#include "roaring_writer.h"

#ifdef TEST_WITH_CROARING
#include <roaring/roaring.h>
#endif

/* ------------------------------------------------------------------------------------------------ sets of values */

enum { MAX_VALUES = 400000, N_BITS = 5 * 65536 + 1000 };

/* Increasing values below N_BITS that need all kinds of containers; returns how many. */
static size_t make_values(uint64_t *values, uint64_t *rng) {
    size_t n = 0;
    for (uint64_t first = 0; first < N_BITS; first += 65536) {
        const uint64_t one_in[] = {0, 1, 2, 7, 30, 5000, 1}, chosen = one_in[thr_rng_below(rng, 7)];
        const uint64_t end = first + 65536 < N_BITS ? first + 65536 : N_BITS, run = 1 + thr_rng_below(rng, 3000);
        for (uint64_t value = first; chosen != 0 && value < end; value++)
            if (thr_rng_below(rng, chosen) == 0 && value / run % 3 != 0)
                values[n++] = value;
    }
    return n;
}

static uint64_t *naive_words(const uint64_t *values, size_t n) {
    uint64_t *words = test_new(thr_bitmap_words(N_BITS), sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[values[i] / 64] |= UINT64_C(1) << values[i] % 64;
    return words;
}

/* The bytes, at the end of memory of their own, give exactly these values. */
static void expect_values(const uint8_t *bytes, size_t size, const uint64_t *values, size_t n) {
    uint64_t *wanted = naive_words(values, n), *words = test_new(thr_bitmap_words(N_BITS), sizeof *words);
    memset(words, 0xff, thr_bitmap_words(N_BITS) * sizeof *words);
    expect_ok(thr_bitmap_from_roaring(bytes, size, N_BITS, words, &err));
    assert_memory_equal(words, wanted, thr_bitmap_words(N_BITS) * sizeof *words);
    assert_int_equal(thr_bitmap_count(words, N_BITS), n);
}

static const test_roaring_form FORMS[] = {{false, 0}, {false, 1}, {false, 2}, {true, 0}, {true, 1}, {true, 3}};
enum { N_FORMS = COUNT_OF(FORMS) };

/* ------------------------------------------------------------------------------------------------ good bytes */

TEST(every_kind_of_container_is_read) {
    uint64_t rng = test_seed(), *values = test_new(MAX_VALUES, sizeof *values);
    for (int trial = 0; trial < 20; trial++) {
        const size_t n = make_values(values, &rng);
        for (size_t f = 0; f < N_FORMS; f++) {
            size_t size;
            uint8_t *bytes = test_roaring_write(values, n, FORMS[f], &size);
            expect_values(bytes, size, values, n);
        }
    }
}

TEST(nothing_one_and_all_are_read) {
    uint64_t *values = test_new(N_BITS, sizeof *values);
    for (size_t f = 0; f < N_FORMS; f++) {
        size_t size;
        uint8_t *bytes = test_roaring_write(values, 0, FORMS[f], &size);
        assert_int_equal(size, 8);
        expect_values(bytes, size, values, 0);
        assert_int_equal(thr_bitmap_from_roaring(bytes, size, 0, NULL, NULL), THR_OK);
        const uint64_t ones[] = {0, 1, 63, 64, 65535, 65536, N_BITS - 1};
        for (size_t i = 0; i < COUNT_OF(ones); i++) {
            bytes = test_roaring_write(&ones[i], 1, FORMS[f], &size);
            expect_values(bytes, size, &ones[i], 1);
        }
        for (uint64_t value = 0; value < N_BITS; value++)
            values[value] = value;
        bytes = test_roaring_write(values, N_BITS, FORMS[f], &size);
        expect_values(bytes, size, values, N_BITS);
    }
}

/* No bitmap of 2^64 bits: container by container. */
TEST(values_beyond_32_bits_have_their_high_bits) {
    const uint64_t values[] = {7, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, (UINT64_C(9) << 32) + 70000, UINT64_MAX};
    const struct {
        uint64_t first;
        uint32_t last, n_bits;
    } wanted[] = {
        {0, 7, 1}, {UINT64_C(1) << 32, 1, 2}, {(UINT64_C(9) << 32) + 65536, 4464, 1}, {UINT64_MAX - 65535, 65535, 1}};
    for (unsigned runs = 0; runs < 2; runs++) {
        size_t size;
        uint8_t *bytes = test_roaring_write(values, 5, (test_roaring_form){true, runs}, &size);
        thr_roaring roaring;
        thr_roaring_container c;
        expect_ok(thr_select_roaring_open(&roaring, bytes, size, &err));
        for (size_t i = 0; i < 4; i++) {
            expect_ok(thr_select_roaring_next(&roaring, &c, &err));
            assert_true(c.first == wanted[i].first && c.last == wanted[i].last && c.n_bits == wanted[i].n_bits);
        }
        expect_ok(thr_select_roaring_next(&roaring, &c, &err));
        assert_int_equal(c.n_bits, 0);
    }
}

TEST(a_value_that_is_no_row_is_refused_by_name) {
    const uint64_t values[] = {3, 1000, 70000}, wide[] = {3, 1000, (UINT64_C(5) << 32) + 17};
    uint64_t words[1100];
    for (size_t f = 0; f < N_FORMS; f++) {
        size_t size;
        uint8_t *bytes = test_roaring_write(values, 3, FORMS[f], &size);
        expect_ok(thr_bitmap_from_roaring(bytes, size, 70001, words, &err));
        words[0] = 1;
        expect_error(thr_bitmap_from_roaring(bytes, size, 70000, words, &err), THR_EINVAL, "70000, its largest");
        for (size_t i = 0; i < thr_bitmap_words(70000); i++)
            assert_true(words[i] == 0);
        expect_error(thr_bitmap_from_roaring(bytes, size, 2, words, &err), THR_EINVAL, "70000, its largest");
        expect_error(thr_bitmap_from_roaring(bytes, size, 0, NULL, &err), THR_EINVAL, "0 rows");
        if (!FORMS[f].wide)
            continue;
        bytes = test_roaring_write(wide, 3, FORMS[f], &size);
        expect_error(thr_bitmap_from_roaring(bytes, size, 1100 * 64, words, &err), THR_EINVAL, "21474836497");
    }
}

/* ------------------------------------------------------------------------------------------------ bad bytes */

/* One change to good bytes, and the error that it causes. */
typedef struct damage {
    const char *what, *said;
    thr_status status;
    test_roaring_form form;
    size_t at;
    uint8_t bytes[4];
    size_t n_bytes;
} damage;

static void expect_damage(const uint8_t *good, size_t size, const damage *d) {
    uint64_t *words = test_new(thr_bitmap_words(N_BITS), sizeof *words);
    uint8_t *bytes = test_new(size, 1);
    memcpy(bytes, good, size);
    assert_true(d->at + d->n_bytes <= size);
    memcpy(bytes + d->at, d->bytes, d->n_bytes);
    print_message("%s\n", d->what);
    expect_error(thr_bitmap_from_roaring(bytes, size, N_BITS, words, &err), d->status, d->said);
    assert_int_equal(thr_bitmap_count(words, N_BITS), 0);
}

/* Values 10 11 12 20, 65536 + 10 11 12 20, 131072 + all but the first 60,000. */
static size_t few_values(uint64_t *values) {
    const uint64_t low[] = {10, 11, 12, 20};
    size_t n = 0;
    for (uint64_t key = 0; key < 2; key++)
        for (size_t i = 0; i < 4; i++)
            values[n++] = 65536 * key + low[i];
    for (uint64_t value = 60000; value < 65536; value++)
        values[n++] = 131072 + value;
    return n;
}

TEST(damage_is_named) {
    /* No runs: cookie 0, count 4, keys 8 12 16, offsets 20 24 28, lists 32 40, bitmap 48. All runs: cookie 0, flags 4,
     * keys 5 9 13, runs 17 27 37. Wide: 12 more before, for count and high bits. */
    static const damage DAMAGES[] = {
        {"no cookie", "are not a Roaring bitmap", THR_EFORMAT, {false, 0}, 0, {0x39, 0x30}, 2},
        {"too many containers", "65537 containers", THR_ECORRUPT, {false, 0}, 4, {1, 0, 1, 0}, 4},
        {"more containers", "keys should be", THR_ECORRUPT, {false, 0}, 4, {0, 0, 1, 0}, 4},
        {"a key twice", "come after", THR_ECORRUPT, {false, 0}, 12, {0, 0}, 2},
        {"keys fall", "come after", THR_ECORRUPT, {false, 0}, 8, {9, 0}, 2},
        {"a value more", "not increase", THR_ECORRUPT, {false, 0}, 10, {4, 0}, 2},
        {"an offset", "not at its offset", THR_ECORRUPT, {false, 0}, 24, {41}, 1},
        {"a list with equal values", "do not increase", THR_ECORRUPT, {false, 0}, 34, {10, 0}, 2},
        {"a list that falls", "do not increase", THR_ECORRUPT, {false, 0}, 36, {5, 0}, 2},
        {"a bit more", "header's number of bits", THR_ECORRUPT, {false, 0}, 48, {1}, 1},
        {"a bit less", "header's number of bits", THR_ECORRUPT, {false, 0}, 48 + 8191, {0x7f}, 1},
        {"a bitmap marked as a list", "values from 131072 on", THR_ECORRUPT, {false, 0}, 18, {1, 0}, 2},
        {"a flag less", "damaged", THR_ECORRUPT, {false, 1}, 4, {6}, 1},
        {"a run more", "not increase", THR_ECORRUPT, {false, 1}, 17, {3, 0}, 2},
        {"a run less", "header's number of values", THR_ECORRUPT, {false, 1}, 17, {1, 0}, 2},
        {"no runs", "header's number of values", THR_ECORRUPT, {false, 1}, 17, {0, 0}, 2},
        {"a run that is longer", "header's number of values", THR_ECORRUPT, {false, 1}, 21, {3, 0}, 2},
        {"runs that overlap", "do not increase", THR_ECORRUPT, {false, 1}, 23, {12, 0}, 2},
        {"a run past the end", "too long", THR_ECORRUPT, {false, 1}, 41, {160, 21}, 2},
        {"too many buckets", "are not a Roaring bitmap", THR_EFORMAT, {true, 0}, 7, {1}, 1},
        {"a bucket more", "should be at", THR_ECORRUPT, {true, 0}, 0, {2}, 1},
        {"no buckets", "ends at byte 8", THR_ECORRUPT, {true, 0}, 0, {0}, 1},
        {"no cookie in the first bucket", "are not a Roaring bitmap", THR_EFORMAT, {true, 0}, 12, {0x39, 0x30}, 2},
        {"an offset in a bucket", "not at its offset", THR_ECORRUPT, {true, 0}, 36, {36}, 1},
    };
    uint64_t *values = test_new(70000, sizeof *values);
    const size_t n = few_values(values);
    for (size_t i = 0; i < COUNT_OF(DAMAGES); i++) {
        size_t size;
        uint8_t *bytes = test_roaring_write(values, n, DAMAGES[i].form, &size);
        expect_values(bytes, size, values, n);
        expect_damage(bytes, size, &DAMAGES[i]);
    }
}

TEST(buckets_out_of_order_are_refused) {
    const uint64_t values[] = {1, UINT64_C(3) << 32, UINT64_C(4) << 32};
    uint64_t words[1];
    size_t size;
    uint8_t *bytes = test_roaring_write(values, 3, (test_roaring_form){true, 0}, &size);
    /* Buckets of one value: high bits 4, cookie 4, count 4, key 4, offset 4, value 2. */
    bytes[8 + 22] = 4;
    expect_error(thr_bitmap_from_roaring(bytes, size, 64, words, &err), THR_ECORRUPT, "high bits 4");
    bytes[8 + 22] = 0;
    expect_error(thr_bitmap_from_roaring(bytes, size, 64, words, &err), THR_ECORRUPT, "high bits 0");
    bytes[8 + 22] = 3;
    expect_error(thr_bitmap_from_roaring(bytes, size, 64, words, &err), THR_EINVAL, "17179869184, its largest");
    bytes[8 + 22 + 4] = 0;
    expect_error(thr_bitmap_from_roaring(bytes, size, 64, words, &err), THR_ECORRUPT, "is not a cookie");
}

TEST(cut_and_lengthened_bytes_are_refused) {
    uint64_t *values = test_new(70000, sizeof *values);
    const size_t n = few_values(values);
    for (size_t f = 0; f < N_FORMS; f++) {
        size_t size;
        uint64_t words[(N_BITS + 63) / 64];
        uint8_t *good = test_roaring_write(values, n, FORMS[f], &size);
        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *bytes = test_new(cut, 1); /* exactly as long, so that a sanitizer sees one byte too many */
            memcpy(bytes, good, cut);
            expect_error(thr_bitmap_from_roaring(bytes, cut, N_BITS, words, &err), THR_ECORRUPT, NULL);
        }
        uint8_t *bytes = test_new(size + 1, 1);
        memcpy(bytes, good, size);
        expect_error(thr_bitmap_from_roaring(bytes, size + 1, N_BITS, words, &err), THR_ECORRUPT, "follows");
        expect_error(thr_bitmap_from_roaring(NULL, size, N_BITS, words, &err), THR_EINVAL, "bytes");
        expect_error(thr_bitmap_from_roaring(good, size, N_BITS, NULL, &err), THR_EINVAL, "words");
        assert_int_equal(thr_bitmap_from_roaring(bytes, size + 1, N_BITS, words, NULL), THR_ECORRUPT);
    }
}

TEST(other_files_are_refused) {
    const char *const others[] = {"\x93NUMPY\x01\x00v\x00{'descr'", "12\n13\n14\n15\n",
                                  "\x01\x03\x00\x00\x00\x07\x00\x00\x00",
                                  "\x00\x00\x00\x00\x01\x00\x00\x00\x00;0\x00\x00"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        uint64_t words[10];
        const size_t sizes[] = {18, 12, 9, 13};
        expect_error(thr_bitmap_from_roaring(others[i], sizes[i], 640, words, &err), THR_EFORMAT, "portable");
    }
}

/* ------------------------------------------------------------------------------------------------ CRoaring */

#ifdef TEST_WITH_CROARING

static uint8_t *croaring_write(const uint64_t *values, size_t n, bool optimise, size_t *size) {
    roaring_bitmap_t *bitmap = roaring_bitmap_create();
    for (size_t i = 0; i < n; i++)
        roaring_bitmap_add(bitmap, (uint32_t)values[i]);
    if (optimise)
        (void)roaring_bitmap_run_optimize(bitmap);
    *size = roaring_bitmap_portable_size_in_bytes(bitmap);
    uint8_t *bytes = test_new(*size, 1);
    assert_int_equal(roaring_bitmap_portable_serialize(bitmap, (char *)bytes), *size);
    roaring_bitmap_free(bitmap);
    return bytes;
}

TEST(what_croaring_writes_is_read) {
    uint64_t rng = test_seed(), *values = test_new(MAX_VALUES, sizeof *values);
    for (int trial = 0; trial < 40; trial++) {
        size_t size;
        const size_t n = make_values(values, &rng);
        uint8_t *bytes = croaring_write(values, n, trial % 2 == 0, &size);
        expect_values(bytes, size, values, n);
    }
}

/* A check on the naive writer. */
TEST(croaring_reads_what_we_read) {
    uint64_t rng = test_seed(), *values = test_new(MAX_VALUES, sizeof *values);
    uint32_t *read = test_new(MAX_VALUES, sizeof *read);
    for (int trial = 0; trial < 10; trial++)
        for (size_t f = 0; f < N_FORMS; f++) {
            size_t size;
            const size_t n = make_values(values, &rng);
            uint8_t *bytes = test_roaring_write(values, n, FORMS[f], &size);
            const size_t head = !FORMS[f].wide ? 0 : n > 0 ? 12 : 8; /* its one bucket, when it has one */
            roaring_bitmap_t *bitmap =
                head == 8 ? roaring_bitmap_create()
                          : roaring_bitmap_portable_deserialize_safe((char *)bytes + head, size - head);
            assert_non_null(bitmap);
            assert_int_equal(roaring_bitmap_get_cardinality(bitmap), n);
            roaring_bitmap_to_uint32_array(bitmap, read);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(read[i], values[i]);
            roaring_bitmap_free(bitmap);
        }
}

#else

TEST(what_croaring_writes_is_read) {
    skip(); /* the tests were built without CRoaring (libroaring-dev) */
}

TEST(croaring_reads_what_we_read) {
    skip();
}

#endif
