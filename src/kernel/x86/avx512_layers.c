/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of layers.h for AVX-512: 24 of the 32 registers are sums of matmul. */
#define THR_LANES        16
#define THR_TILE_ROWS    6
#define THR_TILE_VECTORS 6
#include "kernel/vector_layers.h"

void thr_kernels_fill_avx512_layers(thr_kernels *kernels) {
    thr_kernels_fill_layers(kernels);
}
