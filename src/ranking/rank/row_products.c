/* SPDX-License-Identifier: Apache-2.0 */
/* row_products.c - the loops of row_products.h, dense and sparse. */
#include "rank/row_products.h"

void thr_rank_rows_times(const thr_kernels *kernels, const thr_ranking_view *view, uint64_t first, uint32_t n,
                         const double *v, double *out) {
    const thr_csr *sparse = &view->sparse;
    if (view->dense != NULL) {
        kernels->times_wide(out, v, view->dense + first * view->n_features, n, view->n_features);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint64_t e = sparse->starts[first + i]; e < sparse->starts[first + i + 1]; e++)
            sum += (double)sparse->values[e] * v[sparse->columns[e]];
        out[i] = sum;
    }
}

void thr_rank_rows_add(const thr_kernels *kernels, const thr_ranking_view *view, uint64_t first, uint32_t n,
                       const double *s, double *sums) {
    const thr_csr *sparse = &view->sparse;
    if (view->dense != NULL) {
        kernels->add_wide(sums, s, view->dense + first * view->n_features, n, view->n_features);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t e = sparse->starts[first + i]; e < sparse->starts[first + i + 1]; e++)
            sums[sparse->columns[e]] += s[i] * (double)sparse->values[e];
}

uint64_t thr_rank_rows_values(const thr_ranking_view *view, uint64_t first, uint64_t n) {
    return view->dense != NULL ? n * view->n_features : view->sparse.starts[first + n] - view->sparse.starts[first];
}
