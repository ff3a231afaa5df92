/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of heads.h for AVX-512: 24 of the 32 registers hold sums of dots_f32. */
#define THR_LANES       16
#define THR_DOT_ROWS    8
#define THR_DOT_VECTORS 3
#include "kernel/vector_heads.h"

void thr_kernels_fill_avx512_heads(thr_kernels *kernels) {
    thr_kernels_fill_heads(kernels);
}
