/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of wide.h for AVX-512. */
#define THR_WIDE_LANES 8
#include "kernel/vector_wide.h"

void thr_kernels_fill_avx512_wide(thr_kernels *kernels) {
    thr_kernels_fill_wide(kernels);
}
