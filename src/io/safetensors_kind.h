/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_kind.h - the words that safetensors has for kinds of numbers, and how long a tensor of them is. */
#ifndef THR_IO_SAFETENSORS_KIND_H
#define THR_IO_SAFETENSORS_KIND_H

#include <thresher/matrix.h>

typedef struct thr_tensor_kind {
    const char *name; /* "F32" */
    uint32_t bits;    /* of a value */
    thr_dtype dtype;  /* THR_DTYPE_NONE: one that we do not compute with */
} thr_tensor_kind;

/* NULL for a word that the format does not have. */
const thr_tensor_kind *thr_io_tensor_kind_find(const char *name);

/* NULL for THR_DTYPE_NONE and numbers that are no dtype. */
const thr_tensor_kind *thr_io_tensor_kind_of(thr_dtype dtype);

/* Bytes of so many values; false when they are more than can be, or no whole number. */
bool thr_io_tensor_kind_size(const thr_tensor_kind *kind, uint64_t n_values, uint64_t *n_bytes);

#endif
