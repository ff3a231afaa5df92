/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of wide.h for AVX2. */
#define THR_WIDE_LANES 4
#include "kernel/vector_wide.h"

void thr_kernels_fill_avx2_wide(thr_kernels *kernels) {
    thr_kernels_fill_wide(kernels);
}
