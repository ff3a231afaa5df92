/* SPDX-License-Identifier: Apache-2.0 */
#include "tensors/dtype_names.h"

#include <string.h>

static const thr_tensor_kind kinds[] = {
    {"F32", 32, THR_DTYPE_F32},     {"F16", 16, THR_DTYPE_F16},     {"I8", 8, THR_DTYPE_I8},
    {"U8", 8, THR_DTYPE_U8},        {"F64", 64, THR_DTYPE_F64},     {"I32", 32, THR_DTYPE_I32},
    {"U32", 32, THR_DTYPE_U32},     {"I64", 64, THR_DTYPE_I64},     {"U64", 64, THR_DTYPE_U64},
    {"BF16", 16, THR_DTYPE_BF16},   {"BOOL", 8, THR_DTYPE_NONE},    {"I16", 16, THR_DTYPE_NONE},
    {"U16", 16, THR_DTYPE_NONE},    {"C64", 64, THR_DTYPE_NONE},    {"F8_E5M2", 8, THR_DTYPE_NONE},
    {"F8_E4M3", 8, THR_DTYPE_NONE}, {"F8_E8M0", 8, THR_DTYPE_NONE}, {"F6_E2M3", 6, THR_DTYPE_NONE},
    {"F6_E3M2", 6, THR_DTYPE_NONE}, {"F4", 4, THR_DTYPE_NONE},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const thr_tensor_kind *thr_tensors_kind_find(const char *name) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

const thr_tensor_kind *thr_tensors_kind_of(thr_dtype dtype) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].dtype == dtype && dtype != THR_DTYPE_NONE)
            return &kinds[i];
    return NULL;
}

bool thr_tensors_kind_size(const thr_tensor_kind *kind, uint64_t n_values, uint64_t *n_bytes) {
    uint64_t bits = 0;
    if (__builtin_mul_overflow(n_values, (uint64_t)kind->bits, &bits) || bits % 8 != 0)
        return false;
    *n_bytes = bits / 8;
    return true;
}
