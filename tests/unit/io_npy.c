/* SPDX-License-Identifier: Apache-2.0 */
/* io_npy.c - .npy: every dtype and version, headers in any order, and headers that must be refused. */
#include "unit/io_files.h"

TEST(every_dtype_reads_back_in_every_piece_size) {
    static const struct {
        const char *descr;
        thr_dtype dtype;
    } kinds[] = {{"<f4", THR_DTYPE_F32}, {"<f2", THR_DTYPE_F16}, {"<f8", THR_DTYPE_F64}, {"|u1", THR_DTYPE_U8},
                 {"|i1", THR_DTYPE_I8},  {"<u1", THR_DTYPE_U8},  {">i1", THR_DTYPE_I8},  {"<i4", THR_DTYPE_I32},
                 {"<u4", THR_DTYPE_U32}, {"<i8", THR_DTYPE_I64}, {"<u8", THR_DTYPE_U64}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bytes file = {0}, expected = {0};
        size_t value = thr_dtype_size(kinds[i].dtype);
        put_npy(&file, kinds[i].descr, value, 7, 3);
        put_pattern(&expected, 0, 7 * 3 * value);
        const char *path = write_file("a.npy", &file);
        thr_reader *reader = NULL;
        expect_ok(thr_reader_open(io_context, path, &reader, &err));
        thr_reader_shape shape = thr_reader_get_shape(reader);
        assert_int_equal(shape.n_rows, 7);
        assert_int_equal(shape.n_dims, 3);
        assert_int_equal(shape.dtype, kinds[i].dtype);
        assert_true(shape.seekable);
        thr_reader_free(reader);
        for (uint64_t piece = 1; piece <= 8; piece++)
            assert_reads(path, piece, &expected);
    }
}

/* Open a file of this dictionary and as many bytes of values, from memory. */
static thr_status open_header(unsigned version, const char *dictionary, size_t n_values, thr_reader_shape *shape,
                              thr_error *error) {
    bytes file = {0};
    put_npy_header(&file, version, dictionary);
    put_pattern(&file, 0, n_values);
    thr_reader *reader = NULL;
    thr_status status =
        thr_io_reader_open_memory(io_context, "a.npy", &(thr_image){file.data, file.size, true, 0}, &reader, error);
    if (status == THR_OK)
        *shape = thr_reader_get_shape(reader);
    thr_reader_free(reader);
    return status;
}

TEST(headers_of_every_version_and_order_are_read) {
    static const char *const good[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "{\"shape\":(2,3,),\"descr\":\"<f4\",\"fortran_order\":False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "  { 'fortran_order' : False ,\t'shape' : ( 2 , 3 ) , 'descr' : '<f4' , }  ",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        for (unsigned version = 1; version <= 3; version++) {
            thr_reader_shape shape;
            expect_ok(open_header(version, good[i], 24, &shape, &err));
            assert_int_equal(shape.n_rows, 2);
            assert_int_equal(shape.n_dims, 3);
        }
    }
}

TEST(one_axis_is_rows_of_one_number) {
    thr_reader_shape shape;
    expect_ok(open_header(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }", 40, &shape, &err));
    assert_int_equal(shape.n_rows, 5);
    assert_int_equal(shape.n_dims, 1);
}

TEST(an_array_without_rows_has_none) {
    for (int sized = 0; sized < 2; sized++) {
        bytes file = {0}, got = {0};
        put_npy(&file, "<f4", 4, 0, 3);
        expect_ok(read_all_memory(io_context, "a.npy", file.data, file.size, sized != 0, 4, &got, &err));
        assert_int_equal(got.size, 0);
        put_text(&file, "x");
        assert_int_equal(read_all_memory(io_context, "a.npy", file.data, file.size, sized != 0, 4, &got, &err),
                         THR_ECORRUPT);
    }
}

TEST(wrong_headers_are_refused_with_the_remedy) {
    static const struct {
        const char *dictionary, *text;
    } bad[] = {
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "ascontiguousarray"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "astype(\"<f4\")"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", "Python objects"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", "type <c8"},
        {"{'descr': '|b2', 'fortran_order': False, 'shape': (2, 3), }", "type |b2"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3), }", "type <f16"},
        {"{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3), }", "type =f4"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2, 3), }", "type "},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "records"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }", "3 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "0 axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }", "0 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 32769), }", "32769 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4294967299), }", "4294967299 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }", "more than any file"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (768614336404564651, 3), }", "more than any file"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 3), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 3), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3], }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, }", "missing"},
        {"{}", "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", "unknown"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }", "key was expected"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (2, 3), }", "colon"},
        {"{'descr': 4, 'fortran_order': False, 'shape': (2, 3), }", "not a string"},
        {"{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (2, 3), }", "not a string"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x", "follows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), ", "key was expected"},
        {"{'descr': '<f4", "not a string"},
        {"", "no dictionary"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        thr_reader_shape shape;
        thr_status status = open_header(1, bad[i].dictionary, 24, &shape, &err);
        if (status != THR_EFORMAT)
            fail_msg("%s: status %d", bad[i].dictionary, (int)status);
        assert_contains(err.text, bad[i].text);
        assert_contains(err.text, "a.npy");
    }
}

TEST(foreign_and_newer_files_are_refused) {
    thr_reader_shape shape;
    expect_error(open_header(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, &shape, &err),
                 THR_EFORMAT, "version 4.0");
    bytes got = {0};
    expect_error(read_all_memory(io_context, "a.npy", "PK\003\004 it is zip", 14, true, 1, &got, &err), THR_EFORMAT,
                 "really .npy");
    /* A header of 4 GiB. */
    expect_error(read_all_memory(io_context, "a.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, true, 1, &got, &err),
                 THR_EFORMAT, "4294967295");
}

TEST(wrong_sizes_name_what_is_expected_and_found) {
    thr_reader_shape shape;
    const char *dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    expect_error(open_header(1, dictionary, 23, &shape, &err), THR_ECORRUPT, "151 bytes");
    assert_contains(err.text, "152 bytes");
    expect_error(open_header(1, dictionary, 25, &shape, &err), THR_ECORRUPT, "153 bytes");
}
