/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernels of heads.h. */
#include "kcheck.h"

static void run_dots(const thr_kernels *kernels, void *out, void *arg) {
    const thr_dots *in = arg;
    kernels->dots_f32(out, in->n_rows, in);
}

static void fill(kcheck *check, float *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        numbers[i] = kcheck_float(check);
}

/* The last row ends where its buffer ends. */
static void check_dots(kcheck *check, size_t n_rows, size_t n_queries, size_t n_dims, size_t gap) {
    const size_t stride = n_dims + gap, n = n_rows == 0 ? 0 : (n_rows - 1) * stride + n_dims;
    const size_t n_packed = thr_dots_packed(n_queries, n_dims);
    float *rows = kcheck_buffer(check, n * sizeof *rows), *columns = kcheck_buffer(check, n_packed * sizeof *columns);
    float *queries = kcheck_buffer(check, n_queries * n_dims * sizeof *queries);
    fill(check, rows, n);
    fill(check, queries, n_queries * n_dims);
    thr_kernel_dots_pack(columns, queries, n_queries, n_dims);
    const float **each = kcheck_buffer(check, n_rows * sizeof *each);
    for (size_t i = 0; i < n_rows; i++)
        each[i] = rows + (n_rows - 1 - i) * stride;
    thr_dots in = {columns, each, n_queries, n_rows, n_dims};
    kcheck_call(check, run_dots, &in, n_rows * n_queries * sizeof(float), n_rows * n_queries * n_dims,
                n * sizeof(float), "%zu rows x %zu queries of %zu", n_rows, n_queries, n_dims);
}

void check_dots_f32(kcheck *check) {
    static const size_t queries[] = {2, 4, 8, 12, 16, 32};
    if (!kcheck_timed(check)) {
        const bool large = kcheck_below(check, 4) == 0; /* more than one panel */
        check_dots(check, kcheck_below(check, 20), kcheck_below(check, 70),
                   large ? 900 + kcheck_below(check, 400) : kcheck_below(check, 70), kcheck_below(check, 9));
        return;
    }
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        check_dots(check, 64, queries[i], 1000, 0);
}
