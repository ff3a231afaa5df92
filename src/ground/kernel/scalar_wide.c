/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of the kernels of wide.h: plain loops, compiled without vectorisation. */
#include "kernel/kernel.h"

static void times_wide(double *out, const double *v, const float *rows, size_t n_rows, size_t n_dims) {
    for (size_t i = 0; i < n_rows; i++) {
        double lanes[8] = {0};
        for (size_t d = 0; d < n_dims; d++)
            lanes[d % 8] += (double)rows[i * n_dims + d] * v[d];
        for (size_t half = 4; half > 0; half /= 2)
            for (size_t l = 0; l < half; l++)
                lanes[l] += lanes[l + half];
        out[i] = lanes[0];
    }
}

static void add_wide(double *sums, const double *s, const float *rows, size_t n_rows, size_t n_dims) {
    for (size_t i = 0; i < n_rows; i++)
        for (size_t d = 0; d < n_dims; d++)
            sums[d] += s[i] * (double)rows[i * n_dims + d];
}

void thr_kernels_fill_scalar_wide(thr_kernels *kernels) {
#define FILL(name, type) kernels->name = name;
    THR_WIDE_KERNEL_LIST(FILL)
#undef FILL
}
