/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of the kernels of heads.h: plain loops, compiled without vectorisation. */
#include "kernel/kernel.h"

#include <string.h>

void thr_kernel_dots_pack(float *columns, const float *queries, size_t n_queries, size_t n_dims) {
    const size_t n_steps = thr_dots_steps(n_dims), width = thr_dots_width(n_queries);
    memset(columns, 0, thr_dots_packed(n_queries, n_dims) * sizeof *columns);
    for (size_t d = 0; d < n_dims; d++) {
        float *to = columns + (d % THR_DOT_SUMS * n_steps + d / THR_DOT_SUMS) * width;
        for (size_t q = 0; q < n_queries; q++)
            to[q] = queries[q * n_dims + d];
    }
}

static float dot(const thr_dots *d, size_t query, size_t i) {
    const size_t n_steps = thr_dots_steps(d->n_dims), width = thr_dots_width(d->n_queries);
    float sums[THR_DOT_SUMS] = {0};
    for (size_t s = 0; s < THR_DOT_SUMS; s++)
        for (size_t step = 0; step * THR_DOT_SUMS + s < d->n_dims; step++)
            sums[s] += d->columns[(s * n_steps + step) * width + query] * d->rows[i][step * THR_DOT_SUMS + s];
    for (size_t half = THR_DOT_SUMS / 2; half > 0; half /= 2)
        for (size_t s = 0; s < half; s++)
            sums[s] += sums[s + half];
    return sums[0];
}

static void dots_f32(float *out, size_t stride, const thr_dots *d) {
    for (size_t i = 0; i < d->n_rows; i++)
        for (size_t q = 0; q < d->n_queries; q++)
            out[q * stride + i] = dot(d, q, i);
}

void thr_kernels_fill_scalar_heads(thr_kernels *kernels) {
#define FILL(name, type) kernels->name = name;
    THR_HEAD_KERNEL_LIST(FILL)
#undef FILL
}
