/* SPDX-License-Identifier: Apache-2.0 */
/* io_bin.c - fbin and its kin, and both halves of a big-ann ground truth. */
#include "unit/io_files.h"
#include "io/reader.h"

TEST(every_kind_reads_back_in_every_piece_size) {
    static const struct {
        const char *name;
        thr_dtype dtype;
    } kinds[] = {{"a.fbin", THR_DTYPE_F32},
                 {"a.f16bin", THR_DTYPE_F16},
                 {"a.u8bin", THR_DTYPE_U8},
                 {"a.i8bin", THR_DTYPE_I8},
                 {"a.ibin", THR_DTYPE_I32}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bytes file = {0}, expected = {0};
        size_t value = thr_dtype_size(kinds[i].dtype);
        put_bin(&file, value, 9, 5);
        put_pattern(&expected, 0, 9 * 5 * value);
        const char *path = write_file(kinds[i].name, &file);
        for (uint64_t piece = 1; piece <= 10; piece++)
            assert_reads(path, piece, &expected);
    }
}

/* 5 queries, 3 ids, then 3 distances each. */
static void put_truth(bytes *file) {
    put_bin(file, 4, 5, 3);
    put_pattern(file, 1000, 5 * 3 * 4);
}

TEST(both_halves_of_a_ground_truth_are_read) {
    bytes file = {0}, ids = {0}, distances = {0};
    put_truth(&file);
    put_pattern(&ids, 0, 60);
    put_pattern(&distances, 1000, 60);
    for (int sized = 0; sized < 2; sized++) {
        for (uint64_t piece = 1; piece <= 6; piece++) {
            bytes got = {0};
            expect_ok(read_all_memory(io_context, "t.ibin", file.data, file.size, sized, piece, &got, &err));
            assert_int_equal(got.size, 60);
            assert_memory_equal(got.data, ids.data, 60);
            drop(&got);
            expect_ok(read_all_memory(io_context, "t.ibin:distances", file.data, file.size, sized, piece, &got, &err));
            assert_int_equal(got.size, 60);
            assert_memory_equal(got.data, distances.data, 60);
        }
    }
    OWNED(thr_reader, reader) = NULL;
    expect_ok(thr_io_reader_open_memory(io_context, "t.ibin:distances", &(thr_image){file.data, file.size, true, 0},
                                        &reader, &err));
    assert_int_equal(thr_reader_get_shape(reader).dtype, THR_DTYPE_F32);
    assert_int_equal(thr_reader_get_shape(reader).n_rows, 5);
    thr_matrix rows;
    expect_ok(thr_io_reader_seek(reader, 3, &err));
    expect_ok(thr_reader_next(reader, 9, &rows, &err));
    assert_int_equal(rows.n_rows, 2);
    assert_memory_equal(rows.data, distances.data + 3 * 12, 24);
}

TEST(distances_that_are_not_there_are_named) {
    bytes file = {0}, got = {0};
    put_bin(&file, 4, 5, 3);
    expect_error(read_all_memory(io_context, "t.ibin:distances", file.data, file.size, true, 1, &got, &err),
                 THR_ENOTFOUND, "ids only");
    assert_int_equal(read_all_memory(io_context, "t.ibin:distances", file.data, file.size, false, 1, &got, &err),
                     THR_ECORRUPT);
    expect_error(read_all_memory(io_context, "t.ibin:names", file.data, file.size, true, 1, &got, &err), THR_EINVAL,
                 ":distances");
}

/* Ids whole, distances cut or too long: wrong in both views and both ways of reading. */
TEST(a_ground_truth_of_another_size_is_refused) {
    bytes file = {0};
    put_truth(&file);
    put_text(&file, "xyz");
    for (size_t size = 8 + 60 + 1; size <= file.size; size++) {
        if (size == 8 + 120)
            continue;
        for (int sized = 0; sized < 2; sized++) {
            bytes got = {0};
            assert_int_equal(read_all_memory(io_context, "t.ibin", file.data, size, sized, 9, &got, &err),
                             THR_ECORRUPT);
            drop(&got);
            assert_int_equal(read_all_memory(io_context, "t.ibin:distances", file.data, size, sized, 9, &got, &err),
                             THR_ECORRUPT);
        }
    }
}

TEST(wrong_headers_and_sizes_are_refused) {
    static const struct {
        uint32_t n_rows, n_dims;
        thr_status status;
        const char *text;
    } bad[] = {{2, 0, THR_EFORMAT, "0 dimensions"},
               {2, THR_MAX_DIMS + 1, THR_EFORMAT, "32769 dimensions"},
               {2, UINT32_MAX, THR_EFORMAT, "4294967295 dimensions"},
               {UINT32_MAX, THR_MAX_DIMS, THR_ECORRUPT, "562949953290248 bytes"},
               {2, 3, THR_ECORRUPT, "is 31 bytes; its header has 2 rows of 3 f32, which is 32 bytes"},
               {0, 3, THR_ECORRUPT, "0 rows"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        bytes file = {0}, got = {0};
        put_u32(&file, bad[i].n_rows);
        put_u32(&file, bad[i].n_dims);
        put_pattern(&file, 0, 23);
        assert_int_equal(read_all_memory(io_context, "a.fbin", file.data, file.size, true, 1, &got, &err),
                         bad[i].status);
        assert_contains(err.text, bad[i].text);
        assert_int_not_equal(read_all_memory(io_context, "a.fbin", file.data, file.size, false, 1, &got, &err), THR_OK);
    }
}
