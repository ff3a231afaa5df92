/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernels.cc - correct kernels give the right answer for any order of threads, and nothing is reported of them.
 */
#include "harness.h"

#include <algorithm>
#include <numeric>

static std::vector<unsigned> some_numbers(size_t n, unsigned seed) {
    std::vector<unsigned> numbers(n);
    for (unsigned &x : numbers)
        x = seed = seed * 1664525u + 1013904223u;
    return numbers;
}

__global__ void scale(const float *in, float *out, size_t n, float factor) {
    const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __fmul_rn(__ldg(in + i), factor);
}

static void test_scale() {
    std::vector<float> in(1000);
    std::iota(in.begin(), in.end(), 0.0f);
    const OnDevice<float> from(in), to(in.size());
    THR_LAUNCH(scale, 4, 256, nullptr, from, to, in.size(), 0.5f);
    CHECK(all_well());
    const std::vector<float> out = to.values();
    for (size_t i = 0; i < in.size(); i++)
        CHECK(out[i] == in[i] * 0.5f);
}

/* Warp by shuffles, then over warps through shared memory. */
__device__ unsigned long long block_sum(unsigned long long x) {
    THR_SHARED(unsigned long long, sums, 32);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    if (lane == 0)
        sums[warp] = x;
    __syncthreads();
    x = lane < blockDim.x / 32 ? sums[lane] : 0ull;
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_down_sync(0xffffffffu, x, static_cast<unsigned>(step));
    x = __shfl_sync(0xffffffffu, x, 0);
    __syncthreads();
    return x;
}

template <int n_times> __global__ void sum(const unsigned *in, size_t n, unsigned long long *out) {
    for (int time = 0; time < n_times; time++) {
        unsigned long long mine = 0;
        for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            mine += in[i];
        mine = block_sum(mine);
        if (threadIdx.x == 0)
            atomicAdd(out, mine);
    }
}

static void test_sum() {
    const std::vector<unsigned> in = some_numbers(5000, 7);
    const OnDevice<unsigned> from(in);
    const OnDevice<unsigned long long> to(std::vector<unsigned long long>{0});
    THR_LAUNCH((sum<2>), 3, 256, nullptr, from, in.size(), to);
    CHECK(all_well());
    CHECK(to.values()[0] == 2 * std::accumulate(in.begin(), in.end(), 0ull));
}

__global__ void warp_scan(const unsigned *in, unsigned *out) {
    const unsigned lane = threadIdx.x % 32;
    unsigned x = in[threadIdx.x];
    for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, x, step);
        if (lane >= step)
            x += other;
    }
    out[threadIdx.x] = x;
}

static void test_scan() {
    const std::vector<unsigned> in = some_numbers(128, 11);
    const OnDevice<unsigned> from(in), to(in.size());
    THR_LAUNCH(warp_scan, 1, 128, nullptr, from, to);
    CHECK(all_well());
    const std::vector<unsigned> out = to.values();
    for (size_t i = 0, x = 0; i < in.size(); i++) {
        x = (i % 32 ? x : 0) + in[i];
        CHECK(out[i] == static_cast<unsigned>(x));
    }
}

__global__ __launch_bounds__(256) void histogram(const unsigned *in, size_t n, unsigned *out) {
    THR_SHARED(unsigned, bins, 64);
    for (unsigned i = threadIdx.x; i < 64; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] >> 26], 1);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 64; i += blockDim.x)
        if (bins[i])
            atomicAdd(out + i, bins[i]);
}

static void test_histogram() {
    const std::vector<unsigned> in = some_numbers(10000, 3);
    std::vector<unsigned> want(64);
    for (unsigned x : in)
        want[x >> 26]++;
    const OnDevice<unsigned> from(in), to(std::vector<unsigned>(64, 0));
    THR_LAUNCH(histogram, dim3(5), dim3(256), nullptr, from, in.size(), to);
    CHECK(all_well());
    CHECK(to.values() == want);
}

/* The array goes to functions that take any. */
template <typename A> __device__ bool is_above(const A &keys, unsigned i, unsigned j) {
    return keys[i] > keys[j];
}

template <typename A> __device__ void exchange(A &keys, unsigned i, unsigned j, bool up) {
    if (is_above(keys, i, j) == up) {
        const unsigned a = keys[i], b = keys[j];
        keys[i] = b;
        keys[j] = a;
    }
}

__global__ void bitonic_sort(unsigned *values) {
    THR_SHARED(unsigned, keys, 1024);
    const unsigned i = threadIdx.x;
    keys[i] = values[i];
    __syncthreads();
    for (unsigned size = 2; size <= 1024; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            if ((i ^ stride) > i)
                exchange(keys, i, i ^ stride, (i & size) == 0);
            __syncthreads();
        }
    values[i] = keys[i];
}

static void test_sort() {
    std::vector<unsigned> in = some_numbers(1024, 5);
    const OnDevice<unsigned> values(in);
    THR_LAUNCH(bitonic_sort, 1, 1024, nullptr, values);
    CHECK(all_well());
    std::sort(in.begin(), in.end());
    CHECK(values.values() == in);
}

/* Within a warp __syncwarp is enough, also of a part of it. */
__global__ void in_warp(unsigned *out) {
    THR_SHARED(unsigned, slots, 64);
    const unsigned lane = threadIdx.x % 32, base = threadIdx.x - lane;
    slots[threadIdx.x] = lane;
    __syncwarp();
    unsigned x = slots[base + 31 - lane];
    __syncwarp();
    const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
    if (lane < 16) {
        slots[threadIdx.x] = x;
        __syncwarp(half);
        x += slots[base + (lane + 1) % 16];
    } else {
        slots[threadIdx.x] = 2 * x;
        __syncwarp(half);
        x += slots[base + 16 + (lane + 1) % 16];
    }
    out[threadIdx.x] = x;
}

static void test_in_warp() {
    const OnDevice<unsigned> to(64);
    THR_LAUNCH(in_warp, 1, 64, nullptr, to);
    CHECK(all_well());
    const std::vector<unsigned> out = to.values();
    for (unsigned i = 0; i < 64; i++) {
        const unsigned lane = i % 32, next = lane < 16 ? (lane + 1) % 16 : 16 + (lane + 1) % 16;
        CHECK(out[i] == 31 - lane + (lane < 16 ? 1 : 2) * (31 - next));
    }
}

/* Threads may leave while nobody waits for them, and blocks have three dimensions. */
__global__ void leave_early(unsigned *out, dim3 dim) {
    const unsigned i = threadIdx.x + dim.x * (threadIdx.y + dim.y * threadIdx.z);
    const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (i % 32 >= 16)
        return;
    out[b * dim.x * dim.y * dim.z + i] = static_cast<unsigned>(__any_sync(0xffffu, i % 32 == b));
}

static void test_leave_early() {
    const dim3 dim(8, 4, 3), grid(2, 3, 2);
    const OnDevice<unsigned> to(12 * 96);
    THR_LAUNCH(leave_early, grid, dim, nullptr, to, dim);
    CHECK(all_well());
    const std::vector<unsigned> out = to.values();
    for (size_t i = 0; i < out.size(); i++)
        CHECK(out[i] == (i % 32 < 16 ? (i / 96 < 16 ? 1u : 0u) : 0xcdcdcdcdu));
}

int main() {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        simt_seed(seed);
        test_scale();
        test_sum();
        test_scan();
        test_histogram();
        test_sort();
        test_in_warp();
        test_leave_early();
    }
    CHECK(simt_allocated() == 0);
    return 0;
}
