/* SPDX-License-Identifier: Apache-2.0 */
/* How fast memory is read: by a kernel that does nothing else, 16 bytes per load; and by the runtime's own copy. */
#include "probe.cuh"

enum { THREADS = 256 };

template <int LOADS>
static __global__ void __launch_bounds__(THREADS) sum_up(const uint4 *from, size_t n, uint32_t *to) {
    const size_t step = static_cast<size_t>(gridDim.x) * THREADS;
    size_t i = static_cast<size_t>(blockIdx.x) * THREADS + threadIdx.x;
    uint32_t sum = 0;
    for (; i + (LOADS - 1) * step < n; i += LOADS * step) {
        uint4 x[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++)
            x[j] = __ldcs(from + i + j * step);
#pragma unroll
        for (int j = 0; j < LOADS; j++)
            sum += x[j].x ^ x[j].y ^ x[j].z ^ x[j].w;
    }
    for (; i < n; i += step)
        sum += from[i].x;
    if (sum == 0x12345678u) /* so that nothing is left out */
        *to = sum;
}

static __global__ void fill(uint32_t *to, size_t n) {
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
        to[i] = probe_hash(static_cast<uint32_t>(i));
}

template <int LOADS> static double best_read(const uint4 *from, size_t n, uint32_t *to) {
    double best = 0;
    for (int blocks = 4; blocks <= 32; blocks *= 2) {
        const double seconds = probe_seconds([=] {
            sum_up<LOADS><<<blocks * probe_multiprocessors(), THREADS>>>(from, n, to);
            PROBE_LAUNCHED();
        });
        best = std::max(best, static_cast<double>(n) * sizeof(uint4) / seconds);
    }
    return best;
}

void probe_memory() {
    size_t free_bytes = 0, all_bytes = 0;
    PROBE_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
    const size_t size = std::min(free_bytes / 4, static_cast<size_t>(8) << 30) / 4096 * 4096, n = size / sizeof(uint4);
    uint4 *from = probe_alloc<uint4>(n), *to = probe_alloc<uint4>(n);
    uint32_t *sum = probe_alloc<uint32_t>(1);
    fill<<<1024, THREADS>>>(reinterpret_cast<uint32_t *>(from), size / 4);
    PROBE_LAUNCHED();
    const double read = std::max(std::max(best_read<1>(from, n, sum), best_read<2>(from, n, sum)),
                                 std::max(best_read<4>(from, n, sum), best_read<8>(from, n, sum)));
    probe_figure("limit.read_bytes_per_s", read);
    const double seconds =
        probe_seconds([=] { PROBE_CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice)); });
    probe_figure("limit.copy_bytes_per_s", 2 * static_cast<double>(size) / seconds); /* read and written */
    PROBE_CHECK(cudaFree(from));
    PROBE_CHECK(cudaFree(to));
    PROBE_CHECK(cudaFree(sum));
}
