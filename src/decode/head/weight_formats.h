/* SPDX-License-Identifier: Apache-2.0 */
/* weight_formats.h - the storage formats of weights, and conversion of a row to and from them. */
#pragma once

#include "head/file.h"
#include "kernel/kernel.h"

/* Whether weights of a dtype can be stored. */
static inline bool thr_head_keeps(uint32_t dtype) {
    return dtype == THR_DTYPE_F32 || dtype == THR_DTYPE_F16 || dtype == THR_DTYPE_BF16 || dtype == THR_DTYPE_I8;
}

/* The default storage format for weights of a dtype: the same if supported, else float32. */
static inline thr_dtype thr_head_usual_kind(thr_dtype dtype) {
    return dtype == THR_DTYPE_F16 || dtype == THR_DTYPE_BF16 ? dtype : THR_DTYPE_F32;
}

/*
 * Store n_dims floats as a row of c->dtype, rounded to nearest, ties to even; none is too large for it. *scale is set
 * for I8 only: the factor of its integers.
 */
void thr_head_keep_row(const thr_head_contents *c, const thr_kernels *kernels, const float *row, void *kept,
                       float *scale);

/* The weights of word w widened to floats, exactly; for I8 integers times scale, rounded to float. */
void thr_head_row(const thr_head_contents *c, const thr_kernels *kernels, uint32_t w, float *out);
