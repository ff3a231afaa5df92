/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of layers.h for AVX2: 12 of the 16 registers hold sums of matmul. */
#define THR_LANES        8
#define THR_TILE_ROWS    6
#define THR_TILE_VECTORS 2
#include "kernel/vector_layers.h"

void thr_kernels_fill_avx2_layers(thr_kernels *kernels) {
    thr_kernels_fill_layers(kernels);
}
