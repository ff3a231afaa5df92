/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of heads.h for AVX2: 12 of the 16 registers hold sums of dots_f32. */
#define THR_LANES       8
#define THR_DOT_ROWS    6
#define THR_DOT_VECTORS 2
#include "kernel/vector_heads.h"

void thr_kernels_fill_avx2_heads(thr_kernels *kernels) {
    thr_kernels_fill_heads(kernels);
}
