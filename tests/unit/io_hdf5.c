/* SPDX-License-Identifier: Apache-2.0 */
/* io_hdf5.c - data sets of every type, names that are not there, damage; or, in a build without, the sentence. */
#include "unit/io_files.h"
#include "io/reader.h"

#ifndef THR_WITH_HDF5
#define THR_WITH_HDF5 0
#endif

#if THR_WITH_HDF5

#include <hdf5.h>

enum { N_ROWS = 11, N_DIMS = 4 };

/* A data set of this type from numbers 0, 1, 2, ... in a file that is open. */
static void put_data(hid_t file, const char *name, hid_t type, int n_axes, const hsize_t *shape, bool chunked) {
    size_t n = 1;
    for (int i = 0; i < n_axes; i++)
        n *= shape[i];
    double *values = test_new(1, (n + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)(i % 100);
    hid_t space = H5Screate_simple(n_axes, shape, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) {
        hsize_t chunk[2] = {3, shape[1]};
        assert_true(H5Pset_chunk(how, n_axes, chunk) >= 0);
        assert_true(H5Pset_deflate(how, 5) >= 0);
        assert_true(H5Pset_fletcher32(how) >= 0);
    }
    hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(data >= 0);
    assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    (void)H5Dclose(data);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
}

static const struct {
    const char *name;
    hid_t *type;
    thr_dtype dtype;
} kinds[] = {
    {"f4", &H5T_IEEE_F32LE_g, THR_DTYPE_F32},   {"f8", &H5T_IEEE_F64LE_g, THR_DTYPE_F64},
    {"f4be", &H5T_IEEE_F32BE_g, THR_DTYPE_F32}, {"i1", &H5T_STD_I8LE_g, THR_DTYPE_I8},
    {"u1", &H5T_STD_U8LE_g, THR_DTYPE_U8},      {"i2", &H5T_STD_I16LE_g, THR_DTYPE_I32},
    {"u2", &H5T_STD_U16BE_g, THR_DTYPE_I32},    {"i4", &H5T_STD_I32LE_g, THR_DTYPE_I32},
    {"u4", &H5T_STD_U32LE_g, THR_DTYPE_U32},    {"i8", &H5T_STD_I64LE_g, THR_DTYPE_I64},
    {"u8", &H5T_STD_U64BE_g, THR_DTYPE_U64},
};

static const char *make_file(void) {
    const char *path = in_dir("a.hdf5");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    hsize_t shape[3] = {N_ROWS, N_DIMS, 2}, none[2] = {3, 0};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        put_data(file, kinds[i].name, *kinds[i].type, 2, shape, i % 2 == 1);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_data(group, "in:side", H5T_IEEE_F32LE, 1, shape, false);
    (void)H5Gclose(group);
    put_data(file, "cube", H5T_IEEE_F32LE, 3, shape, false);
    put_data(file, "narrow", H5T_IEEE_F32LE, 2, none, false);
    hid_t text = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    (void)H5Tset_size(text, 5);
    hid_t data = H5Dcreate2(file, "text", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(data >= 0);
    (void)H5Dclose(data);
    data = H5Dcreate2(file, "scalar", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Dclose(data);
    (void)H5Sclose(space);
    (void)H5Tclose(text);
    assert_true(H5Fclose(file) >= 0);
    return path;
}

static const char *name_of(const char *path, const char *data) {
    static char name[600];
    (void)snprintf(name, sizeof name, "%s:%s", path, data);
    return name;
}

TEST(every_type_reads_back_in_every_piece_size) {
    const char *path = make_file();
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        OWNED(thr_reader, reader) = NULL;
        expect_ok(thr_reader_open(io_context, name_of(path, kinds[i].name), &reader, &err));
        thr_reader_shape shape = thr_reader_get_shape(reader);
        assert_int_equal(shape.n_rows, N_ROWS);
        assert_int_equal(shape.n_dims, N_DIMS);
        assert_int_equal(shape.dtype, kinds[i].dtype);
        assert_true(shape.seekable);
        for (uint64_t piece = 1; piece <= N_ROWS + 1; piece++) {
            bytes got = {0};
            uint64_t n = 0;
            expect_ok(thr_io_reader_seek(reader, 0, &err));
            expect_ok(read_rows(reader, piece, &got, &n, &err));
            assert_int_equal(n, N_ROWS);
            float wide[N_ROWS * N_DIMS];
            thr_matrix rows = {.data = got.data,
                               .n_rows = N_ROWS,
                               .n_dims = N_DIMS,
                               .dtype = shape.dtype,
                               .stride = N_DIMS * thr_dtype_size(shape.dtype)};
            assert_int_equal(thr_matrix_to_f32(&rows, 0, N_ROWS, wide), THR_OK);
            for (int j = 0; j < N_ROWS * N_DIMS; j++)
                assert_true(wide[j] == (float)j);
        }
        thr_matrix rows;
        expect_ok(thr_io_reader_seek(reader, 9, &err));
        expect_ok(thr_reader_next(reader, 9, &rows, &err));
        assert_int_equal(rows.n_rows, 2);
        assert_int_equal(thr_io_reader_seek(reader, N_ROWS + 1, &err), THR_EINVAL);
    }
}

TEST(one_axis_in_a_group_is_rows_of_one_number) {
    bytes got = {0};
    expect_ok(read_all(io_context, name_of(make_file(), "group/in:side"), 3, &got, &err));
    assert_int_equal(got.size, N_ROWS * 4);
}

TEST(missing_names_list_what_is_there) {
    const char *path = make_file();
    thr_reader *reader = NULL;
    expect_error(thr_reader_open(io_context, path, &reader, &err), THR_EINVAL, "FILE.hdf5:NAME");
    assert_contains(err.text, "f4, f4be, f8, group/in:side, i1, i2");
    assert_int_equal(thr_reader_open(io_context, name_of(path, ""), &reader, &err), THR_EINVAL);
    expect_error(thr_reader_open(io_context, name_of(path, "train"), &reader, &err), THR_ENOTFOUND,
                 "the file has cube, f4");
    assert_int_equal(thr_reader_open(io_context, name_of(path, "group"), &reader, &err), THR_ENOTFOUND);
    assert_int_equal(thr_reader_open(io_context, in_dir("missing.h5:a"), &reader, &err), THR_ENOTFOUND);
}

TEST(a_long_list_is_cut_off) {
    const char *path = in_dir("many.h5");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t shape[2] = {1, 1};
    for (int i = 0; i < 200; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "data set %.*s%d", i % 17, "xxxxxxxxxxxxxxxxx", i);
        put_data(file, name, H5T_STD_U8LE, 2, shape, false);
    }
    assert_true(H5Fclose(file) >= 0);
    thr_reader *reader = NULL;
    expect_error(thr_reader_open(io_context, path, &reader, &err), THR_EINVAL, ", ...");
    assert_true(strlen(err.text) < THR_ERROR_TEXT_SIZE - 100);
}

TEST(unsuitable_data_sets_are_refused) {
    static const struct {
        const char *data, *text;
    } bad[] = {{"cube", "3 axes"}, {"scalar", "0 axes"}, {"text", "integers or floats"}, {"narrow", "0 dimensions"}};
    const char *path = make_file();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        thr_reader *reader = NULL;
        expect_error(thr_reader_open(io_context, name_of(path, bad[i].data), &reader, &err), THR_EFORMAT, bad[i].text);
    }
}

TEST(damaged_and_foreign_files_are_refused) {
    const char *path = make_file();
    bytes file = {0}, got = {0};
    char block[4096];
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    for (size_t n = fread(block, 1, sizeof block, in); n != 0; n = fread(block, 1, sizeof block, in))
        put(&file, block, n);
    (void)fclose(in);
    size_t whole = file.size;
    for (size_t size = 0; size < whole; size += size < 64 ? 1 : 509) {
        file.size = size;
        const char *cut = write_file("cut.hdf5", &file);
        thr_status status = read_all(io_context, name_of(cut, "f4"), 3, &got, &err);
        if (status != (size == 0 || size >= 8 ? THR_ECORRUPT : THR_EFORMAT))
            fail_msg("cut at %zu: status %d", size, (int)status);
    }
    file.size = whole;
    /* i1 is compressed and has a checksum: damage in it is found while reading. */
    size_t damaged = 0;
    for (size_t i = 0; i < whole; i += 61) {
        file.data[i] ^= 0x55;
        bytes rows = {0};
        thr_status status = read_all(io_context, name_of(write_file("cut.hdf5", &file), "i1"), 3, &rows, &err);
        file.data[i] ^= 0x55;
        damaged += status != THR_OK;
        if (status == THR_OK)
            assert_int_equal(rows.size, N_ROWS * N_DIMS);
    }
    assert_true(damaged > 0);
    drop(&file);
    put_text(&file, "this is a text, not HDF5");
    expect_error(read_all(io_context, name_of(write_file("text.h5", &file), "f4"), 3, &got, &err), THR_EFORMAT,
                 "really .h5");
}

/* A file of one data set of 300 x N_DIMS floats, written or not, that is not in chunks. */
static void make_unchunked(bytes *file, H5D_layout_t layout, bool written) {
    enum { MOST = 1 << 16 };
    float values[300 * N_DIMS] = {1};
    hsize_t shape[2] = {300, N_DIMS};
    const char *path = in_dir("unchunked.hdf5");
    hid_t out = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), how = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, shape, NULL);
    assert_true(H5Pset_layout(how, layout) >= 0);
    hid_t data = H5Dcreate2(out, "a", H5T_IEEE_F32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(data >= 0);
    if (written)
        assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    (void)H5Dclose(data);
    (void)H5Sclose(space);
    (void)H5Pclose(how);
    assert_true(H5Fclose(out) >= 0);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    file->data = test_new(1, MOST);
    assert_non_null(file->data);
    file->capacity = MOST;
    file->size = fread(file->data, 1, MOST, in);
    assert_true(file->size > 0 && file->size < MOST && fclose(in) == 0);
}

/* Sets the number of rows in the file's shape, at any place of it. */
static void set_rows(bytes *file, uint64_t n_rows) {
    static const uint64_t shape[2] = {300, N_DIMS};
    size_t found = 0;
    for (size_t i = 0; i + sizeof shape <= file->size; i++)
        if (memcmp(file->data + i, shape, sizeof shape) == 0) {
            memcpy(file->data + i, &n_rows, sizeof n_rows);
            found++;
        }
    assert_true(found > 0);
}

TEST(more_rows_than_bytes_are_refused_before_they_are_read) {
    static const H5D_layout_t layouts[] = {H5D_CONTIGUOUS, H5D_COMPACT};
    static const uint64_t n_rows[] = {299, 301, 1 << 20, UINT64_C(1) << 40};
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < COUNT_OF(n_rows); j++) {
            bytes file = {0}, got = {0};
            make_unchunked(&file, layouts[i], true);
            set_rows(&file, n_rows[j]);
            const char *path = write_file("more.hdf5", &file);
            expect_error(read_all(io_context, name_of(path, "a"), 4096, &got, &err), THR_ECORRUPT,
                         "the data set has 4800 bytes, not those of ");
            assert_int_equal(got.size, 0);
        }
}

TEST(what_was_never_written_is_zeros) {
    bytes file = {0}, got = {0};
    float zeros[300 * N_DIMS] = {0};
    make_unchunked(&file, H5D_CONTIGUOUS, false);
    expect_ok(read_all(io_context, name_of(in_dir("unchunked.hdf5"), "a"), 7, &got, &err));
    assert_int_equal(got.size, sizeof zeros);
    assert_memory_equal(got.data, zeros, sizeof zeros);
}

static herr_t count_prints(hid_t stack, void *user) {
    (void)stack;
    ++*(int *)user;
    return 0;
}

TEST(the_callers_error_printing_is_left_as_it_was) {
    int prints = 0;
    H5E_auto2_t function = NULL;
    void *user = NULL;
    assert_true(H5Eset_auto2(H5E_DEFAULT, count_prints, &prints) >= 0);
    missing_names_list_what_is_there(state);
    assert_int_equal(prints, 0);
    assert_true(H5Eget_auto2(H5E_DEFAULT, &function, &user) >= 0);
    assert_true(function == count_prints && user == &prints);
}

TEST(every_allocation_may_fail) {
    const char *name = name_of(make_file(), "f4");
    test_oom oom = test_oom_start(&io_memory);
    while (test_oom_next(&oom)) {
        bytes got = {0};
        test_oom_arm(&oom);
        const thr_status status = read_all(io_context, name, 3, &got, &err);
        (void)test_oom_check(&oom, status, &err, NULL);
    }
}

TEST_AT_START {
    (void)H5open(); /* so that the ids of types are known */
}

#else

TEST(a_build_without_support_is_refused_with_the_remedy) {
    bytes file = {0}, got = {0};
    put_text(&file, "anything");
    const char *path = write_file("a.hdf5", &file);
    expect_error(read_all(io_context, path, 1, &got, &err), THR_EUNSUPPORTED, ".npy");
}

#endif
