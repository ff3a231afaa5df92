/* SPDX-License-Identifier: Apache-2.0 */
/* dtype_names.h - the type names of safetensors, and sizes of tensors of these types. */
#pragma once

#include <thresher/matrix.h>

typedef struct thr_tensor_kind {
    const char *name; /* "F32" */
    uint32_t bits;    /* of a value */
    thr_dtype dtype;  /* THR_DTYPE_NONE: not supported for computation */
} thr_tensor_kind;

/* Find a type by name; NULL if the format does not define it. */
const thr_tensor_kind *thr_tensors_kind_find(const char *name);

/* Find the type of a dtype; NULL for THR_DTYPE_NONE and invalid values. */
const thr_tensor_kind *thr_tensors_kind_of(thr_dtype dtype);

/* Compute the bytes of n_values values; false on overflow, or if they are not whole bytes. */
bool thr_tensors_kind_size(const thr_tensor_kind *kind, uint64_t n_values, uint64_t *n_bytes);
