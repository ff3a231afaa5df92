/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of wide.h for NEON. */
#define THR_WIDE_LANES 2
#include "kernel/vector_wide.h"

void thr_kernels_fill_neon_wide(thr_kernels *kernels) {
    thr_kernels_fill_wide(kernels);
}
