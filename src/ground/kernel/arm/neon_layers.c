/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of layers.h for NEON: 24 of the 32 registers hold sums of matmul. */
#define THR_LANES        4
#define THR_TILE_ROWS    6
#define THR_TILE_VECTORS 4
#include "kernel/vector_layers.h"

void thr_kernels_fill_neon_layers(thr_kernels *kernels) {
    thr_kernels_fill_layers(kernels);
}
