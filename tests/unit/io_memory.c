/* SPDX-License-Identifier: Apache-2.0 */
/* io_memory.c - readers over a matrix and over a function. */
#include "unit/io_files.h"
#include "io/reader.h"

TEST(a_matrix_reads_back_in_every_piece_size) {
    float data[7 * 5];
    for (int i = 0; i < 35; i++)
        data[i] = (float)i;
    thr_matrix rows = {.data = data, .n_rows = 7, .n_dims = 3, .dtype = THR_DTYPE_F32, .stride = 5 * sizeof(float)};
    for (uint64_t piece = 1; piece <= 8; piece++) {
        OWNED(thr_reader, reader) = NULL;
        bytes got = {0};
        uint64_t n = 0;
        expect_ok(thr_reader_from_matrix(io_context, &rows, &reader, &err));
        assert_string_equal(thr_io_reader_name(reader), "vectors");
        assert_true(thr_reader_get_shape(reader).seekable);
        expect_ok(read_rows(reader, piece, &got, &n, &err));
        assert_int_equal(n, 7);
        for (size_t i = 0; i < 21; i++)
            assert_true(((float *)(void *)got.data)[i] == (float)(i / 3 * 5 + i % 3));
        expect_ok(thr_io_reader_seek(reader, 4, &err));
        thr_matrix rest;
        expect_ok(thr_reader_next(reader, 100, &rest, &err));
        assert_ptr_equal(rest.data, data + 4 * 5); /* not copied */
        assert_int_equal(rest.n_rows, 3);
        assert_int_equal(thr_io_reader_seek(reader, 8, &err), THR_EINVAL);
    }
}

TEST(an_impossible_matrix_is_refused) {
    float data[4] = {0};
    thr_matrix good = thr_matrix_f32(data, 2, 2), bad;
    thr_reader *reader = NULL;
#define CHECK_BAD(change)                                                                                              \
    bad = good;                                                                                                        \
    change;                                                                                                            \
    assert_int_equal(thr_reader_from_matrix(io_context, &bad, &reader, &err), THR_EINVAL);                             \
    assert_null(reader)
    CHECK_BAD(bad.n_dims = 0);
    CHECK_BAD(bad.n_dims = THR_MAX_DIMS + 1);
    CHECK_BAD(bad.dtype = THR_DTYPE_NONE);
    CHECK_BAD(bad.dtype = (thr_dtype)50);
    CHECK_BAD(bad.stride = 7);
    CHECK_BAD(bad.data = NULL);
    CHECK_BAD(bad.n_rows = UINT64_MAX);
#undef CHECK_BAD
    bad = thr_matrix_f32(NULL, 0, 2);
    expect_ok(thr_reader_from_matrix(io_context, &bad, &reader, &err));
    expect_ok(thr_reader_next(reader, 1, &bad, &err));
    assert_int_equal(bad.n_rows, 0);
    thr_reader_free(reader);
}

enum { FN_DIMS = 4 };

/* user: at most so many rows per call; 0: more than requested. */
static uint64_t make_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    uint64_t most = *(const uint64_t *)user;
    uint64_t n = max_rows < most ? max_rows : most;
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t d = 0; d < FN_DIMS; d++)
            out[r * FN_DIMS + d] = (float)((first + r) * FN_DIMS + d);
    return most != 0 ? n : max_rows + 1;
}

TEST(a_function_supplies_rows) {
    enum { N_ROWS = 200000 }; /* more than its buffer holds */
    static const uint64_t mosts[] = {UINT64_MAX, 1000, 7};
    for (size_t i = 0; i < 3; i++) {
        uint64_t most = mosts[i], n = 0;
        OWNED(thr_reader, reader) = NULL;
        bytes got = {0};
        expect_ok(thr_reader_from_function(io_context, N_ROWS, FN_DIMS, make_rows, &most, &reader, &err));
        assert_string_equal(thr_io_reader_name(reader), "vectors");
        expect_ok(read_rows(reader, 100000, &got, &n, &err));
        assert_int_equal(n, N_ROWS);
        for (size_t j = 0; j < N_ROWS * FN_DIMS; j += 101)
            assert_true(((float *)(void *)got.data)[j] == (float)j);
        thr_matrix rows;
        expect_ok(thr_io_reader_seek(reader, 12345, &err));
        expect_ok(thr_reader_next(reader, 2, &rows, &err));
        assert_true(*(const float *)rows.data == 12345 * FN_DIMS);
        expect_ok(thr_io_reader_seek(reader, N_ROWS, &err));
        expect_ok(thr_reader_next(reader, 2, &rows, &err));
        assert_int_equal(rows.n_rows, 0);
    }
}

static uint64_t no_rows(void *user, uint64_t first, uint64_t max_rows, float *out) {
    (void)user;
    (void)max_rows;
    (void)out;
    return first < 10 ? 10 - first : 0;
}

TEST(a_function_may_end_early_but_not_give_too_much) {
    thr_reader *reader = NULL;
    bytes got = {0};
    uint64_t n = 0, most = 0;
    expect_ok(thr_reader_from_function(io_context, 100, FN_DIMS, no_rows, NULL, &reader, &err));
    expect_ok(read_rows(reader, 10, &got, &n, &err));
    assert_int_equal(n, 10);
    thr_reader_free(reader);
    drop(&got);
    expect_ok(thr_reader_from_function(io_context, 100, FN_DIMS, make_rows, &most, &reader, &err));
    expect_error(read_rows(reader, 10, &got, &n, &err), THR_EINVAL, "gave 11 rows");
    thr_reader_free(reader);
    assert_int_equal(thr_reader_from_function(io_context, 1, 0, make_rows, &most, &reader, &err), THR_EINVAL);
    assert_int_equal(thr_reader_from_function(io_context, 1, 1, NULL, NULL, &reader, &err), THR_EINVAL);
}

static uint64_t ten_rows_in_order(void *user, uint64_t first, uint64_t max_rows, float *out) {
    uint64_t *asked = user;
    assert_int_equal(first, *asked);
    const uint64_t n = 10 - first < max_rows ? 10 - first : max_rows;
    for (uint64_t i = 0; i < n * FN_DIMS; i++)
        out[i] = (float)(first * FN_DIMS + i);
    *asked += n;
    return n;
}

TEST(a_function_of_unknown_length_is_a_stream) {
    for (uint64_t piece = 1; piece < 12; piece++) {
        OWNED(thr_reader, reader) = NULL;
        bytes got = {0};
        uint64_t n = 0, asked = 0;
        expect_ok(
            thr_reader_from_function(io_context, THR_ROWS_UNKNOWN, FN_DIMS, ten_rows_in_order, &asked, &reader, &err));
        assert_false(thr_reader_get_shape(reader).seekable);
        assert_true(thr_reader_get_shape(reader).n_rows == THR_ROWS_UNKNOWN);
        assert_int_equal(thr_io_reader_seek(reader, 0, &err), THR_EUNSUPPORTED);
        expect_ok(read_rows(reader, piece, &got, &n, &err));
        assert_int_equal(n, 10);
        for (size_t i = 0; i < 10 * FN_DIMS; i++)
            assert_true(((float *)(void *)got.data)[i] == (float)i);
    }
}

TEST(freeing_nothing_is_allowed) {
    thr_reader_free(NULL);
}
