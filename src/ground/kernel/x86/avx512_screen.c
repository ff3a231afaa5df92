/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of vector_screen.h for AVX-512. */
#define THR_LANES 16
#include "kernel/vector_screen.h"

void thr_kernels_fill_avx512_screen(thr_kernels *kernels) {
    thr_kernels_fill_screen(kernels);
}
