/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - element types, and conversion to float32. */
#include <thresher/matrix.h>

#include <string.h>

#include "base/half.h"

size_t thr_dtype_size(thr_dtype dtype) {
    switch (dtype) {
    case THR_DTYPE_I8:
    case THR_DTYPE_U8:
        return 1;
    case THR_DTYPE_F16:
    case THR_DTYPE_BF16:
        return 2;
    case THR_DTYPE_F32:
    case THR_DTYPE_I32:
    case THR_DTYPE_U32:
        return 4;
    case THR_DTYPE_F64:
    case THR_DTYPE_I64:
    case THR_DTYPE_U64:
        return 8;
    case THR_DTYPE_NONE:
        break;
    }
    return 0;
}

const char *thr_dtype_name(thr_dtype dtype) {
    static const char *const names[] = {"none", "f32", "f16", "i8", "u8", "f64", "i32", "u32", "i64", "u64", "bf16"};
    return (unsigned)dtype < sizeof names / sizeof names[0] ? names[dtype] : "?";
}

thr_matrix thr_matrix_f32(const float *data, uint64_t n_rows, uint32_t n_dims) {
    return (thr_matrix){
        .data = data, .n_rows = n_rows, .n_dims = n_dims, .dtype = THR_DTYPE_F32, .stride = n_dims * sizeof(float)};
}

/* memcpy, because rows may be unaligned; compilers turn it into plain loads. */
#define WIDEN(type, widened)                                                                                           \
    for (uint32_t d = 0; d < n_dims; d++) {                                                                            \
        type value;                                                                                                    \
        memcpy(&value, row + d * sizeof value, sizeof value);                                                          \
        out[d] = (widened);                                                                                            \
    }                                                                                                                  \
    break

static void widen_row(const char *row, thr_dtype dtype, uint32_t n_dims, float *out) {
    switch (dtype) {
    case THR_DTYPE_F32:
        memcpy(out, row, n_dims * sizeof(float));
        break;
    case THR_DTYPE_F16:
        WIDEN(uint16_t, thr_half_to_f32(value));
    case THR_DTYPE_I8:
        WIDEN(int8_t, (float)value);
    case THR_DTYPE_U8:
        WIDEN(uint8_t, (float)value);
    case THR_DTYPE_F64:
        WIDEN(double, (float)value);
    case THR_DTYPE_I32:
        WIDEN(int32_t, (float)value);
    case THR_DTYPE_U32:
        WIDEN(uint32_t, (float)value);
    case THR_DTYPE_I64:
        WIDEN(int64_t, (float)value);
    case THR_DTYPE_U64:
        WIDEN(uint64_t, (float)value);
    case THR_DTYPE_BF16:
        WIDEN(uint16_t, thr_bf16_to_f32(value));
    case THR_DTYPE_NONE:
        break;
    }
}

thr_status thr_matrix_to_f32(const thr_matrix *rows, uint64_t first, uint64_t n, float *out) {
    if (thr_dtype_size(rows->dtype) == 0 || first > rows->n_rows || n > rows->n_rows - first)
        return THR_EINVAL;
    for (uint64_t r = 0; r < n; r++)
        widen_row((const char *)rows->data + (first + r) * rows->stride, rows->dtype, rows->n_dims,
                  out + r * rows->n_dims);
    return THR_OK;
}
