/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on tensor cores, warp by warp: of bytes, as mma and as wmma; and of bits, by AND and by XOR. Where a GPU has
 * no such product the assembler writes it out in other instructions, which shows in the rate. Each product is tried
 * once on known numbers first.
 */
#include "probe.cuh"

#include <mma.h>

enum { THREADS = 128, BLOCKS_A_SM = 8, CHAINS = 6, ROUNDS = 2048 };

struct operands {
    uint32_t a[4], b[2];
};

#define PROBE_MMA(words)                                                                                               \
    static __device__ __forceinline__ void step(int(&d)[4], const operands &o) {                                       \
        asm volatile(words " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                          \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                  \
                     : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]));                  \
    }

struct bytes {
    PROBE_MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    static constexpr double SIZE = 16 * 8 * 32;
    static constexpr uint32_t ONES = 0x01010101u;
    static constexpr int PRODUCT = 32;
};

struct bits_and {
    PROBE_MMA("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc")
    static constexpr double SIZE = 16 * 8 * 256;
    static constexpr uint32_t ONES = 0xffffffffu;
    static constexpr int PRODUCT = 256;
};

/* Equal bits differ nowhere. */
struct bits_xor {
    PROBE_MMA("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc")
    static constexpr double SIZE = 16 * 8 * 256;
    static constexpr uint32_t ONES = 0xffffffffu;
    static constexpr int PRODUCT = 0;
};

template <typename OP> static __global__ void __launch_bounds__(THREADS) repeat(int *to, int rounds) {
    int d[CHAINS][4] = {};
    operands o;
    for (uint32_t i = 0; i < 4; i++)
        o.a[i] = rounds == 1 ? OP::ONES : probe_hash(threadIdx.x * 8 + i);
    for (uint32_t i = 0; i < 2; i++)
        o.b[i] = rounds == 1 ? OP::ONES : probe_hash(threadIdx.x * 8 + 4 + i);
#pragma unroll 1
    for (int round = 0; round < rounds; round++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            OP::step(d[c], o);
    int sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < 4; i++)
            sum += d[c][i];
    to[blockIdx.x * THREADS + threadIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS) repeat_wmma(int *to, int rounds) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, signed char, row_major> a;
    fragment<matrix_b, 16, 16, 16, signed char, col_major> b;
    fragment<accumulator, 16, 16, 16, int> d[CHAINS];
    for (int i = 0; i < a.num_elements; i++)
        a.x[i] = static_cast<signed char>(rounds == 1 ? 1 : probe_hash(threadIdx.x * 64 + i));
    for (int i = 0; i < b.num_elements; i++)
        b.x[i] = static_cast<signed char>(rounds == 1 ? 1 : probe_hash(threadIdx.x * 64 + 32 + i));
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        fill_fragment(d[c], 0);
#pragma unroll 1
    for (int round = 0; round < rounds; round++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            mma_sync(d[c], a, b, d[c]);
    int sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < d[c].num_elements; i++)
            sum += d[c].x[i];
    to[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* Whether one round of ones gives what it should, in every lane. */
static bool is_right(const int *to, int wanted) {
    std::vector<int> host(THREADS);
    PROBE_CHECK(cudaMemcpy(host.data(), to, THREADS * sizeof(int), cudaMemcpyDeviceToHost));
    return std::all_of(host.begin(), host.end(), [wanted](int x) { return x == wanted; });
}

static void report(const char *name, bool right, double per_launch, double seconds) {
    if (right)
        probe_figure(name, per_launch / seconds);
    else
        probe_words(name, "wrong products");
}

template <typename OP> static void measure(const char *name, int *to) {
    const int blocks = BLOCKS_A_SM * probe_multiprocessors();
    repeat<OP><<<1, THREADS>>>(to, 1);
    PROBE_LAUNCHED();
    const bool right = is_right(to, CHAINS * 4 * OP::PRODUCT);
    const double seconds = probe_seconds([=] {
        repeat<OP><<<blocks, THREADS>>>(to, ROUNDS);
        PROBE_LAUNCHED();
    });
    report(name, right, OP::SIZE * CHAINS * ROUNDS * blocks * (THREADS / 32), seconds);
}

void probe_tensor() {
    const int blocks = BLOCKS_A_SM * probe_multiprocessors();
    int *to = probe_alloc<int>(static_cast<size_t>(blocks) * THREADS);
    measure<bytes>("limit.mma_s8_mac_per_s", to);
    repeat_wmma<<<1, THREADS>>>(to, 1);
    PROBE_LAUNCHED();
    const bool right = is_right(to, CHAINS * 8 * 16);
    const double seconds = probe_seconds([=] {
        repeat_wmma<<<blocks, THREADS>>>(to, ROUNDS);
        PROBE_LAUNCHED();
    });
    report("limit.wmma_s8_mac_per_s", right, 16.0 * 16 * 16 * CHAINS * ROUNDS * blocks * (THREADS / 32), seconds);
    measure<bits_and>("limit.mma_b1_and_per_s", to);
    measure<bits_xor>("limit.mma_b1_xor_per_s", to);
    PROBE_CHECK(cudaFree(to));
}
