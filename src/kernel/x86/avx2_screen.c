/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of vector_screen.h for AVX2. */
#define THR_LANES 8
#include "kernel/vector_screen.h"

void thr_kernels_fill_avx2_screen(thr_kernels *kernels) {
    thr_kernels_fill_screen(kernels);
}
