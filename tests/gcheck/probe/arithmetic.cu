/* SPDX-License-Identifier: Apache-2.0 */
/* How many of the instructions that distances are made of a GPU does in a second, each by itself. */
#include "probe.cuh"

enum { THREADS = 256, BLOCKS_A_SM = 8, CHAINS = 8, STEPS = 64, ROUNDS = 256 };

struct popc {
    static __device__ __forceinline__ void step(uint32_t &x, uint32_t, uint32_t) {
        asm volatile("popc.b32 %0, %0;" : "+r"(x));
    }
};

struct lop3 {
    static __device__ __forceinline__ void step(uint32_t &x, uint32_t a, uint32_t b) {
        asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x) : "r"(a), "r"(b));
    }
};

struct dp4a {
    static __device__ __forceinline__ void step(uint32_t &x, uint32_t a, uint32_t b) {
        asm volatile("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(x) : "r"(a), "r"(b));
    }
};

/* What a word costs that the screen counts by itself: XOR with a query's word, popcount, added with a shift. */
struct xor_popc_add {
    static __device__ __forceinline__ void step(uint32_t &x, uint32_t a, uint32_t) {
        uint32_t count;
        asm volatile("xor.b32 %0, %1, %2;" : "=r"(count) : "r"(x), "r"(a));
        asm volatile("popc.b32 %0, %0;" : "+r"(count));
        asm volatile("mad.lo.u32 %0, %1, 4, %0;" : "+r"(x) : "r"(count));
    }
};

template <typename OP> static __global__ void __launch_bounds__(THREADS) repeat(uint32_t *to) {
    uint32_t x[CHAINS];
    const uint32_t a = probe_hash(threadIdx.x + 1), b = probe_hash(blockIdx.x + 77);
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        x[c] = probe_hash(threadIdx.x * CHAINS + c);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++)
#pragma unroll
        for (int step = 0; step < STEPS / CHAINS; step++)
#pragma unroll
            for (int c = 0; c < CHAINS; c++)
                OP::step(x[c], a, b);
    uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        sum ^= x[c];
    to[blockIdx.x * THREADS + threadIdx.x] = sum;
}

template <typename OP> static void measure(const char *name, uint32_t *to, double of_each) {
    const int blocks = BLOCKS_A_SM * probe_multiprocessors();
    const double seconds = probe_seconds([=] {
        repeat<OP><<<blocks, THREADS>>>(to);
        PROBE_LAUNCHED();
    });
    probe_figure(name, of_each * blocks * THREADS * static_cast<double>(ROUNDS) * STEPS / seconds);
}

void probe_arithmetic() {
    uint32_t *to = probe_alloc<uint32_t>(static_cast<size_t>(BLOCKS_A_SM) * probe_multiprocessors() * THREADS);
    measure<popc>("limit.popc32_per_s", to, 1);
    measure<lop3>("limit.lop3_per_s", to, 1);
    measure<dp4a>("limit.dp4a_mac_per_s", to, 4);
    measure<xor_popc_add>("limit.xor_popc_add_per_s", to, 1);
    PROBE_CHECK(cudaFree(to));
}
