/* SPDX-License-Identifier: Apache-2.0 */
/* weight_formats.h - what weights may be kept as: a row of floats as it is kept, and back. */
#ifndef THR_HEAD_WEIGHT_FORMATS_H
#define THR_HEAD_WEIGHT_FORMATS_H

#include "head/file.h"
#include "kernel/kernel.h"

/* The first format that has weights of a dtype; 0: none has. */
static inline uint32_t thr_head_format_of(uint32_t dtype) {
    return dtype == THR_DTYPE_F32 || dtype == THR_DTYPE_F16   ? 1
           : dtype == THR_DTYPE_BF16 || dtype == THR_DTYPE_I8 ? 2
                                                              : 0;
}

/* What weights of a dtype are kept as if nothing is said: as they are, or as float32. */
static inline thr_dtype thr_head_usual_kind(thr_dtype dtype) {
    return dtype == THR_DTYPE_F16 || dtype == THR_DTYPE_BF16 ? dtype : THR_DTYPE_F32;
}

/*
 * Keep n_dims floats as a row of c->dtype, each rounded to nearest, ties to even; none is too large for it. *scale is
 * what integers of I8 are multiplied by, and is left alone by others.
 */
void thr_head_keep_row(const thr_head_contents *c, const thr_kernels *kernels, const float *row, void *kept,
                       float *scale);

/* The weights of word w, widened, which is exact; of I8 the products with their scale, each rounded to a float. */
void thr_head_row(const thr_head_contents *c, const thr_kernels *kernels, uint32_t w, float *out);

#endif
