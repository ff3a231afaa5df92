/* SPDX-License-Identifier: Apache-2.0 */
/* index_filter.c - bitmaps from ids, listed and as Roaring bitmaps, in indexes with ids of their own and without. */
#include "index_support.h"

#include "roaring_writer.h"

static const char DIR_A[] = "index-filter";
enum { N = 300, DIMS = 8, WORDS = (N + 63) / 64 };

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* An index whose item i has the id ids[i]; NULL: i. */
static thr_index *make_index(thr_context *context, const uint64_t *ids) {
    float *rows = random_rows(N, DIMS, 1);
    thr_index_build_options options = build_options(THR_METRIC_COSINE, THR_DTYPE_F32, 2);
    options.ids = ids;
    options.n_ids = ids != NULL ? N : 0;
    options.segment_rows = 128;
    test_remove_directory(DIR_A);
    expect_ok(build_rows(context, DIR_A, rows, N, DIMS, &options, &err));
    return test_index_open(context, DIR_A);
}

/* The bits of words are those of rows 0, step, 2 step, ... */
static void expect_every(const uint64_t *words, size_t step) {
    for (size_t row = 0; row < N; row++)
        assert_int_equal(words[row / 64] >> row % 64 & 1, row % step == 0);
    assert_int_equal(thr_bitmap_count(words, N), (N + step - 1) / step);
}

static void expect_empty(const uint64_t *words) {
    assert_int_equal(thr_bitmap_count(words, N), 0);
}

/* Rows 0, 3, 6, ... by their ids; and not one that is not there. */
static void check_index(const thr_index *index, const uint64_t *ids, uint64_t absent) {
    uint64_t chosen[N], words[WORDS];
    size_t n = 0, size;
    for (size_t row = 0; row < N; row += 3)
        chosen[n++] = ids[row];
    chosen[n] = chosen[5]; /* twice is once */
    memset(words, 0xff, sizeof words);
    expect_ok(thr_bitmap_from_ids(index, chosen, n + 1, words, &err));
    expect_every(words, 3);
    qsort(chosen, n, sizeof *chosen, by_value);
    for (unsigned runs = 0; runs < 3; runs++) {
        uint8_t *bytes = test_roaring_write(chosen, n, (test_roaring_form){true, runs}, &size);
        memset(words, 0xff, sizeof words);
        expect_ok(thr_bitmap_from_roaring_ids(index, bytes, size, words, &err));
        expect_every(words, 3);
        expect_error(thr_bitmap_from_roaring_ids(index, bytes, size - 1, words, &err), THR_ECORRUPT, NULL);
        expect_empty(words);
        bytes[0] = bytes[7] = 0x39;
        expect_error(thr_bitmap_from_roaring_ids(index, bytes, size, words, &err), THR_EFORMAT, NULL);
    }
    chosen[n++] = absent;
    words[0] = 1;
    expect_error(thr_bitmap_from_ids(index, chosen, n, words, &err), THR_ENOTFOUND, NULL);
    char text[32];
    (void)snprintf(text, sizeof text, "the id %llu", (unsigned long long)absent);
    assert_non_null(strstr(err.text, text));
    expect_empty(words);
    qsort(chosen, n, sizeof *chosen, by_value);
    uint8_t *bytes = test_roaring_write(chosen, n, (test_roaring_form){true, 0}, &size);
    words[0] = 1;
    expect_error(thr_bitmap_from_roaring_ids(index, bytes, size, words, &err), THR_ENOTFOUND, text);
    expect_empty(words);
}

TEST(ids_that_are_rows_become_bits) {
    OWNED(thr_index, index) = make_index(*state, NULL);
    uint64_t ids[N];
    for (uint64_t row = 0; row < N; row++)
        ids[row] = row;
    check_index(index, ids, N);
    check_index(index, ids, UINT64_C(7) << 32);
}

TEST(ids_of_their_own_become_the_bits_of_their_rows) {
    uint64_t ids[N], seed = 11;
    for (uint64_t row = 0; row < N; row++)
        ids[row] = thr_rng_next(&seed) >> (row % 5 == 0 ? 0 : 40) | (row & 1);
    OWNED(thr_index, index) = make_index(*state, ids);
    assert_true(thr_index_get_info(index).has_ids);
    check_index(index, ids, 12345678901u);
}

/* A search by id: only the requested items are found. */
TEST(a_search_is_held_to_them) {
    uint64_t ids[N], words[WORDS], found[10];
    for (uint64_t row = 0; row < N; row++)
        ids[row] = 1000000 * (N - row);
    const uint64_t chosen[] = {2000000, 77000000, 300000000};
    OWNED(thr_index, index) = make_index(*state, ids);
    float *rows = random_rows(1, DIMS, 5);
    const thr_matrix query = thr_matrix_f32(rows, 1, DIMS);
    thr_search_options options = {.filter = words, .filter_bits = N};
    expect_ok(thr_bitmap_from_ids(index, chosen, 3, words, &err));
    expect_ok(thr_index_search(index, &query, 10, &options, found, NULL, &err));
    qsort(found, 3, sizeof *found, by_value);
    for (size_t i = 0; i < 10; i++)
        assert_true(found[i] == (i < 3 ? chosen[i] : THR_NO_ID));
}

TEST(missing_arguments_are_refused) {
    uint64_t words[WORDS], id = 0;
    OWNED(thr_index, index) = make_index(*state, NULL);
    expect_error(thr_bitmap_from_ids(NULL, &id, 1, words, &err), THR_EINVAL, NULL);
    expect_error(thr_bitmap_from_ids(index, NULL, 1, words, &err), THR_EINVAL, NULL);
    expect_error(thr_bitmap_from_ids(index, &id, 1, NULL, &err), THR_EINVAL, NULL);
    expect_ok(thr_bitmap_from_ids(index, NULL, 0, words, &err));
    expect_empty(words);
    expect_error(thr_bitmap_from_roaring_ids(NULL, &id, 8, words, &err), THR_EINVAL, NULL);
    expect_error(thr_bitmap_from_roaring_ids(index, NULL, 8, words, &err), THR_EINVAL, NULL);
    expect_error(thr_bitmap_from_roaring_ids(index, &id, 8, NULL, &err), THR_EINVAL, NULL);
    expect_error(thr_bitmap_from_roaring_ids(index, NULL, 0, words, &err), THR_ECORRUPT, NULL);
    expect_ok(thr_bitmap_from_roaring_ids(index, &id, 8, words, &err)); /* a wide one without buckets */
}

TEST_IN_CONTEXT(1, DIR_A)
