/* SPDX-License-Identifier: Apache-2.0 */
/* io_vecs.c - fvecs, bvecs, ivecs: strided views, seeking, and rows that differ. */
#include "unit/io_files.h"
#include "io/reader.h"

static const struct {
    const char *ending;
    thr_dtype dtype;
} kinds[] = {{"fvecs", THR_DTYPE_F32}, {"bvecs", THR_DTYPE_U8}, {"ivecs", THR_DTYPE_I32}};
enum { N_KINDS = 3 };

TEST(every_kind_reads_back_in_every_piece_size) {
    for (size_t i = 0; i < N_KINDS; i++) {
        bytes file = {0}, expected = {0};
        size_t value = thr_dtype_size(kinds[i].dtype);
        put_vecs(&file, value, 9, 5);
        put_pattern(&expected, 0, 9 * 5 * value);
        char name[16];
        (void)snprintf(name, sizeof name, "a.%s", kinds[i].ending);
        const char *path = write_file(name, &file);
        for (uint64_t piece = 1; piece <= 10; piece++)
            assert_reads(path, piece, &expected);
    }
}

TEST(views_step_over_the_dimension_without_copying) {
    bytes file = {0};
    put_vecs(&file, 4, 3, 2);
    OWNED(thr_reader, reader) = NULL;
    expect_ok(
        thr_io_reader_open_memory(io_context, "a.fvecs", &(thr_image){file.data, file.size, true, 0}, &reader, &err));
    thr_matrix rows;
    expect_ok(thr_reader_next(reader, 100, &rows, &err));
    assert_int_equal(rows.n_rows, 3);
    assert_int_equal(rows.stride, 12);
    expect_ok(thr_reader_next(reader, 100, &rows, &err));
    assert_int_equal(rows.n_rows, 0);
}

/* Many rows, so that the buffer is filled several times and seeks leave it. */
enum { N_ROWS = 3000, N_DIMS = 600 }; /* dimension d of row r is r * N_DIMS + d */

static void expect_rows(const thr_matrix *rows, uint64_t first) {
    for (uint64_t r = 0; r < rows->n_rows; r++) {
        uint32_t values[2];
        memcpy(&values[0], (const char *)rows->data + r * rows->stride, 4);
        memcpy(&values[1], (const char *)rows->data + r * rows->stride + (N_DIMS - 1) * 4, 4);
        assert_int_equal(values[0], (first + r) * N_DIMS);
        assert_int_equal(values[1], (first + r) * N_DIMS + N_DIMS - 1);
    }
}

TEST(seeking_finds_every_row_in_any_order) {
    bytes file = {0};
    for (uint32_t r = 0; r < N_ROWS; r++) {
        put_u32(&file, N_DIMS);
        for (uint32_t d = 0; d < N_DIMS; d++)
            put_u32(&file, r * N_DIMS + d);
    }
    const char *path = write_file("big.ivecs", &file);
    OWNED(thr_reader, reader) = NULL;
    expect_ok(thr_reader_open(io_context, path, &reader, &err));
    assert_int_equal(thr_reader_get_shape(reader).n_rows, N_ROWS);
    uint64_t row = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        if (i % 3 != 0)
            row = (row * 977 + i * 131) % N_ROWS;
        expect_ok(thr_io_reader_seek(reader, row, &err));
        for (int piece = 0; piece < 3 && row < N_ROWS; piece++) {
            thr_matrix rows;
            expect_ok(thr_reader_next(reader, 1 + i % 5, &rows, &err));
            assert_true(rows.n_rows >= 1);
            expect_rows(&rows, row);
            row += rows.n_rows;
        }
        row %= N_ROWS;
    }
    thr_matrix rows;
    expect_ok(thr_io_reader_seek(reader, N_ROWS, &err));
    expect_ok(thr_reader_next(reader, 1, &rows, &err));
    assert_int_equal(rows.n_rows, 0);
    expect_error(thr_io_reader_seek(reader, N_ROWS + 1, &err), THR_EINVAL, "3001");
}

TEST(a_row_of_other_dimensions_is_named) {
    bytes file = {0};
    put_vecs(&file, 4, 6, 3);
    file.data[4 * 16] = 4; /* row 4 */
    for (int sized = 0; sized < 2; sized++) {
        OWNED(thr_reader, reader) = NULL;
        thr_matrix rows;
        expect_ok(thr_io_reader_open_memory(io_context, "a.fvecs", &(thr_image){file.data, file.size, sized != 0, 0},
                                            &reader, &err));
        expect_error(thr_reader_next(reader, 100, &rows, &err), THR_ECORRUPT,
                     "row 4 at byte 64 has 4 dimensions, row 0 has 3");
        /* Nothing more comes after an error, until the reader is moved. */
        assert_int_equal(thr_reader_next(reader, 100, &rows, &err), THR_ECORRUPT);
        if (sized != 0) {
            expect_ok(thr_io_reader_seek(reader, 5, &err));
            expect_ok(thr_reader_next(reader, 100, &rows, &err));
            assert_int_equal(rows.n_rows, 1);
        } else {
            assert_int_equal(thr_io_reader_seek(reader, 5, &err), THR_EUNSUPPORTED);
        }
    }
}

TEST(impossible_dimensions_are_refused) {
    static const uint32_t wrong[] = {0, UINT32_MAX, 0x80000000u, THR_MAX_DIMS + 1, 0x42c80000u /* the float 100 */};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        bytes file = {0}, got = {0};
        put_u32(&file, wrong[i]);
        put_pattern(&file, 0, 60);
        expect_error(read_all_memory(io_context, "a.fvecs", file.data, file.size, true, 1, &got, &err), THR_EFORMAT,
                     "is it really .fvecs?");
    }
}

TEST(the_widest_row_is_read) {
    bytes file = {0}, got = {0};
    put_vecs(&file, 4, 40, THR_MAX_DIMS); /* more than one buffer */
    expect_ok(read_all_memory(io_context, "a.ivecs", file.data, file.size, false, 1000, &got, &err));
    assert_int_equal(got.size, 40 * (size_t)THR_MAX_DIMS * 4);
    for (size_t i = 0; i < got.size; i += 997)
        assert_int_equal(got.data[i], pattern(i));
}

TEST(a_size_that_is_no_whole_row_is_named) {
    bytes file = {0}, got = {0};
    put_vecs(&file, 1, 4, 3);
    expect_error(read_all_memory(io_context, "a.bvecs", file.data, file.size - 1, true, 9, &got, &err), THR_ECORRUPT,
                 "27 bytes");
    assert_contains(err.text, "row 3 at byte 21");
    expect_error(read_all_memory(io_context, "a.bvecs", file.data, file.size - 1, false, 9, &got, &err), THR_ECORRUPT,
                 "cut short in row 3 at byte 21");
    assert_int_equal(read_all_memory(io_context, "a.bvecs", file.data, 3, true, 9, &got, &err), THR_ECORRUPT);
}

TEST(a_file_cut_while_it_is_read_is_noticed) {
    bytes file = {0};
    put_vecs(&file, 4, 6000, 300); /* longer than the buffer */
    const char *path = write_file("shrinks.fvecs", &file);
    OWNED(thr_reader, reader) = NULL;
    thr_matrix rows;
    expect_ok(thr_reader_open(io_context, path, &reader, &err));
    expect_ok(thr_reader_next(reader, 1, &rows, &err));
    assert_int_equal(truncate(path, 5000 * 1204 + 3), 0);
    uint64_t n = 0;
    bytes got = {0};
    expect_error(read_rows(reader, 1000, &got, &n, &err), THR_ECORRUPT, "row 5000 at byte 6020000");
}

TEST(asking_for_no_rows_or_for_lines_is_refused) {
    bytes file = {0};
    put_vecs(&file, 4, 1, 1);
    OWNED(thr_reader, reader) = NULL;
    thr_matrix rows;
    const char *line = "";
    size_t length = 1;
    expect_ok(
        thr_io_reader_open_memory(io_context, "a.fvecs", &(thr_image){file.data, file.size, true, 0}, &reader, &err));
    assert_int_equal(thr_reader_next(reader, 0, &rows, &err), THR_EINVAL);
    assert_int_equal(thr_reader_next_line(reader, &line, &length, &err), THR_EINVAL);
    assert_null(line);
    expect_ok(thr_reader_next(reader, UINT64_MAX, &rows, &err));
    assert_int_equal(rows.n_rows, 1);
}

TEST(nan_and_infinity_pass_through) {
    static const uint32_t values[4] = {0x7fc00000, 0x7f800001, 0xff800000, 0x7f800000};
    bytes file = {0}, got = {0};
    put_u32(&file, 4);
    for (int i = 0; i < 4; i++)
        put_u32(&file, values[i]);
    expect_ok(read_all_memory(io_context, "a.fvecs", file.data, file.size, true, 1, &got, &err));
    assert_memory_equal(got.data, file.data + 4, 16);
}
