/* SPDX-License-Identifier: Apache-2.0 */
/* io_dtype.c - sizes, names and widening of every dtype; strided and unaligned rows. */
#include "unit/io_files.h"

enum { N_DTYPES = 11 };

TEST(sizes_and_names_are_those_of_the_list) {
    static const size_t sizes[N_DTYPES] = {0, 4, 2, 1, 1, 8, 4, 4, 8, 8, 2};
    static const char *const names[N_DTYPES] = {"none", "f32", "f16", "i8",  "u8",  "f64",
                                                "i32",  "u32", "i64", "u64", "bf16"};
    for (int i = 0; i < N_DTYPES; i++) {
        assert_int_equal(thr_dtype_size((thr_dtype)i), sizes[i]);
        assert_string_equal(thr_dtype_name((thr_dtype)i), names[i]);
    }
    assert_int_equal(thr_dtype_size((thr_dtype)N_DTYPES), 0);
    assert_string_equal(thr_dtype_name((thr_dtype)N_DTYPES), "?");
    assert_string_equal(thr_dtype_name((thr_dtype)-1), "?");
}

/* Three rows of two, the values given, at an odd address and with 5 bytes between rows. */
static void check_widening(thr_dtype dtype, const void *values, const float expected[6]) {
    unsigned char room[128];
    size_t size = thr_dtype_size(dtype), stride = 2 * size + 5;
    memset(room, 0xff, sizeof room);
    for (size_t r = 0; r < 3; r++)
        memcpy(room + 1 + r * stride, (const char *)values + r * 2 * size, 2 * size);
    thr_matrix rows = {.data = room + 1, .n_rows = 3, .n_dims = 2, .dtype = dtype, .stride = stride};
    for (uint64_t first = 0; first <= 3; first++) {
        for (uint64_t n = 0; n <= 3 - first; n++) {
            float out[7] = {0};
            out[2 * n] = 77;
            assert_int_equal(thr_matrix_to_f32(&rows, first, n, out), THR_OK);
            assert_memory_equal(out, expected + 2 * first, 2 * n * sizeof(float));
            assert_true(out[2 * n] == 77);
        }
    }
}

TEST(every_dtype_widens) {
    check_widening(THR_DTYPE_F32, (float[]){1, -2, 0.1f, 1e30f, -0.0f, INFINITY},
                   (float[]){1, -2, 0.1f, 1e30f, -0.0f, INFINITY});
    check_widening(THR_DTYPE_F16, (uint16_t[]){0x3c00, 0xc000, 1, 0x7bff, 0x8000, 0x7c00},
                   (float[]){1, -2, 0x1p-24f, 65504, -0.0f, INFINITY});
    check_widening(THR_DTYPE_I8, (int8_t[]){-128, 127, 0, -1, 1, 64}, (float[]){-128, 127, 0, -1, 1, 64});
    check_widening(THR_DTYPE_U8, (uint8_t[]){0, 255, 1, 128, 127, 2}, (float[]){0, 255, 1, 128, 127, 2});
    check_widening(THR_DTYPE_F64, (double[]){1, -2, 0.1, 1e300, 1e-300, 3}, (float[]){1, -2, 0.1f, INFINITY, 0, 3});
    check_widening(THR_DTYPE_I32, (int32_t[]){INT32_MIN, INT32_MAX, 0, 1, -1, 16777217},
                   (float[]){-0x1p31f, 0x1p31f, 0, 1, -1, 16777216});
    check_widening(THR_DTYPE_U32, (uint32_t[]){0, UINT32_MAX, 1, 2, 3, 4}, (float[]){0, 0x1p32f, 1, 2, 3, 4});
    check_widening(THR_DTYPE_I64, (int64_t[]){INT64_MIN, INT64_MAX, 0, 1, -1, 5},
                   (float[]){-0x1p63f, 0x1p63f, 0, 1, -1, 5});
    check_widening(THR_DTYPE_U64, (uint64_t[]){0, UINT64_MAX, 1, 2, 3, 4}, (float[]){0, 0x1p64f, 1, 2, 3, 4});
    check_widening(THR_DTYPE_BF16, (uint16_t[]){0x3f80, 0xc000, 1, 0x7f7f, 0x8000, 0x7f80},
                   (float[]){1, -2, 0x1p-133f, 0x1.fep127f, -0.0f, INFINITY});
}

TEST(rows_that_are_not_there_are_refused) {
    float data[4] = {0}, out[4];
    thr_matrix rows = thr_matrix_f32(data, 2, 2);
    assert_int_equal(rows.stride, 8);
    assert_int_equal(thr_matrix_to_f32(&rows, 0, 3, out), THR_EINVAL);
    assert_int_equal(thr_matrix_to_f32(&rows, 3, 0, out), THR_EINVAL);
    assert_int_equal(thr_matrix_to_f32(&rows, 2, 1, out), THR_EINVAL);
    assert_int_equal(thr_matrix_to_f32(&rows, 1, UINT64_MAX, out), THR_EINVAL);
    rows.dtype = THR_DTYPE_NONE;
    assert_int_equal(thr_matrix_to_f32(&rows, 0, 1, out), THR_EINVAL);
    rows.dtype = (thr_dtype)99;
    assert_int_equal(thr_matrix_to_f32(&rows, 0, 1, out), THR_EINVAL);
}
