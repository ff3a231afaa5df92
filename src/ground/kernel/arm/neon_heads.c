/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of heads.h for NEON: 24 of the 32 registers hold sums of dots_f32. */
#define THR_LANES       4
#define THR_DOT_ROWS    6
#define THR_DOT_VECTORS 4
#include "kernel/vector_heads.h"

void thr_kernels_fill_neon_heads(thr_kernels *kernels) {
    thr_kernels_fill_heads(kernels);
}
