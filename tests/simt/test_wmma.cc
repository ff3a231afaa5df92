/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_wmma.cc - products of tiles against three plain loops, from global and from shared memory.
 */
#include "harness.h"

#include <mma.h>

using namespace nvcuda;

/* Rows or columns of bytes are at least 16 apart. */
template <typename Layout> constexpr int apart(int n_rows, int n_columns) {
    return max(16, std::is_same_v<Layout, wmma::row_major> ? n_columns : n_rows);
}
template <typename Layout> size_t place(int row, int column, int ld) {
    return static_cast<size_t>(std::is_same_v<Layout, wmma::row_major> ? row * ld + column : column * ld + row);
}
constexpr int most = 32 * 32; /* elements of any of them */

template <typename T, int m, int n, int k, typename LayoutA, typename LayoutB>
__global__ void multiply(const T *a, const T *b, int *c, bool misaligned) {
    constexpr unsigned lda = apart<LayoutA>(m, k);
    constexpr unsigned ldb = apart<LayoutB>(k, n);
    THR_SHARED(T, tile, most);
    THR_SHARED(int, sums, m *n);
    for (unsigned i = threadIdx.x; i < most; i += 32)
        tile[i] = a[i];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, m, n, k, T, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, m, n, k, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, m, n, k, int> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, &tile[misaligned ? 1 : 0], lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] *= 2;
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
    wmma::store_matrix_sync(&sums[0], fc, m, wmma::mem_col_major);
    __syncwarp();
    for (unsigned i = threadIdx.x; i < m * n; i += 32)
        c[m * n + i] = sums[i];
    wmma::load_matrix_sync(fc, &sums[0], m, wmma::mem_col_major);
    __syncthreads();
    wmma::store_matrix_sync(c + 2 * m * n, fc, n, wmma::mem_row_major);
}

template <typename T, int m, int n, int k, typename LayoutA, typename LayoutB> static void test_multiply() {
    std::vector<T> a(most), b(most);
    unsigned x = 1;
    for (T &value : a)
        value = static_cast<T>((x = x * 1664525u + 1013904223u) >> 24);
    for (T &value : b)
        value = static_cast<T>((x = x * 1664525u + 1013904223u) >> 24);
    const OnDevice<T> on_a(a), on_b(b);
    const OnDevice<int> on_c(3 * m * n);
    THR_LAUNCH((multiply<T, m, n, k, LayoutA, LayoutB>), 1, 32, nullptr, on_a, on_b, on_c, false);
    CHECK(all_well());
    const std::vector<int> c = on_c.values();
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            int sum = 0;
            for (int i = 0; i < k; i++)
                sum += a[place<LayoutA>(row, i, apart<LayoutA>(m, k))] *
                       b[place<LayoutB>(i, column, apart<LayoutB>(k, n))];
            const size_t by_row = static_cast<size_t>(row * n + column);
            const size_t by_column = static_cast<size_t>(column * m + row);
            CHECK(c[by_row] == 3 * sum && c[m * n + by_column] == 3 * sum && c[2 * m * n + by_row] == 3 * sum);
        }
    Caught caught;
    THR_LAUNCH((multiply<T, m, n, k, LayoutA, LayoutB>), 1, 32, nullptr, on_a, on_b, on_c, true);
    CHECK(caught.says("no multiple of 32 bytes") && cudaGetLastError() == cudaErrorLaunchFailure);
    THR_LAUNCH((multiply<T, m, n, k, LayoutA, LayoutB>), 1, 16, nullptr, on_a, on_b, on_c, false);
    CHECK(caught.says("does not exist") && cudaGetLastError() == cudaErrorLaunchFailure);
}

template <int m, int n, int k> static void test_shape() {
    test_multiply<signed char, m, n, k, wmma::row_major, wmma::col_major>();
    test_multiply<unsigned char, m, n, k, wmma::row_major, wmma::row_major>();
    test_multiply<signed char, m, n, k, wmma::col_major, wmma::row_major>();
}

int main() {
    test_shape<16, 16, 16>();
    test_shape<32, 8, 16>();
    test_shape<8, 32, 16>();
    CHECK(simt_allocated() == 0);
    return 0;
}
